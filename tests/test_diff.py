"""The difference between two runs: each case in one class, with its evidence, and nothing judged that cannot be."""

from __future__ import annotations

import random
from typing import Any

import pytest
from build import Tried, agent, attempt, run, steady, tried
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agenteval_cli.confirming import Seen, looks
from agenteval_cli.diff import (
    CLASSES,
    COMPARED,
    CaseDiff,
    Confirmation,
    RunDiff,
    diff_of,
    falls_of,
    gate_failures,
)
from agenteval_cli.git import GitState
from agenteval_cli.statistics import false_discovery, fisher_drop, paired_difference
from agenteval_cli.store import Run


def one(base: str, head: str, **options: Any) -> CaseDiff:
    """The diff of one case whose attempts ended like this before and after."""
    (found,) = diff_of(run(tried("greet", base, **options)), run(tried("greet", head, **options))).cases
    return found


def by_id(diff: RunDiff) -> dict[str, CaseDiff]:
    return {case.id: case for case in diff.cases}


def classes(base: Run, head: Run) -> dict[str, str]:
    return {case.id: case.change for case in diff_of(base, head).cases}


@pytest.mark.parametrize(
    ("base", "head", "needs", "change"),
    [
        ("P", "P", 1.0, "still_passing"),
        ("F", "F", 1.0, "still_failing"),
        ("P", "F", 1.0, "broke"),
        ("F", "P", 1.0, "fixed"),
        ("P", "E", 1.0, "broke"),
        ("P", "T", 1.0, "broke"),
        ("P", "L", 1.0, "broke"),
        ("E", "P", 1.0, "fixed"),
        ("E", "F", 1.0, "still_failing"),
        ("PPPPP", "PPPPF", 0.6, "slipped"),
        ("PPPFF", "PPPPF", 0.6, "improved"),
        ("PPPFF", "PPFFF", 0.6, "broke"),
        ("PPFFF", "PFFFF", 0.6, "slipped"),
        ("PFFFF", "PPFFF", 0.6, "improved"),
        ("PFF", "PPFFFF", 1.0, "still_failing"),
        ("PPF", "PPPPFF", 0.6, "still_passing"),
    ],
)
def test_a_case_that_can_be_compared_has_moved_or_stayed(base: str, head: str, needs: float, change: str) -> None:
    assert one(base, head, needs=needs).change == change


@pytest.mark.parametrize(
    ("base", "head", "run_name"),
    [("U", "P", "base"), ("P", "U", "head"), ("P", "H", "head"), ("C", "F", "base"), ("PPU", "PPP", "base")],
)
def test_an_incomplete_case_is_not_compared(base: str, head: str, run_name: str) -> None:
    found = one(base, head)
    assert found.change == "not_comparable"
    assert found.reason.startswith(f"incomplete in the {run_name} run: greet ")
    assert (found.evidence, found.p, found.q) == (None, None, None)


def test_an_attempt_that_never_began_leaves_the_case_incomplete() -> None:
    (found,) = diff_of(run(tried("greet", "PP", planned=3)), run(tried("greet", "PPP"))).cases
    assert (found.change, found.reason) == ("not_comparable", "incomplete in the base run: attempts are missing")


def test_a_case_that_has_failed_for_certain_is_compared_however_incomplete() -> None:
    assert one("PPP", "FUU").change == "broke"


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"gets": "another input"}, "the case changed: what the agent gets"),
        ({"expects": "another answer"}, "the case changed: what is expected"),
        ({"gets": "x", "expects": "y"}, "the case changed: what the agent gets and what is expected"),
    ],
)
@pytest.mark.parametrize("head", ["P", "F", "U"])
def test_an_edited_case_is_shown_and_not_judged(edit: dict[str, Any], words: str, head: str) -> None:
    diff = diff_of(run(tried("greet", "P")), run(tried("greet", head, **edit)))
    (found,) = diff.cases
    assert (found.change, found.reason) == ("edited", f"{words}; its verdicts are not compared")
    assert (diff.compared, diff.base_rate, diff.head_rate) == (0, None, None)
    assert gate_failures(diff, "broke") == gate_failures(diff, "significant") == []


