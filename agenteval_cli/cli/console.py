"""What commands print: results to stdout, talk to stderr, colour on a terminal only, foreign text escaped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from agenteval_cli.escape import for_terminal, on_one_line

_CODES = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


def print_json(value: Any) -> None:
    """One JSON document on stdout, indented, ending in a line break."""
    import msgspec

    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # a file name that is not UTF-8: its bytes become \udc.. escapes
        import json

        text = json.dumps(msgspec.to_builtins(value), indent=2)
    sys.stdout.write(text + "\n")


def result(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(text + "\n")


def say(text: str) -> None:
    """A line of talk, after what was printed before it."""
    sys.stdout.flush()
    sys.stderr.write(text + "\n")


def safe(text: str) -> str:
    """Foreign text for one line of the terminal."""
    return on_one_line(text)


def indented(text: str, by: str = "    ") -> str:
    """Foreign text of several lines, escaped and moved to the right."""
    return "\n".join(f"{by}{line}" for line in for_terminal(text).splitlines())


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    """The text in a colour, where the stream is a terminal that wants it."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if wants_colour(stream or sys.stdout) else text


def wants_colour(stream: TextIO) -> bool:
    """Colour on terminals only, and never against NO_COLOR (no-color.org) or TERM=dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def count(number: int, noun: str) -> str:
    """`1 case`, `3 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def table(rows: Iterable[Sequence[str]], *, header: Sequence[str] = ()) -> None:
    """Columns as wide as their widest cell, in terminal cells; foreign text must be `safe` already."""
    from rich.cells import cell_len

    lines = [list(header), *map(list, rows)] if header else list(map(list, rows))
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for index, line in enumerate(lines):
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))
        text = "  ".join(padded).rstrip()
        result(coloured(text, "dim") if header and index == 0 else text)
