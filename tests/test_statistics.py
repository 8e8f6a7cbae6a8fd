"""The statistics of small counts, held against scipy and against simulated suites."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from build import steady
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from agenteval_cli.statistics import (
    attempts_to_confirm,
    false_discovery,
    fisher_drop,
    paired_difference,
    rank_sum,
    signed_rank,
    smallest_drop,
    student_t,
    wilson,
)

CLOSE = 1e-9

counts = st.integers(1, 200).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))
p_values = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=30)


@given(counts)
@steady
def test_the_interval_is_wilsons(count: tuple[int, int]) -> None:
    passed, total = count
    reference = stats.binomtest(passed, total).proportion_ci(method="wilson")
    assert wilson(passed, total) == pytest.approx((reference.low, reference.high), abs=CLOSE)


@given(counts)
@steady
def test_the_interval_holds_the_rate_and_stays_between_nothing_and_all(count: tuple[int, int]) -> None:
    passed, total = count
    low, high = wilson(passed, total)
    assert 0 <= low <= passed / total <= high <= 1


@pytest.mark.parametrize(
    ("passed", "total", "interval"),
    [(0, 0, (0, 1)), (0, 1, (0, 0.7935)), (1, 1, (0.2065, 1)), (3, 5, (0.2307, 0.8824)), (0, 1000, (0, 0.0038))],
)
def test_intervals_to_look_at(passed: int, total: int, interval: tuple[float, float]) -> None:
    assert wilson(passed, total) == pytest.approx(interval, abs=5e-5)


@given(counts, counts)
@settings(steady, max_examples=60)
def test_a_drop_is_tested_as_fisher_did(base: tuple[int, int], head: tuple[int, int]) -> None:
    table = [[base[0], base[1] - base[0]], [head[0], head[1] - head[0]]]
    reference = stats.fisher_exact(table, alternative="greater").pvalue
    assert fisher_drop(*base, *head) == pytest.approx(reference, abs=CLOSE)


@pytest.mark.parametrize(
    ("base", "head", "chance"),
    [
        ((1, 1), (0, 1), 1 / 2),
        ((3, 3), (0, 3), 1 / 20),
        ((5, 5), (0, 5), 1 / 252),
        ((0, 5), (5, 5), 1),
        ((5, 5), (5, 5), 1),
        ((0, 0), (0, 0), 1),
        ((0, 3), (0, 3), 1),
        ((1000, 1000), (0, 1000), 0),
    ],
)
def test_drops_to_look_at(base: tuple[int, int], head: tuple[int, int], chance: float) -> None:
    assert fisher_drop(*base, *head) == pytest.approx(chance, abs=CLOSE)


@given(counts, counts)
@steady
def test_a_drop_and_a_rise_cannot_both_be_unlikely(base: tuple[int, int], head: tuple[int, int]) -> None:
    assert fisher_drop(*base, *head) + fisher_drop(*head, *base) >= 1 - CLOSE


@given(p_values)
@steady
def test_the_false_discovery_rate_is_that_of_benjamini_and_hochberg(p_values: list[float]) -> None:
    reference = stats.false_discovery_control(p_values)
    assert false_discovery(p_values) == pytest.approx(list(reference), abs=CLOSE)


@given(p_values)
@steady
def test_looking_at_more_cases_never_makes_one_look_surer(p_values: list[float]) -> None:
    q_values = false_discovery(p_values)
    assert all(p <= q + CLOSE <= 1 + 2 * CLOSE for p, q in zip(p_values, q_values, strict=True))


@pytest.mark.parametrize(
    ("p_values", "q_values"),
    [([], []), ([0.02], [0.02]), ([0.04, 0.01], [0.04, 0.02]), ([0.05] * 40, [0.05] * 40), ([1.0, 0.0], [1.0, 0.0])],
)
def test_adjusted_values_to_look_at(p_values: list[float], q_values: list[float]) -> None:
    assert false_discovery(p_values) == pytest.approx(q_values)


@given(st.integers(1, 300))
@steady
def test_as_many_attempts_as_stated_would_confirm_a_fall_from_all_to_none_and_fewer_would_not(compared: int) -> None:
    enough = attempts_to_confirm(compared)
    assert fisher_drop(enough, enough, 0, enough) * compared <= 0.05
    assert enough == 1 or fisher_drop(enough - 1, enough - 1, 0, enough - 1) * compared > 0.05


# ---- the smallest drop


@pytest.mark.parametrize(
    ("base", "head", "compared", "rate", "drop"),
    [
        (1, 1, 1, 1.0, None),  # one attempt a side proves nothing
        (5, 5, 50, 1.0, None),
        (5, 5, 1, 1.0, 0.831),
        (20, 20, 50, 1.0, 0.519),
        (20, 20, 50, 0.9, 0.618),
        (0, 5, 1, 1.0, None),
    ],
)
def test_the_smallest_drop_that_would_be_seen(
    base: int, head: int, compared: int, rate: float, drop: float | None
) -> None:
    found = smallest_drop(base, head, compared, rate=rate)
    assert found == (drop if drop is None else pytest.approx(drop, abs=1e-3))


@pytest.mark.parametrize(("attempts", "compared", "rate"), [(10, 5, 1.0), (20, 50, 0.9), (40, 200, 0.95)])
def test_the_smallest_drop_is_seen_four_times_in_five(attempts: int, compared: int, rate: float) -> None:
    drop = smallest_drop(attempts, attempts, compared, rate=rate)
    assert drop is not None
    power = 0.0
    for base in range(attempts + 1):
        for head in range(attempts + 1):
            if fisher_drop(base, attempts, head, attempts) * compared <= 0.05:
                power += stats.binom.pmf(base, attempts, rate) * stats.binom.pmf(head, attempts, rate - drop)
    assert power == pytest.approx(0.8, abs=1e-6)


# ---- all cases together


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 10, 49, 50, 199, 200, 201, 1000, 9999])
def test_students_t_is_scipys(freedom: int) -> None:
    assert student_t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=CLOSE)


def adjusted_interval(up: int, down: int, same: int) -> tuple[float, float]:
    """Bonett and Price, 2012, as they give it for paired proportions; with Student's t for the normal quantile."""
    size = up + down + same
    rose, fell = (up + 1) / (size + 2), (down + 1) / (size + 2)
    half = stats.t.ppf(0.975, size - 1) * ((rose + fell - (rose - fell) ** 2) / (size + 2)) ** 0.5
    return rose - fell - half, rose - fell + half


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
@steady
def test_with_one_attempt_a_case_the_paired_interval_is_that_of_bonett_and_price(up: int, down: int, same: int) -> None:
    if up + down + same < 2:
        return
    counts = [(0, 1, 1, 1)] * up + [(1, 1, 0, 1)] * down + [(1, 1, 1, 1)] * same
    found = paired_difference(counts)
    assert found is not None
    low, high = adjusted_interval(up, down, same)
    mean = (up - down) / (up + down + same)
    expected = (max(-1.0, min(low, mean)), min(1.0, max(high, mean)))
    assert (found.low, found.high) == pytest.approx(expected, abs=CLOSE)
    assert found.estimate == pytest.approx(mean, abs=CLOSE)