def test_a_case_in_another_file_is_the_same_case() -> None:
    diff = diff_of(run(tried("greet", "P", file="cases/a.yaml")), run(tried("greet", "P", file="cases/sub/b.yaml")))
    assert [(case.change, case.file) for case in diff.cases] == [("still_passing", "cases/sub/b.yaml")]


def test_edited_removed_and_new_cases_are_no_regressions_and_leave_the_rates_alone() -> None:
    base = run(tried("A", "P"), tried("B", "F"), tried("C", "P", file="cases/c.yaml"))
    head = run(tried("A", "F", expects="12"), tried("C", "P", file="cases/moved/c.yaml"), tried("D", "F"))
    diff = diff_of(base, head)
    assert classes(base, head) == {"A": "edited", "B": "removed", "C": "still_passing", "D": "new"}
    assert (diff.compared, diff.base_rate, diff.head_rate) == (1, 1.0, 1.0)
    assert gate_failures(diff, "broke") == []


def test_a_case_that_was_not_selected_is_neither_removed_nor_new() -> None:
    base, head = run(tried("A", "P"), not_selected=("B",)), run(tried("B", "P"), not_selected=("A",))
    found = by_id(diff_of(base, head))
    assert (found["A"].change, found["A"].reason) == ("not_comparable", "not selected in the head run")
    assert (found["B"].change, found["B"].reason) == ("not_comparable", "not selected in the base run")


def test_errors_stay_in_the_denominator_and_are_counted_by_name() -> None:
    names = [f"case-{number}" for number in range(10)]
    base = run(*map(tried, names, "PPPPPPPFFF"))
    head = run(*map(tried, names, "PPPPPPEFEE"))
    diff = diff_of(base, head)
    assert [diff.base_rate, diff.head_rate] == pytest.approx([0.7, 0.6])
    assert diff.counts | {"still_passing": 6, "broke": 1, "still_failing": 3} == diff.counts
    broke = by_id(diff)["case-6"]
    assert broke.head is not None
    assert (broke.head.statuses, broke.reason) == ({"agent_error": 1}, "case-6 agent_error")


def test_with_one_attempt_each_no_flip_is_called_a_regression_for_certain() -> None:
    chance = random.Random(36)  # forty cases that pass four times in five, and an agent that did not change
    before, after = ("".join("P" if chance.random() < 0.8 else "F" for _ in range(40)) for _ in range(2))
    names = [f"case-{number:02}" for number in range(40)]
    diff = diff_of(run(*map(tried, names, before)), run(*map(tried, names, after)))
    flips = [case for case in diff.cases if case.change in ("broke", "fixed")]
    assert len(flips) > 5
    assert {case.evidence for case in flips} == {"within_noise"}
    assert gate_failures(diff, "significant") == []


def test_three_of_five_and_then_two_of_five_is_within_noise() -> None:
    found = one("PPPFF", "PPFFF", needs=0.6)
    assert (found.change, found.evidence) == ("broke", "within_noise")
    assert found.p == pytest.approx(0.5)


@pytest.mark.parametrize(("attempts", "evidence"), [(2, "within_noise"), (4, "confirmed"), (10, "confirmed")])
def test_a_fall_from_all_to_none_is_confirmed_once_there_are_attempts_enough(attempts: int, evidence: str) -> None:
    assert one("P" * attempts, "F" * attempts).evidence == evidence
    assert one("F" * attempts, "P" * attempts).evidence == evidence


def test_the_same_fall_is_no_longer_sure_among_many_cases_that_stayed() -> None:
    stayed = [tried(f"case-{number:02}", "PPPP") for number in range(40)]
    diff = diff_of(run(tried("greet", "PPPP"), *stayed), run(tried("greet", "FFFF"), *stayed))
    found = by_id(diff)["greet"]
    assert [found.p, found.q] == pytest.approx([1 / 70, 41 / 70])
    assert found.evidence == "within_noise"


