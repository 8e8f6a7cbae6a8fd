"""equals: the answer is this text, or this JSON value."""

from __future__ import annotations

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_json, answer_text, code_points, excerpt, normal
from agenteval_cli.compare import first_difference, shown
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.transcript import REPLACEMENT, Transcript


def equals(check: OutcomeCheck, transcript: Transcript) -> Finding:
    """Texts are equal after normalisation; other values are compared type by type."""
    if isinstance(check.expected, str):
        return _text_equals(check, check.expected, transcript)
    try:
        actual = answer_json(transcript)
    except ValueError as error:
        return Finding(FAILED, f"the answer is not JSON: {error}", check.expected, answer_text(transcript))
    difference = first_difference(check.expected, actual)
    return Finding(FAILED, str(difference), check.expected, actual) if difference else OK


def _text_equals(check: OutcomeCheck, expected: str, transcript: Transcript) -> Finding:
    answer = answer_text(transcript)
    if answer is None:
        return Finding(FAILED, "there is no answer", expected, None)
    want = normal(expected, ignore_case=check.ignore_case)
    got = normal(answer, ignore_case=check.ignore_case)
    if want == got and not (transcript.bytes_replaced and REPLACEMENT in want):
        return OK
    return Finding(FAILED, _where_they_part(want, got), expected, excerpt(answer))


def _where_they_part(want: str, got: str) -> str:
    at = next((index for index, pair in enumerate(zip(want, got, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        at = min(len(want), len(got))
    ours, theirs = want[at : at + 12], got[at : at + 12]
    points = "" if (ours + theirs).isascii() else f" ({code_points(ours)} against {code_points(theirs)})"
    return f"the answer differs at character {at + 1}: expected {shown(ours)}, got {shown(theirs)}{points}"
