"""Records of the camel-case model that other tools keep their cases in, to case files and back, without loss.

A record is {input, actualOutput, expectedOutput, retrievalContext[], context[], toolCalls[{name, arguments, result,
durationMs}], expectedToolCalls[{name, arguments}], reasoningTrace[{type, content, toolCall}], latencyMs,
tokenUsage{input, output, total}, cost, metadata}; a conversation is {conversationId, systemPrompt, turns: [record, …]};
a simulation case is {testCaseId, workspaceId, label, agentId, agent{name, agentId, status}, llmModel, userPrompt,
attempt, successCriteria, mockData[{variableName, value}], mockToolData[ID, or {toolAlias, mockToolDataId, name,
statusCode}]}.

What one side has no place for travels in the metadata of the other, and comes back from there:

- `metadata.interchange` of a case: the rest of a record, by JSON pointer, as `/latencyMs: null`.
- `metadata.agenteval_case` of a record: the rest of a case file, key by key (null: the case has no such key). The API
  that a simulation case comes from has no metadata: that key is ours, and there for a case that has more than the form.

So null, absent and empty stay three things. What was given as an argument, and the ID, which follows from what a record
asks and expects, are not part of the record: a case that is still as it was made gives back exactly its record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli import schemas, yaml_writer
from agenteval_cli.checking import Context, check
from agenteval_cli.compare import ABSENT, first_difference, same
from agenteval_cli.conversation_form import checked_conversation, placed_conversation, projected_conversation
from agenteval_cli.digests import digest
from agenteval_cli.errors import UsageError
from agenteval_cli.json_values import json_value
from agenteval_cli.kept_metadata import KEPT, REST, SIMULATION_KEYS, drop_rest, lost, put_back, taken_rest
from agenteval_cli.problems import Problem, shown_path
from agenteval_cli.record_form import OBSERVED, checked_record, placed_record, projected_record
from agenteval_cli.simulation_form import (
    SOURCE,
    checked_simulation,
    lost_of_simulation,
    placed_simulation,
    projected_simulation,
    put_back_simulation,
)

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
        more = f"; use {given}_from_case" if given in ("conversation", "simulation") else ""
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


def case_from_simulation(
    document: Mapping[str, Any],
    *,
    case_id: str | None = None,
    criteria: str | Sequence[str | Mapping[str, Any]] = (),
    fixtures: Iterable[str] = (),
) -> Data:
    """The data of a case file whose simulated user is the form's, and whose criteria are its `successCriteria`.

    Each of them is judged alone and gates. `mockData` become variables. Of `mockToolData`, what is the ID of one of
    `fixtures` uses it; an object is otherwise a tool by its `toolAlias`, which answers with its error where its
    `statusCode` is 400 or more. `testCaseId` is the ID where it can be one and none is given; where the form has none,
    the ID follows from the form. Whatever else it says, `agentId` and `llmModel` among it, is kept in the metadata:
    a case names an agent of its own repository.

    Raises TypeError for a field of another kind than it holds; ValueError for a form without a `userPrompt`, with an
    unknown key, that nothing can fail, or that makes no valid case.
    """
    return _case_of(checked_simulation(document), _simulated(fixtures), _Given(case_id, None, _gating(criteria)))


def simulation_from_case(data: Mapping[str, Any]) -> Data:
    """The simulation case of the data of a case file that has a `simulation`; see case_from_simulation.

    It has a `metadata`, which is no field of the API's form, only where the case has more than the form holds.
    Raises ValueError for data of no case file, and for a case that nobody is simulated in.
    """
    copied = _case_data(data)
    if "simulation" not in data:
        raise ValueError("this case has no simulation; use record_from_case or conversation_from_case")
    used = [tool["use"] for tool in data.get("tools", ()) if "use" in tool]
    form = _document_of(copied, _simulated(used))
    return {key: form[key] for key in SIMULATION_KEYS if key in form}


# ---- both directions, for all kinds alike


_NOT_KNOWN_HERE = ("unknown-fixture",)  # whoever names fixtures has them


class _Given(msgspec.Struct, frozen=True):
    """What the caller adds to a document."""

    id: str | None = None
    match: str | None = None
    criteria: tuple[Any, ...] = ()


class _Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of document: what of it has a place in a case, the way back, and the part that holds expectations.

    `native` is what is placed whatever else is known: of a case that was never a document its fixtures travel along.
    `lost` and `put_back` are for what has no place; `can_fail` tells what a document needs to be a test.
    """

    source: str
    placed: Callable[[Data], Data]
    native: Callable[[Data], Data]
    projected: Callable[[Data], Data]
    tested: Callable[[Data], Data] = lambda document: document
    lost: Callable[[Data, Data], Iterator[tuple[str, Any]]] = lost
    put_back: Callable[[Data, Data], None] = put_back
    can_fail: str = "neither expectedToolCalls nor expectedOutput"