def test_q_values_are_adjusted_over_every_case_that_could_be_compared_and_no_other() -> None:
    before = {"a": "PPPPP", "b": "PPPPP", "c": "PPPPP", "d": "FFFFF"}
    after = {"a": "FFFFF", "b": "PPFFF", "c": "PPPPP", "d": "PPPPP"}
    edited = (tried("e", "PPPPP"), tried("e", "FFFFF", gets="x"))
    base = run(*[tried(name, ended) for name, ended in before.items()], edited[0])
    head = run(*[tried(name, ended) for name, ended in after.items()], edited[1], tried("new", "F"))
    found = by_id(diff_of(base, head))
    counts = [(before[name].count("P"), after[name].count("P")) for name in before]
    drops = [fisher_drop(was, 5, now, 5) for was, now in counts]
    rises = [fisher_drop(now, 5, was, 5) for was, now in counts]
    assert [found["a"].q, found["b"].q] == pytest.approx(false_discovery(drops)[:2])
    assert found["d"].q == pytest.approx(false_discovery(rises)[3])
    assert (found["c"].q, found["e"].q) == (None, None)


@pytest.mark.parametrize(
    ("base", "head", "needs", "failing"),
    [
        ("P", "F", 1.0, {"broke"}),
        ("PPPP", "FFFF", 1.0, {"broke", "significant"}),
        ("P" * 20, "P" * 11 + "F" * 9, 0.5, {"significant"}),
        ("PPPPP", "PPPPF", 0.5, set()),
        ("F", "F", 1.0, set()),
        ("FFFF", "PPPP", 1.0, set()),
        ("P", "U", 1.0, set()),
    ],
)
def test_a_gate_fails_on_what_broke_or_on_confirmed_drops(
    base: str, head: str, needs: float, failing: set[str]
) -> None:
    diff = diff_of(run(tried("greet", base, needs=needs)), run(tried("greet", head, needs=needs)))
    assert {gate for gate in ("broke", "significant") if gate_failures(diff, gate)} == failing


@pytest.mark.parametrize("gate", ["broke", "significant"])
def test_a_quarantined_case_is_shown_and_never_fails_the_gate(gate: str) -> None:
    base = run(tried("greet", "PPPPP"))
    diff = diff_of(base, run(tried("greet", "FFFFF", quarantined=True)))
    assert [(case.change, case.quarantined) for case in diff.cases] == [("broke", True)]
    assert gate_failures(diff, gate) == []
    assert gate_failures(diff_of(base, run(tried("greet", "FFFFF"))), gate) != []


def test_what_broke_comes_first_and_the_confirmed_before_the_rest() -> None:
    base = run(tried("a", "P"), tried("b", "P"), tried("c", "PPPPPP"), tried("d", "P"), tried("e", "F"))
    head = run(tried("a", "P"), tried("b", "F"), tried("c", "FFFFFF"), tried("n", "P"), tried("e", "P"))
    assert [case.id for case in diff_of(base, head).cases] == ["c", "b", "e", "a", "n", "d"]


def test_each_side_shows_its_counts_and_measures() -> None:
    plan, attempts = tried("greet", "PPF")
    measured = [replace(made, latency_ms=10.0, total_tokens=5, cost="0.10", steps=2) for made in attempts]
    (found,) = diff_of(run((plan, tuple(measured))), run(tried("greet", "PPF"))).cases
    assert found.base is not None
    assert found.head is not None
    assert (found.base.passed, found.base.graded, found.base.planned) == (2, 3, 3)
    measures = found.base.measures
    assert [measures.latency_ms, measures.tokens, measures.cost, measures.steps] == pytest.approx([10, 5, 0.1, 2])
    assert (found.head.measures.tokens, found.head.measures.cost) == (None, None)


