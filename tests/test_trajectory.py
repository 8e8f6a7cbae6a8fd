"""The rules over the path: tables of calls, and what each rule says of them."""

from __future__ import annotations

from typing import Any

import pytest
from build import call, case, did, steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.finding import CheckResult
from agenteval_cli.trajectory import RULES, checked
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript

Calls = list[ToolCall]

GET, REFUND = call("get_order", order_id="5678"), call("create_refund", order_id="5678", amount=129)
FAILED_GET = call("get_order", "error", order_id="5678")
MUTE_GET = ToolCall(name="get_order", arguments={"order_id": "5678"})


def results(calls: Calls, /, **rules: Any) -> list[CheckResult]:
    return list(checked(case(trajectory=rules).trajectory, did(*calls)))


def verdicts(calls: Calls, /, **rules: Any) -> list[bool]:
    """Which constraints hold, in the order in which they are given."""
    found = results(calls, **rules)
    assert {result.result for result in found} <= {"passed", "failed"}
    return [result.result == "passed" for result in found]


def complaint(calls: Calls, **rules: Any) -> str:
    """The words of the one constraint, which must not hold."""
    (found,) = results(calls, **rules)
    assert found.result == "failed"
    return found.message


@pytest.mark.parametrize(
    ("required", "calls", "held"),
    [
        (["get_order"], [GET], [True]),
        (["get_order"], [], [False]),
        (["get_order"], [REFUND], [False]),
        (["get_order", "create_refund"], [REFUND, GET], [True, True]),
        (["get_order", "create_refund"], [GET], [True, False]),
        ([{"tool": "get_order", "arguments": {"order_id": "5678"}}], [GET], [True]),
        ([{"tool": "get_order", "arguments": {"order_id": 5678}}], [GET], [False]),
        ([{"tool": "create_refund", "arguments": {"amount": {"lte": 129}}}], [REFUND], [True]),
        ([{"tool": "create_refund", "arguments": {"amount": {"lt": 129}}}], [REFUND], [False]),
        ([{"tool": "create_refund", "arguments": {"order_id": "5678"}, "exact": True}], [REFUND], [False]),
        ([{"tool": "get_order", "arguments": {"order_id": "5678"}, "exact": True}], [GET], [True]),
        ([{"tool": "get_order", "arguments": {}}], [GET], [True]),
        ([{"tool": "get_order", "status": "ok"}], [GET], [True]),
        ([{"tool": "get_order", "status": "ok"}], [FAILED_GET], [False]),
        ([{"tool": "get_order", "status": "ok"}], [MUTE_GET], [False]),
        ([{"tool": "get_order", "status": "error"}], [FAILED_GET], [True]),
        (["get_order"], [FAILED_GET], [True]),
    ],
)
def test_required_calls_must_have_come(required: list[Any], calls: Calls, held: list[bool]) -> None:
    assert verdicts(calls, required=required) == held


@pytest.mark.parametrize(
    ("times", "good"),
    [
        (0, {0}),
        (1, {1}),
        (2, {2}),
        (2.0, {2}),
        ({"gte": 2}, {2, 3}),
        ({"lte": 1}, {0, 1}),
        ({"between": [1, 2]}, {1, 2}),
        ({"not": 1}, {0, 2, 3}),
        ({"any_of": [0, 3]}, {0, 3}),
        ({"gt": 5}, set()),
    ],
)
def test_a_required_call_comes_as_often_as_it_says(times: Any, good: set[int]) -> None:
    rule = [{"tool": "get_order", "times": times}]
    assert {count for count in range(4) if verdicts([GET] * count, required=rule) == [True]} == good


@pytest.mark.parametrize(
    ("required", "calls", "held"),
    [
        (["get_order", "get_order"], [GET], [True, False]),
        (["get_order", "get_order"], [GET, GET], [True, True]),
        (["get_order", {"tool": "get_order", "arguments": {"order_id": "5678"}}], [GET], [True, False]),
        (
            ["get_order", {"tool": "get_order", "arguments": {"order_id": "5678"}}],
            [GET, call("get_order")],
            [True, True],
        ),
        (["get_order", {"tool": "get_order", "times": {"gte": 2}}], [GET, GET], [True, False]),
        (["get_order", {"tool": "get_order", "times": {"gte": 2}}], [GET, GET, GET], [True, True]),
        ([{"tool": "get_order", "times": {"lte": 1}}, "get_order"], [GET], [True, True]),
    ],
)
def test_one_call_never_answers_two_requirements(required: list[Any], calls: Calls, held: list[bool]) -> None:
    assert verdicts(calls, required=required) == held