_ONE = _Kind(source="record", placed=placed_record, native=placed_record, projected=projected_record)
_MANY = _Kind(
    source="conversation",
    placed=placed_conversation,
    native=placed_conversation,
    projected=projected_conversation,
    tested=lambda document: document["turns"][-1],
)


def _simulated(fixtures: Iterable[str]) -> _Kind:
    known: Collection[str] = frozenset(fixtures)
    return _Kind(
        source=SOURCE,
        placed=lambda form: placed_simulation(form, known),
        native=placed_simulation,
        projected=projected_simulation,
        lost=lost_of_simulation,
        put_back=put_back_simulation,
        can_fail="no successCriteria",
    )


def _case_of(document: Data, kind: _Kind, given: _Given) -> Data:
    rest = taken_rest(kind.tested(document))
    return _made(document, kind, given) if rest is None else _restored(document, kind, given, rest)


def _made(document: Data, kind: _Kind, given: _Given) -> Data:
    """The case of a document that comes from elsewhere."""
    data = {"schema": 1, **_made_of(document, kind)}
    data["id"] = given.id or data.get("id") or f"tc-{digest(_asked(document, kind))[2:14]}"
    match = given.match or ("similar" if data.get("expected_output") is not None and not given.criteria else None)
    data |= {key: value for key, value in (("match", match), ("criteria", list(given.criteria))) if value}
    if match and data.get("expected_output") is None:
        raise ValueError("match needs an expectedOutput to compare with; the record has none")
    if not any(
        key in part for key in ("match", "trajectory", "criteria") for part in (data, data.get("simulation", {}))
    ):
        raise ValueError(f"nothing can fail this case: the {kind.source} has {kind.can_fail}; give criteria")
    return _checked(data, document, kind)


def _checked(data: Data, document: Data, kind: _Kind) -> Data:
    """The case, if need be without its recording. Raises ValueError with the words of a rule that it breaks."""
    problems = [problem for problem in _problems(_ordered(data)) if problem.rule not in _NOT_KNOWN_HERE]
    for problem in problems:
        if problem.rule != "recording-fails":
            raise ValueError(
                f"this makes no valid case: {f'{problem.path}: ' if problem.path else ''}{problem.message}"
            )
    if problems:
        return _ordered({**data, **_made_of(document, kind, recording=False), "recording": ABSENT})
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
    merged = {"schema": 1, **_native_of(document, kind), **rest, **{k: v for k, v in added.items() if v}}
    data = _ordered({k: ABSENT if v is None and k != "expected_output" else v for k, v in merged.items()})
    _check_schema(data)
    again = _projected(data, kind)
    drop_rest(kind.tested(again))
    if difference := first_difference(document, again):
        raise ValueError(
            f"the {kind.source} and its metadata.{REST} disagree: {difference}; remove what no longer holds"
        )
    return data


def _document_of(data: Data, kind: _Kind) -> Data:
    document = _projected(data, kind)
    if _is_as_made(data, document, kind):
        return document
    tested = kind.tested(document)
    drop_rest(tested)
    baseline = {"schema": 1, **_native_of(document, kind)}
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
    kind.put_back(document, data)
    return document


def _made_of(document: Data, kind: _Kind, *, recording: bool = True) -> Data:
    """A case of what a document from elsewhere says, that tells where it comes from."""
    data = kind.placed(document) | {"provenance": {"source": kind.source}}
    if not recording:
        data.pop("recording", None)
    return _with_kept(data, document, kind)


def _native_of(document: Data, kind: _Kind) -> Data:
    """What a document that a case was made into says by itself of this case."""
    return _with_kept(kind.native(document), document, kind)


def _with_kept(data: Data, document: Data, kind: _Kind) -> Data:
    """What of a document has a place in a case, and the rest of it as metadata."""
    kept = dict(kind.lost(document, kind.projected(data)))
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
