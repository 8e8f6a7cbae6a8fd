"""What one run says of each of its cases: the half of a comparison."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Any, cast

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
    attempts = [_in_order(counted[planned.case], planned.attempts) for planned in run.record.plan]
    facts = _Facts(list(chain.from_iterable(attempts)))
    never = SKIPPED if run.record.stopped else NEVER_ENDED
    known, end = {}, 0
    for planned, own in zip(run.record.plan, attempts, strict=True):
        begin, end = end, end + len(own)
        side = facts.side(slice(begin, end), planned, never)
        known[planned.case.casefold()] = Known(planned, own, side, run.record.id)
    return known


def _in_order(counted: Mapping[int, AnyAttempt], planned: int) -> tuple[AnyAttempt, ...]:
    return tuple([counted[number] for number in sorted(counted) if number <= planned])


class _Facts:
    """The attempts of all cases, one after the other, fact by fact: that is a third of the time of one by one."""

    def __init__(self, attempts: Sequence[AnyAttempt]) -> None:
        def each(name: str) -> list[Any]:
            return list(map(attrgetter(name), attempts))

        self.statuses, self.outcomes, self.trajectories = each("status"), each("outcome"), each("trajectory")
        self.reasons, self.kept_from, self.retries = each("reason"), each("reused_from"), each("retry")
        self.measures = each("latency_ms"), each("total_tokens"), list(map(_amount, each("cost"))), each("steps")

    def side(self, own: slice, planned: PlannedCase, never: str) -> Side:
        """One case, whose attempts are `own`."""
        ended = tuple(self.statuses[own]), tuple(self.outcomes[own]), tuple(self.trajectories[own])
        tally = _tally(*ended, planned.attempts, planned.min_pass_rate, never)
        kept_from, retries = self.kept_from[own], self.retries[own]
        return Side(
            verdict=tally.verdict,
            passed=tally.passed,
            graded=tally.graded,
            planned=tally.planned,
            interval=tally.interval,
            statuses=tally.statuses,
            outcome=tally.outcome,
            trajectory=tally.trajectory,
            reason="" if tally.passed == len(kept_from) else self._reason(own),
            measures=Measures(*[_mean(values[own]) for values in self.measures]),
            reused=len(kept_from) - kept_from.count(None),
            retried=len(retries) - retries.count(0),
        )

    def _reason(self, own: slice) -> str:
        """Why the first of them did not pass."""
        ends = zip(self.reasons[own], self.statuses[own], strict=True)
        return str(next(reason for reason, status in ends if status != "passed"))


@lru_cache(maxsize=1 << 12)
def _tally(
    statuses: tuple[str, ...],
    outcomes: tuple[str, ...],
    trajectories: tuple[str, ...],
    planned: int,
    needed: float,
    never: str,
) -> Tally:
    """How the attempts ended, added up; cached, since most cases end in one of a few ways."""
    counts = Counter(statuses)
    counts[never] += planned - len(statuses)
    passed, graded = counts["passed"], sum(counts[status] for status in GRADED)
    return Tally(
        verdict=verdict_of(passed, graded, planned, needed),
        passed=passed,
        graded=graded,
        planned=planned,
        interval=wilson(passed, graded),
        statuses=named(counts),
        outcome=part_of(outcomes),
        trajectory=part_of(trajectories),
        reason="",
    )


# ---- measures


@lru_cache(maxsize=1 << 12)
def _amount(text: str | None) -> float | None:
    try:
        value = math.nan if text is None else float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


MEASURES = Measures.__struct_fields__
_MEASURED: Mapping[str, Callable[[AnyAttempt], float | None]] = MappingProxyType(
    {
        "latency_ms": attrgetter("latency_ms"),
        "tokens": attrgetter("total_tokens"),
        "cost": lambda attempt: _amount(attempt.cost),
        "steps": attrgetter("steps"),
    }
)


def measured(attempts: Sequence[AnyAttempt], name: str) -> list[float] | None:
    """A measure of each attempt; None where one of them did not report it, or there is none."""
    values = list(map(_MEASURED[name], attempts))
    return cast("list[float]", values) if values and None not in values else None


def _mean(values: Sequence[float | None]) -> float | None:
    """None where a value is not known, or there is none."""
    try:
        return sum(cast("Sequence[float]", values)) / len(values)
    except (TypeError, ZeroDivisionError):
        return None


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