def test_agreement_alone_never_makes_an_interval_of_no_width() -> None:
    found = paired_difference([(5, 5, 5, 5)] * 30)
    assert found is not None
    assert found.estimate == 0
    assert found.low < -0.01 < 0.01 < found.high
    wider = paired_difference([(1, 1, 1, 1)] * 30)
    assert wider is not None
    assert wider.high > found.high


def test_of_one_case_nothing_is_known_and_of_none_there_is_no_difference() -> None:
    assert paired_difference([]) is None
    found = paired_difference([(3, 3, 0, 3)])
    assert found is not None
    assert (found.estimate, found.low, found.high, found.error, found.smallest_drop) == (-1, -1, 1, None, None)


@pytest.mark.parametrize(("cases", "attempts"), [(5, 5), (10, 1), (20, 3), (50, 1), (50, 5)])
@pytest.mark.parametrize("drop", [0.0, 0.2])
def test_the_paired_interval_holds_the_truth_in_nineteen_of_twenty_suites(
    cases: int, attempts: int, drop: float
) -> None:
    dice = np.random.default_rng(42)
    suites = 600
    rates = dice.choice([1.0, 0.95, 0.9, 0.7, 0.5], (suites, cases))
    after = np.where(dice.random((suites, cases)) < 0.5, rates, np.maximum(rates - 2 * drop, 0))
    truth = float(np.mean([-0.5 * min(rate, 2 * drop) for rate in (1.0, 0.95, 0.9, 0.7, 0.5)]))
    held = 0
    for base, head in zip(dice.binomial(attempts, rates), dice.binomial(attempts, after), strict=True):
        found = paired_difference([(int(b), attempts, int(h), attempts) for b, h in zip(base, head, strict=True)])
        assert found is not None
        held += found.low <= truth <= found.high
    assert held / suites > 0.93


def test_the_smallest_drop_of_a_suite_is_seen_four_times_in_five() -> None:
    dice = np.random.default_rng(7)
    rates = np.full(60, 0.6)
    same = [paired_difference(suite(dice, rates, rates)) for _ in range(50)]
    drop = float(np.mean([found.smallest_drop for found in same if found and found.smallest_drop]))
    seen = [paired_difference(suite(dice, rates, rates - drop)) for _ in range(600)]
    share = np.mean([found is not None and found.high < 0 for found in seen])
    assert share == pytest.approx(0.8, abs=0.07)


