"""length, not_empty: how much the agent said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unicodedata import category

from agenteval_cli import matchers
from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, excerpt, in_form, no_answer
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.compare import kind_of, shown
from agenteval_cli.finding import FAILED, OK, Finding

UNITS = ("characters", "words", "lines")


def length(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """Characters (code points in normal form C), words (parted by white space) and lines are as many as expected."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    text = in_form(answer, check)
    counts = {"characters": len(text), "words": len(text.split()), "lines": len(text.splitlines())}
    for unit, matcher in check.expected.items():
        difference = matchers.mismatch(matcher, counts[unit])
        if difference:
            return Finding(FAILED, f"{unit}: {difference}", check.expected, counts[unit])
    return OK


def not_empty(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """There is an answer that is not empty: not of invisible signs only, nor an empty list or mapping."""
    output = evidence.transcript.output
    if output is None:
        return no_answer(check)
    text = answer_text(evidence.transcript) if isinstance(output, str) else output
    if text in ("", [], {}) or (isinstance(text, str) and not _is_seen(text)):
        return Finding(FAILED, f"the answer is empty: {excerpt(shown(output))}", check.expected, output)
    return OK


def _is_seen(text: str) -> bool:
    """Whether there is more than white space, control characters and signs without a width."""
    return any(not char.isspace() and category(char) not in ("Cc", "Cf") for char in text)


def _faults(item: Mapping[str, Any]) -> Faults:
    for unit, matcher in item["length"].items():
        at = ("length", unit)
        if matchers.operator_of(matcher) is not None:
            yield from matchers.faults(matcher, at)
            if _holds_always(matcher):
                yield at, f"every answer has {shown(matcher)} {unit}"
        elif kind_of(matcher) != "number" or matcher != int(matcher) or matcher < 0:
            yield at, f"{shown(matcher)} is not a count; write a whole number, or a matcher such as {{lte: 280}}"


def _holds_always(matcher: Mapping[str, Any]) -> bool:
    return "gte" in matcher and kind_of(matcher["gte"]) == "number" and matcher["gte"] <= 0


KINDS = {
    "length": Kind(length, "the answer has so many characters, words and lines", frozenset(), _faults),
    "not_empty": Kind(not_empty, "there is an answer, and it is not empty", frozenset()),
}
