"""What a run says while it is on: a live table on a terminal, and a line now and then elsewhere.

A thread of its own does all the writing, at a fixed pace, so that neither many attempts nor a terminal that stands
still ever hold up the run.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Protocol, TextIO

from agenteval_cli.cli.console import can_redraw, safe, silence
from agenteval_cli.cli.progress_view import Sight, Tally, one_line
from agenteval_cli.phrases import count
from agenteval_cli.records import AttemptRecord, RunRecord

TELL_EVERY = 10.0  # seconds, where nobody sees a table being drawn


class Display(Protocol):
    """Where the lines go, and how the run looks below them."""

    every: float

    def draw(self, lines: Sequence[str], sight: Sight) -> None: ...

    def end(self, lines: Sequence[str]) -> None: ...


class PlainLines:
    """For logs and simple terminals: nothing is written over. With `sums`, how far the run is every ten seconds."""

    every = 0.2

    def __init__(self, stream: TextIO, *, sums: bool) -> None:
        self._stream = stream
        self._sums = sums
        self._told = time.monotonic()

    def draw(self, lines: Sequence[str], sight: Sight) -> None:
        if self._sums and time.monotonic() - self._told >= TELL_EVERY:
            self._told = time.monotonic()
            lines = [*lines, one_line(sight)]
        self.end(lines)

    def end(self, lines: Sequence[str]) -> None:
        if lines:
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()


class Progress:
    """The Watcher of `agenteval run`. Quiet, it tells only what it is asked to; verbose, each attempt as it ends."""

    def __init__(self, stream: TextIO, *, quiet: bool, verbose: bool) -> None:
        self._stream = stream
        self._quiet = quiet
        self._verbose = verbose
        self._tally = Tally()
        self._lines: deque[str] = deque()
        self._display = _display(stream, quiet=quiet)
        self._painter: threading.Thread | None = None
        self._painting = threading.Lock()
        self._painted = 0.0
        self._closing = threading.Event()
        self._broken = False

    def start(self, record: RunRecord) -> None:
        self._tally.start(record)
        if not self._quiet:
            agents = ", ".join(safe(agent.name) for agent in record.agents)
            attempts = sum(planned.attempts for planned in record.plan)
            what = f"{count(len(record.plan), 'case')}, {count(attempts, 'attempt')}"
            self._lines.append(f"run {record.id}: {what} with {agents}")
        self._paint()  # at once, so that the run's name is known whatever comes

    def began(self, case: str, number: int, agent: str) -> None:
        self._tally.began(case, number, agent)
        if self._painter is None:
            self._start_painter()

    def attempt(self, record: AttemptRecord) -> None:
        self._tally.attempt(record)
        if self._verbose:
            words = f": {safe(record.reason)}" if record.reason else ""
            self._lines.append(f"{safe(record.case)} #{record.attempt} {record.status}{words}")
        if self._painter is None and time.monotonic() - self._painted >= self._display.every:
            self._paint()

    def note(self, text: str) -> None:
        self._lines.append(safe(text))
        if self._painter is None:
            self._paint()

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        if self._painter is not None:
            self._painter.join()
        self._paint(last=True)

    def _start_painter(self) -> None:
        """Only once an attempt is on: before that the runner forks, which goes badly with threads."""
        with self._painting:
            if self._painter is None and not self._closing.is_set():
                painter = threading.Thread(target=self._paint_until_closed, name="agenteval-progress", daemon=True)
                painter.start()
                self._painter = painter

    def _paint_until_closed(self) -> None:
        while not self._closing.wait(self._display.every):
            self._paint()

    def _paint(self, *, last: bool = False) -> None:
        """Write what there is to say. A stream that is gone is left alone: the run goes on without being watched."""
        with self._painting:
            if self._broken:
                return
            lines = [self._lines.popleft() for _ in range(len(self._lines))]
            try:
                if last:
                    self._display.end(lines)
                else:
                    self._display.draw(lines, self._tally.sight())
            except (OSError, ValueError):  # EPIPE, a terminal that hung up, a closed stream
                self._broken = True
                silence(self._stream)
            self._painted = time.monotonic()


def _display(stream: TextIO, *, quiet: bool) -> Display:
    if quiet or not can_redraw(stream):
        return PlainLines(stream, sums=not quiet)
    from agenteval_cli.cli.live_table import LiveTable

    return LiveTable(stream)
