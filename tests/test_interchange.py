"""Records and conversations of the camel-case model: to case files and back, nothing lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from build import json_values, steady
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli import TestCase, schemas, yaml_reader
from agenteval_cli.checking import Context, check
from agenteval_cli.interchange import (
    case_from_conversation,
    case_from_record,
    case_from_simulation,
    conversation_from_case,
    record_from_case,
    simulation_from_case,
)

Data = dict[str, Any]

CALL = {"name": "get_order", "arguments": {"order_id": "5678"}, "result": "shipped", "durationMs": 12}
EXPECTED = {"name": "get_order", "arguments": {"order_id": "5678"}}


def record(**fields: Any) -> Data:
    """A record that a tool call can fail."""
    return {"input": "Where is it?", "expectedToolCalls": [EXPECTED], **fields}


def errors(data: Data) -> list[str]:
    """What the tool says of the case as a file."""
    text = TestCase.from_dict(data).to_yaml()
    facts, document = check(Context(), "cases/a.yaml", text.encode())
    assert document is None or document.data == data
    return [str(problem) for problem in facts.problems if problem.severity == "error"]


# ---- a record, field by field

FIELDS: list[tuple[str, Any, Data]] = [
    ("input", {"q": ["Where?", 1]}, {"input": {"q": ["Where?", 1]}}),
    ("actualOutput", "In Oslo.", {"recording": {"output": "In Oslo."}}),
    ("actualOutput", None, {}),
    ("actualOutput", "", {"recording": {"output": ""}}),
    ("expectedOutput", "Oslo", {"expected_output": "Oslo", "match": "similar"}),
    ("expectedOutput", None, {"expected_output": None}),
    ("retrievalContext", ["a page"], {"recording": {"output": None, "retrieval_context": ["a page"]}}),
    ("retrievalContext", [], {}),
    ("context", ["the truth"], {"context": ["the truth"]}),
    ("context", [], {"context": []}),
    ("context", None, {}),
    ("toolCalls", [CALL], {"recording": {"output": None, "tool_calls": [{"name": "get_order", "arguments": {"order_id": "5678"}, "result": "shipped", "duration_ms": 12}]}}),
    ("toolCalls", [{"name": "get_order", "result": None}], {"recording": {"output": None, "tool_calls": [{"name": "get_order", "result": None}]}}),
    ("toolCalls", [{"name": "get_order", "arguments": {"a": None}}], {"recording": {"output": None, "tool_calls": [{"name": "get_order", "arguments": {"a": None}}]}}),
    ("toolCalls", [], {}),
    ("expectedToolCalls", [EXPECTED, {"name": "refund"}], {"trajectory": {"calls": {"mode": "any_order", "expected": [EXPECTED, {"name": "refund"}], "extra": "allow"}}}),
    ("reasoningTrace", [{"type": "PLAN", "content": "look"}], {"recording": {"output": None, "reasoning": [{"type": "PLAN", "content": "look"}]}}),
    ("latencyMs", 840, {"recording": {"output": None, "latency_ms": 840}}),
    ("latencyMs", 0, {}),
    ("tokenUsage", {"input": 1, "output": 2, "total": 3}, {"recording": {"output": None, "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}}),
    ("tokenUsage", None, {}),
    ("cost", "0.0500", {"recording": {"output": None, "cost": "0.0500"}}),
    ("cost", "0.00", {}),
    ("metadata", {"owner": "me", "n": [1, None]}, {"metadata": {"owner": "me", "n": [1, None]}}),
]  # fmt: skip


def ungraded(data: Data) -> Data:
    """The case without what stands there because of the test's own expectation, or was kept for the way back."""
    plain = {key: data[key] for key in data if key not in ("schema", "id", "provenance", "metadata")}
    metadata = {key: value for key, value in data.get("metadata", {}).items() if key != "interchange"}
    return {**plain, **({"metadata": metadata} if metadata else {})}


