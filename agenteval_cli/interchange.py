"""Records of the camel-case model that other tools keep their cases in, to case files and back, without loss.

A record is {input, actualOutput, expectedOutput, retrievalContext[], context[], toolCalls[{name, arguments, result,
durationMs}], expectedToolCalls[{name, arguments}], reasoningTrace[{type, content, toolCall}], latencyMs,
tokenUsage{input, output, total}, cost, metadata}; a conversation is {conversationId, systemPrompt, turns: [record, …]}.

What one side has no place for travels in the metadata of the other, and comes back from there:

- `metadata.interchange` of a case: the rest of a record, by JSON pointer, as `/latencyMs: null`.
- `metadata.agenteval_case` of a record: the rest of a case file, key by key (null: the case has no such key).

So null, absent and empty stay three things. What was given as an argument, and the ID, which follows from what a record
asks and expects, are not part of the record: a case that is still as it was made gives back exactly its record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli import schemas, yaml_writer
from agenteval_cli.checking import Context, check
from agenteval_cli.compare import ABSENT, first_difference, same
from agenteval_cli.digests import digest
from agenteval_cli.errors import UsageError
from agenteval_cli.matchers import operator_of
from agenteval_cli.problems import Problem, did_you_mean, shown_path
from agenteval_cli.test_case import decimal_text, json_value

Data = dict[str, Any]

KEPT = "interchange"
REST = "agenteval_case"

_RECORD_KEYS = (
    "input",
    "actualOutput",
    "expectedOutput",
    "retrievalContext",
    "context",
    "toolCalls",
    "expectedToolCalls",
    "reasoningTrace",
    "latencyMs",
    "tokenUsage",
    "cost",
    "metadata",
)
_CONVERSATION_KEYS = ("conversationId", "systemPrompt", "turns")
_CALL_KEYS = ("name", "arguments", "result", "durationMs")
_EXPECTED_KEYS = ("name", "arguments")
_STEP_KEYS = ("type", "content", "toolCall")
_USAGE_KEYS = {"input": "input_tokens", "output": "output_tokens", "total": "total_tokens"}
_LONG_USAGE_KEYS = {"inputTokens": "input", "outputTokens": "output", "totalTokens": "total"}
_OBSERVED = ("actualOutput", "retrievalContext", "toolCalls", "reasoningTrace", "latencyMs", "tokenUsage", "cost")


def case_from_record(
    record: Mapping[str, Any],
    *,
    case_id: str | None = None,
    match: str | None = None,
    criteria: str | Sequence[str | Mapping[str, Any]] = (),
) -> Data:
    """The data of a case file that asks and expects what the record does, with what was observed as its recording.

    An `expectedOutput` is compared as `match` says; as `similar` where neither `match` nor `criteria` are given. A
    criterion given as a text gates. A recording that fails its own case is no proof, and a rule forbids it: it is kept
    in the metadata. The ID, where none is given, follows from what the record asks and expects.

    Raises TypeError for what is no JSON value or of another kind than a field holds; ValueError for a record that can
    fail nothing, with an unknown key, or that makes no valid case.
    """
    return _case_of(_record(record, ""), _ONE, _Given(case_id, match, _gating(criteria)))


def record_from_case(data: Mapping[str, Any]) -> Data:
    """The record of the data of a case file that has an `input`; see case_from_record.

    Raises ValueError for data of no case file, and for a case that a record cannot stand for: with conversation, turns
    or simulation.
    """
    copied = _case_data(data)
    if "input" not in data or "conversation" in data:
        given = next((key for key in ("conversation", "turns", "simulation") if key in data), "no input")
        more = "; use conversation_from_case" if given == "conversation" else ""
        raise ValueError(f"a record has an input and nothing before it; this case has {given}{more}")
    return _document_of(copied, _ONE)


def case_from_conversation(
    conversation: Mapping[str, Any],
    *,
    case_id: str | None = None,
    match: str | None = None,
    criteria: str | Sequence[str | Mapping[str, Any]] = (),
) -> Data:
    """The data of a case file whose turn under test is the last turn; the ones before are what was said before.

    What earlier turns expected or observed, beside their answers, is kept in the metadata. Otherwise, also in what it
    raises, as case_from_record.
    """
    return _case_of(_conversation(conversation), _MANY, _Given(case_id, match, _gating(criteria)))


def conversation_from_case(data: Mapping[str, Any]) -> Data:
    """The conversation of the data of a case file that has a `conversation`; see case_from_conversation.

    Raises ValueError for data of no case file, and for a case without a conversation.
    """
    copied = _case_data(data)
    if "conversation" not in data or "turns" in data or "simulation" in data:
        raise ValueError("this case has no conversation; use record_from_case where it has an input")
    return _document_of(copied, _MANY)


# ---- both directions, for records and conversations alike


class _Given(msgspec.Struct, frozen=True):
    """What the caller adds to a document."""

    id: str | None = None
    match: str | None = None
    criteria: tuple[Any, ...] = ()


class _Kind(msgspec.Struct, frozen=True):
    """A kind of document: what of it has a place in a case, the way back, and the record that holds expectations."""

    source: str
    placed: Callable[[Data], Data]
    projected: Callable[[Data], Data]
    tested: Callable[[Data], Data]


def _case_of(document: Data, kind: _Kind, given: _Given) -> Data:
    rest = _taken_rest(kind.tested(document))
    return _made(document, kind, given) if rest is None else _restored(document, kind, given, rest)


def _made(document: Data, kind: _Kind, given: _Given) -> Data:
    """The case of a document that comes from elsewhere."""
    data = _with_kept(document, kind) | {"schema": 1, "provenance": {"source": kind.source}}
    data["id"] = given.id or f"tc-{digest(_asked(document, kind))[2:14]}"
    match = given.match or ("similar" if data.get("expected_output") is not None and not given.criteria else None)
    data |= {key: value for key, value in (("match", match), ("criteria", list(given.criteria))) if value}
    if match and data.get("expected_output") is None:
        raise ValueError("match needs an expectedOutput to compare with; the record has none")
    if not any(key in data for key in ("match", "trajectory", "criteria")):
        raise ValueError(
            "nothing can fail this case: the record has neither expectedToolCalls nor expectedOutput; give criteria"
        )
    return _checked(data, document, kind)


def _checked(data: Data, document: Data, kind: _Kind) -> Data:
    """The case, if need be without its recording. Raises ValueError with the words of a rule that it breaks."""
    problems = _problems(_ordered(data))
    for problem in problems:
        if problem.rule != "recording-fails":
            raise ValueError(
                f"this makes no valid case: {f'{problem.path}: ' if problem.path else ''}{problem.message}"
            )
    if problems:
        return _ordered({**data, **_with_kept(document, kind, recording=False), "recording": ABSENT})
    return _ordered(data)


def _problems(data: Data) -> list[Problem]:
    """What `agenteval validate` would call an error in the file."""
    try:
        raw = yaml_writer.document(data).encode()
    except UsageError as error:
        raise ValueError(str(error)) from error
    facts, _ = check(Context(), "record", raw)
    return [problem for problem in facts.problems if problem.severity == "error"]


def _restored(document: Data, kind: _Kind, given: _Given, rest: Data) -> Data:
    """The case of a document that a case was made into. What was changed in the document since must have its effect."""
    added = {"id": given.id, "match": given.match, "criteria": list(given.criteria)}
    merged = {"schema": 1, **_with_kept(document, kind), **rest, **{k: v for k, v in added.items() if v}}
    data = _ordered({k: ABSENT if v is None and k != "expected_output" else v for k, v in merged.items()})
    _check_schema(data)
    again = _projected(data, kind)
    _drop_rest(kind.tested(again))
    if difference := first_difference(document, again):
        raise ValueError(f"the record and its metadata.{REST} disagree: {difference}; remove what no longer holds")
    return data


def _document_of(data: Data, kind: _Kind) -> Data:
    document = _projected(data, kind)
    if _is_as_made(data, document, kind):
        return document
    tested = kind.tested(document)
    _drop_rest(tested)
    baseline = {"schema": 1, **_with_kept(document, kind)}
    rest = {key: value for key, value in data.items() if not same(baseline.get(key, ABSENT), value)}
    gone = {key: None for key in baseline if key not in data}
    tested["metadata"] = {**tested.get("metadata", {}), REST: {**rest, **gone}}
    return document


def _is_as_made(data: Data, document: Data, kind: _Kind) -> bool:
    """Whether the case is just what its document is made into, with the arguments that the case shows."""
    if not same(data.get("provenance", ABSENT), {"source": kind.source}):
        return False
    given = _Given(data.get("id"), data.get("match"), _gating(data.get("criteria", ())))
    try:
        return same(_made(document, kind, given), data)
    except ValueError:
        return False


def _projected(data: Data, kind: _Kind) -> Data:
    """The document of a case, with what was kept of it."""
    document = kind.projected(data)
    for pointer, value in sorted(_kept_in(data).items()):
        _put(document, [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")], value)
    return document


def _with_kept(document: Data, kind: _Kind, *, recording: bool = True) -> Data:
    """What of a document has a place in a case, and the rest of it as metadata."""
    data = kind.placed(document)
    if not recording:
        data.pop("recording", None)
    kept = dict(_lost(document, kind.projected(data)))
    return {**data, "metadata": {**data.get("metadata", {}), KEPT: kept}} if kept else data


def _lost(document: Any, projected: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """By JSON pointer, what of the document the projected one lacks or has otherwise."""
    match document, projected:
        case dict(), dict() if projected.keys() <= document.keys():
            for key, value in document.items():
                escaped = key.replace("~", "~0").replace("/", "~1")
                yield from _lost(value, projected.get(key, ABSENT), f"{pointer}/{escaped}")
        case list(), list() if len(document) == len(projected):
            for index, (value, other) in enumerate(zip(document, projected, strict=True)):
                yield from _lost(value, other, f"{pointer}/{index}")
        case _ if not same(document, projected):
            yield pointer, document


def _put(document: Any, parts: list[str], value: Any) -> None:
    """Put a value back to its place. What has lost its place, since the case was edited, has nothing left to say."""
    *way, last = parts
    for part in way:
        match document:
            case dict() if part in document:
                document = document[part]
            case list() if part.isdecimal() and int(part) < len(document):
                document = document[int(part)]
            case _:
                return
    if isinstance(document, dict):
        document[last] = value


def _kept_in(data: Data) -> Data:
    kept = data.get("metadata", {}).get(KEPT)
    known = {*_RECORD_KEYS, *_CONVERSATION_KEYS}
    ours = isinstance(kept, dict) and kept and all(key[:1] == "/" and key.split("/")[1] in known for key in kept)
    copied: Data = json_value(kept, KEPT) if ours else {}
    return copied


def _taken_rest(tested: Data) -> Data | None:
    """The rest of a case in the record's metadata, taken out of it; None where the record never was a case."""
    metadata = tested.get("metadata")
    rest = metadata.get(REST) if isinstance(metadata, dict) else None
    if not isinstance(rest, dict) or not rest.keys() <= schemas.load("case")["properties"].keys():
        return None
    _drop_rest(tested)
    return rest


