"""Recorded tools, replayed: which response answers, what it does to the state, and what is kept of each call."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest
from build import json_values, steady
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from agenteval_cli.case import Limits
from agenteval_cli.compare import ABSENT, same
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.observed_calls import Observed
from agenteval_cli.recordings import Blocks, Failure, Result, are_replayed
from agenteval_cli.state_patches import NoStateError, at, patched, resolved
from agenteval_cli.tool_evidence import with_observed
from agenteval_cli.tool_replay import MAX_BYTES, MAX_CALLS, Ask, Handled, Replay
from agenteval_cli.transcript import ToolCall, Transcript


def tool(*responses: dict[str, Any], name: str = "look", **more: Any) -> dict[str, Any]:
    return {"name": name, "responses": list(responses), **more}


def replayed(tools: list[dict[str, Any]], *calls: Any, state: Any = UNSET, limits: Limits | None = None) -> Observed:
    """What is observed of calls that come one a second and are answered at once: arguments of `look`, or (name, arguments)."""
    replay = Replay(tools, state, 0.0, limits)
    for moment, call in enumerate(calls):
        name, arguments = call if isinstance(call, tuple) else ("look", call)
        reply = replay.call(name, arguments, float(moment))
        if reply.number is not None:
            replay.answered(reply.number, float(moment))
    return replay.close()


def outcomes(observed: Observed) -> list[Any]:
    return [call.error["message"] if call.error else call.result for call in observed.calls]


# ---- which response


@pytest.mark.parametrize(
    ("responses", "calls", "expected"),
    [
        ([{"result": 1}], [{}, {}, {"id": 7}], [1, 1, 1]),
        ([{"when": {"id": 1}, "result": "one"}, {"result": "any"}], [{"id": 1}, {"id": 2}], ["one", "any"]),
        ([{"when": {"id": {"gt": 3}}, "result": "big"}, {"result": "small"}], [{"id": 4}, {"id": 3}], ["big", "small"]),
        ([{"when": {"id": 1}, "result": "extra is fine"}], [{"id": 1, "more": True}], ["extra is fine"]),
        ([{"when": {"id": 1}, "result": 0}, {"result": "else"}], [{"id": True}, {"id": 1.0}], ["else", 0]),
        ([{"times": 1, "result": "a"}, {"times": 2, "result": "b"}, {"result": "c"}], [{}] * 5, list("abbcc")),
        ([{"times": 1, "error": {"message": "busy"}}, {"result": "ok"}], [{}, {}], ["busy", "ok"]),
        (
            [{"when": {"id": 1}, "times": 1, "result": "a"}, {"result": "b"}],
            [{"id": 2}, {"id": 1}, {"id": 1}],
            list("bab"),
        ),
        ([{"when": {"date": "tomorrow"}, "result": "a name"}], [{"date": "tomorrow"}], ["a name"]),
        ([{"when": {"type": "refund"}, "result": "a name"}], [{"type": "refund", "id": 1}], ["a name"]),
        ([{"when": {"any_of": [{"id": 1}, {"id": 2}]}, "result": "either"}], [{"id": 2}], ["either"]),
        ([{"result": None}], [{}], [None]),
        ([{"error": {}}], [{}], ["the tool failed"]),
        ([{"content": [{"type": "text", "text": "hi"}]}], [{}], [{"content": [{"type": "text", "text": "hi"}]}]),
        ([{"result": {"rule": {"$literal": {"$state": "/x"}}}}], [{}], [{"rule": {"$state": "/x"}}]),
        ([{"result": [{"$literal": [{"$literal": {"$state": "/x"}}]}]}], [{}], [[[{"$literal": {"$state": "/x"}}]]]),
        ([{"result": {"$literal": 1, "more": 2}}], [{}], [{"$literal": 1, "more": 2}]),
    ],
)
def test_the_first_response_that_matches_and_is_not_used_up_answers(
    responses: list[Any], calls: list[Any], expected: list[Any]
) -> None:
    observed = replayed([tool(*responses)], *calls)
    assert outcomes(observed) == expected
    assert not observed.marks


def test_tools_are_used_up_each_for_itself() -> None:
    tools = [tool({"times": 1, "result": "a"}, name="one"), tool({"times": 1, "result": "b"}, name="two")]
    assert outcomes(replayed(tools, ("one", {}), ("two", {}))) == ["a", "b"]


def test_a_when_may_point_into_the_state() -> None:
    pointing = tool({"when": {"total": {"$state": "/orders/5/total"}}, "result": "right"}, {"result": "wrong"})
    observed = replayed([pointing], {"total": "9.00"}, {"total": "8.00"}, state={"orders": {"5": {"total": "9.00"}}})
    assert outcomes(observed) == ["right", "wrong"]


def test_a_when_that_points_to_what_is_not_there_does_not_match() -> None:
    pointing = tool({"when": {"total": {"$state": "/gone"}}, "result": "right"}, {"result": "wrong"})
    observed = replayed([pointing], {"total": None}, {}, state={})
    assert outcomes(observed) == ["wrong", "wrong"]
    assert not observed.marks


# ---- the state


def test_a_result_shows_the_state_as_its_own_effects_have_left_it() -> None:
    pay = tool({"effects": {"paid": True}, "result": {"was_paid": {"$state": "/paid"}, "all": [{"$state": ""}]}})
    observed = replayed([pay], {}, state={"paid": False})
    assert observed.calls[0].result == {"was_paid": True, "all": [{"paid": True}]}
    assert observed.state == {"paid": True}


def test_a_literal_in_effects_is_kept_as_it_is() -> None:
    patch = {"rule": {"$literal": {"$state": "/x"}}, "copy": {"$state": "/x"}}
    assert replayed([tool({"effects": patch, "result": 1})], {}, state={"x": 5}).state == {
        "x": 5,
        "rule": {"$state": "/x"},
        "copy": 5,
    }


def test_effects_may_point_to_what_was_there_before_the_call() -> None:
    book = tool({"effects": {"paid": {"$state": "/total"}, "total": "0"}, "result": {"$state": "/paid"}})
    observed = replayed([book], {}, state={"total": "46.00"})
    assert observed.calls[0].result == "46.00"
    assert observed.state == {"paid": "46.00", "total": "0"}


def test_a_matcher_that_the_state_makes_no_sense_of_is_a_broken_tool_and_not_the_agents_fault() -> None:
    small = tool({"when": {"amount": {"lte": {"$state": "/limit"}}}, "result": "paid"})
    observed = replayed([small], {"amount": 3}, state={"limit": "much"})
    assert observed.calls[0].status == "error"
    assert observed.broken is not None
    assert observed.broken.startswith("look cannot be replayed: ")


def test_a_tool_that_fails_can_have_done_its_work_all_the_same() -> None:
    observed = replayed([tool({"error": {"kind": "timeout"}, "effects": {"paid": True}})], {}, state={})
    assert observed.state == {"paid": True}


def test_the_case_and_earlier_results_are_not_changed_by_effects() -> None:
    state = {"list": {"a": 1}}
    observed = replayed([tool({"effects": {"list": {"b": 2}}, "result": {"$state": "/list"}})], {}, {}, state=state)
    assert state == {"list": {"a": 1}}
    assert observed.state == {"list": {"a": 1, "b": 2}}


def test_where_there_is_no_state_there_is_no_end_state_until_an_effect_makes_one() -> None:
    assert replayed([tool({"result": 1})], {}).state is UNSET
    assert replayed([tool({"result": 1, "effects": {"a": 1}})], {}).state == {"a": 1}


def test_a_pointer_to_nothing_is_a_broken_tool_and_not_the_agents_fault() -> None:
    observed = replayed([tool({"result": {"$state": "/orders/5"}})], {}, state={"orders": {}})
    assert observed.calls[0].status == "error"
    assert observed.broken == "look cannot be replayed: the state has nothing at '/orders/5'"


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [  # the examples of RFC 7396, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_effects_are_merge_patches(target: Any, patch: Any, expected: Any) -> None:
    assert patched(target, patch) == expected


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        ("", {"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8}),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/m~0n", 8),
        ("/foo/2", ABSENT),
        ("/foo/01", ABSENT),
        ("/foo/-", ABSENT),
        ("/foo/٣", ABSENT),
        ("/foo/0/x", ABSENT),
        ("/no", ABSENT),
        ("/foo/" + "9" * 5000, ABSENT),
    ],
)
def test_pointers_are_json_pointers(pointer: str, expected: Any) -> None:
    assert at({"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8}, pointer) == expected


@pytest.mark.parametrize("value", [{"$state": "no slash"}, {"$state": 1}, {"$state": "/a", "more": 1}, {"state": "/a"}])
def test_what_only_looks_like_a_pointer_is_left_alone(value: Any) -> None:
    assert resolved(value, {"a": 1}) == value


@given(json_values, json_values)
@steady
def test_a_patch_changes_nothing_it_is_given_and_holds_when_applied_again(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    once = patched(target, patch)
    assert same([target, patch], list(before))
    assert same(patched(once, patch), once)


# ---- what does not match


def test_a_call_that_nobody_recorded_is_refused_and_noted_without_telling_what_would_match() -> None:
    observed = replayed([tool({"when": {"id": "secret"}, "result": 1})], {"id": "guess"})
    assert outcomes(observed) == ["no response is recorded for this call of look"]
    assert [(mark.kind, mark.call) for mark in observed.marks] == [("unmatched", 1)]


def test_unmatched_empty_answers_null_and_notes_nothing() -> None:
    observed = replayed([tool({"when": {"id": 1}, "result": 1}, unmatched="empty")], {"id": 2})
    assert outcomes(observed) == [None]
    assert not observed.marks


def test_an_unknown_tool_is_told_the_nearest_one() -> None:
    observed = replayed([tool({"result": 1}, name="get_order")], ("get_ordre", {"id": 1}))
    assert outcomes(observed) == ["no tool 'get_ordre'; did you mean 'get_order'?"]
    assert observed.calls[0].arguments == {"id": 1}
    assert observed.marks[0].kind == "unknown_tool"


@pytest.mark.parametrize("arguments", [[], "text", None, 3])
def test_arguments_that_are_no_object_are_refused_and_kept(arguments: Any) -> None:
    observed = replayed([tool({"result": 1})], arguments)
    assert observed.calls[0].arguments == arguments
    assert observed.calls[0].error == {"status": 400, "message": "the arguments are not a JSON object"}


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(tool_calls=2), "over the limit of 2 tool calls"),
        (Limits(steps=2), "over the limit of 2 steps"),
        (Limits(tool_calls=2, steps=9), "over the limit of 2 tool calls"),
    ],
)
def test_the_call_over_the_limit_is_refused_has_no_effect_and_is_kept(limits: Limits, words: str) -> None:
    counted = tool({"times": 2, "result": "ok"}, {"result": "too far", "effects": {"went": "too far"}})
    observed = replayed([counted], {}, {}, {}, {}, state={}, limits=limits)
    assert outcomes(observed)[:3] == ["ok", "ok", words]
    assert observed.over_limit == words
    assert len(observed.calls) == 4
    assert len(observed.marks) == 1
    assert observed.state == {}


def test_an_attempt_that_calls_without_end_is_stopped_and_noted() -> None:
    replay = Replay([tool({"result": 1})], UNSET, 0.0)
    assert isinstance(replay.call("look", {}, 0.0, MAX_BYTES).answer, Result)
    assert isinstance(replay.call("look", {}, 0.0, 1).answer, Failure)
    assert replay.close().over_limit
    many = Replay([tool({"result": 1})], UNSET, 0.0)
    for _ in range(MAX_CALLS + 5):
        many.call("look", {}, 0.0)
    observed = many.close()
    assert (len(observed.calls), len(observed.marks)) == (MAX_CALLS, 1)
    assert observed.too_many == observed.over_limit


# ---- handlers


def test_a_handler_is_asked_where_no_response_matches_and_may_change_the_state() -> None:
    replay = Replay([tool({"when": {"id": 1}, "result": "recorded"}, handler="fakes:look")], {"n": 1}, 0.0)
    assert replay.call("look", {"id": 1}, 0.0).answer == Result("recorded")
    reply = replay.call("look", {"id": 2}, 1.0)
    assert reply.answer == Ask("fakes:look", {"id": 2}, {"n": 1})
    assert reply.number is not None
    assert replay.handled(reply.number, Handled(Blocks([]), {"n": 2})).answer == Blocks([])
    replay.answered(reply.number, 2.0)
    observed = replay.close()
    assert observed.state == {"n": 2}
    assert observed.calls[1].result == {"content": []}


# ---- what is kept


def test_a_call_has_its_times_and_those_that_overlap_share_a_group() -> None:
    replay = Replay([tool({"result": 1})], UNSET, 100.0)
    spans = [
        (100.5, 101.0),
        (101.0, 103.0),
        (102.0, 102.5),
        (102.9, 104.0),
        (105.0, 106.0),
        (107.0, 109.0),
        (108.0, 110.0),
    ]
    numbers = [replay.call("look", {}, began).number for began, _ in spans]
    for number, (_, ended) in zip(numbers, spans, strict=True):
        assert number is not None
        replay.answered(number, ended)
    calls = replay.close().calls
    assert [call.group for call in calls] == [None, 1, 1, 1, None, 2, 2]
    assert (calls[0].started_ms, calls[0].duration_ms) == (500.0, 500.0)


def test_an_answer_that_nobody_got_is_no_evidence_but_a_recorded_timeout_is_an_error() -> None:
    replay = Replay(
        [tool({"times": 1, "result": 1}, {"times": 1, "error": {"kind": "timeout"}}, {"result": 3})], UNSET, 0.0
    )
    for moment in (0.0, 1.0, 9.0):
        replay.call("look", {}, moment)
    replay.gone(0, 0.5)
    replay.gone(1, 6.0)
    calls = replay.close().calls
    assert [call.status for call in calls] == ["unknown", "error", "unknown"]
    assert calls[1].error == {"kind": "timeout", "message": "no answer came"}
    assert [call.duration_ms for call in calls] == [500.0, 5000.0, None]
    assert [call.group for call in calls] == [None, None, None]


def test_a_retry_that_comes_before_its_client_is_noticed_to_have_gone_is_no_parallel_call() -> None:
    replay = Replay([tool({"times": 1, "error": {"kind": "timeout"}}, {"result": 1})], UNSET, 0.0)
    for moment in (0.0, 2.0):
        replay.call("look", {}, moment)
    replay.gone(0, 2.01)
    replay.answered(1, 2.5)
    assert [call.group for call in replay.close().calls] == [None, None]


def test_a_retry_after_a_timeout_is_no_parallel_call_though_its_client_keeps_the_connection() -> None:
    replay = Replay([tool({"times": 1, "error": {"kind": "timeout"}}, {"result": 1})], UNSET, 0.0)
    for moment in (0.0, 0.02, 2.0):
        replay.call("look", {}, moment)
    replay.answered(1, 0.03)
    replay.answered(2, 2.01)
    assert [call.group for call in replay.close().calls] == [1, 1, None]


def test_what_comes_after_the_end_is_refused_and_changes_nothing() -> None:
    replay = Replay([tool({"result": 1, "effects": {"late": True}}, handler="a:b")], {}, 0.0)
    replay.call("look", {}, 0.0)
    first = replay.close()
    late = replay.call("look", {}, 1.0)
    assert isinstance(late.answer, Failure)
    assert late.answer.status == 410
    replay.answered(0, 2.0)
    replay.gone(0, 2.0)
    replay.handled(0, Handled(Result(1), {"late": True}))
    assert replay.close() == first
    assert first.state == {"late": True}


def test_calls_are_told_apart_by_turn() -> None:
    replay = Replay([tool({"result": 1})], UNSET, 0.0)
    for calls in (2, 0, 1):
        for _ in range(calls):
            replay.call("look", {}, 0.0)
        replay.next_turn()
    assert [end.calls for end in replay.close().turns] == [2, 2, 3]


def answer_with(calls: Any, state: Any = UNSET) -> Answered:
    transcript = Transcript(output="done", tool_calls=calls, state=state)
    return Answered(Facts(), transcript, (transcript, transcript))


def test_what_was_observed_is_the_trajectory_and_what_was_reported_a_claim() -> None:
    replay = Replay([tool({"result": 1, "effects": {"n": 1}})], {"n": 0}, 0.0)
    replay.next_turn()
    replay.call("look", {}, 0.0)
    replay.call("loook", {}, 1.0)
    replay.next_turn()
    claimed = (ToolCall(name="never_made"),)
    seen = with_observed(answer_with(claimed, {"n": "as I say"}), replay.close())
    whole = seen.transcript
    assert whole.tool_calls is not None
    assert ([call.name for call in whole.tool_calls], whole.observed) == (["look", "loook"], True)
    assert whole.reported_calls == claimed
    assert whole.state == {"n": 1}
    assert whole.notes == ("call 2: no tool 'loook'; did you mean 'look'?",)
    assert [(len(turn.tool_calls or ()), turn.state) for turn in seen.turns] == [(0, {"n": 0}), (2, {"n": 1})]


@pytest.mark.parametrize(("told", "expected"), [({"n": "mine"}, {"n": "mine"}), (UNSET, {"n": 0})])
def test_where_no_tool_changes_the_state_the_agent_may_report_its_own(told: Any, expected: Any) -> None:
    observed = replayed([tool({"result": 1})], {}, state={"n": 0})
    seen = with_observed(answer_with(None, told), observed).transcript
    assert (seen.state, seen.reported_calls) == (expected, None)


def test_the_state_is_exact_and_nothing_is_used_twice_under_parallel_calls() -> None:
    each = [{"times": 1, "result": number, "effects": {str(number): True}} for number in range(400)]
    replay = Replay([tool(*each)], {}, 0.0)
    threads = [threading.Thread(target=lambda: [replay.call("look", {}, 0.0) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(400):
        replay.answered(number, 1.0)
    observed = replay.close()
    assert sorted(call.result for call in observed.calls) == list(range(400))
    assert len(observed.state) == 400


@pytest.mark.parametrize(
    ("tools", "expected"),
    [([], False), ([{"name": "a", "description": "d"}], False), ([{"name": "a"}, tool({"result": 1})], True)],
)
def test_a_server_is_needed_where_a_tool_has_something_to_answer_with(tools: list[Any], expected: bool) -> None:
    assert are_replayed(tools) is expected


# ---- against the simplest thing that could be right

_arguments = st.dictionaries(st.sampled_from("xy"), st.integers(0, 2), max_size=2)
_patches = st.dictionaries(
    st.sampled_from("pq"),
    st.none() | st.integers(0, 3) | st.dictionaries(st.sampled_from("rs"), st.none() | st.integers(0, 3)),
)
_responses = st.fixed_dictionaries(
    {"result": st.sampled_from(["plain", {"$state": ""}, [{"seen": {"$state": "/p"}}]])},
    optional={"when": _arguments, "times": st.integers(1, 2), "effects": _patches},
)
_tools = st.lists(_responses, max_size=4)
_calls = st.lists(st.tuples(st.sampled_from("abc"), _arguments), max_size=12)


def simply_replayed(tools: dict[str, list[Any]], calls: list[Any], state: Any) -> tuple[list[Any], Any]:
    """Each call by the words of the documentation, on copies of everything."""
    left = {name: [response.get("times", 10**6) for response in responses] for name, responses in tools.items()}
    results = []
    for name, arguments in calls:
        result: Any = ABSENT
        for index, response in enumerate(tools.get(name, [])):
            if left[name][index] and response.get("when", {}).items() <= arguments.items():
                left[name][index] -= 1
                merge(state, copy.deepcopy(response.get("effects", {})))
                result = {"plain": "plain", "{'$state': ''}": state}.get(str(response["result"]), ABSENT)
                if result is ABSENT and "p" in state:
                    result = [{"seen": state["p"]}]
                break
        results.append(result if result is ABSENT else copy.deepcopy(result))
    return results, state


def merge(target: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            if not isinstance(target.get(key), dict):
                target[key] = {}
            merge(target[key], value)
        else:
            target[key] = value


@given(_tools, _tools, _calls)
@steady
def test_replaying_equals_the_simplest_reading_of_the_words(one: list[Any], two: list[Any], calls: list[Any]) -> None:
    expected, state = simply_replayed({"a": one, "b": two}, calls, {"p": 0})
    observed = replayed([tool(*one, name="a"), tool(*two, name="b")], *calls, state={"p": 0})
    got = [ABSENT if call.error else call.result for call in observed.calls]
    assert all(
        (want is ABSENT and have is ABSENT) or same(want, have) for want, have in zip(expected, got, strict=True)
    )
    assert same(observed.state, state)


def test_a_pointer_that_leads_nowhere_says_so() -> None:
    with pytest.raises(NoStateError, match="nothing at '/a'"):
        resolved([{"$state": "/a"}], {})
