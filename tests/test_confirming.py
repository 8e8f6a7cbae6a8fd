"""Confirming what moved: fresh attempts alone decide, they stop when it is clear, and they seldom cry wolf."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

from agenteval_cli.confirming import (
    LEVEL,
    MOST_CASES,
    Fall,
    Look,
    Seen,
    enough_for,
    fresh_p,
    fresh_q,
    looks,
    next_look,
    to_confirm,
)
from agenteval_cli.statistics import fisher_drop


def binomial(total: int, rate: float) -> list[float]:
    return [math.comb(total, k) * rate**k * (1 - rate) ** (total - k) for k in range(total + 1)]


def chance_to_confirm(base: float, head: float, attempts: int, cases: int) -> float:
    """The exact chance that one of so many cases is confirmed, over every way its fresh attempts could go."""
    plan = looks(attempts)
    ways: dict[tuple[Seen, ...], float] = {(): 1.0}
    confirmed, done = 0.0, 0
    for look in plan:
        more = look.attempts - done
        going_on: dict[tuple[Seen, ...], float] = defaultdict(float)
        for seen, chance in ways.items():
            had = (seen[-1].base_passed, seen[-1].head_passed) if seen else (0, 0)
            for k, p in enumerate(binomial(more, base)):
                for j, q in enumerate(binomial(more, head)):
                    going_on[(*seen, Seen(had[0] + k, look.attempts, had[1] + j, look.attempts))] += chance * p * q
        ways = {}
        for seen, chance in going_on.items():
            if fresh_p(seen, plan) * cases <= LEVEL:
                confirmed += chance
            elif next_look(seen, plan, cases) is not None:
                ways[seen] = chance
        done = look.attempts
    return confirmed


@pytest.mark.parametrize(("attempts", "cases"), [(4, 1), (6, 2), (10, 1), (20, 1), (20, 6), (20, 8)])
def test_a_case_that_did_not_drop_is_confirmed_no_more_often_than_stated_whatever_its_rate(
    attempts: int, cases: int
) -> None:
    worst = max(chance_to_confirm(rate, rate, attempts, cases) for rate in (0.05, 0.2, 0.4, 0.5, 0.6, 0.8, 0.95))
    assert worst <= LEVEL / cases
    assert chance_to_confirm(0.5, 0.7, attempts, cases) <= LEVEL / cases


def test_a_case_that_broke_is_confirmed_and_one_that_stayed_costs_little() -> None:
    assert chance_to_confirm(0.9, 0.3, 20, 6) > 0.92
    assert chance_to_confirm(1.0, 0.0, 20, MOST_CASES) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("attempts", "plan"),
    [
        (1, (Look(1, 1.0),)),
        (4, (Look(2, 0.0), Look(4, 1.0))),
        (10, (Look(5, 0.1), Look(10, 0.9))),
        (20, (Look(10, 0.1), Look(20, 0.9))),
        (21, (Look(10, 0.1), Look(21, 0.9))),
    ],
)
def test_it_is_looked_at_half_time_and_at_the_end(attempts: int, plan: tuple[Look, ...]) -> None:
    assert looks(attempts) == plan
    assert sum(look.share for look in plan) == 1


@pytest.mark.parametrize(
    ("base", "head", "goes_on"),
    [
        (10, 10, False),  # no drop left
        (8, 9, False),
        (10, 9, True),  # may still become one
        (9, 4, True),
        (10, 0, False),  # clear
        (10, 1, False),
    ],
)
def test_at_half_time_it_stops_where_it_is_clear_or_no_drop_is_left(base: int, head: int, goes_on: bool) -> None:
    plan = looks(20)
    assert next_look([], plan, 6) == plan[0]
    found = next_look([Seen(base, 10, head, 10)], plan, 6)
    assert found == (plan[1] if goes_on else None)


def test_at_the_end_it_stops() -> None:
    assert next_look([Seen(9, 10, 6, 10), Seen(18, 20, 12, 20)], looks(20), 6) is None


def test_looking_twice_is_paid_for() -> None:
    seen = [Seen(10, 10, 4, 10), Seen(20, 20, 9, 20)]
    alone = [fisher_drop(10, 10, 4, 10), fisher_drop(20, 20, 9, 20)]
    assert fresh_p(seen, looks(20)) == pytest.approx(min(alone[0] / 0.1, alone[1] / 0.9))
    assert fresh_p([], looks(20)) == 1
    assert fresh_q([0.01, 0.5]) == pytest.approx([0.02, 0.5])


def test_the_least_likely_falls_are_confirmed_and_those_that_broke_go_before_the_rest() -> None:
    falls = [Fall("b", 0.5, broke=False), Fall("c", 0.5, broke=True), Fall("d", 0.05, broke=False)]
    assert [fall.case for fall in to_confirm(falls)] == ["d", "c", "b"]
    assert [fall.case for fall in to_confirm(falls, most=2)] == ["d", "c"]
    many = [Fall(f"case-{number}", 0.5, broke=True) for number in range(100)]
    assert len(to_confirm(many)) == MOST_CASES
    assert to_confirm([]) == []


@pytest.mark.parametrize("cases", [1, 2, 8])
def test_as_many_attempts_as_stated_can_confirm_and_fewer_cannot(cases: int) -> None:
    enough = enough_for(cases)
    assert fresh_p(fall_to_nothing(enough), looks(enough)) * cases <= LEVEL
    assert fresh_p(fall_to_nothing(enough - 1), looks(enough - 1)) * cases > LEVEL


def fall_to_nothing(attempts: int) -> list[Seen]:
    return [Seen(look.attempts, look.attempts, 0, look.attempts) for look in looks(attempts)]


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    """The script that makes the tables of docs/statistics.md."""
    path = Path(ROOT, "benchmarks", "simulate_diff.py")
    spec = importlib.util.spec_from_file_location("simulate_diff", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["simulate_diff"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("attempts", [1, 3, 20])
def test_two_identical_agents_fail_the_gate_in_at_most_one_of_twenty_suites(
    simulation: ModuleType, attempts: int
) -> None:
    row = simulation.simulate(attempts, broken=False, confirm=20, suites=300, seed=11)
    assert row.gate_failed <= 0.05
    assert row.gate_failed_confirming <= 0.05
    assert row.fresh_attempts <= 6 * 20


def test_from_three_attempts_on_confirming_finds_the_case_that_broke(simulation: ModuleType) -> None:
    row = simulation.simulate(3, broken=True, confirm=20, suites=300, seed=11)
    assert row.found_confirming >= 0.8
    assert row.found < 0.05
    assert row.fresh_attempts <= 6 * 20
