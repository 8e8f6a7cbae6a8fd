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

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli import schemas, yaml_writer
from agenteval_cli.checking import Context, check
from agenteval_cli.compare import ABSENT, first_difference, same
from agenteval_cli.conversation_form import checked_conversation, placed_conversation, projected_conversation
from agenteval_cli.digests import digest
from agenteval_cli.errors import UsageError
from agenteval_cli.json_values import json_value
from agenteval_cli.kept_metadata import KEPT, REST, drop_rest, lost, put_back, taken_rest
from agenteval_cli.problems import Problem, shown_path
from agenteval_cli.record_form import OBSERVED, checked_record, placed_record, projected_record

Data = dict[str, Any]


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
    return _case_of(checked_record(record, ""), _ONE, _Given(case_id, match, _gating(criteria)))


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
    return _case_of(checked_conversation(conversation), _MANY, _Given(case_id, match, _gating(criteria)))


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


_ONE = _Kind("record", placed_record, projected_record, lambda document: document)
_MANY = _Kind("conversation", placed_conversation, projected_conversation, lambda document: document["turns"][-1])


def _case_of(document: Data, kind: _Kind, given: _Given) -> Data:
    rest = taken_rest(kind.tested(document))
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
    drop_rest(kind.tested(again))
    if difference := first_difference(document, again):
        raise ValueError(f"the record and its metadata.{REST} disagree: {difference}; remove what no longer holds")
    return data


def _document_of(data: Data, kind: _Kind) -> Data:
    document = _projected(data, kind)
    if _is_as_made(data, document, kind):
        return document
    tested = kind.tested(document)
    drop_rest(tested)
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
    put_back(document, data)
    return document


def _with_kept(document: Data, kind: _Kind, *, recording: bool = True) -> Data:
    """What of a document has a place in a case, and the rest of it as metadata."""
    data = kind.placed(document)
    if not recording:
        data.pop("recording", None)
    kept = dict(lost(document, kind.projected(data)))
    return {**data, "metadata": {**data.get("metadata", {}), KEPT: kept}} if kept else data


def _asked(document: Data, kind: _Kind) -> Data:
    """What a document asks and expects: it tells whether two of them are one case."""
    asked: Data = json_value(document, "")
    tested = kind.tested(asked)
    for key in (*OBSERVED, "metadata"):
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
