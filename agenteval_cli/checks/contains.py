"""contains, not_contains: texts in the answer."""

from __future__ import annotations

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, excerpt, holds, normal
from agenteval_cli.compare import shown
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.transcript import Transcript


def contains(check: OutcomeCheck, transcript: Transcript) -> Finding:
    """The answer contains the text; of several, all."""
    answer = answer_text(transcript)
    if answer is None:
        return Finding(FAILED, "there is no answer", check.expected, None)
    found, missing = _split(check, answer, transcript)
    if not missing:
        return OK
    beside = f" (it does contain {', '.join(map(shown, found))})" if found else ""
    words = f"the answer does not contain {' nor '.join(map(shown, missing))}{beside}"
    return Finding(FAILED, words, check.expected, excerpt(answer))


def not_contains(check: OutcomeCheck, transcript: Transcript) -> Finding:
    """The answer contains none of the texts."""
    answer = answer_text(transcript)
    if answer is None:
        return Finding(FAILED, "there is no answer, so nothing shows what it leaves out", check.expected, None)
    found, _ = _split(check, answer, transcript)
    if not found:
        return OK
    return Finding(FAILED, f"the answer contains {' and '.join(map(shown, found))}", check.expected, excerpt(answer))


def _split(check: OutcomeCheck, answer: str, transcript: Transcript) -> tuple[list[str], list[str]]:
    """The expected texts that the answer has, and those that it has not."""
    needles = [check.expected] if isinstance(check.expected, str) else list(check.expected)
    haystack = normal(answer, ignore_case=check.ignore_case)
    found: list[str] = []
    missing: list[str] = []
    for needle in needles:
        has = holds(normal(needle, ignore_case=check.ignore_case), haystack, transcript)
        (found if has else missing).append(needle)
    return found, missing
