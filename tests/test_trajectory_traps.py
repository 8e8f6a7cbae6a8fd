"""Traps that people fell into with the paths of their agents: each a small input, and the right behaviour."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from build import answered, call, case, did
from conftest import Repo
from jsonschema import Draft202012Validator

from agenteval_cli import schemas
from agenteval_cli.finding import CheckResult
from agenteval_cli.grading import Verdict, verdict_on
from agenteval_cli.pointers import faults, resolved
from agenteval_cli.reported import transcript_from
from agenteval_cli.trajectory import checked
from agenteval_cli.transcript import ToolCall, Transcript

Calls = list[ToolCall]
TOOLS = [{"name": "pay", "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}}}]


def result(calls: Calls, /, **rules: Any) -> CheckResult:
    (found,) = checked(case(trajectory=rules).trajectory, did(*calls))
    return found


def verdict(transcript: Transcript, **keys: Any) -> Verdict:
    return verdict_on(case(**keys), answered(transcript))


# ---- what "in order" and "exact" mean with repeated tools

ACTUAL = {1: "search search open", 2: "search open log search", 3: "search open", 4: ""}


@pytest.mark.parametrize(
    ("rule", "passing"),
    [
        ({"mode": "exact"}, set()),
        ({"mode": "in_order"}, {2}),
        ({"mode": "any_order"}, {1, 2}),
        ({"mode": "any_order", "extra": "deny"}, {1}),
        ({"mode": "superset"}, {1, 2}),
        ({"mode": "subset"}, {1, 3, 4}),
    ],
)
def test_the_modes_differ_with_repeated_tools_as_documented(rule: dict[str, str], passing: set[int]) -> None:
    expected = ["search", "open", "search"]
    held = {
        number
        for number, names in ACTUAL.items()
        if result([call(name) for name in names.split()], calls={**rule, "expected": expected}).result == "passed"
    }
    assert held == passing


def test_a_failure_names_the_first_step_that_differs_what_was_expected_there_and_where_it_came() -> None:
    calls = [call(name) for name in ("search", "search", "open")]
    found = result(calls, calls={"mode": "exact", "expected": ["search", "open", "search"]})
    assert found.message == "step 2, search({}), came where expected[1], open, should; that came at step 3"


def test_scores_stand_beside_the_verdict() -> None:
    calls = [call(name) for name in ("open", "search", "log")]
    found = result(calls, calls={"mode": "in_order", "expected": ["search", "open"]})
    assert found.result == "failed"
    assert found.scores == {"precision": 0.6667, "recall": 1.0, "f1": 0.8, "order": 0.5}


@pytest.mark.parametrize(
    ("calls", "scores"),
    [([], {}), (["log"], {"precision": 0.0, "f1": 0.0})],
)
def test_a_ratio_of_nothing_is_left_out(calls: list[str], scores: dict[str, float]) -> None:
    found = result([call(name) for name in calls], calls={"mode": "any_order", "expected": []})
    assert found.scores == scores


def test_pairing_is_not_greedy() -> None:
    """The first requirement fits both calls, the second one only the first of them."""
    calls = [call("look", id=1), call("look", id=2)]
    expected = ["look", {"name": "look", "arguments": {"id": 1}}]
    assert result(calls, calls={"mode": "any_order", "expected": expected, "extra": "deny"}).result == "passed"


# ---- what is compared of a call


def test_generated_ids_times_and_the_order_of_keys_are_not_compared() -> None:
    made = transcript_from(
        {
            "output": "Done.",
            "tool_calls": [
                {
                    "id": "call_8f2c",
                    "name": "run_query",
                    "arguments": {"sql": "select 1", "project": "demo"},
                    "duration_ms": 1911.2,
                    "result": "ok",
                }
            ],
        }
    )
    expected = [{"name": "run_query", "arguments": {"project": "demo", "sql": "select 1"}, "exact": True}]
    rules = {"calls": {"mode": "exact", "expected": expected}}
    assert verdict(made, trajectory=rules).status == "passed"


PADDED: dict[int, dict[str, Any]] = {
    1: {"to": "ana", "amount": 10, "urgent": True, "cc": "all-staff"},
    2: {"to": "ana", "amount": 999},
}
PAID: dict[int, dict[str, Any]] = {**PADDED, 3: {"amount": 10}, 4: {"amount": 10, "to": "ana"}}


@pytest.mark.parametrize(("exact", "passing"), [(False, {1, 4}), (True, {4})])
def test_a_padded_call_passes_as_a_subset_only_and_tells_what_was_left_open(exact: bool, passing: set[int]) -> None:
    pattern = {"tool": "pay", "arguments": {"to": "ana", "amount": 10}, "exact": exact}
    found = {number: result([call("pay", **given)], required=[pattern]) for number, given in PAID.items()}
    assert {number for number, held in found.items() if held.result == "passed"} == passing
    assert exact or found[1].message == "step 1 has more arguments: urgent, cc"


def test_nested_objects_follow_the_same_mode() -> None:
    calls = [call("pay", to={"name": "ana", "bank": "x"})]
    pattern = {"tool": "pay", "arguments": {"to": {"name": "ana"}}}
    assert result(calls, required=[pattern]).result == "passed"
    assert "$.to.bank" in result(calls, required=[{**pattern, "exact": True}]).message


def test_a_single_argument_can_be_forbidden() -> None:
    rule = [{"tool": "pay", "arguments": {"cc": {"present": True}}}]
    assert result([call("pay", **PAID[1])], forbidden=rule).result == "failed"
    assert result([call("pay", **PAID[4])], forbidden=rule).result == "passed"


ORDERED = {"count": 2, "items": [{"sku": "A1"}], "note": "42"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"count": 2.0, "items": [{"sku": "A1"}], "note": "42"}, None),
        ('{"count": 2, "items": [{"sku": "A1"}], "note": "42"}', None),
        ('{"count": 2, "items": "[{\\"sku\\": \\"A1\\"}]", "note": "42"}', "at $.items: expected the array"),
        (
            {"count": "2", "items": [{"sku": "A1"}], "note": "42"},
            'at $.count: expected the number 2, got the string "2"',
        ),
        ({"count": 2, "items": [{"sku": "A1"}], "note": 42}, 'at $.note: expected the string "42", got the number 42'),
        ("{count: 2}", 'got the string "{count: 2}"'),
    ],
)
def test_arguments_in_other_clothes(arguments: Any, words: str | None) -> None:
    """Numbers by value, the outer JSON text decoded once, inner texts and scalars as they are, broken text kept."""
    made = transcript_from({"output": "", "tool_calls": [{"name": "order", "arguments": arguments, "result": 1}]})
    (found,) = checked(case(trajectory={"required": [{"tool": "order", "arguments": ORDERED}]}).trajectory, made)
    assert found.result == ("passed" if words is None else "failed")
    assert (words or "") in found.message


def test_an_argument_named_like_an_operator_is_an_argument() -> None:
    rule = [{"tool": "list", "arguments": {"type": "refund"}}]
    assert result([call("list", type="refund")], required=rule).result == "passed"
    assert result([call("list", type="refund")], forbidden=rule).result == "failed"
    assert result([call("list", type="order")], forbidden=rule).result == "passed"


# ---- calls made at the same time

USD, EUR = call("rates", to="USD"), call("rates", to="EUR")
CONVERT = call("convert")


def at_once(*calls: ToolCall) -> Calls:
    return [msgspec.structs.replace(made, group=1) for made in calls]


@pytest.mark.parametrize("calls", [[USD, EUR, CONVERT], [EUR, USD, CONVERT], [*at_once(USD, EUR), CONVERT]])
def test_these_in_any_order_and_then_that(calls: Calls) -> None:
    parallel = [{"name": "rates", "arguments": {"to": to}} for to in ("EUR", "USD")]
    rule = {"mode": "exact", "expected": [{"parallel": parallel}, "convert"]}
    assert result(calls, calls=rule).result == "passed"
    assert result([calls[0], calls[2], calls[1]], calls=rule).result == "failed"


def test_a_before_b_is_false_where_a_only_ever_comes_after_b_or_beside_it() -> None:
    rule = [{"first": "rates", "then": "convert"}]
    assert result([CONVERT, USD], order=rule).result == "failed"
    assert result(at_once(USD, CONVERT), order=rule).result == "failed"
    assert result([*at_once(USD, EUR), CONVERT], order=rule).result == "passed"


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (((0, 10), (5, 10)), "passed"),
        (((0, 10), (10, 10)), "failed"),
        (((0, 10), (None, 10)), "no_evidence"),
    ],
)
def test_that_calls_overlapped_is_read_from_their_times(times: Any, expected: str) -> None:
    calls = [
        ToolCall(name=name, arguments={}, result=1, started_ms=begin, duration_ms=length)
        for name, (begin, length) in zip("ab", times, strict=True)
    ]
    rule = {"mode": "exact", "expected": [{"parallel": ["a", "b"], "overlap": True}]}
    assert result(calls, calls=rule).result == expected


# ---- rules that need no asking never make a case pass


def test_a_case_is_not_passed_by_what_it_did_not_ask_for() -> None:
    good = verdict(did(call("pay", amount=5)), tools=TOOLS, outcome=[{"contains": "Done", "severity": "warning"}])
    assert (good.status, good.trajectory) == ("ungraded", "not_checked")


@pytest.mark.parametrize(
    ("made", "name"),
    [(call("pay", amount="lots"), "trajectory.valid_arguments"), (call("shell"), "trajectory.unknown_tool")],
)
def test_bad_arguments_and_foreign_tools_fail_a_case_that_did_not_ask(made: ToolCall, name: str) -> None:
    found = verdict(did(made), tools=TOOLS, outcome=[{"contains": "Done"}])
    assert (found.status, found.outcome, found.trajectory) == ("failed", "passed", "failed")
    assert found.reason.startswith(name)


def test_without_reported_calls_nobody_misses_what_was_not_asked_for() -> None:
    silent = Transcript(output="Done.")
    assert verdict(silent, tools=TOOLS, outcome=[{"contains": "Done"}]).status == "passed"


def test_an_inventory_with_a_fixture_that_is_not_filled_in_is_unknown() -> None:
    found = verdict(did(call("other")), tools=[{"use": "shop"}, *TOOLS], outcome=[{"contains": "Done"}])
    assert found.status == "passed"


def test_what_is_checked_of_the_whole_is_not_told_again_for_each_turn() -> None:
    turns = [{"user": "Pay.", "trajectory": {"required": ["shell"]}}]
    data = case(tools=TOOLS, turns=turns)
    found = verdict_on(data, answered(did(call("shell"))))
    assert [check.name for check in found.checks] == ["trajectory.unknown_tool", "turns[0].trajectory.required[0]"]


@pytest.mark.parametrize(
    ("mismatch", "status"), [(None, "passed"), ("warning", "passed"), ("error", "failed"), ("ignore", "passed")]
)
def test_whether_a_false_claim_gates_is_the_cases_choice(mismatch: str | None, status: str) -> None:
    lied = Transcript(output="Done.", tool_calls=(), reported_calls=(call("pay"),), observed=True)
    rules = {"trajectory": {"claims": {"mismatch": mismatch}}} if mismatch else {}
    found = verdict(lied, outcome=[{"contains": "Done"}], **rules)
    assert found.status == status
    told = [(check.name, check.severity) for check in found.checks if check.result == "failed"]
    assert told == ([("trajectory.claims.mismatch", mismatch or "warning")] if mismatch != "ignore" else [])


# ---- the user's yes


@pytest.mark.parametrize(
    ("said", "assents"),
    [
        ("Yes", True),
        ("YES!!", True),
        ("ok, go ahead", True),
        ("Sure. Can I get a receipt?", True),
        ("Please do", True),
        ("No", False),
        ("Yes, but not today", False),
        ("I don’t think so, ok?", False),
        ("Is that ok?", False),
        ("yesterday", False),
        ("Cancel my order", False),
        ("", False),
        ("Ja, bitte", True),
        ("Nein", False),
        ("はい", True),
        ("いいえ、お願いします", False),
        ("Sí, adelante", True),
        ("Si puede", False),
        ("D’accord, allez-y", True),
        ("Je ne suis pas d'accord", False),
    ],
)
def test_a_yes_is_a_yes_in_five_languages_and_a_doubt_is_none(said: str, assents: bool) -> None:
    found = checked(case(input=said or " ", trajectory={"confirm_before": ["pay"]}).trajectory, did(call("pay")))
    assert [result.result for result in found] == ["passed" if assents else "failed"]


def test_a_yes_in_parts_of_a_message_counts() -> None:
    said = [{"type": "text", "text": "Yes"}, {"type": "image"}]
    found = checked(case(input=said, trajectory={"confirm_before": ["pay"]}).trajectory, did(call("pay")))
    assert [result.result for result in found] == ["passed"]


def test_the_yes_of_another_turn_does_not_count_in_this_one() -> None:
    turns = [{"user": "Yes"}, {"user": "Pay.", "trajectory": {"confirm_before": ["pay"]}}]
    data = case(turns=turns)
    assert [found.result for found in checked(data.turns[1].trajectory, did(call("pay")))] == ["failed"]


@pytest.mark.parametrize("asked", ["no list", [1, None, "x"], [{"function": 3}], [{"id": 7, "function": {"name": 1}}]])
def test_messages_of_any_shape_do_no_harm(asked: Any) -> None:
    odd = Transcript(tool_calls=(call("pay"),), messages=({"role": "user"}, {"role": 1, "tool_calls": asked}))
    found = checked(case(input="Yes", trajectory={"confirm_before": ["pay"]}).trajectory, odd)
    assert [result.result for result in found] == ["passed"]


# ---- values of the state

STATE = {"orders": {"5678": {"total": "129.00", "lines": [1, {"a/b": 2}], "type": {"type": "string"}}}, "limit": 10}


@pytest.mark.parametrize(
    ("matcher", "meant"),
    [
        ({"$state": "/limit"}, 10),
        ({"total": {"$state": "/orders/5678/total"}}, {"total": "129.00"}),
        ({"lte": {"$state": "/limit"}}, {"lte": 10}),
        ({"between": [0, {"$state": "/limit"}]}, {"between": [0, 10]}),
        ({"any_of": [{"$state": "/limit"}, {"gt": 3}]}, {"any_of": [10, {"gt": 3}]}),
        ({"$state": "/orders/5678/type"}, {"equals": {"type": "string"}}),
        ({"$state": "/orders/5678/lines/1/a~1b"}, 2),
        ({"equals": {"$state": "/orders/5678/type"}}, {"equals": {"type": "string"}}),
        ({"not": {"$state": "/orders/5678/type"}}, {"not": {"equals": {"type": "string"}}}),
        ({"$state": "/orders/1"}, {"$state": "/orders/1"}),
        ([{"$state": "/limit"}, 1], [10, 1]),
    ],
)
def test_a_pointer_into_the_state_stands_for_what_is_there(matcher: Any, meant: Any) -> None:
    assert resolved(matcher, STATE) == meant


@pytest.mark.parametrize(
    ("matcher", "path", "words"),
    [
        ({"a": {"$state": "/orders/1"}}, ("a", "$state"), "the case's state has nothing at /orders/1"),
        ({"gt": {"$state": "/orders/5678/lines/2"}}, ("gt", "$state"), "the case's state has nothing at"),
        ([{"$state": "limit"}], (0, "$state"), '"limit" is not a JSON pointer; it starts with /'),
        ({"$state": 3}, ("$state",), "3 is not a JSON pointer"),
    ],
)
def test_a_pointer_to_nothing_is_a_fault_of_the_case(matcher: Any, path: tuple[Any, ...], words: str) -> None:
    ((found, said),) = faults(matcher, STATE)
    assert found == path
    assert said.startswith(words)
    assert not list(faults({"a": {"$state": "/limit"}}, STATE))


def test_an_answer_and_an_end_state_can_be_held_against_the_ledger() -> None:
    keys: dict[str, Any] = {
        "state": STATE,
        "outcome": [
            {"field": {"path": "$.total", "equals": {"$state": "/orders/5678/total"}}},
            {"state": {"limit": {"$state": "/limit"}}},
        ],
    }
    good = Transcript(output={"total": "129.00"}, state={"limit": 10})
    assert verdict(good, **keys).status == "passed"
    assert verdict(msgspec.structs.replace(good, output={"total": "1.00"}), **keys).status == "failed"
    assert verdict(msgspec.structs.replace(good, state={"limit": 11}), **keys).status == "failed"


# ---- a whole run

RICH = """
schema: 1
id: rich
input: Pay order 7.
trajectory:
  calls: {mode: in_order, expected: [look, pay]}
  recovery: [{after_error: pay, must: retry}]
  plan: {required: true}
"""
AGENT = """
import json
calls = [{"name": name, "arguments": {}, **ended} for name, ended in [
    ("look", {"result": 1}), ("pay", {"error": "busy"}), ("pay", {"result": 1}), ("log", {"result": 1})]]
print(json.dumps({"output": "Paid.", "tool_calls": calls, "reasoning": [{"type": "PLAN", "content": "look, pay"}]}))
"""


def test_a_run_keeps_the_scores_beside_the_verdict(repo: Repo) -> None:
    repo.agent(AGENT)
    repo.case("rich", RICH)
    assert repo.run("run", "--case", "rich").code == 0
    (attempt, *_) = repo.attempts()
    Draft202012Validator(schemas.load("attempt")).validate(attempt)
    scores = {check["name"]: check.get("scores") for check in attempt["checks"]}
    assert scores["trajectory.calls"] == {"precision": 0.5, "recall": 1.0, "f1": 0.6667, "order": 1.0}
    assert set(scores) == {"trajectory.calls", "trajectory.recovery[0]", "trajectory.plan.required"}
