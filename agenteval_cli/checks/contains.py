"""contains, contains_any, contains_all, in_order, not_contains: texts in the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import (
    FOLDS,
    answer_text,
    blank_faults,
    excerpt,
    expected_texts,
    hidden_texts,
    holds,
    in_form,
    is_damaged,
    no_answer,
)
from agenteval_cli.checks.interface import TEXT_OPTIONS, Evidence, Kind
from agenteval_cli.compare import shown
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.transcript import Transcript

_LOOKED_AT = 20_000  # characters: a hint is not worth more
_NOTHING = "there is no answer, so nothing shows what it leaves out"


def contains(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer contains the text; of several, all."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    found, missing = _split(check, answer, evidence.transcript)
    if not missing:
        return OK
    beside = f" (it does contain {', '.join(map(shown, found))})" if found else ""
    words = f"the answer does not contain {' nor '.join(map(shown, missing))}{beside}{_hint(check, answer, missing)}"
    return Finding(FAILED, words, check.expected, excerpt(answer))


def contains_any(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer contains at least one of the texts."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    found, missing = _split(check, answer, evidence.transcript)
    if found:
        return OK
    words = f"the answer contains none of {', '.join(map(shown, missing))}{_hint(check, answer, missing, any)}"
    return Finding(FAILED, words, check.expected, excerpt(answer))


def in_order(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer contains all the texts, each of them after the one before."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    text, at = in_form(answer, check), 0
    for index, expected in enumerate(check.expected):
        needle = in_form(expected, check)
        place = text.find(needle, at)
        if place < 0 or is_damaged(needle, evidence.transcript):
            return Finding(FAILED, _out_of_order(check, index, needle in text), check.expected, excerpt(answer))
        at = place + len(needle)
    return OK


def not_contains(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer contains none of the texts."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check, _NOTHING)
    found, _ = _split(check, "\n".join((answer, *hidden_texts(evidence.transcript))), evidence.transcript)
    if not found:
        return OK
    return Finding(FAILED, f"the answer contains {' and '.join(map(shown, found))}", check.expected, excerpt(answer))


def _split(check: OutcomeCheck, answer: str, transcript: Transcript) -> tuple[list[str], list[str]]:
    """The expected texts that the answer has, and those that it has not."""
    haystack = in_form(answer, check)
    needles = expected_texts(check.expected)
    has = [holds(in_form(needle, check), haystack, transcript) for needle in needles]
    found = [needle for needle, is_there in zip(needles, has, strict=True) if is_there]
    return found, [] if all(has) else [needle for needle, is_there in zip(needles, has, strict=True) if not is_there]


def _out_of_order(check: OutcomeCheck, index: int, is_there: bool) -> str:
    text = shown(check.expected[index])
    if index == 0 or not is_there:
        return f"the answer does not contain {text}"
    return f"{text} does not come after {shown(check.expected[index - 1])}, only before it"


def _hint(check: OutcomeCheck, answer: str, missing: list[str], enough: Callable[[Iterable[bool]], bool] = all) -> str:
    """What would make the missing texts be found, where only their case, their signs or their spaces differ."""
    if len(answer) > _LOOKED_AT:
        return ""
    for words, change in _LOOSER.items():
        looser = change(check)
        text = in_form(answer, looser)
        if looser != check and enough(in_form(needle, looser) in text for needle in missing):
            return f"; with {words} it would"
    return ""


def _loosened(**options: object) -> Callable[[OutcomeCheck], OutcomeCheck]:
    from msgspec.structs import replace

    return lambda check: replace(check, **options)


_LOOSER = {
    "ignore_case: true": _loosened(ignore_case=True),
    "fold: [quotes, dashes, spaces]": _loosened(fold=FOLDS),
    "ignore_space: true": _loosened(ignore_space=True),
}

KINDS = {
    "contains": Kind(contains, "the answer contains the text; of several, all", TEXT_OPTIONS, blank_faults),
    "contains_any": Kind(contains_any, "the answer contains at least one of the texts", TEXT_OPTIONS, blank_faults),
    "contains_all": Kind(contains, "the answer contains every one of the texts", TEXT_OPTIONS, blank_faults),
    "in_order": Kind(
        in_order, "the answer contains all the texts, each after the one before", TEXT_OPTIONS, blank_faults
    ),
    "not_contains": Kind(not_contains, "the answer contains none of the texts", TEXT_OPTIONS, blank_faults),
}
