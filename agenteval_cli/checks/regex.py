"""regex: a pattern searched in the answer, with a time limit."""

from __future__ import annotations

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, excerpt, normal
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.patterns import spans
from agenteval_cli.transcript import REPLACEMENT, Transcript


def regex(check: OutcomeCheck, transcript: Transcript) -> Finding:
    """The pattern is found somewhere in the answer; `^` and `$` are its ends unless (?m) is set."""
    answer = answer_text(transcript)
    if answer is None:
        return Finding(FAILED, "there is no answer", check.expected, None)
    text = normal(answer, ignore_case=False)
    wanted = normal(check.expected, ignore_case=False)
    pattern = f"(?if){wanted}" if check.ignore_case else wanted
    found = False
    for start, end in spans(pattern, text):
        found = True
        if not (transcript.bytes_replaced and REPLACEMENT in text[start:end]):
            return OK
    only = "/ matches only with the mark that stands for bytes that are not UTF-8"
    words = f"/{check.expected}{only}" if found else f"nothing in the answer matches /{check.expected}/"
    return Finding(FAILED, words, check.expected, excerpt(answer))
