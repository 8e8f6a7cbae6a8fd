"""Transcripts in other forms than ours: which format claims what, and what each becomes."""

from __future__ import annotations

import copy
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from build import case, json_values, steady
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from agenteval_cli.formats import FORMATS, source_of, transcript_of
from agenteval_cli.formats.answer import answer_in, answer_with_trace
from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.reported import merged
from agenteval_cli.trajectory import checked
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript, Usage

EXAMPLES = Path(__file__).parent / "examples" / "formats"
SAMPLES = Path(os.environ.get("AGENTEVAL_TRACE_SAMPLES", ROOT.parent / "shared" / "traces"))
NANO = 10**18  # some moment, in nanoseconds


def example(name: str) -> Transcript:
    return transcript_of((EXAMPLES / name).read_bytes())


def read(value: Any) -> Transcript:
    return transcript_of(json.dumps(value).encode())


def read_or_refused(raw: bytes, name: str = "auto") -> Transcript | str:
    """The transcript, or the words of the refusal; anything else that is raised would be our own bug."""
    try:
        return transcript_of(raw, name)
    except UnreadableAnswerError as refused:
        return str(refused)


def claims(raw: bytes) -> list[str]:
    source = source_of(raw)
    return [name for name in FORMATS if FORMATS[name].detect(source)]


def calls(transcript: Transcript) -> list[tuple[str, Any, Any]]:
    return [(call.name, call.arguments, call.result) for call in transcript.tool_calls or ()]


def chat(*messages: dict[str, Any], **keys: Any) -> Transcript:
    return read({"messages": [{"role": "user", "content": "Hi"}, *messages], **keys})


def asks(*named: tuple[str, str], arguments: Any = "{}") -> dict[str, Any]:
    listed = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i, name in named]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def span(name: str, start: int = 0, end: int = 1, parent: str | None = None, **attributes: Any) -> dict[str, Any]:
    """A span of a plain list, its id its name, its times in milliseconds. `a__b` stands for gen_ai.a.b."""
    return {
        "trace_id": "t1",
        "span_id": name,
        "parent_span_id": parent,
        "name": name,
        "start_time": NANO + start * 10**6,
        "end_time": NANO + end * 10**6,
        "attributes": {"gen_ai." + key.replace("__", "."): value for key, value in attributes.items()},
        "status": {"code": "UNSET"},
    }


def model(name: str, start: int = 0, **attributes: Any) -> dict[str, Any]:
    return span(name, start, start + 1, operation__name="chat", **attributes)


def tool(name: str, start: int = 0, end: int = 1, parent: str | None = None, **attributes: Any) -> dict[str, Any]:
    attributes = {"operation__name": "execute_tool", "tool__name": name, **attributes}
    return {**span(name, start, end, parent, **attributes), "span_id": f"{name}-{start}"}


def says(text: str) -> list[dict[str, Any]]:
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]


# ---- which format claims what


@pytest.mark.parametrize("path", sorted(EXAMPLES.iterdir()), ids=lambda path: path.name)
def test_each_example_is_claimed_by_the_format_it_is_named_after(path: Path) -> None:
    assert claims(path.read_bytes()) == [path.name.split("_")[0]]


CLAIMED = {"openai-chat": ["openai"], "otel-genai": ["otel"], "swe-agent/mini_github_issue.traj.json": ["openai"]}


def test_each_recorded_trace_is_claimed_by_its_own_format_or_by_none() -> None:
    if not SAMPLES.is_dir():
        pytest.skip(f"no recorded traces in {SAMPLES}")
    for path in sorted(path for path in SAMPLES.rglob("*") if path.is_file() and path.suffix != ".md"):
        name = path.relative_to(SAMPLES).as_posix()
        expected = CLAIMED.get(name) or CLAIMED.get(name.split("/")[0], [])
        assert claims(path.read_bytes()) == expected, name