def test_a_mean_with_unknown_parts_is_unknown() -> None:
    plan, attempts = tried("greet", "PP")
    first = replace(attempts[0], total_tokens=100)
    (found,) = diff_of(run((plan, (first, attempts[1]))), run(tried("greet", "PP"))).cases
    assert found.base is not None
    assert found.base.measures.tokens is None


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({}, None),
        ({"tool_version": "0.2.0"}, "agenteval 0.1.0 → 0.2.0"),
        ({"agents": [agent(digest="1:other")]}, "agent support changed"),
        ({"agents": [agent("sales")]}, "agent support → sales"),
        ({"git": GitState("beef", "main", dirty=False)}, "commit c0ffee → beef"),
        ({"git": GitState("c0ffee", "main", dirty=True)}, "uncommitted changes in head"),
        ({"git": GitState(None, None, None)}, "commit c0ffee → none"),
    ],
)
def test_what_else_differs_between_the_runs_is_told(changes: dict[str, Any], condition: str | None) -> None:
    diff = diff_of(run(tried("greet", "P")), run(tried("greet", "P"), **changes))
    assert diff.conditions == ((condition,) if condition else ())


def test_changed_agents_are_told_in_the_order_of_the_run() -> None:
    names = ["amy", "ann", "bob", "eve", "joe", "kim", "sam", "zoe"]
    base = run(tried("greet", "P"), agents=[agent(name) for name in names])
    head = run(tried("greet", "P"), agents=[agent(name, "1:other") for name in names])
    assert diff_of(base, head).conditions == tuple(f"agent {name} changed" for name in names)


def test_a_retried_attempt_counts_once() -> None:
    plan, attempts = tried("greet", "HPP")
    retried = (plan, (*attempts, attempt("greet", 1, "passed")))
    (found,) = diff_of(run(tried("greet", "PPP")), run(retried)).cases
    assert (found.change, found.head and found.head.planned) == ("still_passing", 3)


def test_one_case_tried_several_times_is_one_entry_with_its_count_and_tries_after_errors_are_told_apart() -> None:
    plan, attempts = tried("K", "FPPFP", needs=0.6)
    base = run(tried("K", "PPPPP", needs=0.6))
    (found,) = diff_of(base, run((plan, attempts))).cases
    assert found.head is not None
    assert (found.change, found.head.passed, found.head.planned, found.head.retried) == ("slipped", 3, 5, 0)
    assert found.head.verdict == "passed"
    again = replace(attempts[0], status="passed", reason="", retry=1)
    broken = replace(attempts[0], status="harness_error")
    (found,) = diff_of(base, run((plan, (broken, again, *attempts[1:])))).cases
    assert found.head is not None
    assert (found.head.passed, found.head.planned, found.head.retried) == (4, 5, 1)


def test_with_one_attempt_each_forty_cases_that_flip_by_chance_do_not_fail_the_significant_gate() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        ended = ["".join("P" if chance.random() < 0.8 else "F" for _ in range(40)) for _ in range(2)]
        base, head = (run(*(tried(f"case-{number}", one) for number, one in enumerate(side))) for side in ended)
        assert gate_failures(diff_of(base, head), "significant") == []


# ---- edited cases that are judged all the same


@pytest.mark.parametrize(("head", "change"), [("F", "broke"), ("P", "still_passing"), ("U", "not_comparable")])
def test_an_edited_case_is_judged_where_that_is_asked_for_and_says_so(head: str, change: str) -> None:
    diff = diff_of(run(tried("greet", "P")), run(tried("greet", head, expects="y")), include_edited=True)
    (found,) = diff.cases
    assert (found.change, found.edited) == (change, True)
    assert len(gate_failures(diff, "broke")) == (change == "broke")
    if change == "broke":
        assert found.reason == "greet failed; the case changed: what is expected"


# ---- what is evidence


def kept(one: Tried, origin: str, numbers: set[int]) -> Tried:
    """The same with these attempts kept from an earlier run."""
    plan, attempts = one
    return plan, tuple(replace(each, reused_from=origin) if each.attempt in numbers else each for each in attempts)


def test_attempts_that_both_runs_have_in_common_are_no_evidence() -> None:
    base = run(tried("greet", "PPPPPFFF"))
    same = kept(tried("greet", "PPPPPFFF"), base.record.id, {1, 2, 3, 4, 5, 6, 7, 8})
    (found,) = diff_of(base, run(same, id="later")).cases
    assert (found.change, found.shared) == ("still_failing", 8)
    some = kept(tried("greet", "PPPFFFFF"), base.record.id, {1, 2, 3, 6, 7, 8})
    (found,) = diff_of(base, run(some, id="later")).cases
    assert (found.change, found.shared) == ("slipped", 6)
    assert found.p == pytest.approx(fisher_drop(2, 2, 0, 2))


