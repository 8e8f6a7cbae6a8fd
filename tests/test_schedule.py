"""Which attempt comes next, in which part, and when none is to begin any more."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import count

import msgspec
import pytest
from build import attempt, run, steady, tried
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.cli.run_options import budget, shard_from
from agenteval_cli.errors import UsageError
from agenteval_cli.judgement import Call, Judgement, Vote
from agenteval_cli.records import AttemptRecord, PlannedCase
from agenteval_cli.schedule import Agenda, Brakes, Budget, jobs_of, shard_of
from agenteval_cli.statuses import GRADED, STATUSES
from agenteval_cli.summary import Sums, summary_of

Plan = tuple[PlannedCase, ...]


def planned(name: str, attempts: int, *, needs: float = 1.0, quarantined: bool = False) -> PlannedCase:
    return tried(name, "", planned=attempts, needs=needs, quarantined=quarantined)[0]


def named(jobs: object) -> list[str]:
    return [f"{case.case}{number}" for case, number in jobs]  # type: ignore[attr-defined]


plans = st.lists(st.integers(1, 5), min_size=1, max_size=8).map(
    lambda attempts: tuple(planned(f"case-{index}", number) for index, number in enumerate(attempts))
)


# ---- the order


def test_attempts_of_one_case_are_spread_over_the_run() -> None:
    assert named(jobs_of([planned("a", 3), planned("b", 1), planned("c", 2)])) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_what_is_done_is_left_out() -> None:
    assert named(jobs_of([planned("a", 2), planned("b", 2)], {("a", 1), ("b", 2)})) == ["b1", "a2"]


@given(plans, st.none() | st.integers(0, 99))
@steady
def test_every_attempt_comes_once_and_no_case_gets_ahead(plan: Plan, shuffle: int | None) -> None:
    """Never the third attempt of one case before the first of another."""
    jobs = list(jobs_of(plan, shuffle=shuffle))
    assert sorted((case.case, number) for case, number in jobs) == sorted(
        (case.case, number) for case in plan for number in range(1, case.attempts + 1)
    )
    rounds = [number for _, number in jobs]
    assert rounds == sorted(rounds)


@given(plans, st.integers(0, 99), st.data())
@steady
def test_the_same_seed_gives_the_same_order_whatever_is_done(plan: Plan, seed: int, data: st.DataObject) -> None:
    jobs = [(case.case, number) for case, number in jobs_of(plan, shuffle=seed)]
    done = data.draw(st.sets(st.sampled_from(jobs)))
    rest = [(case.case, number) for case, number in jobs_of(plan, done, seed)]
    assert rest == [job for job in jobs if job not in done]


def test_another_seed_gives_another_order() -> None:
    plan = [planned(f"case-{index}", 2) for index in range(12)]
    orders = {tuple(named(jobs_of(plan, shuffle=seed))) for seed in range(5)}
    assert len(orders) == 5
    first, second = named(jobs_of(plan, shuffle=1))[:12], named(jobs_of(plan, shuffle=1))[12:]
    assert [name[:-1] for name in first] != [name[:-1] for name in second], "each round has an order of its own"


# ---- shards


@given(plans, st.integers(1, 12), st.randoms())
@steady
def test_the_parts_of_a_plan_share_nothing_and_leave_nothing_out(plan: Plan, parts: int, random: object) -> None:
    shards = [shard_of(plan, index, parts) for index in range(1, parts + 1)]
    assert sorted(case.case for shard in shards for case in shard) == sorted(case.case for case in plan)
    sizes = [len(shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 1
    order = {case.case: place for place, case in enumerate(plan)}
    for shard in shards:
        assert [order[case.case] for case in shard] == sorted(order[case.case] for case in shard)
    mixed = list(plan)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    again = shard_of(mixed, 1, parts)
    assert {case.case for case in again} == {case.case for case in shards[0]}, "machines may list files in any order"


@pytest.mark.parametrize("text", ["1/3", "3/3", "1/1"])
def test_a_part_is_written_as_one_of_how_many(text: str) -> None:
    assert shard_from(text) == tuple(int(part) for part in text.split("/"))


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "1/3/5", "-1/3", "", "1 / 3", "٣/٣"])
def test_what_is_no_part_is_refused_with_the_form_to_write(text: str) -> None:
    with pytest.raises(UsageError, match="write it as I/N with I from 1 to N"):
        shard_from(text)


# ---- the agenda


def test_jobs_are_handed_out_by_agent_and_in_order() -> None:
    plan = [planned("a", 2), msgspec.structs.replace(planned("b", 2), agent="other"), planned("c", 1)]
    agenda = Agenda(jobs_of(plan), lambda: None)
    assert agenda.sizes() == {"support": 3, "other": 2}
    taken = iter(lambda: agenda.take("support"), None)
    assert named(taken) == ["a1", "c1", "a2"]
    assert agenda.sizes() == {"support": 0, "other": 2}


def test_nothing_is_handed_out_once_the_run_is_stopped() -> None:
    calls = count()
    agenda = Agenda(jobs_of([planned("a", 3)]), lambda: "over" if next(calls) else None)
    assert agenda.take("support") is not None
    assert agenda.take("support") is None
    assert agenda.sizes() == {"support": 2}


# ---- the brakes


def brakes(*cases: PlannedCase, **wanted: object) -> Brakes:
    return Brakes(Budget(**wanted), cases)  # type: ignore[arg-type]


def costing(cost: str | None, **changes: object) -> AttemptRecord:
    return msgspec.structs.replace(attempt("a", 1, "passed"), cost=cost, **changes)


@pytest.mark.parametrize(
    ("attempts", "needs", "fatal"),
    [(1, 1.0, 1), (5, 1.0, 1), (5, 0.8, 2), (10, 0.3, 8), (3, 2 / 3, 2), (4, 0.5, 3), (100, 0.01, 100)],
)
def test_a_case_has_failed_once_it_can_no_longer_pass(attempts: int, needs: float, fatal: int) -> None:
    made = brakes(planned("a", attempts, needs=needs), fail_fast=True)
    for number in range(1, fatal):
        made.seen(attempt("a", number, "failed"))
        assert made.why() is None
    made.seen(attempt("a", fatal, "agent_error"))
    assert made.why() == "--fail-fast: a has failed"


@given(st.integers(1, 12), st.floats(0.01, 1), st.lists(st.sampled_from(sorted(STATUSES)), max_size=12))
@steady
def test_it_stops_exactly_where_the_summary_says_failed(attempts: int, needs: float, statuses: list[str]) -> None:
    case = planned("a", attempts, needs=needs)
    made, sums, record = brakes(case, fail_fast=True), Sums(), run((case, ())).record
    for number, status in enumerate(statuses[:attempts], start=1):
        made.seen(attempt("a", number, status))
        sums.add(attempt("a", number, status))
        assert (made.why() is not None) == (sums.summary(record).cases[0].verdict == "failed")


def test_without_fail_fast_failures_stop_nothing() -> None:
    made = brakes(planned("a", 1))
    made.seen(attempt("a", 1, "failed"))
    assert made.why() is None


def test_a_case_in_quarantine_stops_nothing() -> None:
    made = brakes(planned("a", 1, quarantined=True), planned("b", 1), fail_fast=True)
    made.seen(attempt("a", 1, "failed"))
    assert made.why() is None


def test_an_error_that_is_tried_again_has_failed_nothing_yet() -> None:
    made = brakes(planned("a", 1), fail_fast=True)
    made.seen(attempt("a", 1, "agent_error"), retried=True)
    assert made.why() is None
    made.seen(msgspec.structs.replace(attempt("a", 1, "agent_error"), retry=1))
    assert made.why() == "--fail-fast: a has failed"


def test_the_first_reason_stays() -> None:
    made = brakes(planned("a", 1), planned("b", 1), fail_fast=True)
    for name in "ab":
        made.seen(attempt(name, 1, "failed"))
    assert made.why() == "--fail-fast: a has failed"


def test_nothing_begins_once_the_money_is_spent() -> None:
    made = brakes(cost=Decimal("0.30"))
    for _ in range(2):
        made.seen(costing("0.10"))
        assert made.why() is None
    made.seen(costing("0.10"))  # three tenths, as decimals add up
    assert made.why() == "--budget-cost: 0.30 of 0.30 are spent"


def test_judges_and_simulated_users_spend_of_the_same_money() -> None:
    made = brakes(cost=Decimal("0.30"))
    asked = [Call(judge="one", prompt="1:a", cost="0.05"), Call(judge="one", prompt="1:a", cost="9", cached=True)]
    judgement = Judgement(
        criterion="criteria[0]",
        digest="1:b",
        answer="yes",
        votes=(Vote(judge="one", answer="yes", calls=tuple(asked)),),
    )
    spent = msgspec.structs.replace(costing("0.10"), judgements=(judgement,), user_cost="0.05")
    made.seen(spent)
    assert made.why() is None
    made.seen(msgspec.structs.replace(spent, cost=None))
    assert (made.without_cost, made.why()) == (1, "--budget-cost: 0.30 of 0.30 are spent")


def test_what_costs_nobody_told_is_counted_and_stops_nothing() -> None:
    made = brakes(cost=Decimal(1))
    for cost in (None, "0.25", None, "much"):
        made.seen(costing(cost))
    assert (made.without_cost, made.why()) == (3, None)


def test_an_attempt_that_was_kept_costs_nothing_again() -> None:
    made = brakes(cost=Decimal(1))
    made.seen(costing("5.00", reused_from="20261102T090000.000000Z-0001"))
    assert (made.without_cost, made.why()) == (0, None)


def test_nothing_begins_once_the_time_is_over() -> None:
    assert brakes(seconds=3600.0).why() is None
    assert brakes(seconds=0.0).why() == "--budget-time: 0 s are over"


def test_budgets_are_read_from_what_people_write() -> None:
    assert budget(fail_fast=True, cost="2.50", time="10m") == Budget(fail_fast=True, cost=Decimal("2.50"), seconds=600)
    assert budget(fail_fast=False, cost=None, time="1.5s").seconds == 1.5
    assert budget(fail_fast=False, cost=None, time=None) == Budget()


@pytest.mark.parametrize("cost", ["0", "-1", "free", "", "NaN", "Infinity", "1,50", "$2"])
def test_what_is_no_amount_is_refused(cost: str) -> None:
    with pytest.raises(UsageError, match=r"write an amount above zero, as 2\.50"):
        budget(fail_fast=False, cost=cost, time=None)


@pytest.mark.parametrize("time", ["10", "soon", "-5s", "", "1d", "5 m", "1e3s"])
def test_what_is_no_time_is_refused(time: str) -> None:
    with pytest.raises(UsageError, match="write it as 90s, 10m or 1h"):
        budget(fail_fast=False, cost=None, time=time)


# ---- the table of statuses


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_means_for_case_and_run_what_its_row_says(status: str) -> None:
    """A case of one attempt: what counts against it fails it, what leaves the run incomplete decides nothing."""
    meant = STATUSES[status]
    case = planned("a", 1)
    made = run((case, (attempt("a", 1, status),)))
    found = summary_of(made.record, made.attempts)
    assert found.verdict == ("failed" if meant.counts else "incomplete" if meant.incomplete else "passed")
    assert (found.graded, found.planned, found.statuses) == (int(not meant.incomplete), 1, {status: 1})
    assert (status in GRADED) == (not meant.incomplete)
    assert not (meant.counts and meant.incomplete)


def test_no_verdict_of_a_check_may_be_tried_again() -> None:
    assert [status for status in STATUSES if not STATUSES[status].retry] == ["passed", "failed", "over_limit"]


@given(st.lists(st.tuples(st.sampled_from(sorted(STATUSES)), st.integers(0, 3)), min_size=1, max_size=6))
@steady
def test_of_several_tries_the_last_that_was_graded_counts(tries: list[tuple[str, int]]) -> None:
    case = planned("a", 1)
    attempts = tuple(msgspec.structs.replace(attempt("a", 1, status), retry=retry) for status, retry in tries)
    found = summary_of(run((case, ())).record, attempts)
    assert sum(found.statuses.values()) == 1
    graded = [(status, retry) for status, retry in tries if status in GRADED]
    if graded:
        most = max(retry for _, retry in graded)
        expected = next(status for status, retry in graded if retry == most)
    else:
        expected = tries[-1][0]
    assert Counter(found.statuses) == {expected: 1}
