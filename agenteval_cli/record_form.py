"""A record of the camel-case model: its keys checked, its parts placed in a case, and a case projected to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agenteval_cli import schemas
from agenteval_cli.compare import ABSENT, same
from agenteval_cli.json_values import decimal_text, json_value
from agenteval_cli.kept_metadata import KEPT, RECORD_KEYS, kept_in
from agenteval_cli.matchers import operator_of
from agenteval_cli.problems import did_you_mean

Data = dict[str, Any]

_CALL_KEYS = ("name", "arguments", "result", "durationMs")
_EXPECTED_KEYS = ("name", "arguments")
_STEP_KEYS = ("type", "content", "toolCall")
_USAGE_KEYS = {"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"}
_LONG_USAGE_KEYS = {"inputTokens": "input", "outputTokens": "output", "totalTokens": "total"}
OBSERVED = ("actualOutput", "retrievalContext", "toolCalls", "reasoningTrace", "latencyMs", "tokenUsage", "cost")


# ---- what is a record


def checked_record(value: Any, place: str) -> Data:
    """A record, copied, with its cost as decimal text and its parts checked for their keys."""
    given = mapping_of(value, place, RECORD_KEYS)
    if given.get("cost") is not None:
        given["cost"] = decimal_text(given["cost"], f"{place}cost")
    record: Data = {key: json_value(item, f"{place}{key}") for key, item in given.items()}
    if "input" not in record:
        raise ValueError(f"{place}input is missing")
    for key, known in (
        ("toolCalls", _CALL_KEYS),
        ("expectedToolCalls", _EXPECTED_KEYS),
        ("reasoningTrace", _STEP_KEYS),
    ):
        for index, item in enumerate(_list(record.get(key), place + key)):
            mapping_of(item, f"{place}{key}[{index}].", known)
            if isinstance(item.get("toolCall"), dict):
                mapping_of(item["toolCall"], f"{place}{key}[{index}].toolCall.", _CALL_KEYS)
    if record.get("tokenUsage") is not None:
        usage = mapping_of(record["tokenUsage"], f"{place}tokenUsage.", (*_USAGE_KEYS, *_LONG_USAGE_KEYS))
        record["tokenUsage"] = {_LONG_USAGE_KEYS.get(key, key): count for key, count in usage.items()}
    if not isinstance(record.get("metadata"), dict | None):
        raise TypeError(f"{place}metadata is a mapping, not {record['metadata']!r}")
    return record


def mapping_of(value: Any, place: str, known: Sequence[str]) -> Data:
    """A mapping, copied. Raises TypeError for what is none, ValueError for a key that is not known."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{place.rstrip('.') or 'a record'} is a mapping, not {value!r}")
    for key in value:
        if key not in known:
            near = did_you_mean(str(key), known) or f"; known here: {', '.join(known)}"
            raise ValueError(f"unknown key '{place}{key}'{near}")
    return dict(value)


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list | None):
        raise TypeError(f"{place} is a list, not {value!r}")
    return value or []


# ---- from a record to a case


def placed_record(record: Data) -> Data:
    """What of a record has a place of its own in a case."""
    data: Data = {"input": record["input"]}
    if "expectedOutput" in record:
        data["expected_output"] = record["expectedOutput"]
    if record.get("context") is not None:
        data["context"] = record["context"]
    if record.get("expectedToolCalls"):
        expected = [_placed_expected(call) for call in record["expectedToolCalls"]]
        data["trajectory"] = {"calls": {"mode": "any_order", "expected": expected, "extra": "allow"}}
    if fitting := fitting_metadata(record):
        data["metadata"] = fitting
    if _was_observed(record):
        data["recording"] = _placed_recording(record)
    return data


def fitting_metadata(document: Data) -> Data:
    """What of a document's metadata a case may have as its own."""
    typed = schemas.load("case")["properties"]["metadata"]["properties"]
    metadata = document.get("metadata") or {}
    return {k: v for k, v in metadata.items() if k != KEPT and (k not in typed or isinstance(v, str))}


def own_metadata(data: Data) -> Data:
    """The metadata of a case without what it keeps of a document."""
    hidden = {KEPT} if kept_in(data) else set()
    return {key: value for key, value in data.get("metadata", {}).items() if key not in hidden}


def _was_observed(record: Data) -> bool:
    """Whether a record says anything of an answer: nulls, empty lists and zeros are what was never filled in."""
    facts = [record[key] for key in OBSERVED if key not in ("actualOutput", "cost") and key in record]
    cost = (record.get("cost") or "").strip("0.")
    return record.get("actualOutput") is not None or any(facts) or bool(cost)


def _placed_expected(call: Data) -> Data:
    arguments = call.get("arguments")
    said = {} if arguments is None else {"arguments": {key: _quoted(value) for key, value in arguments.items()}}
    return {"name": call.get("name"), **said}


