"""All compared cases together, and taken apart by slice: paired differences, each with how sure it is."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

import msgspec

from agenteval_cli.records import PlannedCase
from agenteval_cli.sides import MEASURES, Known, measured
from agenteval_cli.statistics import (
    Difference,
    attempts_to_confirm,
    false_discovery,
    paired_difference,
    rank_sum,
    signed_rank,
    smallest_drop,
)

NO_VALUE = "(none)"
Pair = tuple[Known, Known]
Counts = tuple[int, int, int, int]  # passed and graded before, passed and graded after


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """The compared cases that share a value: `by` is tier, tag or a key of the metadata."""

    by: str
    value: str
    base_rate: float
    head_rate: float
    difference: Difference


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """A measure on both sides and how likely so uneven values are by chance, two-sided.

    Of one case: means over its attempts, by the rank-sum test; q adjusted for all cases tested. Of a run: means over
    the `cases` in which both sides know it, by the signed-rank test on the cases' means; q None.
    """

    name: str
    cases: int
    base: float
    head: float
    p: float
    q: float | None = None


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What could be seen of a single case with the usual number of attempts a side.

    `smallest_drop` is the least fall from a pass rate of 1 that would be confirmed with a power of 80 %, None where
    none would; from `attempts_needed` on a fall from all to none is.
    """

    base_attempts: int
    head_attempts: int
    smallest_drop: float | None
    attempts_needed: int


class Overall(msgspec.Struct, frozen=True, kw_only=True):
    """The whole comparison, without cases in quarantine. `comparable` is the share of all cases that were compared."""

    comparable: float
    difference: Difference | None
    sight: Sight | None
    measures: tuple[Shift, ...]
    slices: tuple[Slice, ...]


def overall_of(pairs: Sequence[Pair], compared: int, cases: int, by: Sequence[str]) -> Overall:
    """Add up the pairs that gate; `compared` of all `cases` were compared."""
    counts = counts_of(pairs)
    return Overall(
        comparable=compared / cases if cases else 0.0,
        difference=paired_difference(counts),
        sight=_sight(counts, compared),
        measures=tuple(_shifts_overall(pairs)),
        slices=tuple(_slices(pairs, counts, by)),
    )


def counts_of(pairs: Sequence[Pair]) -> list[Counts]:
    """What passed and what was graded of each pair, before and after."""
    return [(base.passed, base.graded, head.passed, head.graded) for base, head in ((b.side, h.side) for b, h in pairs)]


def mean_rates(counts: Sequence[Counts]) -> tuple[float, float]:
    """The mean pass rates over cases before and after; there is a case."""
    before = sum([base / graded for base, graded, _, _ in counts])
    after = sum([head / graded for _, _, head, graded in counts])
    return before / len(counts), after / len(counts)


def _sight(counts: Sequence[Counts], compared: int) -> Sight | None:
    usual = Counter((before, after) for _, before, _, after in counts).most_common(1)
    if not usual:
        return None
    (before, after), _ = usual[0]
    return Sight(
        base_attempts=before,
        head_attempts=after,
        smallest_drop=smallest_drop(before, after, compared),
        attempts_needed=attempts_to_confirm(compared),
    )


# ---- slices


def _slices(pairs: Sequence[Pair], counts: Sequence[Counts], by: Sequence[str]) -> Iterator[Slice]:
    for key in dict.fromkeys(("tier", "tag", *by)):
        groups: dict[str, list[Counts]] = defaultdict(list)
        for (_, head), own in zip(pairs, counts, strict=True):
            for value in _values(head.planned, key):
                groups[value].append(own)
        yield from (_slice(key, value, groups[value]) for value in sorted(groups))


def _values(planned: PlannedCase, key: str) -> Iterable[str]:
    if key == "tier":
        return (planned.tier,)
    if key == "tag":
        return planned.tags
    value = planned.metadata.get(key)
    return (NO_VALUE if value is None else value if isinstance(value, str) else json.dumps(value),)


def _slice(by: str, value: str, counts: Sequence[Counts]) -> Slice:
    difference = paired_difference(counts)
    before, after = mean_rates(counts)
    assert difference is not None  # noqa: S101  # a slice has a case
    return Slice(by=by, value=value, base_rate=before, head_rate=after, difference=difference)


# ---- measures


def _shifts_overall(pairs: Sequence[Pair]) -> Iterator[Shift]:
    means = [(base.side.measures, head.side.measures) for base, head in pairs]
    for name in MEASURES:
        value = attrgetter(name)
        both = [(value(before), value(after)) for before, after in means]
        known = [(before, after) for before, after in both if before is not None and after is not None]
        if known:
            yield Shift(
                name=name,
                cases=len(known),
                base=sum([before for before, _ in known]) / len(known),
                head=sum([after for _, after in known]) / len(known),
                p=signed_rank([after - before for before, after in known]),
            )


def shifts_of(pairs: Sequence[Pair]) -> list[tuple[Shift, ...]]:
    """The measures of each of these cases on both sides, as far as both know them."""
    found: list[list[Shift]] = [[] for _ in pairs]
    for name in MEASURES:
        tested = [(index, shift) for index, pair in enumerate(pairs) if (shift := _shift(name, pair)) is not None]
        q_values = false_discovery([shift.p for _, shift in tested])
        for (index, shift), q in zip(tested, q_values, strict=True):
            found[index].append(msgspec.structs.replace(shift, q=q))
    return [tuple(shifts) for shifts in found]


def _shift(name: str, pair: Pair) -> Shift | None:
    before, after = (measured(known.attempts, name) for known in pair)
    if before is None or after is None:
        return None
    return Shift(
        name=name, cases=1, base=sum(before) / len(before), head=sum(after) / len(after), p=rank_sum(before, after)
    )
