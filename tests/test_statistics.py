"""The statistics of small counts, held against scipy."""

from __future__ import annotations

import pytest
from build import steady
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from agenteval_cli.statistics import attempts_to_confirm, false_discovery, fisher_drop, wilson

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
