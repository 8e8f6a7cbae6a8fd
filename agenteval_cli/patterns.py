"""Regular expressions that cannot hang a run: each search has a time limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SECONDS = 1.0


class PatternTimeoutError(Exception):
    """A pattern that could not be decided in time. The check that holds it is an error, not a verdict."""


def search(pattern: str, text: str) -> tuple[int, int] | None:
    """The span of the first match of `pattern` in `text`. Raises PatternTimeoutError after SECONDS."""
    return next(spans(pattern, text), None)


def spans(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """The spans of all matches. Raises PatternTimeoutError after SECONDS."""
    import regex

    try:
        for found in regex.finditer(pattern, text, timeout=SECONDS):
            yield found.span()
    except TimeoutError as error:
        raise PatternTimeoutError(f"/{pattern}/ took more than {SECONDS:g} s on {len(text):,} characters") from error


def pattern_fault(pattern: str) -> str | None:
    """Why `pattern` is not a regular expression, with the position, or None."""
    import regex

    try:
        regex.compile(pattern)
    except regex.error as error:
        return f"/{pattern}/ is not a pattern: {_words(error)}"
    return None


def _words(error: Any) -> str:
    return f"{error.msg} at character {error.pos + 1}" if error.pos is not None else str(error)