def _quoted(value: Any) -> Any:
    """A value as a matcher that means just this value."""
    if operator_of(value) is not None:
        return {"equals": value}
    if isinstance(value, dict):
        return {key: _quoted(item) for key, item in value.items()}
    return [_quoted(item) for item in value] if isinstance(value, list) else value


def _placed_recording(record: Data) -> Data:
    calls = record.get("toolCalls")
    steps = record.get("reasoningTrace")
    links = _links(steps or [], calls or [])
    usage = record.get("tokenUsage")
    facts = {
        "tool_calls": calls and [_placed_call(call, index, links.values()) for index, call in enumerate(calls)],
        "reasoning": steps and [_placed_step(step, links.get(index)) for index, step in enumerate(steps)],
        "retrieval_context": record.get("retrievalContext"),
        "usage": usage and {_USAGE_KEYS[key]: value for key, value in usage.items() if value is not None},
        "cost": record.get("cost"),
        "latency_ms": record.get("latencyMs"),
    }
    return {"output": record.get("actualOutput"), **{key: value for key, value in facts.items() if value is not None}}


def _links(steps: list[Data], calls: list[Data]) -> dict[int, int]:
    """Which step led to which call: the first that no step has yet and that agrees in all that the step says of it."""
    links: dict[int, int] = {}
    for index, step in enumerate(steps):
        said = step.get("toolCall")
        if said:
            fitting = [i for i, call in enumerate(calls) if all(same(v, call.get(k, ABSENT)) for k, v in said.items())]
            free = [i for i in fitting if i not in links.values()]
            if fitting:
                links[index] = (free or fitting)[0]
    return links


def _placed_call(call: Data, index: int, linked: Iterable[int]) -> Data:
    names = {"name": "name", "arguments": "arguments", "durationMs": "duration_ms"}
    placed = {names[key]: value for key, value in call.items() if key in names and value is not None}
    own_id = {"id": _call_id(index)} if index in linked else {}
    return {**own_id, **placed, **({"result": call["result"]} if "result" in call else {})}


def _call_id(index: int) -> str:
    return f"call-{index + 1}"


def _placed_step(step: Data, call: int | None) -> Data:
    said: Data = {key: step[key] for key in ("type", "content") if step.get(key) is not None}
    return said if call is None else {**said, "tool_call": _call_id(call)}


# ---- from a case to a record


def projected_record(data: Data) -> Data:
    """The record of a case, as far as it has a place for it."""
    record: Data = {key: data[key] for key in ("input", "context") if key in data}
    if "expected_output" in data:
        record["expectedOutput"] = data["expected_output"]
    expected = data.get("trajectory", {}).get("calls", {})
    if (expected.get("mode"), expected.get("extra")) == ("any_order", "allow") and expected["expected"]:
        calls = [_projected_expected(call) for call in expected["expected"] if isinstance(call, dict)]
        if same([_placed_expected(call) for call in calls], expected["expected"]):
            record["expectedToolCalls"] = calls
    if metadata := own_metadata(data):
        record["metadata"] = metadata
    return {**record, **_projected_recording(data.get("recording", {}))}


def _projected_recording(recording: Data) -> Data:
    names = {"retrieval_context": "retrievalContext", "cost": "cost", "latency_ms": "latencyMs"}
    record = {there: recording[here] for here, there in names.items() if here in recording}
    if recording.get("output") is not None:
        record["actualOutput"] = recording["output"]
    calls = [_projected_call(call) for call in recording.get("tool_calls", ())]
    if "tool_calls" in recording:
        record["toolCalls"] = calls
    if "reasoning" in recording:
        ids = [call.get("id") for call in recording.get("tool_calls", ())]
        by_id = {name: call for name, call in zip(ids, calls, strict=True) if name is not None}
        record["reasoningTrace"] = [_projected_step(step, by_id) for step in recording["reasoning"]]
    if "usage" in recording:
        usage = recording["usage"]
        record["tokenUsage"] = {there: usage[here] for there, here in _USAGE_KEYS.items() if here in usage}
    return record


def _projected_call(call: Data) -> Data:
    names = {"name": "name", "arguments": "arguments", "result": "result", "duration_ms": "durationMs"}
    return {there: call[here] for here, there in names.items() if here in call}


def _projected_step(step: Data, calls: Mapping[str, Data]) -> Data:
    call = calls.get(step.get("tool_call", ""))
    said: Data = {key: step[key] for key in ("type", "content") if key in step}
    return said if call is None else {**said, "toolCall": json_value(call, "toolCall")}


def _projected_expected(call: Data) -> Data:
    arguments = {key: _unquoted(value) for key, value in call.get("arguments", {}).items()}
    return {**call, "arguments": arguments} if "arguments" in call else {**call}


def _unquoted(value: Any) -> Any:
    if operator_of(value) == "equals":
        return value["equals"]
    if isinstance(value, dict):
        return {key: _unquoted(item) for key, item in value.items()}
    return [_unquoted(item) for item in value] if isinstance(value, list) else value
