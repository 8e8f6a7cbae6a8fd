"""Statistics of small counts: pure functions, checked in the tests against scipy."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z95 = 1.959963984540054


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


def fisher_drop(base_passed: int, base_total: int, head_passed: int, head_total: int) -> float:
    """One-sided exact test (R. A. Fisher, 1934): the chance of a drop at least this large if nothing changed."""
    passed, total = base_passed + head_passed, base_total + head_total
    lowest = max(0, passed - base_total)
    ways = [math.comb(head_total, k) * math.comb(base_total, passed - k) for k in range(lowest, head_passed + 1)]
    return min(1.0, sum(ways) / math.comb(total, passed))


def false_discovery(p_values: Sequence[float]) -> list[float]:
    """q-values: p adjusted for the number looked at (Y. Benjamini, Y. Hochberg, 1995), in the order given."""
    count = len(p_values)
    adjusted = [1.0] * count
    least = 1.0
    for rank, index in enumerate(sorted(range(count), key=lambda i: p_values[i], reverse=True)):
        least = min(least, p_values[index] * count / (count - rank))
        adjusted[index] = least
    return adjusted


def attempts_to_confirm(compared: int, level: float = 0.05) -> int:
    """The fewest attempts a side at which one case of `compared` that fell from all to none would be confirmed."""
    attempts = 1
    while fisher_drop(attempts, attempts, 0, attempts) * compared > level:
        attempts += 1
    return attempts
