"""What a run came to: all outcomes add up to what was planned."""

from __future__ import annotations

import pytest
from build import LETTERS, attempt, run, steady, tried
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.statistics import wilson
from agenteval_cli.statuses import GRADED
from agenteval_cli.store import Run
from agenteval_cli.summary import CaseSummary, RunSummary, enough, summary_of


def summary(made: Run) -> RunSummary:
    return summary_of(made.record, made.attempts)


def of_one(ended: str, planned: int | None = None, needs: float = 1.0) -> CaseSummary:
    (found,) = summary(run(tried("greet", ended, planned=planned, needs=needs))).cases
    return found


@pytest.mark.parametrize(
    ("ended", "needs", "verdict"),
    [
        ("P", 1.0, "passed"),
        ("F", 1.0, "failed"),
        ("E", 1.0, "failed"),
        ("T", 1.0, "failed"),
        ("L", 1.0, "failed"),
        ("U", 1.0, "incomplete"),
        ("H", 1.0, "incomplete"),
        ("C", 1.0, "incomplete"),
        ("PPPFFFFFFF", 0.3, "passed"),
        ("PPFFFFFFFF", 0.3, "failed"),
        ("PPPPF", 0.8, "passed"),
        ("PPPFF", 0.8, "failed"),
        ("PPF", 2 / 3, "passed"),
        ("PUU", 0.3, "passed"),
        ("FUU", 0.9, "failed"),
        ("PFU", 0.6, "incomplete"),
        ("PPU", 1.0, "incomplete"),
    ],
)
def test_a_case_passes_where_enough_of_the_planned_attempts_passed(ended: str, needs: float, verdict: str) -> None:
    assert of_one(ended, needs=needs).verdict == verdict


@given(st.integers(1, 100).flatmap(lambda planned: st.tuples(st.integers(1, planned), st.just(planned))))
@steady
def test_exactly_the_needed_rate_is_enough_and_one_attempt_less_is_not(count: tuple[int, int]) -> None:
    passed, planned = count
    assert enough(passed, planned, passed / planned)
    assert not enough(passed - 1, planned, passed / planned)


def test_nothing_planned_is_never_enough() -> None:
    assert not enough(0, 0, 0.5)


def test_the_reason_is_that_of_the_first_attempt_that_did_not_pass() -> None:
    assert of_one("PEF").reason == "greet agent_error"
    assert of_one("PP").reason == ""


def test_statuses_are_counted_by_name() -> None:
    found = of_one("PPFETLUHC", planned=11)
    assert found.statuses == {
        "passed": 2,
        "failed": 1,
        "agent_error": 1,
        "timeout": 1,
        "over_limit": 1,
        "ungraded": 1,
        "harness_error": 1,
        "cancelled": 3,
    }
    assert (found.passed, found.graded, found.planned) == (2, 6, 11)
    assert found.interval == wilson(2, 6)


@pytest.mark.parametrize(
    ("first", "then", "counted"), [("harness_error", "passed", "passed"), ("failed", "passed", "failed")]
)
def test_a_further_try_of_an_attempt_counts_only_where_the_earlier_was_not_graded(
    first: str, then: str, counted: str
) -> None:
    plan, _ = tried("greet", "P")
    found = summary(run((plan, (attempt("greet", 1, first), attempt("greet", 1, then)))))
    assert found.statuses == {counted: 1}
    assert found.planned == 1


def test_attempts_of_cases_that_are_not_in_the_plan_count_for_nothing() -> None:
    plan, attempts = tried("greet", "P")
    found = summary(run((plan, (*attempts, attempt("other", 1, "failed"), attempt("greet", 2, "failed")))))
    assert (found.verdict, found.statuses) == ("passed", {"passed": 1})


@pytest.mark.parametrize(
    ("cases", "needed", "verdict"),
    [
        ("P", 1.0, "passed"),
        ("PPF", 1.0, "failed"),
        ("PPPFFFFFFF", 0.3, "passed"),
        ("PPPPPPPPPF", 0.9, "passed"),
        ("PPU", 1.0, "incomplete"),
        ("PFU", 1.0, "failed"),
        ("PPPU", 0.5, "incomplete"),
        ("", 1.0, "incomplete"),
    ],
)
def test_a_run_passes_where_enough_cases_passed_and_none_is_open(cases: str, needed: float, verdict: str) -> None:
    made = run(*[tried(f"case-{number}", ended) for number, ended in enumerate(cases)], min_pass_rate=needed)
    assert summary(made).verdict == verdict


def test_a_quarantined_case_never_gates() -> None:
    found = summary(run(tried("good", "P"), tried("flaky", "F", quarantined=True)))
    assert (found.verdict, found.cases_passed, found.cases_failed, found.cases_quarantined) == ("passed", 1, 0, 1)


@pytest.mark.parametrize("ended", ["P", "F", "U"])
def test_a_run_of_quarantined_cases_only_is_not_passed(ended: str) -> None:
    assert summary(run(tried("flaky", ended, quarantined=True))).verdict != "passed"


plans = st.lists(st.tuples(st.text("".join(LETTERS), max_size=6), st.integers(0, 3), st.booleans()), max_size=6)


@given(plans)
@steady
def test_all_outcomes_add_up_to_what_was_planned(plans: list[tuple[str, int, bool]]) -> None:
    cases = [
        tried(f"case-{number}", ended, planned=len(ended) + missing, quarantined=quarantined)
        for number, (ended, missing, quarantined) in enumerate(plans)
    ]
    found = summary(run(*cases))
    assert sum(found.statuses.values()) == found.planned == sum(len(ended) + missing for ended, missing, _ in plans)
    assert sum(count for status, count in found.statuses.items() if status in GRADED) == found.graded
    assert found.passed == found.statuses.get("passed", 0) <= found.graded <= found.planned
    verdicts = found.cases_passed + found.cases_failed + found.cases_incomplete + found.cases_quarantined
    assert verdicts == len(plans) == len(found.cases)
    for case in found.cases:
        assert sum(case.statuses.values()) == case.planned


@given(st.text("".join(LETTERS), min_size=1, max_size=8), st.floats(0.05, 1))
@steady
def test_one_more_error_never_makes_a_case_better(ended: str, needs: float) -> None:
    rank = {"failed": 0, "incomplete": 1, "passed": 2}
    for worse in "FETL":
        spoilt = ended.replace("P", worse, 1)
        assert rank[of_one(spoilt, needs=needs).verdict] <= rank[of_one(ended, needs=needs).verdict]
