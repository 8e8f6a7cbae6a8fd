"""equals, one_of: the answer is this text, or this JSON value."""

from __future__ import annotations

from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, code_points, excerpt, in_form, is_damaged, no_answer
from agenteval_cli.checks.interface import TEXT_OPTIONS, Evidence, Kind
from agenteval_cli.checks.json_answer import answer_json, not_json
from agenteval_cli.compare import first_difference, shown
from agenteval_cli.finding import FAILED, OK, PASSED, Finding

_OPTIONS = TEXT_OPTIONS | {"json"}


def equals(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """Texts are equal in the form in which they are compared; other values are compared type by type."""
    return _equals(check, check.expected, evidence)


def one_of(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer equals one of several texts or JSON values."""
    findings = [_equals(check, expected, evidence) for expected in check.expected]
    if any(finding.result == PASSED for finding in findings):
        return OK
    actual = evidence.transcript.output
    words = f"the answer is none of {', '.join(map(shown, check.expected))}; it is {shown(actual)}"
    return Finding(FAILED, words, check.expected, findings[0].actual, missing=all(each.missing for each in findings))


def _equals(check: OutcomeCheck, expected: Any, evidence: Evidence) -> Finding:
    if isinstance(expected, str):
        return _text_equals(check, expected, evidence)
    try:
        actual = answer_json(check, evidence)
    except ValueError as error:
        return not_json(check, evidence, error)
    difference = first_difference(expected, actual)
    return Finding(FAILED, str(difference), expected, actual) if difference else OK


def _text_equals(check: OutcomeCheck, expected: str, evidence: Evidence) -> Finding:
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    want, got = in_form(expected, check), in_form(answer, check)
    if want == got and not is_damaged(want, evidence.transcript):
        return OK
    return Finding(FAILED, f"{_where_they_part(want, got)}{_hint(want, got)}", expected, excerpt(answer))


def _where_they_part(want: str, got: str) -> str:
    at = next((index for index, pair in enumerate(zip(want, got, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        at = min(len(want), len(got))
    ours, theirs = want[at : at + 12], got[at : at + 12]
    points = "" if (ours + theirs).isascii() else f" ({code_points(ours)} against {code_points(theirs)})"
    return f"the answer differs at character {at + 1}: expected {shown(ours)}, got {shown(theirs)}{points}"


def _hint(want: str, got: str) -> str:
    """What to write where it is only the case of letters or the white space that differs."""
    if len(got) > 2 * len(want) + 20:
        return ""
    if want.casefold() == got.casefold():
        return "; only the case of letters differs, which ignore_case: true passes over"
    return "; only white space differs, which ignore_space: true passes over" if want.split() == got.split() else ""


KINDS = {
    "equals": Kind(equals, "the answer is this text, or is this JSON value", _OPTIONS),
    "one_of": Kind(one_of, "the answer equals one of these texts or JSON values", _OPTIONS),
}