# Calls and failed calls as they were counted when the samples were collected, by other means than this reader.
COUNTED = {
    "openai-chat/docent_tau_airline.json": (12, 0),
    "openai-chat/exchanges_tool_then_final_result.jsonl": (2, 0),
    "openai-chat/stream_parallel_tool_calls.sse": (2, 0),
    "openai-chat/tau_airline_task13_trial1.json": (5, 0),
    "openai-chat/tau_airline_task23_trial1.json": (11, 0),
    "otel-genai/jaeger_export_kagent_helm.json": (1, 0),
    "otel-genai/otlp_google_adk_no_content.json": (2, 0),
    "otel-genai/otlp_pydantic_ai_parallel_retry.json": (3, 1),
    "otel-genai/otlp_pydantic_ai_tool_exception.jsonl": (1, 1),
    "otel-genai/spanlist_autogen_live.json": (1, 0),
    "otel-genai/spanlist_convention_parallel_timeout.json": (2, 1),
    "otel-genai/spanlist_google_adk_live.json": (1, 0),
    "otel-genai/spanlist_pydantic_ai_live.json": (1, 0),
    "otel-genai/tempo_batches_kagent.json": (1, 0),
}


@pytest.mark.parametrize("name", COUNTED)
def test_recorded_traces_have_the_calls_that_were_counted_in_them(name: str) -> None:
    if not (SAMPLES / name).is_file():
        pytest.skip(f"no recorded traces in {SAMPLES}")
    found = transcript_of((SAMPLES / name).read_bytes()).tool_calls or ()
    assert (len(found), sum(call.status == "error" for call in found)) == COUNTED[name]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        "text",
        {"messages": []},
        {"messages": [{"type": "human", "content": "Hi"}]},
        [{"role": "user", "parts": [{"text": "Hi"}]}],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}],
        [{"role": "user", "content": "Hi"}, {"type": "reasoning"}],
        {"messages": [{"role": "user", "content": "Hi"}], "trajectory_format": "x"},
        {"object": "response", "output": []},
        {"output": "x", "steps": [], "timing": {}, "token_usage": {}},
        [{"span_id": "1", "name": "x", "attributes": {}}],
    ],
)
def test_what_only_resembles_a_format_is_claimed_by_none(value: Any) -> None:
    assert claims(json.dumps(value).encode()) == []


