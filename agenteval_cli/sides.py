"""What one run says of each of its cases: the half of a comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import cast

import msgspec

from agenteval_cli.outcomes import AnyAttempt, AnyRun
from agenteval_cli.records import PlannedCase
from agenteval_cli.statistics import wilson
from agenteval_cli.statuses import GRADED
from agenteval_cli.summary import Tally, counts_more, named, part_of, verdict_of

NEVER_ENDED = "cancelled"
SKIPPED = "skipped"
Counts = tuple[int, int]  # passed, graded
Origin = tuple[str, str, int]  # run, folded case, number


class Measures(msgspec.Struct, frozen=True):
    """Means over the attempts of one side; None where an attempt did not report it."""

    latency_ms: float | None
    tokens: float | None
    cost: float | None
    steps: float | None


class Side(Tally, frozen=True, kw_only=True):
    """One case in one run. `reused` attempts were kept from an earlier run, `retried` ones ended in an error before."""

    measures: Measures
    reused: int = 0
    retried: int = 0

    @property
    def rate(self) -> float:
        """Passed of those that were graded: what could not be graded says nothing about the agent."""
        return self.passed / self.graded


class Known(msgspec.Struct, frozen=True):
    """A case of a run: its plan, the attempts that count in the order of their numbers, and what they come to."""

    planned: PlannedCase
    attempts: tuple[AnyAttempt, ...]
    side: Side
    run: str


def known_cases(run: AnyRun) -> dict[str, Known]:
    """What a run knows of each of its cases, by folded ID, in the order of its plan."""
    counted: dict[str, dict[int, AnyAttempt]] = {planned.case: {} for planned in run.record.plan}
    for attempt in run.attempts:
        row = counted.get(attempt.case)
        if row is None:
            continue
        before = row.get(attempt.attempt)
        if before is None or counts_more(attempt, before):
            row[attempt.attempt] = attempt
    never = SKIPPED if run.record.stopped else NEVER_ENDED
    return {
        planned.case.casefold(): _known(planned, counted[planned.case], never, run.record.id)
        for planned in run.record.plan
    }


def _known(planned: PlannedCase, counted: Mapping[int, AnyAttempt], never: str, run: str) -> Known:
    attempts = tuple([counted[number] for number in sorted(counted) if number <= planned.attempts])
    ended = tuple([(attempt.status, attempt.outcome, attempt.trajectory) for attempt in attempts])
    tally = _tally(ended, planned.attempts, planned.min_pass_rate, never)
    side = Side(
        verdict=tally.verdict,
        passed=tally.passed,
        graded=tally.graded,
        planned=tally.planned,
        interval=tally.interval,
        statuses=tally.statuses,
        outcome=tally.outcome,
        trajectory=tally.trajectory,
        reason="" if tally.passed == len(attempts) else _reason(attempts),
        measures=_measures(attempts),
        reused=sum([attempt.reused_from is not None for attempt in attempts]),
        retried=sum([attempt.retry > 0 for attempt in attempts]),
    )
    return Known(planned, attempts, side, run)


@lru_cache(maxsize=1 << 12)
def _tally(ended: tuple[tuple[str, str, str], ...], planned: int, needed: float, never: str) -> Tally:
    """Status, outcome and trajectory of each attempt added up; cached, since most cases end in one of a few ways."""
    counts = Counter(status for status, _, _ in ended)
    counts[never] += planned - len(ended)
    passed, graded = counts["passed"], sum(counts[status] for status in GRADED)
    return Tally(
        verdict=verdict_of(passed, graded, planned, needed),
        passed=passed,
        graded=graded,
        planned=planned,
        interval=wilson(passed, graded),
        statuses=named(counts),
        outcome=part_of(outcome for _, outcome, _ in ended),
        trajectory=part_of(trajectory for _, _, trajectory in ended),
        reason="",
    )


def _reason(attempts: Sequence[AnyAttempt]) -> str:
    return next((attempt.reason for attempt in attempts if attempt.status != "passed"), "")


# ---- measures


@lru_cache(maxsize=1 << 12)
def _amount(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


_MEASURED: Mapping[str, Callable[[Sequence[AnyAttempt]], list[float | None]]] = MappingProxyType(
    {
        "latency_ms": lambda attempts: [attempt.latency_ms for attempt in attempts],
        "tokens": lambda attempts: [attempt.total_tokens for attempt in attempts],
        "cost": lambda attempts: [None if attempt.cost is None else _amount(attempt.cost) for attempt in attempts],
        "steps": lambda attempts: [attempt.steps for attempt in attempts],
    }
)
MEASURES = tuple(_MEASURED)


def measured(attempts: Sequence[AnyAttempt], name: str) -> list[float] | None:
    """A measure of each attempt; None where one of them did not report it, or there is none."""
    values = _MEASURED[name](attempts)
    return None if not values or None in values else cast("list[float]", values)


def _measures(attempts: Sequence[AnyAttempt]) -> Measures:
    means: list[float | None] = []
    for values_of in _MEASURED.values():
        values = values_of(attempts)
        unknown = not values or None in values
        means.append(None if unknown else sum(cast("list[float]", values)) / len(values))
    return Measures(*means)


# ---- what the attempts of two sides are evidence of


def origins(known: Known) -> set[Origin]:
    """Where each attempt was made: a kept one in the run that it was kept from."""
    case = known.planned.case.casefold()
    return {(attempt.reused_from or known.run, case, attempt.attempt) for attempt in known.attempts}


def counts_without(known: Known, shared: Iterable[Origin]) -> Counts:
    """Passed and graded attempts but those that both sides share: an attempt says nothing about a change to itself."""
    left_out = set(shared)
    if not left_out:
        return known.side.passed, known.side.graded
    case = known.planned.case.casefold()
    own = [
        attempt.status
        for attempt in known.attempts
        if (attempt.reused_from or known.run, case, attempt.attempt) not in left_out
    ]
    return own.count("passed"), sum(status in GRADED for status in own)