def test_attempts_kept_from_one_run_by_both_are_in_common_too() -> None:
    both = [run(kept(tried("greet", "PP"), "first", {1, 2}), id=name) for name in ("second", "third")]
    (found,) = diff_of(*both).cases
    assert found.shared == 2
    apart = [run(kept(tried("greet", "PP"), name, {1, 2}), id=f"of-{name}") for name in ("first", "other")]
    (found,) = diff_of(*apart).cases
    assert found.shared == 0


def test_what_could_not_be_graded_is_no_evidence_of_a_drop() -> None:
    found = one("PPP", "FUU")
    assert found.change == "broke"
    assert found.p == pytest.approx(fisher_drop(3, 3, 0, 1))


def fresh(*counts: int, attempts: int = 20) -> Confirmation:
    """Fresh attempts of the case `greet` up to the end: passed of both sides at half-time and at the end."""
    plan = looks(attempts)
    pairs = list(zip(counts[::2], counts[1::2], strict=True))
    seen = [Seen(was, look.attempts, now, look.attempts) for look, (was, now) in zip(plan, pairs, strict=False)]
    return Confirmation(plan, {"greet": seen})


@pytest.mark.parametrize(
    ("base", "head", "seen", "evidence"),
    [
        ("PPP", "PPF", fresh(10, 5, 20, 9), "confirmed"),
        ("PPP", "PPF", fresh(10, 10), "within_noise"),
        ("PPPPPPPP", "FFFFFFFF", fresh(10, 10), "within_noise"),  # so sure before, and luck all the same
    ],
)
def test_where_there_are_fresh_attempts_they_alone_decide(
    base: str, head: str, seen: Confirmation, evidence: str
) -> None:
    diff = diff_of(run(tried("greet", base)), run(tried("greet", head)), confirmation=seen)
    (found,) = diff.cases
    assert (found.change, found.evidence) == ("broke", evidence)
    assert found.fresh is not None
    assert found.fresh.head_passed == seen.seen["greet"][-1].head_passed
    assert bool(gate_failures(diff, "significant")) == (evidence == "confirmed")
    assert gate_failures(diff, "broke") == [found]


def test_a_case_without_fresh_attempts_keeps_the_evidence_it_has() -> None:
    base = run(tried("greet", "PPP"), tried("other", "P" * 8), tried("slow", "PPP"))
    head = run(tried("greet", "PPF"), tried("other", "F" * 8), tried("slow", "PPF"))
    seen = Confirmation(looks(20), {**fresh(10, 10).seen, "slow": []})
    found = by_id(diff_of(base, head, confirmation=seen))
    assert (found["other"].evidence, found["other"].fresh) == ("confirmed", None)
    assert (found["slow"].evidence, found["slow"].fresh) == ("within_noise", None)


def test_what_fell_and_gates_may_be_confirmed() -> None:
    base = run(tried("a", "PP"), tried("b", "PP", needs=0.5), tried("c", "FF"), tried("d", "PP"), tried("e", "PP"))
    head = run(
        tried("a", "FF"),
        tried("b", "PF", needs=0.5),
        tried("c", "PP"),
        tried("d", "FF", quarantined=True),
        tried("e", "PP"),
    )
    assert [(fall.case, fall.broke) for fall in falls_of(diff_of(base, head))] == [("a", True), ("b", False)]


# ---- how far a rate may slip