@pytest.mark.parametrize(
    ("raw", "name", "words"),
    [
        (b"", "auto", "it is empty; known are agenteval, otel, openai"),
        (b"Hello!", "auto", "it is not JSON; it begins with 'Hello!'; known are"),
        (b'{"steps": [], "agent": {}}', "auto", "it is a JSON document with the keys steps, agent; known are"),
        (b'{"a": 1}\n{"a": 2}', "auto", "it is 2 JSON values with the keys a"),
        (b"{}", "opnai", "'opnai' is no transcript format (auto, agenteval, otel, openai); did you mean 'openai'?"),
        (b"{}", "openai", "there are no chat messages in the transcript: it is a JSON document"),
        (b"{}", "otel", "there are no OpenTelemetry spans in the transcript"),
        (b'{"answer": 1}', "agenteval", "the response is not in the protocol: 'output' is missing"),
        (b'{"output": 1}\n{"output": 2}', "agenteval", "the agent printed two JSON documents"),
        (b'{"messages": ' + b"[" * 5000 + b"]" * 5000 + b"}", "openai", "there are no chat messages"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_found_and_what_is_known(
    raw: bytes, name: str, words: str
) -> None:
    assert words in str(read_or_refused(raw, name))


# ---- containers


def test_lines_may_be_blank_marked_carriage_returned_and_hold_separators() -> None:
    lines = ["\ufeff" + json.dumps({"role": "user", "content": "a\u2028b"}, ensure_ascii=False), "", "  "]
    lines.append(json.dumps({"role": "assistant", "content": "c\u0085d"}, ensure_ascii=False))
    found = transcript_of("\r\n".join(lines).encode())
    assert (found.output, found.notes) == ("c\u0085d", ())


def test_lines_that_are_not_json_are_told_and_left_aside() -> None:
    raw = b'{"role": "user", "content": "a"}\nlog\n{"role": "assistant", "content": "b"}\n{"role": "ass'
    assert transcript_of(raw).notes == (
        "line 2 of the transcript was not JSON and left aside",
        "the last line of the transcript, line 4, is not JSON (cut?) and was left aside",
    )


def test_documents_one_after_another_are_read_as_the_console_exporter_prints_them() -> None:
    console: dict[str, Any] = {
        "name": "execute_tool look",
        "context": {"trace_id": "0x" + "a" * 32, "span_id": "0x" + "b" * 16, "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": "0x" + "c" * 16,
        "start_time": "2026-01-01T00:00:00.000000Z",
        "end_time": "2026-01-01T00:00:00.250000Z",
        "status": {"status_code": "ERROR", "description": "TimeoutError: slow"},
        "attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"},
        "events": [],
    }
    root = {**console, "name": "run", "context": {"trace_id": "0x" + "a" * 32, "span_id": "0x" + "c" * 16}}
    root |= {"parent_id": None, "attributes": {}, "status": {"status_code": "UNSET"}}
    found = transcript_of("\n".join(json.dumps(item, indent=4) for item in (console, root)).encode())
    assert found.tool_calls == (ToolCall(name="look", error={"message": "TimeoutError: slow"}, duration_ms=250.0),)
    assert (found.trace_id, found.latency_ms) == ("a" * 32, 250.0)


def test_bytes_that_are_not_utf8_are_marked_and_told() -> None:
    found = transcript_of(b'[{"role": "assistant", "content": "caf\xe9"}]')
    assert (found.output, found.bytes_replaced) == ("caf\ufffd", True)


def test_half_a_surrogate_pair_becomes_a_mark_in_arguments_too() -> None:
    found = chat(asks(("1", "look"), arguments='{"at": "\\ud800"}'))
    assert calls(found) == [("look", {"at": "\ufffd"}, UNSET)]


# ---- openai


def test_a_whole_conversation_of_chat_messages() -> None:
    found = example("openai_parallel.json")
    assert found.output == "4.60 and 5.00 CHF."
    assert found.tool_calls == (
        ToolCall(name="rates", arguments={"of": "EUR"}, id="c1", result="0.92", group=1),
        ToolCall(name="rates", arguments={"of": "USD"}, id="c2", result={"rate": 1.0}, group=1),
        ToolCall(name="convert", arguments={}, id="c3", result="Error: no amount"),
    )
    assert found.reasoning == (ReasoningStep("THOUGHT", "Two rates are needed."),)
    assert (found.usage, found.model) == (Usage(2000, 300, 2300), "m-1")
    assert (found.latency_ms, found.cost, found.trace_id, found.state, found.notes) == (None, None, None, UNSET, ())
    assert found.messages is not None
    assert found.messages[1] == {"role": "user", "content": "What are 5 EUR and 5 USD in CHF?"}


def test_messages_a_line_with_old_function_calls_and_a_refusal() -> None:
    found = example("openai_messages.jsonl")
    assert calls(found) == [("cancel", '{"order": 5678', "cancelled")]
    assert found.output == "I cannot say more."
    assert "the model refused to answer" in found.notes
    assert "the arguments of cancel are not JSON, and kept as text" in found.notes


def test_exchanges_repeat_what_was_said_and_each_costs_its_own_tokens() -> None:
    found = example("openai_exchanges.jsonl")
    assert calls(found) == [("shell", "ls -l", "a.txt")]
    assert (found.output, found.usage, found.model) == ("One file", Usage(30, 5, 35), "m-2")
    assert found.notes == ("the model's answer ended early: length",)


def test_a_stream_of_chunks_is_put_together_by_the_index_of_its_calls() -> None:
    found = example("openai_stream.sse")
    assert (found.output, found.usage) == ("Looking.", Usage(8, 4))
    assert calls(found) == [("look", {"at": 1}, UNSET), ("look", {"at": 2}, UNSET)]


def test_results_are_joined_by_id_and_ids_may_come_again() -> None:
    first = {"role": "tool", "tool_call_id": "0", "content": "one"}
    found = chat(asks(("0", "a")), first, asks(("0", "b")), {**first, "content": "two"})
    assert calls(found) == [("a", {}, "one"), ("b", {}, "two")]


def test_a_result_that_belongs_to_no_call_is_told() -> None:
    found = chat({"role": "tool", "tool_call_id": "x", "content": "1"}, {"role": "assistant", "content": "ok"})
    assert (found.tool_calls, found.notes) == ((), ("a result belongs to no call (x) and was left aside",))


def test_a_conversation_without_calls_made_none_and_a_lone_response_does_not_tell() -> None:
    answer = {"role": "assistant", "content": "Hello!"}
    assert chat(answer).tool_calls == ()
    assert chat().tool_calls is None
    alone = read({"object": "chat.completion", "choices": [{"message": answer}]})
    assert (alone.output, alone.tool_calls) == ("Hello!", None)
    assert "does not tell which tools were called" in alone.notes[0]


@pytest.mark.parametrize(
    ("usage", "known"),
    [
        (
            {"prompt_tokens": 2000, "completion_tokens": 300, "prompt_tokens_details": {"cached_tokens": 1900}},
            (2000, 300),
        ),
        ({}, None),
        (None, None),
        ({"prompt_tokens": None}, None),
        ({"prompt_tokens": True, "completion_tokens": -1}, None),
        ({"prompt_tokens": 7}, (7, None)),
    ],
)
def test_cached_input_is_counted_once_and_unknown_counts_are_never_zero(usage: Any, known: Any) -> None:
    found = chat({"role": "assistant", "content": "x"}, usage=usage).usage
    assert (found and (found.input_tokens, found.output_tokens)) == known


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    choice = {"choices": [{"message": {"role": "assistant", "content": "x"}}]}
    lines = [
        {"request": {"messages": []}, "response": {**choice, **usage}}
        for usage in ({"usage": {"prompt_tokens": 1}}, {})
    ]
    assert transcript_of("\n".join(map(json.dumps, lines)).encode()).usage is None


def test_arguments_are_decoded_once_and_plain_texts_are_no_numbers() -> None:
    arguments = json.dumps({"count": 2, "items": json.dumps([{"sku": "A1"}]), "note": "42"})
    found = chat(asks(("1", "buy"), arguments=arguments), {"role": "tool", "tool_call_id": "1", "content": "42"})
    assert calls(found) == [("buy", {"count": 2, "items": '[{"sku": "A1"}]', "note": "42"}, "42")]


@pytest.mark.parametrize(
    ("later", "output"),
    [
        ([{"role": "user", "content": "Still there?"}], None),
        ([asks(("1", "look"))], None),
        ([{**asks(("1", "look")), "content": "I look."}], "I look."),
        (
            [{**asks(("1", "look")), "content": "I look."}, {"role": "tool", "tool_call_id": "1", "content": "seen"}],
            None,
        ),
    ],
)
def test_what_was_said_before_the_end_of_a_talk_is_no_answer(later: list[dict[str, Any]], output: str | None) -> None:
    assert chat({"role": "assistant", "content": "Hello!"}, *later).output == output


def test_the_last_words_of_a_played_user_end_the_talk_after_the_answer() -> None:
    said = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "###STOP###"}]
    assert read({"traj": said, "reward": 1.0}).output == "Done."


def test_parts_that_are_not_text_are_told() -> None:
    image = {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": "?"}],
    }
    found = read([image, {"role": "assistant", "content": "A cat."}])
    assert found.notes == ("parts of the kind 'image_url' were left aside",)


# ---- otel


def test_spans_over_several_lines_children_first_with_typed_values_and_upper_case_ids() -> None:
    found = example("otel_lines.jsonl")
    assert found.output == "The order cannot be read."
    assert found.tool_calls == (
        ToolCall(
            name="get_order",
            arguments={"id": "5678"},
            id="c1",
            result="down",
            error={"type": "TimeoutError", "message": "no answer in 50 ms"},
            duration_ms=50.0,
            group=1,
        ),
        ToolCall(name="policy", arguments={"topic": "refund"}, id="c2", result={"days": 30}, duration_ms=4.0, group=1),
    )
    assert found.usage == Usage(300, 30)
    assert (found.model, found.latency_ms) == ("m-2026", 100.0)
    assert found.trace_id == "5b8efff798038103d269b633813fc60c"
    assert found.reasoning == (ReasoningStep("THOUGHT", "Look it up first."),)
    assert len(found.messages or ()) == 5
    assert found.notes == ()


def test_messages_in_events_and_in_log_records_as_they_were_until_1_36() -> None:
    found = example("otel_events_and_logs.jsonl")
    assert (found.output, found.usage, found.model) == ("It rains.", Usage(14, 5), "old")
    assert calls(found) == [("weather", {"at": "Bern"}, "rain")]
    assert [message["role"] for message in found.messages or ()] == ["user", "assistant", "tool", "assistant"]


def test_layers_of_one_call_count_once_and_an_agent_used_as_a_tool_does_not_answer() -> None:
    found = example("otel_layers.json")
    assert found.output == "Done by the boss."
    assert [(call.name, call.agent, call.result) for call in found.tool_calls or ()] == [
        ("helper", "boss", UNSET),
        ("look", "helper", "42"),
    ]
    assert (found.usage, found.model) == (Usage(117, 12), "big")
    assert found.notes == ("2 agents worked on it: boss, helper",)
    assert [message["content"] for message in found.messages or ()][-2:] == ["m10", "Done by the boss."]


def test_a_trace_without_content_keeps_its_calls_and_says_what_it_lacks() -> None:
    found = read([tool("look", tool__call__id="1"), model("m", usage__input_tokens=3, usage__output_tokens=1)])
    assert found.tool_calls == (ToolCall(name="look", id="1", duration_ms=1.0),)
    assert (found.output, found.messages) == (None, None)
    assert found.notes == ("the arguments of 1 of 1 tool calls were not captured in the trace",)


def test_a_trace_that_tells_nothing_of_tools_does_not_say_that_none_was_called() -> None:
    assert read([model("m")]).tool_calls is None
    assert read([model("m", output__messages=says("Hi"))]).tool_calls == ()


@pytest.mark.parametrize(
    ("spans", "usage"),
    [
        ([model("a", usage__input_tokens=1, usage__output_tokens=2)], Usage(1, 2)),
        ([span("r", 0, 9, operation__name="invoke_agent", aggregated_usage__input_tokens=5)], Usage(5)),
        ([model("a", usage__input_tokens="57", usage__output_tokens=2.0)], Usage(57, 2)),
        ([model("a", usage__input_tokens=1), model("b", 2)], None),
        ([model("a", usage__input_tokens=1), {**model("b", 2), "status": {"code": "ERROR"}}], Usage(1)),
        (
            [
                model("a", response__id="x", usage__input_tokens=1),
                model("b", 2, response__id="x", usage__input_tokens=1),
            ],
            Usage(1),
        ),
        ([model("a")], None),
        ([tool("look")], None),
    ],
)
def test_tokens_are_summed_over_model_calls_and_a_sum_with_an_unknown_part_is_unknown(
    spans: list[dict[str, Any]], usage: Usage | None
) -> None:
    assert read(spans).usage == usage


def test_the_agents_own_count_stands_in_where_a_model_call_tells_none() -> None:
    root = span("r", 0, 9, operation__name="invoke_agent", usage__input_tokens=8, usage__output_tokens=4)
    assert read([root, model("a", usage__input_tokens=1), model("b", 2)]).usage == Usage(8, 4)


def test_calls_issued_together_keep_issue_order_and_get_their_own_results() -> None:
    asked = [
        {"type": "tool_call", "id": i, "name": "rates", "arguments": {"of": of}}
        for i, of in (("1", "EUR"), ("2", "USD"))
    ]
    spans = [
        model("m", output__messages=[{"role": "assistant", "parts": asked}]),
        tool("rates", 2, 9, tool__call__id="1", tool__call__result="0.92"),
        tool("rates", 1, 3, tool__call__id="2", tool__call__result="1.0"),
        tool("convert", 10, 11),
    ]
    found = read(spans)
    assert [(call.arguments, call.result, call.group) for call in found.tool_calls or ()] == [
        ({"of": "EUR"}, "0.92", 1),
        ({"of": "USD"}, "1.0", 1),
        (None, UNSET, None),
    ]


def test_spans_without_call_ids_are_matched_by_name_and_arguments() -> None:
    asked = [{"type": "tool_call", "name": "rates", "arguments": {"of": of}} for of in ("EUR", "USD", "EUR")]
    spans = [model("m", output__messages=[{"role": "assistant", "parts": asked}])]
    spans += [
        tool(
            "rates", start, start + 1, tool__call__arguments=json.dumps({"of": of}), tool__call__result=of + str(start)
        )
        for start, of in ((5, "USD"), (6, "EUR"), (7, "EUR"))
    ]
    assert [call.result for call in read(spans).tool_calls or ()] == ["EUR6", "USD5", "EUR7"]


def test_calls_without_spans_come_from_what_the_model_said_and_was_told() -> None:
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "look", "arguments": "{}"}]}
    back = {"role": "user", "parts": [{"type": "tool_call_response", "id": "1", "result": "seen"}]}
    spans = [
        model("a", output__messages=json.dumps([call])),
        model("b", 2, input__messages=[call, back], output__messages=says("ok")),
    ]
    found = read(spans)
    assert (calls(found), found.output) == ([("look", {}, "seen")], "ok")


