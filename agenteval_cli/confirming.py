"""Confirming what moved: which cases get fresh attempts, how many, and when it is clear. Pure decisions, no run.

A case that fell is picked by the attempts that made it look bad, so those say too little. Fresh attempts of both sides,
and nothing but them, decide. They are looked at twice, at half-time and at the end, each with its share of the error:
at most one confirmation in twenty tells of some case that did not drop, whatever the true rates. docs/statistics.md has
the rule and its measured rate.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agenteval_cli.statistics import false_discovery, fisher_drop

LEVEL = 0.05
MOST_CASES = 8  # the most telling ones: each more costs attempts and makes all others harder to confirm
_HALF_TIME = 0.1  # its share of the error; the rest is for the end
_IDLE = 0.5  # no drop at half-time: chance alone would make as large a one more often than not


class Fall(msgspec.Struct, frozen=True):
    """A case whose pass rate fell: how likely that is by chance, and whether its verdict fell with it."""

    case: str
    p: float
    broke: bool


class Look(msgspec.Struct, frozen=True):
    """A moment to look: after so many attempts a side, with its share of the error."""

    attempts: int
    share: float


class Seen(msgspec.Struct, frozen=True):
    """The fresh attempts of one case at a look: passed and graded, of the base and of the head."""

    base_passed: int
    base_total: int
    head_passed: int
    head_total: int


def to_confirm(falls: Sequence[Fall], most: int = MOST_CASES) -> list[Fall]:
    """The cases that get fresh attempts: the least likely falls first, those that broke before the rest."""
    return sorted(falls, key=lambda fall: (fall.p, not fall.broke, fall.case))[:most]


def looks(attempts: int) -> tuple[Look, ...]:
    """When to look at up to `attempts` fresh ones a side: at half-time and at the end.

    Half-time has no share of the error where even a fall from all to none would prove nothing by then.
    """
    half = attempts // 2
    share = _HALF_TIME if half and _best(half, _HALF_TIME) <= LEVEL else 0.0
    halfway = (Look(half, share),) if half else ()
    return (*halfway, Look(attempts, 1.0 - share))


def fresh_p(seen: Sequence[Seen], plan: Sequence[Look]) -> float:
    """The p-value of the looks so far: the least p over its share of the error, which looking often cannot better."""
    values = [_p(counts) / look.share for counts, look in zip(seen, plan, strict=False) if look.share]
    return min([1.0, *values])


def next_look(seen: Sequence[Seen], plan: Sequence[Look], cases: int) -> Look | None:
    """The next moment to look at one of so many cases; None once it is clear, or nothing more is planned."""
    if len(seen) == len(plan):
        return None
    if seen and (fresh_p(seen, plan) * cases <= LEVEL or _p(seen[-1]) > _IDLE):
        return None
    return plan[len(seen)]


def fresh_q(p_values: Sequence[float]) -> list[float]:
    """The p-values of all the cases that got fresh attempts, adjusted for their number."""
    return false_discovery(p_values)


def enough_for(cases: int) -> int:
    """The fewest attempts with which a fall from all to none could be confirmed for one of so many cases."""
    attempts = 1
    while _best(attempts, looks(attempts)[-1].share) * cases > LEVEL:
        attempts += 1
    return attempts


def _best(attempts: int, share: float) -> float:
    return fisher_drop(attempts, attempts, 0, attempts) / share


def _p(counts: Seen) -> float:
    return fisher_drop(counts.base_passed, counts.base_total, counts.head_passed, counts.head_total)