@pytest.mark.parametrize(
    ("base", "head", "gate", "allowed", "fails"),
    [
        ("PPPPP", "PPPPF", "broke", None, False),
        ("PPPPP", "PPPPF", "broke", 0.1, True),
        ("PPPPP", "PPPPF", "broke", 0.2, False),  # no more than that
        ("PPPPP", "PPPPF", "broke", 0.0, True),
        ("PPPPP", "FFFFF", "broke", 1.0, True),  # a broken verdict is no slip
        ("PPPPP", "PPPPF", "significant", 0.0, False),
        ("P" * 20, "P" * 11 + "F" * 9, "significant", None, True),
        ("P" * 20, "P" * 11 + "F" * 9, "significant", 0.3, True),
        ("P" * 20, "P" * 11 + "F" * 9, "significant", 0.5, False),
        ("PPFFF", "PPPFF", "broke", 0.0, False),
    ],
)
def test_a_rate_may_slip_as_far_as_is_allowed(
    base: str, head: str, gate: str, allowed: float | None, fails: bool
) -> None:
    diff = diff_of(run(tried("greet", base, needs=0.5)), run(tried("greet", head, needs=0.5)))
    assert bool(gate_failures(diff, gate, allowed)) == fails


# ---- the whole


def test_an_id_in_other_letters_is_the_same_case() -> None:
    diff = diff_of(run(tried("Greet", "P"), not_selected=("Bye",)), run(tried("greet", "F"), tried("bye", "P")))
    assert {case.id: case.change for case in diff.cases} == {"greet": "broke", "bye": "not_comparable"}


def test_a_case_in_quarantine_is_compared_and_left_out_of_the_rates() -> None:
    base = run(tried("a", "P"), tried("b", "P"), tried("flaky", "P"))
    diff = diff_of(base, run(tried("a", "P"), tried("b", "F"), tried("flaky", "F", quarantined=True)))
    assert diff.compared == 3
    assert (diff.base_rate, diff.head_rate) == (1.0, 0.5)
    assert diff.overall.difference is not None
    assert diff.overall.difference.cases == 2


def test_the_share_of_cases_that_could_be_compared() -> None:
    base = run(tried("a", "P"), tried("b", "P"), tried("c", "U"), not_selected=("d",))
    head = run(tried("a", "P"), tried("b", "P", gets="x"), tried("c", "P"), tried("d", "P"))
    assert diff_of(base, head).overall.comparable == 0.25


def test_the_paired_difference_counts_each_case_once_however_often_it_ran() -> None:
    base = run(tried("a", "P" * 20), tried("b", "PP"))
    diff = diff_of(base, run(tried("a", "P" * 20), tried("b", "PF")))
    assert (diff.base_rate, diff.head_rate) == (1.0, 0.75)
    assert diff.overall.difference == paired_difference([(20, 20, 20, 20), (2, 2, 1, 2)])
    assert diff.overall.sight is not None
    assert diff.overall.sight.attempts_needed == 4


def test_rates_by_tier_tag_and_any_key_of_the_metadata() -> None:
    def sliced(name: str, ended: str, tier: str, tags: tuple[str, ...], **metadata: Any) -> Tried:
        plan, attempts = tried(name, ended)
        return replace(plan, tier=tier, tags=tags, metadata=metadata), attempts

    base = run(
        sliced("a", "PP", "smoke", ("x",), owner="ann"),
        sliced("b", "PP", "smoke", ("x", "y"), owner="bob", level=3),
        sliced("c", "PP", "regression", ()),
    )
    head = run(
        sliced("a", "PP", "smoke", ("x",), owner="ann"),
        sliced("b", "FF", "smoke", ("x", "y"), owner="bob", level=3),
        sliced("c", "PF", "regression", ()),
    )
    slices = diff_of(base, head, by=("owner", "level")).overall.slices
    assert [(item.by, item.value, item.difference.cases, item.base_rate, item.head_rate) for item in slices] == [
        ("tier", "regression", 1, 1.0, 0.5),
        ("tier", "smoke", 2, 1.0, 0.5),
        ("tag", "x", 2, 1.0, 0.5),
        ("tag", "y", 1, 1.0, 0.0),
        ("owner", "(none)", 1, 1.0, 0.5),
        ("owner", "ann", 1, 1.0, 1.0),
        ("owner", "bob", 1, 1.0, 0.0),
        ("level", "(none)", 2, 1.0, 0.75),
        ("level", "3", 1, 1.0, 0.0),
    ]