def test_calls_of_an_earlier_conversation_were_not_made_in_this_one() -> None:
    before = {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "look", "arguments": {}}]}
    assert read([model("a", input__messages=[before], output__messages=says("ok"))]).tool_calls == ()


def test_an_answer_that_was_not_captured_is_not_taken_from_what_was_said_before() -> None:
    before = [{"role": "user", "content": "Hi"}, *says("Hello!"), {"role": "user", "content": "Refund?"}]
    assert read([model("a", input__messages=before)]).output is None


def test_a_value_that_was_cut_is_kept_as_text_and_told() -> None:
    found = read([tool("look", tool__call__arguments='{"at": "Ber', tool__call__result="42")])
    assert calls(found) == [("look", '{"at": "Ber', "42")]
    assert found.notes == ("the arguments or the result of look are not whole JSON, and kept as text",)


def test_a_run_that_ended_in_an_error_says_so() -> None:
    root = {**span("run", operation__name="invoke_agent"), "status": {"code": 2, "message": "out of money"}}
    assert "the span 'run' ended in an error: out of money" in read([root]).notes


def test_spans_of_infrastructure_alone_tell_only_time_and_trace() -> None:
    found = read([{**span("GET /"), "attributes": {"http.method": "GET"}}])
    assert (found.tool_calls, found.output, found.latency_ms, found.trace_id) == (None, None, 1.0, "t1")
    assert found.notes == ("no span tells of an agent, a model or a tool in the GenAI conventions",)


