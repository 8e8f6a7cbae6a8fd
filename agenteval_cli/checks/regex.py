"""regex, not_regex: a pattern in the answer, with a time limit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from re import escape
from typing import Any
from unicodedata import normalize

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, excerpt, folded, hidden_texts, in_form, is_damaged, no_answer
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.compare import shown
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.patterns import pattern_fault, spans, with_flags

_OPTIONS = frozenset({"ignore_case", "ignore_space", "fold", "normal_form", "full", "flags"})
_NOTHING = "there is no answer, so nothing shows what it leaves out"


def regex(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The pattern is found somewhere in the answer, or with `full` is the whole of it."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    text = _text(answer, check)
    found = False
    for start, end in spans(_pattern(check), text, full=check.full):
        found = True
        if not is_damaged(text[start:end], evidence.transcript):
            return OK
    return Finding(FAILED, _words(check, found=found), check.expected, excerpt(answer))


def not_regex(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The pattern is found nowhere in the answer, or with `full` is not the whole of it."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check, _NOTHING)
    for part in (answer, *hidden_texts(evidence.transcript)):
        text = _text(part, check)
        span = next(spans(_pattern(check), text, full=check.full), None)
        if span is not None:
            place = "the answer" if part is answer else "a terminal sequence in the answer"
            words = f"/{check.expected}/ matches {shown(text[slice(*span)])} at character {span[0] + 1} of {place}"
            return Finding(FAILED, words, check.expected, excerpt(answer))
    return OK


def _text(answer: str, check: OutcomeCheck) -> str:
    """The answer in the form that the case asks for; its case is left to the pattern's own flag."""
    if not check.ignore_case:
        return in_form(answer, check)
    from msgspec.structs import replace

    return in_form(answer, replace(check, ignore_case=False))


def _pattern(check: OutcomeCheck) -> str:
    """The pattern in the answer's normal form, its flags in front of it."""
    return _written(check.expected, check.normal_form, check.fold, check.flags, ignore_case=check.ignore_case)


@lru_cache(maxsize=512)
def _written(text: str, form: Any, folds: tuple[str, ...], flags: tuple[str, ...], *, ignore_case: bool) -> str:
    if form != "none":
        text = normalize("NFC", text)
    if not text.isascii():
        text = _in_plain_signs(text, form, folds)
    return with_flags(text, dict.fromkeys((*(["ignore_case"] if ignore_case else []), *flags)))


def _in_plain_signs(pattern: str, form: Any, folds: tuple[str, ...]) -> str:
    """The pattern with each sign as the answer has it, so that a wide `？` becomes a question mark, not an operator."""
    made, escaped = [], False
    for sign in pattern:
        plain = sign if sign.isascii() else folded(sign, folds)
        plain = normalize("NFKC", plain) if form == "NFKC" else plain
        made.append(plain if plain == sign or escaped else escape(plain))
        escaped = sign == "\\" and not escaped
    return "".join(made)


def _words(check: OutcomeCheck, *, found: bool) -> str:
    if found:
        return f"/{check.expected}/ matches only with the mark that stands for bytes that are not UTF-8"
    return (
        f"the answer as a whole is not /{check.expected}/"
        if check.full
        else f"nothing in the answer matches /{check.expected}/"
    )


def _faults(item: Mapping[str, Any]) -> Faults:
    name = next(key for key in item if key in KINDS)
    if words := pattern_fault(with_flags(item[name], item.get("flags", ()))):
        yield (name,), words


KINDS = {
    "regex": Kind(
        regex, "the pattern is found in the answer; with `full: true`, is all of it", _OPTIONS, _faults, "bad-pattern"
    ),
    "not_regex": Kind(not_regex, "the pattern is found nowhere in the answer", _OPTIONS, _faults, "bad-pattern"),
}