@pytest.mark.parametrize(
    ("required", "calls", "words"),
    [
        ("get_order", [], "get_order was never called; no tool was called"),
        ("get_order", [REFUND], "get_order was never called; called were create_refund"),
        (
            {"tool": "get_order", "arguments": {"order_id": "1"}},
            [REFUND, GET],
            'get_order with {"order_id": "1"} was never called; '
            'nearest is step 2, get_order({"order_id": "5678"}): at $.order_id: expected "1", got "5678"',
        ),
        (
            {"tool": "get_order", "status": "ok"},
            [FAILED_GET],
            "get_order with status ok was never called; "
            'nearest is step 1, get_order({"order_id": "5678"}): at status: expected "ok", got "error"',
        ),
        ({"tool": "get_order", "times": 1}, [GET, GET], "get_order came 2 times, not 1"),
        ({"tool": "get_order", "times": {"gte": 2}}, [GET], 'get_order came 1 times, not {"gte": 2}'),
    ],
)
def test_a_missing_call_is_told_with_what_came_nearest(required: Any, calls: Calls, words: str) -> None:
    assert complaint(calls, required=[required]) == words


def test_the_nearest_call_is_the_one_that_parts_last() -> None:
    rule = {"tool": "create_refund", "arguments": {"order_id": "5678", "amount": 100}}
    words = complaint([call("create_refund", order_id="1"), REFUND], required=[rule])
    assert "nearest is step 2, create_refund" in words
    assert words.endswith("at $.amount: expected 100, got 129")


@pytest.mark.parametrize(
    ("forbidden", "calls", "held"),
    [
        (["delete_order"], [GET, REFUND], [True]),
        (["delete_order"], [], [True]),
        (["get_order"], [REFUND, GET], [False]),
        (["get_order"], [FAILED_GET], [False]),
        ([{"tool": "create_refund", "arguments": {"amount": {"gt": 129}}}], [REFUND], [True]),
        ([{"tool": "create_refund", "arguments": {"amount": {"gte": 129}}}], [REFUND], [False]),
        ([{"tool": "create_refund", "arguments": {"amount": {"gt": 1}}}], [call("create_refund")], [True]),
        ([{"tool": "get_order", "status": "error"}], [GET], [True]),
        ([{"tool": "get_order", "status": "error"}], [GET, FAILED_GET], [False]),
        (["get_order", "delete_order"], [GET], [False, True]),
    ],
)
def test_forbidden_calls_must_not_have_come(forbidden: list[Any], calls: Calls, held: list[bool]) -> None:
    assert verdicts(calls, forbidden=forbidden) == held


def test_a_forbidden_call_is_told_with_its_step() -> None:
    words = complaint([GET, REFUND, REFUND], forbidden=["create_refund"])
    assert words == 'step 2, create_refund({"order_id": "5678", "amount": 129}) is forbidden'


@pytest.mark.parametrize(
    ("only", "calls", "held"),
    [
        (["get_order", "create_refund"], [GET, REFUND], [True]),
        (["get_order"], [], [True]),
        (["get_order"], [GET, REFUND], [False]),
        ([], [], [True]),
        ([], [GET], [False]),
        (["GET_ORDER"], [GET], [False]),
    ],
)
def test_only_the_listed_tools_may_be_called(only: list[str], calls: Calls, held: list[bool]) -> None:
    assert verdicts(calls, only=only) == held


def test_the_first_call_outside_the_list_is_told() -> None:
    words = complaint([GET, call("escalate")], only=["get_order", "create_refund"])
    assert words == "step 2, escalate({}) is not one of the tools allowed here: get_order, create_refund"
    assert complaint([GET], only=[]).endswith("is not one of the tools allowed here: none")


@pytest.mark.parametrize(
    ("calls", "held"),
    [
        ([GET, REFUND], True),
        ([GET, REFUND, REFUND], True),
        ([GET], True),
        ([], True),
        ([call("escalate")], True),
        ([REFUND], False),
        ([REFUND, GET], False),
        ([REFUND, GET, REFUND], False),
        ([FAILED_GET, REFUND], False),
        ([FAILED_GET, GET, REFUND], True),
        ([FAILED_GET, REFUND, GET], False),
        ([MUTE_GET, REFUND], True),
    ],
)
def test_every_then_has_a_first_that_worked_before_it(calls: Calls, held: bool) -> None:
    assert verdicts(calls, order=[{"first": "get_order", "then": "create_refund"}]) == [held]


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([REFUND], "without any get_order before it"),
        ([FAILED_GET, REFUND], "without a get_order that worked"),
        ([REFUND, call("escalate"), GET], "before get_order, which came at step 3"),
    ],
)
def test_a_call_out_of_order_is_told_with_the_reason(calls: Calls, words: str) -> None:
    assert complaint(calls, order=[{"first": "get_order", "then": "create_refund"}]).endswith(f"came {words}")