def suite(dice: np.random.Generator, before: Any, after: Any, attempts: int = 5) -> list[tuple[int, int, int, int]]:
    base, head = dice.binomial(attempts, before), dice.binomial(attempts, after)
    return [(int(b), attempts, int(h), attempts) for b, h in zip(base, head, strict=True)]


# ---- measures

values = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=9)
distinct = st.lists(st.integers(1, 10**6).map(float), min_size=1, max_size=50, unique=True)


@given(distinct, st.data())
@settings(steady, max_examples=60)
def test_paired_values_are_tested_as_wilcoxon_did(sizes: list[float], data: st.DataObject) -> None:
    signs = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(sizes), max_size=len(sizes)))
    moved = [size * sign for size, sign in zip(sizes, signs, strict=True)]
    assert signed_rank(moved) == pytest.approx(stats.wilcoxon(moved, method="exact").pvalue, abs=CLOSE)


@given(values)
@settings(steady, max_examples=60)
def test_paired_values_with_ties_are_tested_exactly_too(moved: list[float]) -> None:
    """Against every way that the signs could have fallen."""
    known = [value for value in moved if value]
    ranks = stats.rankdata([abs(value) for value in known]) if known else []
    seen = sum(rank for rank, value in zip(ranks, known, strict=True) if value > 0)
    sums = [sum(chosen) for chosen in itertools.product(*[(0, rank) for rank in ranks])]
    tail = min(sum(total <= seen + 1e-9 for total in sums), sum(total >= seen - 1e-9 for total in sums))
    assert signed_rank(moved) == pytest.approx(min(1.0, 2 * tail / len(sums)), abs=CLOSE)


@pytest.mark.parametrize("size", [70, 200, 1000])
def test_many_paired_values_are_tested_by_the_normal_approximation(size: int) -> None:
    dice = np.random.default_rng(size)
    for moved in (dice.normal(0.1, 1, size), dice.integers(-5, 7, size).astype(float)):
        reference = stats.wilcoxon(moved, method="asymptotic", correction=False).pvalue
        assert signed_rank(moved.tolist()) == pytest.approx(reference, abs=CLOSE)


@given(distinct.filter(lambda found: 2 <= len(found) <= 40), st.data())
@settings(steady, max_examples=60)
def test_two_samples_are_tested_as_mann_and_whitney_did(found: list[float], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(found) - 1))
    reference = stats.mannwhitneyu(found[:cut], found[cut:], method="exact").pvalue
    assert rank_sum(found[:cut], found[cut:]) == pytest.approx(reference, abs=CLOSE)


@given(values.filter(lambda found: len(found) > 1), st.data())
@settings(steady, max_examples=60)
def test_two_samples_with_ties_are_tested_exactly_too(found: list[float], data: st.DataObject) -> None:
    """Against every way that the values could have been dealt to the two sides."""
    cut = data.draw(st.integers(1, len(found) - 1))
    ranks = stats.rankdata(found)
    seen = sum(ranks[:cut])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, cut)]
    tail = min(sum(total <= seen + 1e-9 for total in sums), sum(total >= seen - 1e-9 for total in sums))
    assert rank_sum(found[:cut], found[cut:]) == pytest.approx(min(1.0, 2 * tail / len(sums)), abs=CLOSE)


def test_two_large_samples_are_tested_by_the_normal_approximation() -> None:
    dice = np.random.default_rng(3)
    base, head = dice.integers(0, 9, 40).astype(float), dice.integers(0, 10, 55).astype(float)
    reference = stats.mannwhitneyu(base, head, method="asymptotic", use_continuity=False).pvalue
    assert rank_sum(base.tolist(), head.tolist()) == pytest.approx(reference, abs=CLOSE)


@pytest.mark.parametrize(
    ("base", "head"), [([], []), ([1.0], []), ([], [2.0]), ([1.0], [1.0]), ([2.0] * 30, [2.0] * 30)]
)
def test_nothing_to_compare_is_no_change(base: list[float], head: list[float]) -> None:
    assert rank_sum(base, head) == 1
    assert signed_rank([after - before for before, after in zip(base, head, strict=False)]) == 1


@pytest.mark.parametrize("size", [3, 5, 10])
def test_the_same_measures_are_told_apart_in_at_most_one_of_twenty_comparisons(size: int) -> None:
    dice = np.random.default_rng(size)
    told = sum(rank_sum(dice.normal(size=size).tolist(), dice.normal(size=size).tolist()) <= 0.05 for _ in range(2000))
    assert told / 2000 <= 0.06
    paired = sum(signed_rank(dice.normal(size=size).tolist()) <= 0.05 for _ in range(2000))
    assert paired / 2000 <= 0.06
