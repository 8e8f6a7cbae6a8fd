"""The verdict on one attempt: every way to end has its status, and a pass needs evidence."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from build import answered, call, case, did

from agenteval_cli.endings import AgentFault, Cancelled, Ending, Facts, HarnessFault, TimedOut
from agenteval_cli.finding import CheckResult
from agenteval_cli.grading import Verdict, verdict_on
from agenteval_cli.statuses import GRADED, STATUSES
from agenteval_cli.transcript import Transcript

HOLDS, FAILS = {"contains": "Done"}, {"contains": "Never"}
UNSEEN = {"state": {"a": 1}}
LOOPS = {"regex": "(a|aa)+$"}
LOOPING = "Done" + "a" * 40 + "!"


def verdict(transcript: Transcript | None = None, **keys: Any) -> Verdict:
    return verdict_on(case(**keys), answered(transcript or did()))


@pytest.mark.parametrize(
    ("ending", "status", "reason"),
    [
        (AgentFault(Facts(exit_code=1), "exited with 1"), "agent_error", "exited with 1"),
        (TimedOut(Facts(), 0.5), "timeout", "no answer within 0.5 s"),
        (Cancelled(Facts()), "cancelled", "the run was stopped before the agent answered"),
        (HarnessFault("no room left"), "harness_error", "no room left"),
        (answered(did()), "passed", ""),
        (answered(did(output="Sorry.")), "failed", 'outcome[0].contains: the answer does not contain "Done"'),
    ],
)
def test_every_ending_has_its_status_and_reason(ending: Ending, status: str, reason: str) -> None:
    found = verdict_on(case(outcome=[HOLDS]), ending)
    assert (found.status, found.reason) == (status, reason)
    assert status in STATUSES


@pytest.mark.parametrize(
    "ending", [AgentFault(Facts(), "crashed"), TimedOut(Facts(), 1.0), Cancelled(Facts()), HarnessFault("broken")]
)
def test_without_an_answer_neither_outcome_nor_trajectory_is_checked(ending: Ending) -> None:
    found = verdict_on(case(outcome=[{"not_contains": "x"}], trajectory={"only": []}), ending)
    assert (found.outcome, found.trajectory, found.checks) == ("not_checked", "not_checked", ())


@pytest.mark.parametrize(
    ("outcome", "trajectory", "parts"),
    [
        ([HOLDS], {"required": ["get_order"]}, ("passed", "passed")),
        ([FAILS], {"required": ["get_order"]}, ("failed", "passed")),
        ([HOLDS], {"forbidden": ["get_order"]}, ("passed", "failed")),
        ([HOLDS, FAILS], {"only": []}, ("failed", "failed")),
    ],
)
def test_outcome_and_path_are_scored_apart(outcome: list[Any], trajectory: Any, parts: tuple[str, str]) -> None:
    found = verdict(did(call("get_order")), outcome=outcome, trajectory=trajectory)
    assert (found.outcome, found.trajectory) == parts
    assert (found.status == "passed") == (parts == ("passed", "passed"))


def test_what_is_not_in_the_case_is_not_checked() -> None:
    assert verdict(outcome=[HOLDS]).trajectory == "not_checked"
    assert verdict(trajectory={"only": []}).outcome == "not_checked"


def test_going_over_a_limit_comes_before_failing() -> None:
    found = verdict(did(call("get_order")), outcome=[FAILS], trajectory={"only": []}, limits={"tool_calls": 0})
    assert found.status == "over_limit"
    assert found.reason == "limits.tool_calls: 1 tool calls; the limit is 0"
    assert (found.outcome, found.trajectory) == ("failed", "failed")


def test_the_first_failing_check_is_the_reason() -> None:
    found = verdict(outcome=[HOLDS, FAILS, {"contains": "Nor this"}], trajectory={"required": ["get_order"]})
    assert found.reason == 'outcome[1].contains: the answer does not contain "Never"'


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ([HOLDS, UNSEEN], "ungraded"),
        ([UNSEEN, FAILS], "failed"),
        ([HOLDS, LOOPS], "ungraded"),
        ([UNSEEN], "ungraded"),
    ],
)
def test_a_definite_failure_beats_missing_evidence_and_that_beats_a_pass(outcome: list[Any], status: str) -> None:
    assert verdict(did(output=LOOPING), outcome=outcome).status == status


def test_missing_evidence_is_the_reason_and_leaves_its_part_unchecked() -> None:
    found = verdict(Transcript(output="Done."), outcome=[HOLDS], trajectory={"forbidden": ["delete_order"]})
    assert (found.status, found.outcome, found.trajectory) == ("ungraded", "passed", "not_checked")
    assert found.reason.startswith("trajectory.forbidden: nothing tells which tools were called")


@pytest.mark.parametrize("limits", [{"tool_calls": 5}, {"tokens": 5}, {"cost": "5"}, {"steps": 5}])
def test_a_limit_without_a_measurement_is_never_a_pass(limits: dict[str, Any]) -> None:
    assert verdict(Transcript(output="Done."), outcome=[HOLDS], limits=limits).status == "ungraded"


@pytest.mark.parametrize("keys", [{}, {"criteria": ["Polite."]}, {"outcome": [HOLDS | {"severity": "warning"}]}])
def test_a_case_with_nothing_that_can_fail_is_never_passed(keys: dict[str, Any]) -> None:
    found = verdict(**keys)
    assert (found.status, found.reason) == ("ungraded", "nothing was checked that can fail")


@pytest.mark.parametrize("warned", [FAILS, UNSEEN])
def test_a_warning_never_gates_and_is_still_shown(warned: dict[str, Any]) -> None:
    found = verdict(outcome=[HOLDS, warned | {"severity": "warning"}])
    assert (found.status, found.outcome) == ("passed", "passed")
    assert [result.result for result in found.checks][1] != "passed"


def test_every_check_is_in_the_verdict_with_its_name() -> None:
    found = verdict(
        outcome=[HOLDS, FAILS], trajectory={"only": []}, limits={"turns": 1}, expected_output="x", match="exact"
    )
    assert [result.name for result in found.checks] == [
        "outcome[0].contains",
        "outcome[1].contains",
        "match.exact",
        "trajectory.only",
        "limits.turns",
    ]


def test_a_status_counts_against_the_case_or_leaves_the_run_incomplete_or_is_a_pass() -> None:
    meanings = {name: (status.counts, status.incomplete) for name, status in STATUSES.items()}
    assert [name for name, meaning in meanings.items() if meaning == (False, False)] == ["passed"]
    assert (True, True) not in meanings.values()
    assert {name for name, (counts, _) in meanings.items() if counts} == GRADED - {"passed"}


@pytest.mark.parametrize("outcome", list(product([HOLDS, FAILS, UNSEEN], repeat=3)))
def test_the_order_of_the_checks_changes_no_status(outcome: tuple[dict[str, Any], ...]) -> None:
    found = verdict(outcome=list(outcome))
    wanted = "failed" if FAILS in outcome else "ungraded" if UNSEEN in outcome else "passed"
    assert found.status == wanted
    assert all(isinstance(result, CheckResult) for result in found.checks)
