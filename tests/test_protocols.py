"""What an agent gets and what its output is read as, for each protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest
from build import json_values, steady
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import UNSET

from agenteval_cli.protocols import PROTOCOLS, Protocol, UnreadableAnswerError
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript, Usage

JSON, TEXT = PROTOCOLS["json"], PROTOCOLS["text"]
REQUEST: dict[str, Any] = {"protocol": 1, "input": "Grüße", "messages": [{"role": "user", "content": "Grüße"}]}


def answer(**keys: Any) -> Transcript:
    return JSON.read(json.dumps({"output": "Done.", **keys}).encode())


def complaint(raw: bytes) -> str:
    with pytest.raises(UnreadableAnswerError) as refused:
        JSON.read(raw)
    return str(refused.value)


def read_or_refused(raw: bytes, protocol: Protocol = JSON) -> Transcript | str:
    """The transcript, or the words of the refusal; anything else that is raised would be our own bug."""
    try:
        return protocol.read(raw)
    except UnreadableAnswerError as refused:
        return str(refused)


def only_call(**keys: Any) -> ToolCall:
    (found,) = answer(tool_calls=[{"name": "get_order", **keys}]).tool_calls or ()
    return found


# ---- json


def test_a_whole_answer_is_read() -> None:
    found = answer(
        messages=[{"role": "user", "content": "Hi"}],
        tool_calls=[{"id": "1", "name": "get_order", "arguments": {"a": 1}, "result": None, "duration_ms": 3}],
        reasoning=[{"type": "THOUGHT", "content": "hm"}, {"type": "ACTION", "tool_call": "1"}],
        retrieval_context=["a page"],
        usage={"input_tokens": 1, "output_tokens": 2},
        cost="0.05",
        latency_ms=12.5,
        state={"a": None},
        model="m-1",
        trace_id="4bf9",
    )
    assert found == Transcript(
        output="Done.",
        messages=({"role": "user", "content": "Hi"},),
        tool_calls=(ToolCall(name="get_order", arguments={"a": 1}, id="1", result=None, duration_ms=3),),
        reasoning=(ReasoningStep("THOUGHT", "hm"), ReasoningStep("ACTION", "", "1")),
        retrieval_context=("a page",),
        usage=Usage(1, 2),
        cost="0.05",
        latency_ms=12.5,
        state={"a": None},
        model="m-1",
        trace_id="4bf9",
    )


def test_what_was_not_reported_stays_unknown() -> None:
    found = answer()
    assert found == Transcript(output="Done.")
    assert (found.tool_calls, found.usage, found.cost, found.state) == (None, None, None, UNSET)


@pytest.mark.parametrize("usage", [{}, {"input_tokens": None}, None])
def test_unknown_token_counts_are_never_zero(usage: Any) -> None:
    found = answer(usage=usage).usage
    assert found is None or found.total is None


def test_no_calls_and_nothing_about_calls_are_two_things() -> None:
    assert answer(tool_calls=[]).tool_calls == ()
    assert answer(tool_calls=None).tool_calls is None


def test_a_reported_state_of_null_is_a_state() -> None:
    assert answer(state=None).state is None


@pytest.mark.parametrize(("cost", "text"), [("0.050", "0.050"), (0.05, "0.05"), (1, "1"), (None, None)])
def test_a_cost_is_kept_as_decimal_text(cost: Any, text: str | None) -> None:
    assert answer(cost=cost).cost == text


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ('{"a": "{\\"b\\": 1}"}', {"a": '{"b": 1}'}),
        ('"{\\"a\\": 1}"', '"{\\"a\\": 1}"'),
        ('{"a": 1', '{"a": 1'),
        ('{"a": 9, "a": 1}', '{"a": 9, "a": 1}'),
        ("[1]", "[1]"),
        ("", ""),
        (None, None),
        ([1], [1]),
    ],
)
def test_arguments_sent_as_json_text_are_decoded_once_and_kept_where_malformed(sent: Any, read: Any) -> None:
    assert only_call(arguments=sent).arguments == read


def test_a_call_without_arguments_has_none() -> None:
    assert only_call().arguments == {}


def test_arguments_nested_too_deeply_to_read_are_kept_as_text() -> None:
    assert only_call(arguments="[" * 100_000).arguments == "[" * 100_000


@pytest.mark.parametrize(
    ("keys", "status"),
    [
        ({"result": 1}, "ok"),
        ({"result": None}, "ok"),
        ({"result": 1, "error": None}, "ok"),
        ({"error": "broke"}, "error"),
        ({"error": {"status": 503}, "result": None}, "error"),
        ({}, "unknown"),
        ({"error": None}, "unknown"),
    ],
)
def test_a_call_has_a_status_only_where_it_was_reported(keys: dict[str, Any], status: str) -> None:
    assert only_call(**keys).status == status


@pytest.mark.parametrize(
    "raw",
    [
        b'\xef\xbb\xbf{"output": "Done."}',
        b'\n\n  {"output": "Done."}\r\n\n',
        b'\x1b[32m{"output": "Done."}\x1b[0m\n',
        b'\x1b]0;my agent\x07{"output": "Done."}',
        b'{\n  "output": "Done."\n}',
        b'{"output": "Done."}\x1b[?25h',
    ],
)
def test_marks_blanks_and_escape_codes_around_the_document_do_not_matter(raw: bytes) -> None:
    assert JSON.read(raw).output == "Done."


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "the agent printed nothing"),
        (b" \n", "the agent printed nothing"),
        (b'{"output": 1}\n{"output": 2}\n', "the agent printed two JSON documents"),
        (b'{"output": 1}{"output": 2}', "the agent printed two JSON documents"),
        (b'{"output": 1}\nBye', "text follows the JSON document: 'Bye'"),
        (b'Loading\n{"output": 1}', "it begins with 'Loading"),
        (b"Hello!", "the agent printed 'Hello!'"),
        (b'{"output": NaN}', "NaN is not JSON"),
        (b'{"output": [-Infinity]}', "-Infinity is not JSON"),
        (b'{"output": 1', "the answer is not JSON"),
        (b"{'output': 1}", "the answer is not JSON"),
        (b'{"output": ' + b"[" * 100_000, "the answer is nested too deeply to read"),
        (b'{"output": "no", "output": "yes"}', "can be read in two ways: the key 'output' is there twice"),
        (
            b'{"output": 1, "tool_calls": [{"name": "pay", "arguments": {"a": 9, "a": 1}}]}',
            "the key 'a' is there twice",
        ),
        (
            b'{"output": ' + b"1" * 5_000 + b"}",
            "the answer is not JSON: it has a number with more digits than are read",
        ),
    ],
)
def test_what_is_not_one_json_document_is_refused_and_the_reason_told(raw: bytes, words: str) -> None:
    said = complaint(raw)
    assert words in said
    assert "too deeply" in said or said.endswith("; the json protocol wants one JSON document and logs on stderr")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"[1]", "the response is not in the protocol: [1] is a list; expected a mapping"),
        (b'"Done."', "the response is not in the protocol: 'Done.' is text; expected a mapping"),
        (b'{"answer": 1}', "the response is not in the protocol: 'output' is missing"),
        (
            b'{"output": 1, "tool_calls": {}}',
            "not in the protocol at tool_calls: {} is a mapping; expected a list or null",
        ),
        (b'{"output": 1, "tool_calls": [{"name": "a"}, {}]}', "at tool_calls[1]: 'name' is missing"),
        (b'{"output": 1, "tool_calls": [{"name": 5}]}', "at tool_calls[0].name: 5 is a number; expected text"),
        (b'{"output": 1, "usage": {"total_tokens": -1}}', "at usage.total_tokens: -1 must be at least 0"),
        (
            b'{"output": 1, "usage": {"total_tokens": "9"}}',
            "at usage.total_tokens: '9' is text; expected a whole number",
        ),
        (b'{"output": 1, "reasoning": [{"type": "thought"}]}', "at reasoning[0].type: 'thought' is not one of PLAN"),
        (b'{"output": 1, "cost": true}', "at cost: true is a boolean; expected text, a number or null"),
    ],
)
def test_a_response_of_a_wrong_form_is_told_with_its_place(raw: bytes, words: str) -> None:
    assert words in complaint(raw)


def test_unknown_keys_are_left_aside_and_noted_with_the_nearest_name() -> None:
    found = answer(tool_call=[], elephants=3)
    assert found.tool_calls is None
    assert found.notes == (
        "the response's key 'tool_call' is not known and was left aside; did you mean 'tool_calls'?",
        "the response's key 'elephants' is not known and was left aside",
    )


@pytest.mark.parametrize(
    ("raw", "output"),
    [
        (b'{"output": "a\\ud800b"}', "a\ufffdb"),
        (b'{"output": "\\udc00"}', "\ufffd"),
        (b'{"output": {"\\ud800": ["\\ud83d\\ude00"]}}', {"\ufffd": ["😀"]}),
    ],
)
def test_half_a_surrogate_pair_becomes_a_mark_and_whole_pairs_are_kept(raw: bytes, output: Any) -> None:
    assert JSON.read(raw).output == output


def test_half_a_surrogate_pair_in_a_deep_answer_breaks_nothing() -> None:
    assert read_or_refused(b'{"output": ["\\ud800", ' + b"[" * 900 + b"]" * 900 + b"]}")


def test_bytes_that_are_not_utf8_are_marked_and_told() -> None:
    found = JSON.read(b'{"output": "caf\xe9"}')
    assert (found.output, found.bytes_replaced) == ("caf\ufffd", True)
    assert not answer().bytes_replaced


@pytest.mark.parametrize("number", [b"1e999", b"-1e999"])
def test_a_number_beyond_what_can_be_stored_is_refused(number: bytes) -> None:
    assert "1e999" in complaint(b'{"output": ' + number + b"}")


def test_whole_numbers_of_any_length_are_kept_exactly() -> None:
    assert answer(output=2**200 + 1).output == 2**200 + 1


def test_the_request_is_one_json_document_on_one_line() -> None:
    raw = JSON.stdin(REQUEST)
    assert json.loads(raw) == REQUEST
    assert raw.count(b"\n") == 1
    assert JSON.cannot_carry(REQUEST) == []


@given(json_values)
@steady
def test_every_json_output_is_read_as_it_was_printed(value: Any) -> None:
    assume(value not in (None, ""))
    for ascii_only in (True, False):
        printed = json.dumps({"output": value}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        assert json.dumps(JSON.read(printed).output) == json.dumps(value)


@given(st.binary(max_size=40) | st.text('{}[]":,output1 \\u', max_size=40).map(str.encode))
@steady
def test_whatever_is_printed_is_read_or_refused(raw: bytes) -> None:
    assert read_or_refused(raw, JSON)
    assert read_or_refused(raw, TEXT)


# ---- text


@pytest.mark.parametrize(
    ("raw", "output"),
    [
        (b"Done.\n", "Done."),
        (b"Done.\r\n", "Done."),
        (b"Done.", "Done."),
        (b"Done.\n\n", "Done.\n"),
        (b"  two\nlines \n", "  two\nlines "),
        (b'{"output": 1}\n', '{"output": 1}'),
        (b"\x1b[1mDone.\x1b[0m\n", "\x1b[1mDone.\x1b[0m"),
    ],
)
def test_the_answer_is_all_that_was_printed_but_the_last_line_break(raw: bytes, output: str) -> None:
    found = TEXT.read(raw)
    assert (found.output, found.tool_calls) == (output, None)


@pytest.mark.parametrize("raw", [b"", b"\n", b" \t\r\n", b"\x1b[0m\n"])
def test_printing_nothing_is_no_answer(raw: bytes) -> None:
    with pytest.raises(UnreadableAnswerError, match="the agent printed nothing"):
        TEXT.read(raw)


def test_undecodable_text_is_marked_and_told() -> None:
    found = TEXT.read(b"caf\xe9\n")
    assert (found.output, found.bytes_replaced) == ("caf\ufffd", True)


@pytest.mark.parametrize(
    ("said", "stdin"), [("Grüße", "Grüße"), ({"a": [1, "ü"]}, '{"a": [1, "ü"]}'), (5, "5"), (True, "true")]
)
def test_the_agent_gets_the_users_words_and_nothing_else(said: Any, stdin: str) -> None:
    assert TEXT.stdin(REQUEST | {"input": said}) == stdin.encode()


@pytest.mark.parametrize(
    ("more", "unseen"),
    [
        ({}, []),
        ({"system_prompt": "Be kind."}, ["system_prompt"]),
        ({"state": {}}, ["state"]),
        ({"messages": [{"role": "user"}, {"role": "assistant"}, {"role": "user"}]}, ["conversation"]),
    ],
)
def test_what_plain_text_cannot_carry_is_told(more: dict[str, Any], unseen: list[str]) -> None:
    assert TEXT.cannot_carry(REQUEST | more) == unseen