@pytest.fixture
def calls_are_not_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings stay where they are, whatever they show of the calls that were expected."""
    monkeypatch.setattr("agenteval_cli.interchange._problems", lambda _: [])


@pytest.mark.usefixtures("calls_are_not_graded")
@pytest.mark.parametrize(("name", "value", "data"), FIELDS)
def test_each_field_of_a_record_has_its_place_and_comes_back(name: str, value: Any, data: Data) -> None:
    given = record(**{name: value})
    case = case_from_record(given)
    assert ungraded(case) == {"input": "Where is it?", **ungraded(case_from_record(record())), **data}
    assert record_from_case(case) == given


@pytest.mark.parametrize(("name", "value", "data"), FIELDS)
def test_each_field_makes_a_valid_case(name: str, value: Any, data: Data) -> None:
    given = record(**{name: value})
    case = case_from_record(given)
    assert errors(case) == []
    assert record_from_case(case) == given


def test_every_field_of_a_record_is_in_the_table_above() -> None:
    assert {name for name, _, _ in FIELDS} == {
        *("input", "actualOutput", "expectedOutput", "retrievalContext", "context", "toolCalls", "expectedToolCalls"),
        *("reasoningTrace", "latencyMs", "tokenUsage", "cost", "metadata"),
    }


def test_null_and_absent_are_told_apart() -> None:
    absent, null = case_from_record(record()), case_from_record(record(expectedOutput=None))
    assert ("expected_output" in absent, null["expected_output"]) == (False, None)
    assert ("expectedOutput" in record_from_case(absent), record_from_case(null)["expectedOutput"]) == (False, None)


@pytest.mark.parametrize("key", ["actualOutput", "expectedOutput", "retrievalContext", "context", "toolCalls", "reasoningTrace", "latencyMs", "tokenUsage", "cost", "metadata"])  # fmt: skip
def test_a_field_that_is_null_comes_back_as_null(key: str) -> None:
    given = record(**{key: None})
    assert record_from_case(case_from_record(given)) == given


def test_a_record_as_java_writes_it_has_no_recording() -> None:
    empty: Data = {"actualOutput": None, "retrievalContext": [], "context": [], "toolCalls": [], "reasoningTrace": [], "latencyMs": 0, "tokenUsage": None, "cost": None, "metadata": {}}  # fmt: skip
    case = case_from_record(record(**empty))
    assert "recording" not in case
    assert errors(case) == []
    assert record_from_case(case) == record(**empty)


@pytest.mark.parametrize(
    ("cost", "text"),
    [(Decimal("0.0042"), "0.0042"), (Decimal("1E-7"), "0.0000001"), (0.1, "0.1"), (2, "2"), ("0.10", "0.10")],
)
def test_cost_stays_decimal_text(cost: Any, text: str) -> None:
    case = case_from_record(record(actualOutput="x", cost=cost))
    assert case["recording"]["cost"] == record_from_case(case)["cost"] == text


def test_token_counts_may_have_their_long_names() -> None:
    usage = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
    case = case_from_record(record(actualOutput="x", tokenUsage=usage))
    assert record_from_case(case)["tokenUsage"] == {"input": 1, "output": 2, "total": 3}


# ---- calls and reasoning


def recording_of(**fields: Any) -> Data:
    given = record(actualOutput="x", **fields)
    case = case_from_record(given)
    assert record_from_case(case) == given
    assert errors(case) == []
    recording: Data = case["recording"]
    return recording


def step(**fields: Any) -> Data:
    return {"type": "ACTION", "content": "go", **fields}


@pytest.mark.usefixtures("calls_are_not_graded")
def test_a_step_names_its_call_by_an_id() -> None:
    made = recording_of(
        toolCalls=[CALL, CALL | {"name": "refund"}], reasoningTrace=[step(toolCall=CALL | {"name": "refund"})]
    )
    assert [call.get("id") for call in made["tool_calls"]] == [None, "call-2"]
    assert made["reasoning"] == [{"type": "ACTION", "content": "go", "tool_call": "call-2"}]


def test_equal_calls_each_have_their_step() -> None:
    made = recording_of(
        toolCalls=[CALL, CALL], reasoningTrace=[step(toolCall=CALL), step(toolCall=CALL), step(toolCall=CALL)]
    )
    assert [thought["tool_call"] for thought in made["reasoning"]] == ["call-1", "call-2", "call-1"]


def test_a_step_may_say_less_of_its_call_than_the_list() -> None:
    made = recording_of(toolCalls=[CALL], reasoningTrace=[step(toolCall={"name": "get_order"})])
    assert made["reasoning"][0]["tool_call"] == "call-1"


@pytest.mark.usefixtures("calls_are_not_graded")
@pytest.mark.parametrize("calls", [[], [CALL | {"name": "refund"}], [CALL | {"durationMs": True}][:0], None])
def test_a_call_that_only_a_step_knows_comes_back(calls: Any) -> None:
    given = record(actualOutput="x", toolCalls=calls, reasoningTrace=[step(toolCall=CALL)])
    case = case_from_record(given)
    assert record_from_case(case) == given
    assert "tool_call" not in case["recording"]["reasoning"][0]


@pytest.mark.parametrize("said", [None, {}])
def test_a_step_without_a_call_has_none(said: Any) -> None:
    assert recording_of(toolCalls=[CALL], reasoningTrace=[step(toolCall=said)])["reasoning"] == [step()]


@pytest.mark.parametrize(
    "arguments",
    [
        None,
        {},
        {"type": "pdf"},
        {"equals": 3},
        {"equals": {"equals": 3}},
        {"filter": {"gt": 5}, "n": 1},
        {"list": [{"regex": "("}, {"any_of": []}]},
        {"filter": {"equals": {"gt": 5}}},
        {"a": None, "b": {"length": {"gte": 0}}},
    ],
)
def test_expected_arguments_mean_what_they_are_and_no_matcher(arguments: Any) -> None:
    given = record(expectedToolCalls=[{"name": "find", "arguments": arguments}])
    case = case_from_record(given)
    assert errors(case) == []
    assert record_from_case(case) == given


# ---- what can fail it


@pytest.mark.parametrize(
    "nothing", [{}, {"expectedOutput": None}, {"expectedToolCalls": []}, {"expectedToolCalls": None}]
)
def test_a_record_that_can_fail_nothing_is_told(nothing: Data) -> None:
    with pytest.raises(ValueError, match="nothing can fail this case: the record has neither"):
        case_from_record({"input": "Hi", "actualOutput": "Hello", **nothing})


@pytest.mark.parametrize(
    "criteria", ["Is polite to her.", ["Is polite to her."], [{"text": "Is polite to her.", "gate": True}]]
)
def test_criteria_can_fail_it(criteria: Any) -> None:
    given = {"input": "Hi", "actualOutput": "Hello", "expectedToolCalls": []}
    case = case_from_record(given, criteria=criteria)
    assert case["criteria"] == [{"text": "Is polite to her.", "gate": True}]
    assert errors(case) == []
    assert record_from_case(case) == given


@pytest.mark.parametrize("match", ["exact", "contains", "similar", "judged"])
def test_match_says_how_an_output_is_compared(match: str) -> None:
    given = {"input": "Hi", "actualOutput": "Hello", "expectedOutput": "Hello"}
    case = case_from_record(given, match=match)
    assert (case["match"], case["recording"]) == (match, {"output": "Hello"})
    assert errors(case) == []
    assert record_from_case(case) == given


def test_criteria_may_use_the_expected_output_instead_of_a_match() -> None:
    case = case_from_record({"input": "Hi", "expectedOutput": "Hello"}, criteria="Greets as the reference does.")
    assert "match" not in case
    assert errors(case) == []


def test_a_recording_that_fails_its_own_case_is_kept_aside() -> None:
    given = {"input": "Hi", "actualOutput": "Bye", "expectedOutput": "Hello", "latencyMs": 5}
    case = case_from_record(given, match="exact")
    assert "recording" not in case
    assert case["metadata"] == {"interchange": {"/actualOutput": "Bye", "/latencyMs": 5}}
    assert errors(case) == []
    assert record_from_case(case) == given


# ---- IDs


def test_the_id_follows_from_what_is_asked_and_expected() -> None:
    made = case_from_record(record(actualOutput="x", metadata={"a": 1}))["id"]
    assert re.fullmatch("tc-[0-9a-f]{12}", made)
    assert case_from_record(record(actualOutput="y"))["id"] == made
    assert case_from_record(record(expectedOutput="z"))["id"] != made
    assert case_from_record(record(), case_id="find-order")["id"] == "find-order"


# ---- metadata


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"difficulty": 3},
        {"difficulty": 3, "owner": "me"},
        {"owner": None},
        {"interchange": {"/input": "x"}},
        {"interchange": 1, "a": 2},
        {"agenteval_case": 1},
        {"agenteval_case": {"no": "key"}},
        {"a/b": {"~": 1}, "": 2, "difficulty": {"/": 1}, "segment": {}},
    ],
)
def test_any_metadata_comes_back(metadata: Data) -> None:
    given = record(metadata=metadata, latencyMs=None)
    case = case_from_record(given)
    assert errors(case) == []
    assert record_from_case(case) == given


def test_what_was_kept_goes_where_it_was_or_nowhere() -> None:
    case = case_from_record(
        record(actualOutput="x", toolCalls=[CALL, CALL | {"durationMs": None}], tokenUsage={"total": None})
    )
    del case["recording"]["tool_calls"][1]
    del case["recording"]["usage"]
    back = record_from_case(case)
    assert (back["toolCalls"], "tokenUsage" in back) == ([CALL], False)


# ---- cases that never were records

NATIVE: list[Data] = [
    {"input": "Hi", "outcome": [{"contains": "Hello"}]},
    {"input": "Hi", "expected_output": "Hello", "match": "exact", "title": "A greeting", "tags": ["a"], "metadata": {"owner": "me"}},
    {"input": "Hi", "expected_output": None, "limits": {"steps": 3}, "metadata": {}},
    {"input": "Hi", "trajectory": {"required": ["f"], "calls": {"mode": "any_order", "expected": [{"name": "f"}], "extra": "allow"}}},
    {"input": "Hi", "trajectory": {"calls": {"mode": "in_order", "expected": [{"name": "f", "arguments": {"a": {"gt": 3}}}]}}},
    {"input": "Hi", "trajectory": {"calls": {"mode": "any_order", "expected": [{"name": "f", "arguments": {"a": {"gt": 3}}}], "extra": "allow"}}},
    {"input": "Hi", "trajectory": {"calls": {"mode": "any_order", "expected": [], "extra": "allow"}}},
    {"input": "Hi", "limits": {"steps": 3}, "recording": {"output": None}},
    {"input": "Hi", "limits": {"steps": 3}, "recording": {"output": "x", "messages": [{"role": "user"}], "tool_calls": [{"name": "f", "id": "7", "error": "e"}], "state": None, "model": "m", "trace_id": "t", "usage": {}, "reasoning": [{"type": "ACTION", "tool_call": "7"}, {"type": "ACTION", "tool_call": "8"}]}},
    {"input": "Hi", "limits": {"steps": 3}, "criteria": "Is kind.", "metadata": {"agenteval_case": {"title": "x"}, "interchange": {"/a": 1}}},
    {"input": "Hi", "limits": {"steps": 3}, "metadata": {"interchange": {"/latencyMs": 1, "/metadata": {}}}},
    {"input": "Hi", "limits": {"steps": 3}, "metadata": {"agenteval_case": 5}},
    {"input": "Hi", "limits": {"steps": 3}, "provenance": {"source": "record"}},
    {"input": "Hi", "limits": {"steps": 3}, "provenance": {"source": "record", "trace_id": "4bf9"}, "state": {"a": 1}},
]  # fmt: skip


@pytest.mark.parametrize("keys", NATIVE)
def test_a_case_comes_back_from_its_record(keys: Data) -> None:
    data = {"schema": 1, "id": "greet", **keys}
    assert schemas.is_valid("case", data)
    made = record_from_case(data)
    assert case_from_record(made) == data
    assert record_from_case(case_from_record(made)) == made


def test_every_example_case_comes_back() -> None:
    seen = 0
    for path in sorted((ROOT / "cases").rglob("*.yaml")):
        read = yaml_reader.read(path.name, path.read_bytes()).document
        assert read is not None
        if "id" in read.data and "turns" not in read.data:
            there: Callable[[Data], Data] = record_from_case
            back: Callable[[Data], Data] = case_from_record
            if "simulation" in read.data:
                there, back = simulation_from_case, case_from_simulation
            elif "conversation" in read.data:
                there, back = conversation_from_case, case_from_conversation
            assert back(there(read.data)) == read.data
            seen += 1
    assert seen > 20


def test_a_made_case_that_was_edited_comes_back_whole() -> None:
    case = case_from_record(record(expectedOutput="Oslo", latencyMs=None), match="contains", case_id="find-order")
    edited = {**case, "title": "Find an order", "tags": ["orders"]}
    made = record_from_case(edited)
    assert made["metadata"]["agenteval_case"]["title"] == "Find an order"
    assert case_from_record(made) == edited


def test_what_was_changed_in_a_record_since_is_never_ignored() -> None:
    data = {
        "schema": 1,
        "id": "greet",
        "input": "Hi",
        "recording": {"output": "x", "model": "m"},
        "outcome": [{"contains": "x"}],
    }
    made = record_from_case(data)
    assert case_from_record({**made, "expectedOutput": "y"}, match="exact")["expected_output"] == "y"
    with pytest.raises(ValueError, match=r'disagree: at \$\.actualOutput: expected "y", got "x"'):
        case_from_record({**made, "actualOutput": "y"})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"conversation": [{"role": "user", "content": "Hi"}]},
            "this case has conversation; use conversation_from_case",
        ),
        ({"input": "Hi", "conversation": [{"role": "user", "content": "Hi"}]}, "use conversation_from_case"),
        ({"turns": [{"user": "Hi"}]}, "this case has turns"),
        ({"simulation": {"user_prompt": "angry"}}, "this case has simulation"),
        ({"input": ""}, "this makes no valid case: input: must not be empty"),
        ({}, "this makes no valid case: give one of input"),
    ],
)
def test_a_case_that_no_record_can_stand_for_is_refused(keys: Data, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        record_from_case({"schema": 1, "id": "greet", **keys})


# ---- bad records


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"expectedOutput": "x"}, "input is missing"),
        ({"input": None, "expectedOutput": "x"}, "this makes no valid case: input"),
        ({"input": "", "expectedOutput": "x"}, "this makes no valid case: input: must not be empty"),
        ({"input": "Hi", "expectedOuput": "x"}, "unknown key 'expectedOuput'; did you mean 'expectedOutput'?"),
        ({"input": "Hi", "turns": []}, "unknown key 'turns'; known here: input, actualOutput"),
        (
            record(toolCalls=[{"name": "f", "argument": {}}]),
            "unknown key 'toolCalls[0].argument'; did you mean 'arguments'?",
        ),
        (record(expectedToolCalls=[{"name": "f", "result": 1}]), "unknown key 'expectedToolCalls[0].result'"),
        (record(reasoningTrace=[{"type": "PLAN", "text": ""}]), "unknown key 'reasoningTrace[0].text'"),
        (record(reasoningTrace=[step(toolCall={"id": 1})]), "unknown key 'reasoningTrace[0].toolCall.id'"),
        (record(tokenUsage={"prompt": 1}), "unknown key 'tokenUsage.prompt'; known here: input, output, total"),
        (record(actualOutput="x", toolCalls=[{}]), "this makes no valid case: recording.tool_calls[0]"),
        (
            record(actualOutput="x", latencyMs=-1),
            "this makes no valid case: recording.latency_ms: -1 must be at least 0",
        ),
        (record(actualOutput="x", latencyMs="1"), "this makes no valid case: recording.latency_ms: '1' is text"),
        (
            record(reasoningTrace=[{"type": "plan"}]),
            "this makes no valid case: recording.reasoning[0].type: 'plan' is not one of",
        ),
        (record(cost="-1"), "cost: '-1' is not an amount of 0 or more"),
        (record(actualOutput="\ud800"), "'\\ud800' is not a text in UTF-8"),
        (record(metadata={"a": float("inf")}), "metadata.a: inf is not a number that JSON has"),
    ],
)
def test_a_bad_record_is_a_value_error_in_a_sentence(given: Data, words: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(words)):
        case_from_record(given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "a record is a mapping, not None"),
        (record(toolCalls={}), "toolCalls is a list, not {}"),
        (record(toolCalls=["f"]), "toolCalls[0] is a mapping, not 'f'"),
        (record(tokenUsage=3), "tokenUsage is a mapping, not 3"),
        (record(metadata=[]), "metadata is a mapping, not []"),
        (record(latencyMs=Decimal(1)), "latencyMs is a decimal; give a JSON value"),
    ],
)
def test_what_is_no_record_is_a_type_error(given: Any, words: str) -> None:
    with pytest.raises(TypeError, match="^" + re.escape(words)):
        case_from_record(given)


def test_match_needs_something_to_compare() -> None:
    with pytest.raises(ValueError, match="match needs an expectedOutput"):
        case_from_record(record(), match="exact")


def test_a_rule_that_the_case_would_break_is_told() -> None:
    with pytest.raises(ValueError, match="this makes no valid case: expected_output: match: contains needs a text"):
        case_from_record(record(expectedOutput={"a": 1}), match="contains")


def test_the_record_itself_is_left_as_it_was() -> None:
    given = record(toolCalls=[CALL], metadata={"a": [1], "agenteval_case": {"id": "greet", "title": "x"}})
    before = repr(given)
    case_from_record(given)["metadata"]["a"].append(2)
    assert repr(given) == before


# ---- conversations

TALK: Data = {
    "conversationId": "session-42",
    "systemPrompt": "You are a support agent.",
    "turns": [
        {"input": "Hi", "actualOutput": "Hello! How can I help?"},
        {
            "input": "Where is order 5678?",
            "actualOutput": "It was shipped.",
            "expectedToolCalls": [EXPECTED],
            "toolCalls": [CALL],
        },
    ],
}


def test_the_last_turn_is_the_one_under_test() -> None:
    case = case_from_conversation(TALK)
    assert case["conversation"] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello! How can I help?"},
        {"role": "user", "content": "Where is order 5678?"},
    ]
    assert (case["conversation_id"], case["system_prompt"]) == ("session-42", "You are a support agent.")
    assert case["recording"]["output"] == "It was shipped."
    assert ("input" in case, "metadata" in case) == (False, False)
    assert errors(case) == []
    assert conversation_from_case(case) == TALK


@pytest.mark.parametrize(
    "change",
    [
        {"conversationId": None},
        {"conversationId": ""},
        {"systemPrompt": None},
        {"systemPrompt": ""},
        {"turns": TALK["turns"][1:]},
        {"turns": [{"input": "Hi"}, *TALK["turns"]]},
        {"turns": [{"input": "Hi", "actualOutput": None}, TALK["turns"][1]]},
        {"turns": [{"input": {"a": 1}, "actualOutput": {"b": [1]}}, TALK["turns"][1]]},
    ],
)
def test_each_part_of_a_conversation_comes_back(change: Data) -> None:
    given = {**TALK, **change}
    case = case_from_conversation(given)
    assert errors(case) == []
    assert conversation_from_case(case) == given


def test_a_conversation_need_not_say_more_than_its_turns() -> None:
    given = {"turns": TALK["turns"]}
    assert conversation_from_case(case_from_conversation(given)) == given


@pytest.mark.parametrize(("name", "value", "_data"), FIELDS)
@pytest.mark.parametrize("turn", [0, 1])
def test_each_field_of_each_turn_comes_back(name: str, value: Any, _data: Data, turn: int) -> None:
    turns = [dict(given) for given in TALK["turns"]]
    turns[turn][name] = value
    case = case_from_conversation({"turns": turns})
    assert errors(case) == []
    assert conversation_from_case(case) == {"turns": turns}


def test_what_earlier_turns_expected_is_kept_in_the_metadata() -> None:
    given = {
        "turns": [{"input": "Hi", "expectedOutput": "Hello", "cost": "0.01", "metadata": {"a": 1}}, TALK["turns"][1]]
    }
    case = case_from_conversation(given)
    assert case["metadata"]["interchange"] == {
        "/turns/0/cost": "0.01",
        "/turns/0/expectedOutput": "Hello",
        "/turns/0/metadata": {"a": 1},
    }
    assert conversation_from_case(case) == given


TALKS: list[Data] = [
    {"conversation": [{"role": "user", "content": "Hi"}]},
    {"conversation": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}], "input": "Where?"},
    {"conversation": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Where?"}], "title": "x"},
    {"conversation": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]},
    {"conversation": [{"role": "assistant", "content": None, "tool_calls": [{}]}, {"role": "tool", "content": "x"}], "input": "Hi"},
    {"conversation": [{"role": "user", "content": "Hi", "name": "Ada"}], "conversation_id": "s", "system_prompt": ""},
    {"conversation": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "assistant", "content": "c"}], "input": "d"},
    {"conversation": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None}, {"role": "user", "content": None}]},
]  # fmt: skip


@pytest.mark.parametrize("keys", TALKS)
def test_a_case_comes_back_from_its_conversation(keys: Data) -> None:
    data = {"schema": 1, "id": "greet", "limits": {"steps": 3}, **keys}
    made = conversation_from_case(data)
    assert case_from_conversation(made) == data
    assert conversation_from_case(case_from_conversation(made)) == made


@pytest.mark.parametrize(
    "keys", [{"input": "Hi"}, {"turns": [{"user": "Hi"}]}, {"simulation": {"user_prompt": "angry"}}]
)
def test_a_case_that_no_conversation_can_stand_for_is_refused(keys: Data) -> None:
    with pytest.raises(ValueError, match="this case has no conversation"):
        conversation_from_case({"schema": 1, "id": "greet", **keys})


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"turns": []}, ValueError, "turns: a conversation has at least one"),
        ({"turns": "Hi"}, TypeError, "turns is a list of records"),
        ({}, TypeError, "turns is a list of records"),
        (
            {"turns": [{"input": "Hi"}], "systemPromt": ""},
            ValueError,
            "unknown key 'systemPromt'; did you mean 'systemPrompt'?",
        ),
        ({"turns": [{"inputs": "Hi"}]}, ValueError, "unknown key 'turns[0].inputs'; did you mean 'input'?"),
        ({"turns": [{"actualOutput": "Hi"}]}, ValueError, "turns[0].input is missing"),
        (
            {"turns": [{"input": "Hi", "toolCalls": [{"nam": 1}]}]},
            ValueError,
            "unknown key 'turns[0].toolCalls[0].nam'",
        ),
        ({"turns": [{"input": "Hi"}]}, ValueError, "nothing can fail this case"),
    ],
)
def test_a_bad_conversation_is_told_in_a_sentence(given: Data, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match="^" + re.escape(words)):
        case_from_conversation(given)


# ---- round trips

names = st.sampled_from(["get_order", "refund", "f"])
arguments = st.none() | st.dictionaries(st.sampled_from(["a", "type", "gt", "equals", ""]), json_values, max_size=3)
maybe_number = st.none() | st.integers(0, 99)
calls = st.fixed_dictionaries(
    {"name": names}, optional={"arguments": arguments, "result": json_values, "durationMs": maybe_number}
)
expected_calls = st.fixed_dictionaries({"name": names}, optional={"arguments": arguments})
steps = st.fixed_dictionaries(
    {"type": st.sampled_from(["PLAN", "THOUGHT", "OBSERVATION", "ACTION"])},
    optional={"content": st.none() | st.text(max_size=5), "toolCall": st.none() | calls},
)
texts = st.none() | st.lists(st.text(max_size=5), max_size=2)
inputs = json_values.filter(lambda value: value is not None and value != "")
metadata_keys = st.sampled_from(["owner", "difficulty", "interchange", "a/b", "~1", "", "x"])
records = st.fixed_dictionaries(
    {"input": inputs},
    optional={
        "actualOutput": json_values,
        "expectedOutput": json_values,
        "retrievalContext": texts,
        "context": texts,
        "toolCalls": st.none() | st.lists(calls, max_size=3),
        "expectedToolCalls": st.none() | st.lists(expected_calls, max_size=2),
        "reasoningTrace": st.none() | st.lists(steps, max_size=3),
        "latencyMs": maybe_number,
        "tokenUsage": st.none()
        | st.fixed_dictionaries({}, optional=dict.fromkeys(["input", "output", "total"], maybe_number)),
        "cost": st.none() | st.decimals(0, 10, places=3).map(str),
        "metadata": st.none() | st.dictionaries(metadata_keys, json_values, max_size=3),
    },
)
conversations = st.fixed_dictionaries(
    {"turns": st.lists(records, min_size=1, max_size=3)},
    optional=dict.fromkeys(["conversationId", "systemPrompt"], st.none() | st.text(max_size=5)),
)
CRITERION = "Says where the order is."


def with_real_calls(given: Data) -> Data:
    """Steps that lead to calls of the list, too."""
    for thought, call in zip(given.get("reasoningTrace") or (), given.get("toolCalls") or (), strict=False):
        thought["toolCall"] = call
    return given


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(records | records.map(with_real_calls), st.booleans())
@steady
def test_a_record_comes_back_from_its_case(given: Data, exact: bool) -> None:
    match = "exact" if exact and given.get("expectedOutput") is not None else None
    case = case_from_record(given, match=match, criteria=CRITERION)
    assert schemas.is_valid("case", case)
    assert errors(case) == []
    assert record_from_case(case) == given
    assert record_from_case(TestCase.from_yaml(TestCase.from_dict(case).to_yaml()).to_case()) == given


@pytest.mark.slow
@given(conversations)
@steady
def test_a_conversation_comes_back_from_its_case(given: Data) -> None:
    case = case_from_conversation(given, criteria=CRITERION)
    assert errors(case) == []
    assert conversation_from_case(case) == given


@given(records, st.dictionaries(st.sampled_from(["title", "notes"]), st.just("x"), min_size=1))
@steady
def test_an_edited_case_comes_back_from_its_record(given: Data, more: Data) -> None:
    case = {**case_from_record(given, criteria=CRITERION), **more}
    assert case_from_record(record_from_case(case)) == case