def _drop_rest(record: Data) -> None:
    """Take the rest of a case out of a record, and metadata that is empty then."""
    metadata = {key: value for key, value in (record.pop("metadata", None) or {}).items() if key != REST}
    if metadata:
        record["metadata"] = metadata


def _asked(document: Data, kind: _Kind) -> Data:
    """What a document asks and expects: it tells whether two of them are one case."""
    asked: Data = json_value(document, "")
    tested = kind.tested(asked)
    for key in (*_OBSERVED, "metadata"):
        tested.pop(key, None)
    return asked


def _gating(criteria: Any) -> tuple[Any, ...]:
    """Criteria for a case that they may be the only checks of: a text becomes one that gates."""
    listed = [criteria] if isinstance(criteria, str) else json_value(criteria, "criteria")
    return tuple({"text": item, "gate": True} if isinstance(item, str) else item for item in listed)


def _ordered(data: Data) -> Data:
    keys = schemas.load("case")["properties"]
    return {key: data[key] for key in keys if data.get(key, ABSENT) is not ABSENT}


def _case_data(data: Mapping[str, Any]) -> Data:
    copied: Data = json_value(data, "case")
    _check_schema(copied)
    return copied


def _check_schema(data: Data) -> None:
    if not schemas.is_valid("case", data):
        path, words, _ = next(iter(schemas.explanations("case", data)))
        raise ValueError(f"this makes no valid case: {f'{shown_path(path)}: ' if path else ''}{words}")


