"""starts_with, ends_with: how the answer begins and ends."""

from __future__ import annotations

from collections.abc import Callable

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, blank_faults, expected_texts, in_form, is_damaged, no_answer
from agenteval_cli.checks.interface import TEXT_OPTIONS, Evidence, Kind
from agenteval_cli.compare import shown
from agenteval_cli.finding import FAILED, OK, Finding

_SHOWN = 40


def starts_with(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The first characters of the answer are the text; of several, one of them."""
    return _at_an_end(check, evidence, str.startswith, "begins with", slice(_SHOWN))


def ends_with(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The last characters of the answer are the text; of several, one of them."""
    return _at_an_end(check, evidence, str.endswith, "ends with", slice(-_SHOWN, None))


def _at_an_end(
    check: OutcomeCheck, evidence: Evidence, is_there: Callable[[str, str], bool], verb: str, part: slice
) -> Finding:
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    text = in_form(answer, check)
    wanted = [in_form(needle, check) for needle in expected_texts(check.expected)]
    if any(is_there(text, needle) and not is_damaged(needle, evidence.transcript) for needle in wanted):
        return OK
    near = any(is_there(text.strip(), needle.strip()) for needle in wanted)
    hint = "; only white space differs, which ignore_space: true passes over" if near else ""
    words = f"expected an answer that {verb} {' or '.join(map(shown, wanted))}; it {verb} {shown(text[part])}{hint}"
    return Finding(FAILED, words, check.expected, text[part])


KINDS = {
    "starts_with": Kind(
        starts_with, "the answer begins with the text; of several, with one of them", TEXT_OPTIONS, blank_faults
    ),
    "ends_with": Kind(
        ends_with, "the answer ends with the text; of several, with one of them", TEXT_OPTIONS, blank_faults
    ),
}
