"""What a run says while it is on: one line, rewritten on a terminal, and repeated now and then elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from typing import TextIO

from agenteval_cli.cli.console import count, safe, wants_colour
from agenteval_cli.records import AttemptRecord, RunRecord

TELL_EVERY = 10.0  # seconds, where nobody sees a line being rewritten


class Progress:
    """Counts attempts as they are put on disk, and tells of them on the stream."""

    def __init__(self, stream: TextIO, *, quiet: bool, verbose: bool) -> None:
        self._stream = stream
        self._quiet = quiet
        self._verbose = verbose
        self._live = stream.isatty() and wants_colour(stream) and not quiet
        self._planned = 0
        self._told = time.monotonic()
        self._statuses: Counter[str] = Counter()

    def start(self, record: RunRecord) -> None:
        self._planned = sum(planned.attempts for planned in record.plan)
        if not self._quiet:
            agents = ", ".join(agent.name for agent in record.agents)
            what = f"{count(len(record.plan), 'case')}, {count(self._planned, 'attempt')}"
            self._line(f"run {record.id}: {what} with {agents}")

    def attempt(self, attempt: AttemptRecord) -> None:
        self._statuses[attempt.status] += 1
        if self._verbose:
            words = f": {safe(attempt.reason)}" if attempt.reason else ""
            self._line(f"{attempt.case} #{attempt.attempt} {attempt.status}{words}")
        if self._live:
            self._stream.write(f"\r\x1b[K{self._sums()}")
            self._stream.flush()
        elif not self._quiet and time.monotonic() - self._told > TELL_EVERY:
            self._told = time.monotonic()
            self._line(self._sums())

    def close(self) -> None:
        if self._live:
            self._stream.write("\r\x1b[K")

    def _sums(self) -> str:
        rest = ", ".join(f"{number} {status}" for status, number in sorted(self._statuses.items()))
        return f"{sum(self._statuses.values())}/{self._planned} attempts: {rest}"

    def _line(self, text: str) -> None:
        start = "\r\x1b[K" if self._live else ""
        self._stream.write(f"{start}{text}\n")
        self._stream.flush()