# ---- a record


def _placed(record: Data) -> Data:
    """What of a record has a place of its own in a case."""
    data: Data = {"input": record["input"]}
    if "expectedOutput" in record:
        data["expected_output"] = record["expectedOutput"]
    if record.get("context") is not None:
        data["context"] = record["context"]
    if record.get("expectedToolCalls"):
        expected = [_placed_expected(call) for call in record["expectedToolCalls"]]
        data["trajectory"] = {"calls": {"mode": "any_order", "expected": expected, "extra": "allow"}}
    typed = schemas.load("case")["properties"]["metadata"]["properties"]
    metadata = record.get("metadata") or {}
    fitting = {k: v for k, v in metadata.items() if k != KEPT and (k not in typed or isinstance(v, str))}
    if fitting:
        data["metadata"] = fitting
    if _was_observed(record):
        data["recording"] = _placed_recording(record)
    return data


def _was_observed(record: Data) -> bool:
    """Whether a record says anything of an answer: nulls, empty lists and zeros are what was never filled in."""
    facts = [record[key] for key in _OBSERVED if key not in ("actualOutput", "cost") and key in record]
    cost = (record.get("cost") or "").strip("0.")
    return record.get("actualOutput") is not None or any(facts) or bool(cost)


def _placed_expected(call: Data) -> Data:
    arguments = call.get("arguments")
    return {"name": call.get("name"), **({} if arguments is None else {"arguments": _quoted(arguments)})}


