"""Which attempt comes next: attempts in an order that is fair to cases, shards, and the brakes that end a run early."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from decimal import Decimal

import msgspec

from agenteval_cli.records import AttemptRecord, PlannedCase
from agenteval_cli.spending import spent_on
from agenteval_cli.statuses import STATUSES
from agenteval_cli.summary import enough
from agenteval_cli.units import amount

Job = tuple[PlannedCase, int]  # a case and the number of one of its attempts


def jobs_of(
    plan: Sequence[PlannedCase], done: Container[tuple[str, int]] = (), shuffle: int | None = None
) -> Iterator[Job]:
    """The attempts that are not done, spread out: the first of every case, then the second of every case.

    `done` has pairs of case and number. `shuffle` is the seed of another order of cases in each round.
    """
    order = list(plan)
    dice = None if shuffle is None else random.Random(shuffle)  # noqa: S311  # an order, no secret
    for number in range(1, max((planned.attempts for planned in plan), default=0) + 1):
        if dice is not None:
            dice.shuffle(order)
        for planned in order:
            if number <= planned.attempts and (planned.case, number) not in done:
                yield planned, number


def shard_of(plan: Sequence[PlannedCase], index: int, count: int) -> tuple[PlannedCase, ...]:
    """Part `index` (from 1) of `count`: every count-th case by ID, so that the parts share none and leave none out."""
    by_id = sorted(plan, key=lambda planned: planned.case.casefold())
    mine = {planned.case for planned in by_id[index - 1 :: count]}
    return tuple(planned for planned in plan if planned.case in mine)


class Agenda:
    """The jobs of a run, by agent, handed out to threads until there are none or the run is stopped."""

    def __init__(self, jobs: Iterator[Job], stopped: Callable[[], object]) -> None:
        self._lock = threading.Lock()
        self._stopped = stopped
        self._by_agent: dict[str, list[Job]] = defaultdict(list)
        for job in jobs:
            self._by_agent[job[0].agent].append(job)
        for listed in self._by_agent.values():
            listed.reverse()  # taken from the end

    def sizes(self) -> dict[str, int]:
        """How many jobs each agent has left."""
        return {agent: len(jobs) for agent, jobs in self._by_agent.items()}

    def take(self, agent: str) -> Job | None:
        """The agent's next job; None where there is none, or none is to begin any more."""
        with self._lock:
            jobs = self._by_agent[agent]
            return jobs.pop() if jobs and not self._stopped() else None


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """When to begin no further attempt: after the first failed case, so much cost, so many seconds."""

    fail_fast: bool = False
    cost: Decimal | None = None
    seconds: float | None = None


class Brakes:
    """Says why no further attempt is to begin, once there is a reason. What is running goes on to its end.

    The thread that worked an attempt tells of it before it takes the next: what is spent does not wait for the writer.
    """

    def __init__(self, budget: Budget, plan: Sequence[PlannedCase]) -> None:
        self._lock = threading.Lock()
        self._budget = budget
        self._ends = None if budget.seconds is None else time.monotonic() + budget.seconds
        self._spent = Decimal(0)
        self._why: str | None = None
        self._room = {
            planned.case: _failures_allowed(planned) for planned in plan if budget.fail_fast and not planned.quarantined
        }
        self.without_cost = 0

    def seen(self, attempt: AttemptRecord, *, retried: bool = False) -> None:
        """Count an attempt that has ended. One that is tried again has cost what it cost, and failed nothing yet."""
        with self._lock:
            if self._budget.cost is not None and attempt.reused_from is None:
                self._count_cost(attempt)
            if attempt.case in self._room and STATUSES[attempt.status].counts and not retried:
                self._room[attempt.case] -= 1
                if self._room[attempt.case] < 0:
                    self._stop(f"--fail-fast: {attempt.case} has failed")

    def why(self) -> str | None:
        """The reason to stop, in words; None while there is none."""
        if self._why is None and self._ends is not None and time.monotonic() >= self._ends:
            self._stop(f"--budget-time: {self._budget.seconds:g} s are over")
        return self._why

    def _count_cost(self, attempt: AttemptRecord) -> None:
        if attempt.cost is None or amount(attempt.cost) is None:
            self.without_cost += 1
        self._spent += spent_on(attempt)
        if self._budget.cost is not None and self._spent >= self._budget.cost:
            self._stop(f"--budget-cost: {self._spent} of {self._budget.cost} are spent")

    def _stop(self, why: str) -> None:
        self._why = self._why or why


def _failures_allowed(planned: PlannedCase) -> int:
    """How many attempts may fail before the case can no longer pass."""
    allowed = 0
    while enough(planned.attempts - allowed - 1, planned.attempts, planned.min_pass_rate):
        allowed += 1
    return allowed
