"""Statistics of small counts: pure functions, checked in the tests against scipy and by simulation.

What each is for, and what a run of a given size cannot see: docs/statistics.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

Z95 = 1.959963984540054
Z80 = 0.8416212335729143
_LEVEL = 0.05
_POWER = 0.8
_EXACT_PAIRS = 50
_EXACT_VALUES = 40
_EXACT_FREEDOM = 200


def wilson(passed: int, total: int, z: float = Z95) -> tuple[float, float]:
    """The score interval for a proportion (E. B. Wilson, 1927), 95 % by default. (0, 1) where nothing was counted."""
    if total == 0:
        return (0.0, 1.0)
    rate, weight = passed / total, z * z / total
    centre = (rate + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(rate * (1 - rate) / total + weight / (4 * total))
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == total else min(1.0, centre + half)
    return (low, high)


# ---- one case: did its pass rate drop?


@lru_cache(maxsize=1 << 16)
def fisher_drop(base_passed: int, base_total: int, head_passed: int, head_total: int) -> float:
    """One-sided exact test (R. A. Fisher, 1934): the chance of a drop at least this large if nothing changed."""
    passed, total = base_passed + head_passed, base_total + head_total
    lowest = max(0, passed - base_total)
    ways = [math.comb(head_total, k) * math.comb(base_total, passed - k) for k in range(lowest, head_passed + 1)]
    return min(1.0, sum(ways) / math.comb(total, passed))


def false_discovery(p_values: Sequence[float]) -> list[float]:
    """q-values: p adjusted for the number looked at (Y. Benjamini, Y. Hochberg, 1995), in the order given."""
    times = Counter(p_values)
    count = as_small = len(p_values)
    least, adjusted = 1.0, {}
    for p in sorted(times, reverse=True):
        adjusted[p] = least = min(least, p * count / as_small)
        as_small -= times[p]
    return [adjusted[p] for p in p_values]


def attempts_to_confirm(compared: int, level: float = _LEVEL) -> int:
    """The fewest attempts a side at which one case of `compared` that fell from all to none would be confirmed."""
    attempts = 1
    while fisher_drop(attempts, attempts, 0, attempts) * compared > level:
        attempts += 1
    return attempts


def smallest_drop(base_total: int, head_total: int, compared: int, *, rate: float = 1.0) -> float | None:
    """The smallest fall from a true `rate` that is confirmed with a power of 80 %, for one case of `compared`.

    Exact: the chances of all counts are added up. None where even a fall to nothing is seen less often.
    """

    if not base_total or not head_total:
        return None
    before = _binomial(base_total, rate)
    worst = {base: _most_confirmed(base, base_total, head_total, compared) for base, chance in before.items()}

    def power(drop: float) -> float:
        after = _binomial(head_total, max(0.0, rate - drop))
        return math.fsum(
            before[base] * math.fsum(chance for head, chance in after.items() if head <= worst[base]) for base in before
        )

    return _least(lambda drop: power(drop) >= _POWER, rate) if power(rate) >= _POWER else None


def _most_confirmed(base: int, base_total: int, head_total: int, compared: int) -> int:
    """The most that may pass at the head for the drop to be confirmed; -1 where none is few enough."""
    few, many = -1, head_total + 1
    while many - few > 1:
        middle = (few + many) // 2
        confirmed = fisher_drop(base, base_total, middle, head_total) * compared <= _LEVEL
        few, many = (middle, many) if confirmed else (few, middle)
    return few


def _binomial(total: int, rate: float) -> dict[int, float]:
    """The chance of each count that is not all but impossible."""
    chances = {k: math.comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(total + 1)}
    return {k: chance for k, chance in chances.items() if chance > 1e-15}


def _least(holds: Callable[[float], bool], high: float) -> float:
    """The least value up to `high`, where it holds, from which on it does; by bisection."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


# ---- all cases together


class Difference(msgspec.Struct, frozen=True):
    """A mean difference over cases, head minus base, with its 95 % interval.

    `error` is its standard error, `smallest_drop` what would have been seen with a power of 80 %; None below two cases.
    """

    cases: int
    estimate: float
    low: float
    high: float
    error: float | None
    smallest_drop: float | None


