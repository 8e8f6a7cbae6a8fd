"""Regular expressions that cannot hang a run: each search has a time limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import MappingProxyType
from typing import Any

SECONDS = 1.0
FLAGS = MappingProxyType({"ignore_case": "if", "multiline": "m", "dotall": "s", "verbose": "x"})


class PatternTimeoutError(Exception):
    """A pattern that could not be decided in time, or in the memory there is. Its check is an error, not a verdict."""


def search(pattern: str, text: str) -> tuple[int, int] | None:
    """The span of the first match of `pattern` in `text`. Raises PatternTimeoutError after SECONDS."""
    return next(spans(pattern, text), None)


def spans(pattern: str, text: str, *, full: bool = False) -> Iterator[tuple[int, int]]:
    """The spans of all matches, or of the whole text. Raises PatternTimeoutError after SECONDS."""
    compiled = _compiled(pattern)
    try:
        if full:
            whole = compiled.fullmatch(text, timeout=SECONDS)
            yield from [whole.span()] if whole else []
            return
        for found in compiled.finditer(text, timeout=SECONDS):
            yield found.span()
    except (TimeoutError, MemoryError, RecursionError) as error:
        raise _undecided(pattern, text, error) from error


def groups(pattern: str, text: str) -> Iterator[str]:
    """Of each match the first group, or all of it where there is none. Raises PatternTimeoutError after SECONDS."""
    compiled = _compiled(pattern)
    try:
        for found in compiled.finditer(text, timeout=SECONDS):
            yield found[1] or "" if compiled.groups else found[0]
    except (TimeoutError, MemoryError, RecursionError) as error:
        raise _undecided(pattern, text, error) from error


def _undecided(pattern: str, text: str, error: BaseException) -> PatternTimeoutError:
    """A pattern that calls itself, `(?R)`, may need all memory rather than much time."""
    most = f"{SECONDS:g} s" if isinstance(error, TimeoutError) else "the memory there is"
    return PatternTimeoutError(f"/{pattern}/ took more than {most} on {len(text):,} characters")


def with_flags(pattern: str, flags: Iterable[str]) -> str:
    """The pattern with flags of FLAGS written in front of it."""
    letters = "".join(FLAGS[flag] for flag in flags)
    return f"(?{letters}){pattern}" if letters else pattern


def pattern_fault(pattern: str) -> str | None:
    """Why `pattern` is not a regular expression, with the position, or None."""
    import regex

    try:
        regex.compile(pattern)
    except regex.error as error:
        return f"/{pattern}/ is not a pattern: {_words(error)}"
    except (RecursionError, OverflowError, MemoryError) as error:
        return f"{pattern[:80]!r} is no pattern that can be used: {error or 'it is too large'}"
    return None


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    import regex

    return regex.compile(pattern)


def _words(error: Any) -> str:
    return f"{error.msg} at character {error.pos + 1}" if error.pos is not None else str(error)
