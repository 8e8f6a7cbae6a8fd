"""The live display of a run: a table that is drawn over itself at the bottom of the terminal.

Every frame is one write that hides the cursor, draws, and shows it again: whatever ends the tool, and be it kill -9,
leaves a terminal as it should be. Lines are shorter than the window, so that none is ever wrapped as it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from agenteval_cli.cli.console import safe, size_of, wants_colour
from agenteval_cli.cli.progress_view import Running, Sight, words_left, words_rate
from agenteval_cli.phrases import lasting

_WIDEST_BAR = 40
_ROOM_FOR_AGENTS = 60
_HIDE, _SHOW, _ERASE_LINE, _ERASE_BELOW = "\x1b[?25l", "\x1b[?25h", "\x1b[K", "\x1b[J"


class LiveTable:
    """Draws on a terminal. Only one thread may use it."""

    every = 0.2  # seconds between frames

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn: list[int] = []  # the widths of the lines of the last frame
        self._ascii = "utf" not in (stream.encoding or "").lower()
        self._console = Console(
            force_terminal=True,
            force_jupyter=False,
            color_system="standard",
            no_color=not wants_colour(stream),
            legacy_windows=False,
        )

    def draw(self, lines: Sequence[str], sight: Sight) -> None:
        """Put the lines above the table for good, and the table as it is now below them."""
        width, height = size_of(self._stream)
        texts = frame(sight, width - 1, height - 1, ascii_only=self._ascii)
        shown = "".join(f"{line}{_ERASE_LINE}\n" for line in self._styled(texts))
        self._replace(lines, shown, width)
        self._drawn = [cell_len(text.plain) for text in texts]

    def end(self, lines: Sequence[str]) -> None:
        """The lines for good, and no table."""
        self._replace(lines, "", size_of(self._stream)[0])
        self._drawn = []

    def _replace(self, lines: Sequence[str], table: str, width: int) -> None:
        # A window that became narrower has wrapped the lines that were there.
        rows = sum(max(1, -(-drawn // width)) for drawn in self._drawn)
        up = f"\x1b[{rows}A" if rows else ""
        above = _ERASE_BELOW + "".join(f"{line}\n" for line in lines) if lines else ""
        self._stream.write(f"{_HIDE}\r{up}{above}{table}{_ERASE_BELOW}{_SHOW}")
        self._stream.flush()

    def _styled(self, texts: Sequence[Text]) -> list[str]:
        with self._console.capture() as captured:
            self._console.print(Text("\n").join(texts), soft_wrap=True, end="")
        return captured.get().split("\n")


def frame(sight: Sight, width: int, height: int, *, ascii_only: bool = False) -> list[Text]:
    """The lines of the table, none wider than `width` cells and no more than `height` of them."""
    head = [_bar(sight, width, ascii_only=ascii_only), *_flowed(_counts(sight), width), *_flowed(_times(sight), width)]
    rows = _running(sight, width, height - len(head))
    lines = [*head, *rows][: max(height, 1)]
    for line in lines:
        line.truncate(max(width, 1), overflow="crop" if ascii_only else "ellipsis")
    return lines


def _bar(sight: Sight, width: int, *, ascii_only: bool) -> Text:
    counter = f" {sight.ended}/{sight.planned}"
    length = max(0, min(_WIDEST_BAR, width - len(counter)))
    sign, rest = ("#", "-") if ascii_only else ("━", "─")
    planned = max(sight.planned, sight.ended, 1)
    bar = Text()
    filled = 0
    reached = 0
    for number, style in ((sight.passed, "green"), (sight.graded - sight.passed, "red"), (sight.incomplete, "yellow")):
        reached += number
        cells = length * reached // planned - filled
        bar.append(sign * cells, style)
        filled += cells
    return bar.append(rest * (length - filled), "dim").append(counter, "bold")


def _counts(sight: Sight) -> list[Text]:
    counts = [
        ("passed", sight.passed, "green"),
        ("failed", sight.failed, "red"),
        ("errors", sight.errors, "red"),
        ("incomplete", sight.incomplete, "yellow"),
    ]
    return [Text(f"{name} {number}", style if number else "dim") for name, number, style in counts]


def _times(sight: Sight) -> list[Text]:
    words = [words_rate(sight), f"elapsed {lasting(sight.elapsed, whole=True)}"]
    words += [words_left(sight.left)] if sight.left is not None else []
    return [Text(part) for part in words if part]


def _flowed(pieces: Sequence[Text], width: int) -> list[Text]:
    """The pieces side by side, on as many lines as it takes to break none of them."""
    lines = [pieces[0].copy()]
    for piece in pieces[1:]:
        if len(lines[-1]) + 2 + len(piece) <= width:
            lines[-1].append("  ").append_text(piece)
        else:
            lines.append(piece.copy())
    return lines


def _running(sight: Sight, width: int, room: int) -> list[Text]:
    """The attempts that are on, the oldest first, and how many there is no room for."""
    running = sight.running
    fitting = running if len(running) <= room else running[: max(room - 1, 0)]
    rows = _rows(fitting, sight.now, width)
    if len(fitting) < len(running) and room > 0:
        rows.append(Text(f"  and {len(running) - len(fitting)} more", "dim"))
    return rows


def _rows(running: Sequence[Running], now: float, width: int) -> list[Text]:
    if not running:
        return []
    numbers = [f"#{item.number}" for item in running]
    ages = [lasting(now - item.since, whole=True) for item in running]
    columns = [numbers, [safe(item.agent) for item in running], ages] if width >= _ROOM_FOR_AGENTS else [numbers, ages]
    widths = [max(map(cell_len, column)) for column in columns]
    room = width - 2 - sum(each + 2 for each in widths)
    names = [Text(safe(item.case)) for item in running]
    widest = max(1, min(room, max(name.cell_len for name in names)))
    rows = []
    for name, *cells in zip(names, *columns, strict=True):
        name.truncate(widest, overflow="ellipsis", pad=True)
        row = Text("  ").append_text(name)
        for cell, each in zip(cells, widths, strict=True):
            row.append("  " + " " * (each - cell_len(cell)) + cell, "dim")
        rows.append(row)
    return rows