def test_parents_that_are_missing_or_run_in_a_circle_break_nothing() -> None:
    lost = tool("look", parent="nobody", tool__call__arguments="{}")
    circle = [
        {**span("a", parent="b"), "span_id": "a"},
        {**span("b", parent="a"), "span_id": "b"},
        span("c", parent="c"),
    ]
    assert calls(read([lost, *circle])) == [("look", {}, UNSET)]


def test_a_chain_of_many_spans_is_read_in_a_moment() -> None:
    spans = [span("0")] + [model(str(i), i) | {"parent_span_id": str(i - 1)} for i in range(1, 5_000)]
    assert read(spans).trace_id == "t1"


def test_ids_of_a_naive_dump_are_hex_again() -> None:
    item = {"traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": "7uGbfsPBsXQ=", "name": "x"}
    found = read({"resourceSpans": [{"scopeSpans": [{"spans": [item]}]}]})
    assert (found.trace_id, found.latency_ms) == ("5b8efff798038103d269b633813fc60c", None)


# ---- hostile data


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in _paths(item, (*path, key)))]


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    changed = copy.deepcopy(value)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    return changed


def _documents() -> list[tuple[str, Any]]:
    read_source = (source_of(path.read_bytes()) for path in sorted(EXAMPLES.iterdir()))
    names = [path.name.split("_")[0] for path in sorted(EXAMPLES.iterdir())]
    return [(name, list(source.values)) for name, source in zip(names, read_source, strict=True)]


