"""What is wrong with a file, where, and the nearest right name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One finding in one file. `line` and `column` count from 1; `path` is the place inside the document."""

    file: str
    line: int
    column: int
    rule: str
    message: str
    path: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        """`cases/greet.yaml:5:3: tier: message [rule]`, as editors and CI expect it."""
        place = f"{self.path}: " if self.path else ""
        mark = "warning: " if self.severity == "warning" else ""
        return f"{self.file}:{self.line}:{self.column}: {mark}{place}{self.message} [{self.rule}]"


def in_reading_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems sorted by file, then by place."""
    return sorted(problems, key=lambda p: (p.file, p.line, p.column, p.rule, p.message))


def shown_path(path: Sequence[str | int]) -> str:
    """`("outcome", 0, "contains")` as `outcome[0].contains`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """`; did you mean 'tier'?`, or nothing where no known word is near."""
    from difflib import get_close_matches

    by_fold = {name.casefold(): name for name in known}
    folded = word.casefold()
    near = get_close_matches(folded, by_fold, n=1, cutoff=cutoff)
    near = near or [name for name in by_fold if len(folded) > 2 and folded in name and cutoff <= 0.6]
    return f"; did you mean '{by_fold[near[0]]}'?" if near else ""


def any_of_words(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *rest, last = words
    return f"{', '.join(rest)} or {last}" if rest else last
