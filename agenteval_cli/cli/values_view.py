"""Foreign values and texts in the width there is: escaped once, wrapped, and cut with a word on how to see all."""

from __future__ import annotations

import textwrap
from typing import Any

import msgspec
from rich.cells import cell_len

from agenteval_cli.escape import for_terminal, on_one_line

MOST_LINES = 24
_NOT_WORTH_A_CUT = 3
_MOST_CHARACTERS = 4000
_NARROWEST = 20


class Frame(msgspec.Struct, frozen=True):
    """How much may be shown: cells to a line, None for any number, and whether nothing may be cut."""

    width: int | None = None
    full: bool = False

    def inside(self, indent: int) -> int | None:
        """The cells that are left beside an indent."""
        return None if self.width is None else max(_NARROWEST, self.width - indent)


def as_text(value: Any) -> str:
    """A text as it is, any other value as JSON: on one line where it is short."""
    if isinstance(value, str):
        return value
    compact = one_line_json(value)
    return compact if len(compact) <= 100 else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def one_line_json(value: Any) -> str:
    """A value as JSON on one line."""
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def brief(value: Any, limit: int) -> str:
    """The first line of a value, a text in quotes, no longer than `limit` cells."""
    if isinstance(value, str):
        first, more, _ = value.partition("\n")
        words = one_line_json(first[: limit * 4]) + (" …" if more else "")
    else:
        words = one_line_json(value)
    return shortened(on_one_line(words), limit)


def shortened(text: str, limit: int) -> str:
    """Escaped text of one line, cut to so many cells, and never to nothing."""
    if cell_len(text) <= limit:
        return text
    text = text[: max(limit, 1)]
    while text and cell_len(text) > limit - 1:
        text = text[:-1]
    return f"{text}…"


def block(text: str, indent: int, frame: Frame, *, most: int = MOST_LINES, rest: str = "--full shows all") -> list[str]:
    """Foreign text of any length, escaped, moved to the right, wrapped, and cut where it is too long.

    `rest` says what shows that.
    """
    cut = text if frame.full else text[:_MOST_CHARACTERS]
    pad = " " * indent
    width = frame.inside(indent)
    lines = [part for line in for_terminal(cut).expandtabs(4).splitlines() for part in wrapped(line, width)]
    left = len(text) - len(cut)
    if not frame.full and len(lines) > most + _NOT_WORTH_A_CUT:
        hidden = len(lines) - most
        lines = lines[:most]
        more = f"{hidden} more lines" if not left else f"{hidden} more lines and {left:,} more characters"
        lines.append(f"… {more}; {rest}")
    elif left:
        lines.append(f"… {left:,} more characters; {rest}")
    return [f"{pad}{line}" if line else "" for line in lines]


def wrapped(line: str, width: int | None) -> list[str]:
    """One line as lines of at most `width` cells, broken at blanks where there are any."""
    cells = cell_len(line)
    if width is None or cells <= width:
        return [line]
    # textwrap counts characters; where they are two cells wide only half as many fit.
    fitting = max(1, width * len(line) // cells)
    broken = textwrap.wrap(line, fitting, break_on_hyphens=False, replace_whitespace=False, drop_whitespace=False)
    return [part.rstrip(" ") for part in broken]