DOCUMENTS = _documents()


@given(
    st.sampled_from(DOCUMENTS).flatmap(lambda d: st.tuples(st.just(d), st.sampled_from(_paths(d[1])[1:]), json_values))
)
@steady
def test_whatever_stands_in_the_place_of_a_value_is_read_or_refused(drawn: tuple[tuple[str, Any], Any, Any]) -> None:
    (name, values), path, new = drawn
    raw = "\n".join(json.dumps(value) for value in _with(values, path, new)).encode()
    assert read_or_refused(raw, name)
    assert read_or_refused(raw)


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()), st.sampled_from([*FORMATS]))
@steady
def test_whatever_bytes_come_are_read_or_refused(raw: bytes, name: str) -> None:
    assert read_or_refused(raw, name)


@pytest.mark.parametrize(
    "around",
    [
        b'[{"role": "tool", "content": %b}, {"role": "assistant", "content": %b}]',
        b'[{"trace_id": "1", "span_id": "2", "name": "x", "attributes": {"gen_ai.tool.call.result": %b, "a": %b}}]',
    ],
)
def test_nesting_as_deep_as_json_goes_is_read_or_refused(around: bytes) -> None:
    for depth in (400, 900, 5000):
        deep = b"[" * depth + b"]" * depth
        assert read_or_refused(around % (deep, deep))