def paired_difference(counts: Sequence[tuple[int, int, int, int]]) -> Difference | None:
    """The paired difference in pass rate over cases, of (base passed, base total, head passed, head total) each.

    Each case counts once and is one cluster: the attempts of a case are alike, and only the spread of the cases' own
    differences tells how sure the mean is (E. Miller, 2024, "Adding error bars to evals"). Two cases that moved by one
    attempt, one up and one down, are added to the spread, so that no agreement makes an interval of no width; with one
    attempt a case that is the adjusted interval of D. G. Bonett and R. M. Price (2012). Student's t for few cases.
    """
    if not counts:
        return None
    size = len(counts)
    alike = Counter(counts).items()  # thousands of cases have but a few different counts
    moved = [(head / after - base / before, times) for (base, before, head, after), times in alike]
    step = math.fsum(times / min(before, after) for (_, before, _, after), times in alike) / size
    total = math.fsum(move * times for move, times in moved)
    mean = total / size
    if size == 1:
        return Difference(1, mean, -1.0, 1.0, None, None)
    padded = size + 2
    centre = total / padded
    squares = math.fsum((move - centre) ** 2 * times for move, times in (*moved, (step, 1), (-step, 1)))
    error = math.sqrt(squares) / padded
    reach = student_t(size - 1)
    low, high = centre - reach * error, centre + reach * error
    seen = min(1.0, (reach + Z80) * error * padded / size)
    return Difference(size, mean, max(-1.0, min(low, mean)), min(1.0, max(high, mean)), error, seen)


@lru_cache(maxsize=256)
def student_t(freedom: int) -> float:
    """Student's t that 5 % exceed on both sides, for whole degrees of freedom (Abramowitz and Stegun 26.7.3 to 5)."""
    if freedom > _EXACT_FREEDOM:
        z, n = Z95, float(freedom)
        terms: tuple[float, ...] = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return z + math.fsum(term / math.pow(n, power) for power, term in enumerate(terms, start=1))
    return _least(lambda t: _within(t, freedom) >= 0.95, 13.0)


def _within(t: float, freedom: int) -> float:
    """The chance that Student's t lies between -t and t: a finite sum for whole degrees of freedom."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term, total = (cosine if odd else 1.0), 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


# ---- measures: latency, tokens, cost, steps


def signed_rank(differences: Sequence[float]) -> float:
    """Two-sided paired test (F. Wilcoxon, 1945): the chance of so uneven differences if neither side were larger.

    Zeros are left out. Exact for up to 50, ties and all; the normal approximation corrected for ties beyond.
    """
    moved = [value for value in differences if value]
    if not moved:
        return 1.0
    ranks = _doubled_ranks([abs(value) for value in moved])
    above = sum(rank for rank, value in zip(ranks, moved, strict=True) if value > 0)
    if len(moved) <= _EXACT_PAIRS:
        return _signed_rank_p(tuple(sorted(ranks)), above)
    # The ranks are doubled, so the mean is doubled and the variance is four times what the books say.
    return _normal_p(above - sum(ranks) / 2, math.fsum(rank * rank for rank in ranks) / 4)


def rank_sum(base: Sequence[float], head: Sequence[float]) -> float:
    """Two-sided test of independent values (F. Wilcoxon, 1945; H. Mann, D. Whitney, 1947): is one side larger?

    Exact for up to 40 values, ties and all; the normal approximation corrected for ties beyond. 1 without values.
    """
    if not base or not head:
        return 1.0
    ranks = _doubled_ranks([*base, *head])
    own = sum(ranks[: len(base)])
    if len(ranks) <= _EXACT_VALUES:
        return _rank_sum_p(tuple(sorted(ranks)), len(base), own)
    total, size = len(ranks), len(base)
    mean = sum(ranks) / total
    spread = math.fsum((rank - mean) ** 2 for rank in ranks) / (total - 1)
    return _normal_p(own - size * mean, size * len(head) / total * spread)


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice the rank of each value, so that the mean rank of equal ones is whole."""
    times = Counter(values)
    ranks, below = {}, 0
    for value in sorted(times):
        ranks[value] = 2 * below + times[value] + 1
        below += times[value]
    return [ranks[value] for value in values]


@lru_cache(maxsize=1 << 12)
def _signed_rank_p(ranks: tuple[int, ...], above: int) -> float:
    ways = [1] + [0] * sum(ranks)
    for rank in ranks:
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    return _two_sided(ways, above)


@lru_cache(maxsize=1 << 12)
def _rank_sum_p(ranks: tuple[int, ...], size: int, own: int) -> float:
    """How many ways there are to draw `size` of the ranks with each sum."""
    most = sum(ranks[-size:])
    ways = [[1] + [0] * most, *([0] * (most + 1) for _ in range(size))]
    for rank in ranks:
        for drawn in range(size, 0, -1):
            fewer, row = ways[drawn - 1], ways[drawn]
            for total in range(most, rank - 1, -1):
                row[total] += fewer[total - rank]
    return _two_sided(ways[size], own)


def _two_sided(ways: Sequence[int], seen: int) -> float:
    tail = min(sum(ways[: seen + 1]), sum(ways[seen:]))
    return min(1.0, 2 * tail / sum(ways))


def _normal_p(distance: float, variance: float) -> float:
    return math.erfc(abs(distance) / math.sqrt(2 * variance)) if variance > 0 else 1.0
