"""The recorded tools of a case as frozen values: what they answer, to which calls, how often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from agenteval_cli.matchers import operator_of
from agenteval_cli.state_patches import points
from agenteval_cli.units import seconds

Handler = str | tuple[str, ...]
_REPLAYED = ("responses", "handler", "unmatched")
_OF_ALL = frozenset({"any", "any_of", "equals", "not", "schema"})
_WORDS = {
    "error": "the tool failed",
    "malformed": "the answer was no JSON",
    "reset": "the connection was reset",
    "timeout": "no answer came",
}


class Result(msgspec.Struct, frozen=True):
    """The tool returned a JSON value."""

    value: Any


class Blocks(msgspec.Struct, frozen=True):
    """The tool returned MCP content blocks, as text, image or resource."""

    content: list[Any]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The tool failed. `kind` is how the client sees it: error, malformed (the body is no JSON), reset (of the
    connection) or timeout (no answer ever).

    `reason` is empty where the failure was recorded or the agent's real tool would have failed too; else it says why
    the server refused: unmatched, unknown_tool, bad_arguments, over_limit, too_much, broken, closed.
    """

    message: str
    status: int = 500
    kind: str = "error"
    reason: str = ""


Answer = Result | Blocks | Failure


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded response. `times` None is any number of times, `delay` is in seconds.

    `has_pointers` tells whether its `when`, its effects or its answer point into the state, or hold literals.
    """

    when: Mapping[str, Any]
    times: int | None
    answer: Answer
    delay: float
    effects: Mapping[str, Any] | None
    has_pointers: bool


class RecordedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool of the inventory. Responses come first, then the handler, then what `unmatched` says: error or empty."""

    name: str
    description: str
    parameters: Any
    responses: tuple[Recorded, ...]
    handler: Handler | None
    unmatched: str


def are_replayed(tools: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any tool of an inventory has something to answer with, so that a tool server is needed."""
    return any(key in tool for tool in tools for key in _REPLAYED)


def recorded_tools(tools: Iterable[Mapping[str, Any]]) -> dict[str, RecordedTool]:
    """The tools by name, of an inventory that satisfies the schema, its fixtures resolved; of equal names the first."""
    found: dict[str, RecordedTool] = {}
    for tool in tools:
        found.setdefault(tool["name"], _tool(tool))
    return found


def changes_state(tool: RecordedTool) -> bool:
    """Whether calls of the tool can change the state."""
    return tool.handler is not None or any(response.effects is not None for response in tool.responses)


def argument_matchers(when: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What `when` asks of each argument by its name, even where that is one like `date` or `type`.

    None where it is one operator that can hold of all arguments together, as `{any_of: [{id: 1}, {id: 2}]}`.
    """
    return None if operator_of(when) in _OF_ALL else when


def _tool(data: Mapping[str, Any]) -> RecordedTool:
    handler = data.get("handler")
    return RecordedTool(
        name=data["name"],
        description=data.get("description", ""),
        parameters=data.get("parameters"),
        responses=tuple(map(_response, data.get("responses", ()))),
        handler=tuple(handler) if isinstance(handler, list) else handler,
        unmatched=data.get("unmatched", "error"),
    )


def _response(data: Mapping[str, Any]) -> Recorded:
    when = data.get("when", {})
    times = data.get("times")
    return Recorded(
        when=when,
        times=None if times is None else int(times),
        answer=answer_from(data),
        delay=seconds(data["delay"]) if "delay" in data else 0.0,
        effects=data.get("effects"),
        has_pointers=points([when, *(data.get(key) for key in ("effects", "result", "content"))]),
    )


def answer_from(data: Mapping[str, Any]) -> Answer:
    """The answer in a mapping that has one of error, content and result; the first of these counts."""
    if "error" in data:
        return _failure(data["error"])
    return Blocks(data["content"]) if "content" in data else Result(data.get("result"))


def is_failure(status: int) -> bool:
    """Whether an HTTP status tells of a failure; a handler may say any number."""
    return 400 <= status <= 599


def _failure(data: Mapping[str, Any]) -> Failure:
    status = int(data.get("status", 500))
    kind = data.get("kind", "error")
    return Failure(
        message=data.get("message", _WORDS[kind]),
        status=status if is_failure(status) else 500,
        kind=kind,
    )