def _quoted(value: Any) -> Any:
    """A value as a matcher that means just this value."""
    if operator_of(value) is not None:
        return {"equals": value}
    if isinstance(value, dict):
        return {key: _quoted(item) for key, item in value.items()}
    return [_quoted(item) for item in value] if isinstance(value, list) else value


def _unquoted(value: Any) -> Any:
    if operator_of(value) == "equals":
        return value["equals"]
    if isinstance(value, dict):
        return {key: _unquoted(item) for key, item in value.items()}
    return [_unquoted(item) for item in value] if isinstance(value, list) else value


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


def _projected_record(data: Data) -> Data:
    """The record of a case, as far as it has a place for it."""
    record: Data = {key: data[key] for key in ("input", "context") if key in data}
    if "expected_output" in data:
        record["expectedOutput"] = data["expected_output"]
    expected = data.get("trajectory", {}).get("calls", {})
    if (expected.get("mode"), expected.get("extra")) == ("any_order", "allow") and expected["expected"]:
        calls = [{key: _unquoted(value) for key, value in call.items()} for call in expected["expected"]]
        if same([_placed_expected(call) for call in calls], expected["expected"]):
            record["expectedToolCalls"] = calls
    hidden = {KEPT} if _kept_in(data) else set()
    metadata = {key: value for key, value in data.get("metadata", {}).items() if key not in hidden}
    if metadata:
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


# ---- a conversation


def _placed_conversation(document: Data) -> Data:
    *before, tested = document["turns"]
    data = _placed(tested)
    messages = [message for turn in before for message in _messages(turn)]
    data["conversation"] = [*messages, {"role": "user", "content": data.pop("input")}]
    if document.get("conversationId"):
        data["conversation_id"] = document["conversationId"]
    if document.get("systemPrompt") is not None:
        data["system_prompt"] = document["systemPrompt"]
    return data


def _messages(turn: Data) -> Iterator[Data]:
    yield {"role": "user", "content": turn["input"]}
    if turn.get("actualOutput") is not None:
        yield {"role": "assistant", "content": turn["actualOutput"]}


def _projected_conversation(data: Data) -> Data:
    messages = list(data["conversation"])
    if "input" in data:
        messages.append({"role": "user", "content": data["input"]})
    *before, tested = _turns(messages) or [{"input": messages[-1]["content"]}]
    record = {**_projected_record({**data, "input": tested["input"]})}
    names = {"conversation_id": "conversationId", "system_prompt": "systemPrompt"}
    return {**{there: data[here] for here, there in names.items() if here in data}, "turns": [*before, record]}


def _turns(messages: list[Data]) -> list[Data] | None:
    """Messages as turns; None where they are more than a user's words and one answer each."""
    turns: list[Data] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if message.keys() != {"role", "content"}:
            return None
        if role == "user":
            turns.append({"input": content})
        elif role == "assistant" and turns and "actualOutput" not in turns[-1] and content is not None:
            turns[-1]["actualOutput"] = content
        else:
            return None
    return turns if messages[-1]["role"] == "user" else None


_ONE = _Kind("record", _placed, _projected_record, lambda document: document)
_MANY = _Kind("conversation", _placed_conversation, _projected_conversation, lambda document: document["turns"][-1])


# ---- what is a record


def _conversation(value: Any) -> Data:
    """A conversation, copied, its turns checked. Raises TypeError and ValueError as case_from_conversation says."""
    given = _mapping(value, "", _CONVERSATION_KEYS)
    turns = given.get("turns")
    if not isinstance(turns, list | tuple):
        raise TypeError("turns is a list of records")
    if not turns:
        raise ValueError("turns: a conversation has at least one")
    rest = json_value({key: item for key, item in given.items() if key != "turns"}, "conversation")
    return {**rest, "turns": [_record(turn, f"turns[{index}].") for index, turn in enumerate(turns)]}


def _record(value: Any, place: str) -> Data:
    """A record, copied, with its cost as decimal text and its parts checked for their keys."""
    given = _mapping(value, place, _RECORD_KEYS)
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
            _mapping(item, f"{place}{key}[{index}].", known)
            if isinstance(item.get("toolCall"), dict):
                _mapping(item["toolCall"], f"{place}{key}[{index}].toolCall.", _CALL_KEYS)
    if record.get("tokenUsage") is not None:
        usage = _mapping(record["tokenUsage"], f"{place}tokenUsage.", (*_USAGE_KEYS, *_LONG_USAGE_KEYS))
        record["tokenUsage"] = {_LONG_USAGE_KEYS.get(key, key): count for key, count in usage.items()}
    if not isinstance(record.get("metadata"), dict | None):
        raise TypeError(f"{place}metadata is a mapping, not {record['metadata']!r}")
    return record


def _mapping(value: Any, place: str, known: Sequence[str]) -> Data:
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
