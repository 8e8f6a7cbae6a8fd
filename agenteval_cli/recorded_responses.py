"""Calls that were seen at real tools, as the recorded responses of a case that answer the same calls alike. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from agenteval_cli.case import filled
from agenteval_cli.matchers import operator_of
from agenteval_cli.recordings import is_failure
from agenteval_cli.redaction import MASK
from agenteval_cli.state_patches import literally, points
from agenteval_cli.transcript import ToolCall

Response = dict[str, Any]
_NO_ARGUMENT = "-"  # a name that no argument has


def responses_of(
    calls: Sequence[ToolCall], ignored: Collection[str] = (), variables: Sequence[Mapping[str, Any]] = ()
) -> list[Response]:
    """The responses to the calls of one tool, whose answers are in their order.

    `when` has the arguments, without those that are `ignored`, hold what was masked or would be filled in by the case's
    `variables`. In answers, texts that have such braces and what looks like a pointer into the state are literals.
    Equal answers to equal calls are one response; different ones a sequence, whose last answers from then on. Those
    that ask for more come first, as the first that matches answers. Calls that nobody answered are left out.
    """
    answered = [call for call in calls if call.status != "unknown"]
    told: dict[bytes, list[Response]] = {}
    conditions: dict[bytes, dict[str, Any]] = {}
    for call in answered:
        when = condition_for(call.arguments, ignored, variables)
        key = msgspec.json.encode(when, order="sorted")
        conditions[key] = when
        told.setdefault(key, []).append(_answer(call, variables))
    return [
        response
        for key in sorted(told, key=lambda key: -len(conditions[key].keys() - {_NO_ARGUMENT}))
        for response in _sequence(conditions[key], told[key])
    ]


def condition_for(
    arguments: Any, ignored: Collection[str] = (), variables: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The `when` of a call: matchers that its arguments satisfy, and as little else as can be."""
    if not isinstance(arguments, Mapping):
        return {}
    left_out = {
        name
        for name, value in arguments.items()
        if name in ignored or _is_masked(value) or _is_filled(value, variables)
    }
    kept = {name: _literally(value) for name, value in arguments.items() if name not in left_out}
    if operator_of(kept) is None:
        return kept
    # One argument that is called as an operator is: a second key, of whatever it says, makes it a name.
    second: dict[str, Any] = {name: {"any": True} for name in left_out} or {_NO_ARGUMENT: {"absent": True}}
    return {**kept, **second}


def _literally(value: Any) -> Any:
    """A matcher for just this value: a mapping by itself might be taken for an operator, or for a part.

    Pointers are read even in what must be equalled, but not in a schema.
    """
    if points(value):
        return {"schema": {"const": value}}
    return {"equals": value} if _has_mapping(value) else value


def _has_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(map(_has_mapping, value)))


def _is_masked(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_is_masked, (*value, *value.values())))
    if isinstance(value, list):
        return any(map(_is_masked, value))
    return isinstance(value, str) and MASK in value


def _is_filled(value: Any, variables: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the variables of the case would make something else of a value that stands in it."""
    return bool(variables) and filled({"variables": variables, "value": value})["value"] != value


def _answer(call: ToolCall, variables: Sequence[Mapping[str, Any]]) -> Response:
    if call.error is not None:
        return {"error": _error(call.error)}
    result = call.result
    key = "result"
    if isinstance(result, dict) and list(result) == ["content"] and _are_blocks(result["content"]):
        key, result = "content", result["content"]
    return {key: literally(result, lambda text: bool(variables) and "{{" in text)}


def _error(error: Any) -> Any:
    """The error as it can stand in a case, with 500 for a status that only its server knows, as 999."""
    if isinstance(error, Mapping) and "status" in error and not is_failure(error["status"]):
        return {**error, "status": 500}
    return error


def _are_blocks(content: Any) -> bool:
    return isinstance(content, list) and all(isinstance(block, dict) and "type" in block for block in content)


def _sequence(when: Mapping[str, Any], answers: Iterable[Response]) -> list[Response]:
    """Answers to the same call, in a row: each as often as it came, the last from then on."""
    # As JSON, since 1 and true are not the same answer.
    rows = [list(same) for _, same in groupby(answers, key=lambda answer: msgspec.json.encode(answer, order="sorted"))]
    runs = [(row[0], len(row)) for row in rows]
    start = {"when": dict(when)} if when else {}
    *before, (last, _) = runs
    return [*({**start, "times": times, **answer} for answer, times in before), {**start, **last}]
