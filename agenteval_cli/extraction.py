"""JSON in an agent's answer: the whole of it, or what stands in code fences and between prose.

Read strictly: NaN, Infinity and a key given twice make a text no JSON. What could be meant is collected with its place,
so that an answer in which two different values could be meant is told apart from an answer that has one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from agenteval_cli.compare import same
from agenteval_cli.repeats import object_of

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")
_OPENING = re.compile(r"\{|(?:^|(?<=\n))[ \t]*\[")
_JSON_WORDS = frozenset({"json", "jsonc", "json5", "jsonl"})
_MAX_WORK = 5_000_000  # characters looked at in search of JSON in prose: a hostile text cannot make it more
_KEPT = 20_000  # characters: longer texts are not remembered


class Found(msgspec.Struct, frozen=True):
    """One piece of an answer that is JSON, or is marked as JSON and is none (`fault` says why)."""

    value: Any
    line: int
    info: tuple[str, ...] = ()
    fenced: bool = False
    fault: str = ""

    @property
    def place(self) -> str:
        return f"in the code fence from line {self.line}" if self.fenced else f"in line {self.line}"


def strict(text: str) -> Any:
    """The whole text as one JSON value. Raises ValueError with the reason where it is none."""
    return _remembered(text) if len(text) <= _KEPT else _strict(text)


def extracted(text: str, which: Any) -> Any:
    """The JSON that a case means: `whole`, `only`, `first`, `last`, or `{block: word}`, a fence with that word.

    Raises ValueError, saying what is there instead, where there is none or where several different ones are meant.
    """
    if which == "whole":
        try:
            return strict(text)
        except ValueError as error:
            raise ValueError(f"{error}{_beside(text)}") from error
    found = _meant(text, which)
    if not found:
        raise ValueError(_nothing(which))
    chosen = found[-1] if which == "last" else found[0]
    if which in ("first", "last"):
        found = [chosen]
    faulty = next((piece for piece in found if piece.fault), None)
    if faulty is not None:
        raise ValueError(f"what stands {faulty.place} is not JSON: {faulty.fault}")
    other = next((piece for piece in found if not same(piece.value, chosen.value)), None)
    if other is not None:
        raise ValueError(f"it is ambiguous: there are different JSON values {chosen.place} and {other.place}")
    return chosen.value


def pieces(text: str) -> list[Found]:
    """All that is JSON in the text, or is marked as JSON, in order: code fences, and objects and arrays in the prose.

    Raises ValueError where a text has so many braces that looking for JSON in it would take too long.
    """
    return list(_pieces(text))


def _pieces(text: str) -> Iterator[Found]:
    prose: list[str] = []
    begin, opened, info, inside = 1, "", "", []  # type: int, str, str, list[str]
    work = [_MAX_WORK]
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        match = _FENCE.match(line)
        if opened:
            if match and match["fence"].startswith(opened) and not match["info"].strip():
                yield from _of_fence("".join(inside), begin, info)
                opened, begin = "", number + 1
            else:
                inside.append(line)
        elif match:
            yield from _of_prose("".join(prose), begin, work)
            opened, info, inside, prose, begin = match["fence"], match["info"], [], [], number
        else:
            prose.append(line)
    if opened:  # a fence that is not closed goes on to the end of the text
        yield from _of_fence("".join(inside), begin, info)
    else:
        yield from _of_prose("".join(prose), begin, work)


def _of_fence(body: str, line: int, info: str) -> Iterator[Found]:
    words = tuple(re.findall(r"[\w.-]+", info.casefold()))
    try:
        yield Found(strict(body), line, words, fenced=True)
    except ValueError as error:
        if _JSON_WORDS.intersection(words):
            yield Found(None, line, words, fenced=True, fault=str(error))


def _of_prose(text: str, line: int, work: list[int]) -> Iterator[Found]:
    at = 0
    while match := _OPENING.search(text, at):
        start = match.end() - 1
        end = _end_of_value(text, start, work)
        at = match.end()
        if end is None or (text[start] == "[" and text[end:].partition("\n")[0].strip()):
            continue  # `[1] A source` is a mark in prose
        at = end
        where = line + text.count("\n", 0, start)
        try:
            yield Found(strict(text[start:end]), where)
        except ValueError as error:
            yield Found(None, where, fault=str(error))


def _end_of_value(text: str, start: int, work: list[int]) -> int | None:
    """Where the JSON value that begins here ends; None where there is none."""
    if work[0] <= 0:
        raise ValueError("it has too many braces to look for JSON in it")
    try:
        _, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        work[0] -= len(text) - start
        return None
    except json.JSONDecodeError as error:
        work[0] -= 50 + error.pos - start + error.pos // 20  # making the error counts the lines before it
        return None
    work[0] -= end - start
    return end


def _meant(text: str, which: Any) -> list[Found]:
    if not isinstance(which, dict):
        whole = _whole(text)
        return pieces(text) if whole is None else [whole]
    word = which["block"].casefold()
    return [piece for piece in pieces(text) if piece.fenced and word in piece.info]


def _whole(text: str) -> Found | None:
    try:
        return Found(strict(text), 1)
    except ValueError:
        return None


def _nothing(which: Any) -> str:
    return (
        f"it has no code fence of JSON with the word '{which['block']}'"
        if isinstance(which, dict)
        else "it has no JSON"
    )


def _beside(text: str) -> str:
    """A hint at JSON that a stricter reading passes over."""
    try:
        found = next((piece for piece in _pieces(text) if not piece.fault), None)
    except ValueError:
        return ""
    return f"; there is JSON {found.place}, which `json: only` would take" if found else ""


@lru_cache(maxsize=64)
def _remembered(text: str) -> Any:
    return _strict(text)


def _strict(text: str) -> Any:
    try:
        return _STRICT.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} in line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        if "integer string conversion" in str(error):  # of Python, which reads 4,300 digits
            raise ValueError("it has a number with more digits than are read") from error
        raise


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:40]} is too large to be read")
    return number


_DECODER = json.JSONDecoder(parse_int=str)  # it only tells where a value ends, however many digits it has
_STRICT = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=object_of)