def measured(name: str, *latencies: float | None) -> Tried:
    plan, attempts = tried(name, "P" * len(latencies))
    return plan, tuple(replace(each, latency_ms=took) for each, took in zip(attempts, latencies, strict=True))


def test_measures_have_tests_of_their_own() -> None:
    slow, fast = [20.0, 21, 22, 23, 24], [10.0, 11, 12, 13, 14]
    base = run(measured("a", *fast), measured("b", *fast), measured("c", None, *fast[1:]))
    diff = diff_of(base, run(measured("a", *slow), measured("b", *fast), measured("c", *slow)))
    found = by_id(diff)
    (shift,) = found["a"].measures
    assert (shift.name, shift.base, shift.head) == ("latency_ms", 12, 22)
    assert [shift.p, shift.q] == pytest.approx([2 / 252, 4 / 252])
    assert found["b"].measures[0].p == 1
    assert found["c"].measures == ()
    (whole,) = diff.overall.measures
    assert (whole.cases, whole.base, whole.head, whole.p) == (2, 12, 17, 1)


def test_two_agents_are_compared_like_two_commits() -> None:
    one_agent, other = agent("fast", "1:a"), agent("clever", "1:b")
    diff = diff_of(run(tried("a", "P"), agents=[one_agent]), run(tried("a", "F"), agents=[other]))
    assert diff.conditions == ("agent fast → clever",)
    assert diff.counts["broke"] == 1


def test_an_agent_that_changed_names_the_pins_that_did() -> None:
    before = replace(agent(digest="1:a"), pins={"model": "m-1", "temperature": 0})
    after = replace(agent(digest="1:b"), pins={"model": "m-2", "temperature": 0, "prompt": "v2"})
    diff = diff_of(run(tried("a", "P"), agents=[before]), run(tried("a", "P"), agents=[after]))
    assert diff.conditions == ("agent support changed: model m-1 → m-2, prompt none → v2",)


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"grading": 2}, "what checks mean (version 1 → 2)"),
        ({"stopped": "--budget-time: 5 s are over"}, "the head run was stopped: --budget-time: 5 s are over"),
    ],
)
def test_a_run_that_was_stopped_or_graded_otherwise_is_told(changes: dict[str, Any], condition: str) -> None:
    assert diff_of(run(tried("a", "P")), run(tried("a", "P"), **changes)).conditions == (condition,)


endings = st.text("PFETLUHC", min_size=1, max_size=4)
cases = st.dictionaries(
    st.sampled_from([f"case-{number}" for number in range(8)]),
    st.tuples(endings, st.sampled_from(["in", "edited"]), st.booleans()),
    max_size=8,
)
Cases = dict[str, tuple[str, str, bool]]


def run_of(cases: Cases) -> Run:
    made: list[Tried] = [
        tried(name, ended, gets=gets, quarantined=quarantined) for name, (ended, gets, quarantined) in cases.items()
    ]
    return run(*made)


@given(cases, cases)
@steady
def test_every_case_is_in_exactly_one_class_and_the_counts_add_up(before: Cases, after: Cases) -> None:
    diff = diff_of(run_of(before), run_of(after))
    assert sorted(case.id for case in diff.cases) == sorted({*before, *after})
    assert set(diff.counts) == set(CLASSES)
    assert sum(diff.counts.values()) == len({*before, *after})
    assert diff.compared == sum(diff.counts[name] for name in COMPARED)


@given(cases)
@steady
def test_a_run_compared_with_itself_shows_no_change(before: Cases) -> None:
    diff = diff_of(run_of(before), run_of(before))
    assert {case.change for case in diff.cases} <= {"still_passing", "still_failing", "not_comparable"}
    assert diff.base_rate == diff.head_rate
    assert diff.conditions == ()


@given(cases, cases)
@steady
def test_looked_at_from_the_other_side_every_change_is_its_opposite(before: Cases, after: Cases) -> None:
    opposite = {"broke": "fixed", "slipped": "improved", "new": "removed"}
    opposite |= {value: key for key, value in opposite.items()}
    there, back = classes(run_of(before), run_of(after)), classes(run_of(after), run_of(before))
    assert back == {name: opposite.get(change, change) for name, change in there.items()}