# ---- stdout in the agent's protocol, or in another format


def test_json_on_stdout_that_is_not_ours_is_shown_to_the_other_formats() -> None:
    raw = (EXAMPLES / "openai_parallel.json").read_bytes()
    assert answer_in(raw, "json").output == "4.60 and 5.00 CHF."
    assert answer_in(b'{"output": "ours", "extra": 1}', "json").notes


@pytest.mark.parametrize(
    ("raw", "protocol", "name", "words"),
    [
        (b"[1]", "json", "auto", "the response is not in the protocol: [1] is a list"),
        (b"", "json", "auto", "the agent printed nothing"),
        (b'[{"role": "assistant", "content": ""}]', "json", "auto", "the agent answered nothing and called no tool"),
        (b"Hello", "text", "openai", "there are no chat messages in the transcript: it is not JSON"),
        (b'[{"role": "assistant", "content": "x"}]', "json", "agenteval", "is a list; expected a mapping"),
    ],
)
def test_an_answer_that_is_none_is_refused(raw: bytes, protocol: str, name: str, words: str) -> None:
    with pytest.raises(UnreadableAnswerError, match=re.escape(words)):
        answer_in(raw, protocol, name)


def test_plain_text_stays_plain_text_unless_a_format_is_named() -> None:
    raw = b'[{"role": "assistant", "content": "x"}]'
    assert answer_in(raw, "text").output == raw.decode()
    assert answer_in(raw, "text", "openai").output == "x"


# ---- what is said on stdout beside a trace


TRACE = json.dumps([tool("look", tool__call__id="1"), model("m", response__model="m-9")]).encode()


def test_the_answer_comes_from_stdout_where_the_trace_has_none() -> None:
    said = b'{"output": "Seen.", "state": {"a": 1}, "model": "other", "tool_calls": [{"name": "look", "arguments": {"at": 1}, "result": 2}]}'
    found = answer_with_trace(said, "json", TRACE, "otel")
    assert (found.output, found.state, found.model) == ("Seen.", {"a": 1}, "m-9")
    assert found.tool_calls == (ToolCall(name="look", id="1", arguments={"at": 1}, result=2, duration_ms=1.0),)


