"""How far a run has come: counted as it is told, and seen at one moment as a plain value."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import chain

import msgspec

from agenteval_cli.phrases import count, lasting
from agenteval_cli.records import AttemptRecord, RunRecord
from agenteval_cli.statistics import wilson
from agenteval_cli.statuses import STATUSES

_EVIDENCE = 3  # attempts that must have ended, and no fewer than are running, before the time left is guessed
_SOON = 2.0  # seconds before which nothing is guessed either

Key = tuple[str, int]


class Running(msgspec.Struct, frozen=True):
    """An attempt that is on; `since` is a moment of the tally's clock, in seconds."""

    case: str
    number: int
    agent: str
    since: float


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """A run at one moment. Spans are in seconds; `left` is None where there is no evidence yet; oldest run first."""

    planned: int
    passed: int
    failed: int
    errors: int
    incomplete: int
    elapsed: float
    left: float | None
    running: tuple[Running, ...]
    now: float

    @property
    def graded(self) -> int:
        return self.passed + self.failed + self.errors

    @property
    def ended(self) -> int:
        return self.graded + self.incomplete


class Tally:
    """Counts what a Watcher hears, from any thread. It keeps counts, not attempts: a run may have very many."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._planned = 0
        self._started = clock()
        self._first_began: float | None = None
        self._statuses: Counter[str] = Counter()
        self._running: dict[Key, list[Running]] = {}
        self._at_once = self._most_at_once = 0
        self._worked_off = 0
        self._may_come_again: dict[Key, str] = {}

    def start(self, record: RunRecord) -> None:
        with self._lock:
            self._planned = sum(planned.attempts for planned in record.plan)
            self._started = self._clock()

    def began(self, case: str, number: int, agent: str) -> None:
        with self._lock:
            now = self._clock()
            if self._first_began is None:
                self._first_began = now
            # A retry may begin before the attempt that it repeats has been written.
            self._running.setdefault((case, number), []).append(Running(case, number, agent, now))
            self._at_once += 1
            self._most_at_once = max(self._most_at_once, self._at_once)

    def attempt(self, record: AttemptRecord) -> None:
        """Count an attempt; one that is tried again takes the place of what it was before."""
        key = record.case, record.attempt
        with self._lock:
            self._ended(key)
            before = self._may_come_again.pop(key, None)
            if before is not None:
                self._statuses[before] -= 1
            if STATUSES[record.status].retry:
                self._may_come_again[key] = record.status
            self._statuses[record.status] += 1

    def _ended(self, key: Key) -> None:
        """What was kept from an earlier run never began: it says nothing of how long the rest will take."""
        running = self._running.get(key)
        if running:
            running.pop(0)
            self._at_once -= 1
            self._worked_off += 1
            if not running:
                del self._running[key]

    def sight(self) -> Sight:
        """The run as it is now."""
        with self._lock:
            now = self._clock()
            incomplete = sum(number for name, number in self._statuses.items() if STATUSES[name].incomplete)
            passed, failed = self._statuses["passed"], self._statuses["failed"]
            ended = self._statuses.total()
            return Sight(
                planned=self._planned,
                passed=passed,
                failed=failed,
                errors=ended - incomplete - passed - failed,
                incomplete=incomplete,
                elapsed=now - self._started,
                left=self._left(self._planned - ended, now),
                running=tuple(sorted(chain.from_iterable(self._running.values()), key=lambda item: item.since)),
                now=now,
            )

    def _left(self, remaining: int, now: float) -> float | None:
        if self._first_began is None:
            return None
        return seconds_left(self._worked_off, remaining, now - self._first_began, self._most_at_once)


def seconds_left(worked_off: int, remaining: int, elapsed: float, at_once: int) -> float | None:
    """The time the rest takes at the pace so far, which has the concurrency in it; None before there is evidence."""
    if remaining <= 0 or elapsed < _SOON or worked_off < max(_EVIDENCE, at_once):
        return None
    return remaining * elapsed / worked_off


def words_left(seconds: float) -> str:
    """`about 40 s left`: no finer than it can be known."""
    return f"about {lasting(max(5, math.ceil(seconds / 5) * 5), whole=True)} left"


def words_rate(sight: Sight) -> str:
    """`pass rate 30/34, 88% (73% to 95%)`, or nothing where nothing has been graded."""
    if not sight.graded:
        return ""
    low, high = wilson(sight.passed, sight.graded)
    rate = sight.passed / sight.graded
    return f"pass rate {sight.passed}/{sight.graded}, {rate:.0%} ({low:.0%} to {high:.0%})"


def one_line(sight: Sight) -> str:
    """All of it as one line of a log."""
    parts = [f"{sight.passed} passed", f"{sight.failed} failed"]
    parts += [count(sight.errors, "error")] if sight.errors else []
    parts += [f"{sight.incomplete} incomplete"] if sight.incomplete else []
    words = [
        f"{sight.ended}/{sight.planned} attempts: {', '.join(parts)}",
        words_rate(sight),
        lasting(sight.elapsed, whole=True),
    ]
    words += [words_left(sight.left)] if sight.left is not None else []
    if sight.running:
        oldest = sight.running[0]
        age = lasting(sight.now - oldest.since, whole=True)
        words.append(f"{len(sight.running)} running, the longest {oldest.case} #{oldest.number} for {age}")
    return "; ".join(filter(None, words))