@pytest.mark.parametrize(
    ("most", "calls", "held"),
    [
        (1, [GET, REFUND], True),
        (1, [GET, GET], False),
        (2, [GET, REFUND, GET], True),
        (2, [GET, REFUND, GET, GET], False),
        (1, [GET, call("get_order", order_id=5678)], True),
        (1, [call("pay", amount=1), call("pay", amount=1.0)], False),
        (1, [call("pay", amount=1), call("pay", amount=True)], True),
        (1, [call("pay", a=1, b=2), call("pay", b=2, a=1)], False),
        (1, [GET, FAILED_GET], False),
        (1, [], True),
    ],
)
def test_the_identical_call_may_come_so_often(most: int, calls: Calls, held: bool) -> None:
    assert verdicts(calls, max_repeats=most) == [held]


def test_the_first_call_too_many_is_told() -> None:
    words = complaint([GET, REFUND, GET, GET, GET], max_repeats=2)
    assert words == 'step 4, get_order({"order_id": "5678"}) makes 3 identical calls; at most 2 may come'


ALL_RULES: dict[str, Any] = {
    "required": ["get_order", "create_refund"],
    "forbidden": ["delete_order"],
    "only": ["get_order"],
    "order": [{"first": "get_order", "then": "create_refund"}],
    "calls": {"mode": "exact", "expected": ["get_order"]},
    "recovery": [{"after_error": "get_order", "must": "stop"}],
    "max_repeats": 1,
    "loops": {"max": 1},
    "valid_arguments": True,
    "unknown_tool": True,
    "confirm_before": ["get_order"],
    "plan": {"names_tools": True},
    "handoffs": [{"from": "a", "to": "b"}],
    "claims": {"mismatch": "error"},
}
TOOLS = [{"name": "get_order", "parameters": {"type": "object"}}]
PLANNED = (ReasoningStep("PLAN", "get_order"),)


def all_results(calls: Calls | None) -> list[CheckResult]:
    """Every rule there is on these calls, with an inventory, a plan, and the same calls claimed as seen."""
    made = None if calls is None else tuple(calls)
    shown = Transcript(
        output="Done.", tool_calls=made, reasoning=PLANNED, observed=True, reported_calls=() if made is None else made
    )
    return list(checked(case(tools=TOOLS, trajectory=ALL_RULES).trajectory, shown))


def test_without_reported_calls_no_rule_has_evidence() -> None:
    assert set(ALL_RULES) == set(RULES)
    for found in all_results(None):
        assert (found.part, found.result) == ("trajectory", "no_evidence")
        assert "the agent reported no tool_calls" in found.message


def test_reporting_that_no_call_was_made_is_evidence() -> None:
    failed = {found.name.removeprefix("trajectory.") for found in all_results([]) if found.result == "failed"}
    assert failed == {"required[0]", "required[1]", "calls", "handoffs[0]"}
    assert {found.result for found in all_results([])} == {"passed", "failed"}


def test_each_result_says_which_constraint_it_answers() -> None:
    assert [result.name.removeprefix("trajectory.") for result in all_results([])] == [
        "required[0]",
        "required[1]",
        "forbidden[0]",
        "only",
        "order[0]",
        "calls",
        "recovery[0]",
        "max_repeats",
        "loops",
        "valid_arguments",
        "unknown_tool",
        "confirm_before[0]",
        "plan.names_tools",
        "handoffs[0]",
        "claims.mismatch",
    ]


@pytest.mark.slow
def test_a_pattern_that_cannot_be_decided_in_time_is_an_error() -> None:
    rule = {"tool": "say", "arguments": {"text": {"regex": "(a|aa)+$"}}}
    (found,) = results([call("say", text="a" * 40 + "!")], forbidden=[rule])
    assert found.result == "error"


def test_arguments_that_are_no_object_fit_no_pattern_with_arguments() -> None:
    odd = ToolCall(name="get_order", arguments="order 5678", result=1)
    assert verdicts([odd], required=[{"tool": "get_order", "arguments": {"order_id": "5678"}}]) == [False]
    assert verdicts([odd], required=["get_order"]) == [True]


some_calls = st.lists(
    st.builds(
        lambda name, status, number: call(name, status, order_id=number),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["ok", "error"]),
        st.sampled_from(["1", "2"]),
    ),
    max_size=6,
)
patterns = st.fixed_dictionaries(
    {"tool": st.sampled_from(["a", "b", "c"])},
    optional={"arguments": st.sampled_from([{}, {"order_id": "1"}]), "status": st.sampled_from(["ok", "error"])},
)


@given(some_calls, st.sampled_from(["a", "b", "c"]))
@steady
def test_without_its_only_call_a_requirement_always_fails(calls: Calls, tool: str) -> None:
    others = [made for made in calls if made.name != tool]
    assert verdicts([*others, call(tool)], required=[tool]) == [True]
    assert verdicts(others, required=[tool]) == [False]


@given(some_calls, st.lists(patterns, min_size=1, max_size=2))
@steady
def test_the_verdict_on_forbidden_calls_does_not_depend_on_their_order(calls: Calls, forbidden: list[Any]) -> None:
    forward, backward = (verdicts(made, forbidden=forbidden) for made in (calls, calls[::-1]))
    assert forward == backward
