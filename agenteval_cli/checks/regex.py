"""regex: a pattern searched in the answer, with a time limit."""

from __future__ import annotations

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, excerpt
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.patterns import search
from agenteval_cli.transcript import REPLACEMENT, Transcript


def regex(check: OutcomeCheck, transcript: Transcript) -> Finding:
    """The pattern is found somewhere in the answer; `^` and `$` are its ends unless (?m) is set."""
    answer = answer_text(transcript)
    if answer is None:
        return Finding(FAILED, "there is no answer", check.expected, None)
    pattern = f"(?i){check.expected}" if check.ignore_case else check.expected
    span = search(pattern, answer)
    if span is None:
        return Finding(FAILED, f"nothing in the answer matches /{check.expected}/", check.expected, excerpt(answer))
    if transcript.bytes_replaced and REPLACEMENT in answer[slice(*span)]:
        words = f"/{check.expected}/ matches only with the mark that stands for bytes that are not UTF-8"
        return Finding(FAILED, words, check.expected, excerpt(answer))
    return OK
