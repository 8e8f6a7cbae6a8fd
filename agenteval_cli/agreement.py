"""Statistics of agreement and of rates told by an imperfect judge: pure functions, checked in the tests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from agenteval_cli.statistics import Z95

Table = Mapping[tuple[str, str], int]  # (what one said, what the other said) -> how often
Interval = tuple[float, float]


def cohens_kappa(table: Table) -> float:
    """Agreement beyond chance (J. Cohen, 1960): 1 is perfect, 0 is chance, or where only one thing was ever said."""
    total = sum(table.values())
    observed = sum(count for (one, other), count in table.items() if one == other) / total
    rows, columns = _margins(table)
    chance = sum(rows.get(name, 0) * columns.get(name, 0) for name in rows) / total**2
    return 0.0 if chance == 1 else (observed - chance) / (1 - chance)


def kappa_interval(table: Table, z: float = Z95) -> Interval:
    """The large-sample interval of kappa (J. L. Fleiss, J. Cohen, B. S. Everitt, 1969), 95 % by default.

    (-1, 1) where one of the two always said the same: such labels tell nothing about kappa.
    """
    total = sum(table.values())
    rows, columns = _margins(table)
    if len([count for count in rows.values() if count]) < 2 or len([count for count in columns.values() if count]) < 2:
        return (-1.0, 1.0)
    names = sorted({*rows, *columns})
    share = {(one, other): table.get((one, other), 0) / total for one in names for other in names}
    row = {name: rows.get(name, 0) / total for name in names}
    column = {name: columns.get(name, 0) / total for name in names}
    observed = sum(share[name, name] for name in names)
    chance = sum(row[name] * column[name] for name in names)
    kappa = (observed - chance) / (1 - chance)
    on = sum(share[name, name] * (1 - (row[name] + column[name]) * (1 - kappa)) ** 2 for name in names)
    off = (1 - kappa) ** 2 * sum(
        share[one, other] * (column[one] + row[other]) ** 2 for one in names for other in names if one != other
    )
    variance = (on + off - (kappa - chance * (1 - kappa)) ** 2) / ((1 - chance) ** 2 * total)
    half = z * math.sqrt(max(0.0, variance))
    return (max(-1.0, kappa - half), min(1.0, kappa + half))


def true_rate(
    yes: int, total: int, *, right_yes: Sequence[int], right_no: Sequence[int], z: float = Z95
) -> Interval | None:
    """Interval of the true rate behind `yes` of `total`, as told by a judge with known errors.

    `right_yes` is (how often it said yes, of how many that are yes), `right_no` the same for no. The estimate of
    W. J. Rogan and B. Gladen, 1978, with the interval of Z. Lang and J. Reiczigel, 2014, which knows that the errors
    are estimates as well. None where the judge is no better than chance: then its numbers say nothing.
    """
    n, n_yes, n_no = total + z * z, right_yes[1] + 2, right_no[1] + 2
    rate = (yes + z * z / 2) / n
    sensitivity, specificity = (right_yes[0] + 1) / n_yes, (right_no[0] + 1) / n_no
    better = sensitivity + specificity - 1
    if not total or better <= 0:
        return None
    middle = (rate + specificity - 1) / better
    spread_yes = sensitivity * (1 - sensitivity) / n_yes
    spread_no = specificity * (1 - specificity) / n_no
    shift = 2 * z * z * (middle * spread_yes - (1 - middle) * spread_no)
    error = math.sqrt(rate * (1 - rate) / n + middle**2 * spread_yes + (1 - middle) ** 2 * spread_no) / better
    return (_within(middle + shift - z * error), _within(middle + shift + z * error))


def corrected_rate(rate: float, sensitivity: float, specificity: float) -> float | None:
    """The true rate behind an observed one (W. J. Rogan, B. Gladen, 1978); None where it is told by chance alone."""
    better = sensitivity + specificity - 1
    return None if better <= 0 else _within((rate + specificity - 1) / better)


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The correlation of ranks, ties sharing theirs (C. Spearman, 1904); None where one of the two never changes."""
    return _correlation(_ranks(one), _ranks(other))


def kendall(one: Sequence[float], other: Sequence[float]) -> float | None:
    """tau-b: of all pairs, how many more stand in the same order than do not, corrected for ties (M. G. Kendall, 1945).

    None where one of the two never changes.
    """
    signs = [
        (_sign(one[i] - one[j]), _sign(other[i] - other[j])) for i in range(len(one)) for j in range(i + 1, len(one))
    ]
    apart, other_apart = sum(a != 0 for a, _ in signs), sum(b != 0 for _, b in signs)
    if not (apart and other_apart):
        return None
    return sum(a * b for a, b in signs) / math.sqrt(apart * other_apart)


def spearman_interval(value: float, items: int, z: float = Z95) -> Interval:
    """By Fisher's z with the variance of D. G. Bonett and T. A. Wright, 2000; (-1, 1) where there are too few items."""
    return (-1.0, 1.0) if items < 4 else _fisher(value, (1 + value**2 / 2) / (items - 3), z)


def kendall_interval(value: float, items: int, z: float = Z95) -> Interval:
    """By Fisher's z with the variance of E. C. Fieller, H. O. Hartley and E. S. Pearson, 1957; (-1, 1) of too few."""
    return (-1.0, 1.0) if items < 5 else _fisher(value, 0.437 / (items - 4), z)


def _fisher(value: float, variance: float, z: float) -> Interval:
    if abs(value) == 1:
        return (value, value)
    middle, half = math.atanh(value), z * math.sqrt(variance)
    return (math.tanh(middle - half), math.tanh(middle + half))


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1; those that are equal share the mean of their ranks."""
    ordered = sorted(values)
    first: dict[float, int] = {}
    for rank, value in enumerate(ordered, start=1):
        first.setdefault(value, rank)
    count = Counter(ordered)
    return [first[value] + (count[value] - 1) / 2 for value in values]


def _correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson's."""
    mean, other_mean = (math.fsum(values) / len(values) if values else 0.0 for values in (one, other))
    spread = math.fsum((value - mean) ** 2 for value in one)
    other_spread = math.fsum((value - other_mean) ** 2 for value in other)
    if not (spread and other_spread):
        return None
    common = math.fsum((a - mean) * (b - other_mean) for a, b in zip(one, other, strict=True))
    return max(-1.0, min(1.0, common / math.sqrt(spread * other_spread)))


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _margins(table: Table) -> tuple[dict[str, int], dict[str, int]]:
    rows: dict[str, int] = {}
    columns: dict[str, int] = {}
    for (one, other), count in table.items():
        rows[one] = rows.get(one, 0) + count
        columns[other] = columns.get(other, 0) + count
    return rows, columns


def _within(value: float) -> float:
    return max(0.0, min(1.0, value))