def test_a_difference_in_calls_or_answers_is_told_and_the_transcript_counts() -> None:
    traced = Transcript(output="A", tool_calls=(ToolCall(name="look", arguments={}), ToolCall(name="go", arguments={})))
    said = Transcript(output="B", tool_calls=(ToolCall(name="look", arguments={}),))
    found = merged(traced, said)
    assert (found.output, found.tool_calls) == ("A", traced.tool_calls)
    assert found.notes == (
        "the agent reports 1 call (look), its transcript has 2 calls (look, go); the transcript counts",
        "the answer on stdout is not the one in the transcript; the transcript counts",
    )


def test_stdout_may_be_anything_where_the_trace_has_the_answer() -> None:
    trace = json.dumps([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]).encode()
    assert answer_with_trace(b"INFO started\n", "json", trace).output == "Hello!"


def test_no_answer_in_either_place_is_refused() -> None:
    with pytest.raises(
        UnreadableAnswerError, match="the transcript has no answer, and stdout has none either: the agent"
    ):
        answer_with_trace(b"", "json", TRACE)


@given(st.data())
@steady
def test_what_only_one_of_both_tells_is_kept(data: st.DataObject) -> None:
    facts: dict[str, Any] = {
        "output": "x",
        "cost": "1",
        "model": "m",
        "latency_ms": 2.0,
        "state": {},
        "usage": Usage(1),
        "tool_calls": (),
    }
    first = data.draw(st.sets(st.sampled_from(sorted(facts))))
    one = Transcript(**{key: value for key, value in facts.items() if key in first})
    other = Transcript(**{key: value for key, value in facts.items() if key not in first})
    assert merged(one, other) == Transcript(**facts)


@pytest.mark.parametrize(
    ("broken", "partial"),
    [
        ('{"role": "assistant", "tool_calls": [{"id": "2", "function": {"name": "pay", "arguments": "{}"}}]', True),
        ('[{"role": "assistant"', True),
        ("2026-11-30 INFO paid", False),
    ],
)
def test_a_broken_part_of_a_transcript_is_told_from_a_line_of_a_log(broken: str, partial: bool) -> None:
    lines = [
        json.dumps({"role": "user", "content": "Pay."}),
        broken,
        json.dumps({"role": "assistant", "content": "Ok."}),
    ]
    found = transcript_of("\n".join(lines).encode())
    assert (found.partial, len(found.notes)) == (partial, 1)


@pytest.mark.parametrize(
    ("rule", "calls", "observed", "gives"),
    [
        ({"forbidden": ["pay"]}, ["look"], False, "no_evidence"),
        ({"forbidden": ["pay"]}, ["look"], True, "passed"),
        ({"forbidden": ["pay"]}, ["pay"], False, "failed"),
        ({"only": ["look"]}, ["look"], False, "no_evidence"),
        ({"only": ["look"]}, ["pay"], False, "failed"),
        ({"required": ["look"]}, ["look"], False, "passed"),
        ({"required": ["pay"]}, ["look"], False, "no_evidence"),
        ({"required": [{"tool": "look", "times": 1}]}, ["look"], False, "no_evidence"),
        ({"required": [{"tool": "look", "times": {"gte": 1}}]}, ["look"], False, "passed"),
        ({"calls": {"mode": "exact", "expected": ["look"]}}, ["look"], False, "no_evidence"),
        ({"calls": {"mode": "exact", "expected": ["look"]}}, ["pay"], False, "no_evidence"),
    ],
)
def test_what_a_call_that_is_missing_could_change_is_not_decided(
    rule: dict[str, Any], calls: list[str], observed: bool, gives: str
) -> None:
    made = tuple(ToolCall(name=name, arguments={}) for name in calls)
    broken = Transcript(output="Ok.", tool_calls=made, observed=observed, partial=True)
    (found,) = checked(case(trajectory=rule).trajectory, broken)
    assert found.result == gives, found
