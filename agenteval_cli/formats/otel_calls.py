"""The tool calls of a trace: what models asked for, joined with the spans in which tools ran and what came back."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import msgspec

from agenteval_cli.formats.genai import Talk
from agenteval_cli.formats.messages import Asked, Returned, arguments_of
from agenteval_cli.formats.shapes import looks_cut, mapping, name_or_number, text, unpacked
from agenteval_cli.formats.span_tree import tool_name
from agenteval_cli.formats.spans import Span
from agenteval_cli.transcript import ToolCall

_ARGUMENTS = ("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "traceloop.entity.input")
_RESULT = ("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "traceloop.entity.output")


class _Call(msgspec.Struct):
    """One call while it is put together. `when` is where it stands among the others.

    `source` is the same for those that one answer of a model asked for.
    """

    when: tuple[int, int]
    source: int | None = None
    asked: Asked | None = None
    span: Span | None = None


def calls_of(
    ran: Iterable[Span], talks: Iterable[tuple[Span, Talk]], agents: Mapping[int, str | None]
) -> tuple[list[ToolCall], list[str]]:
    """Every call once, in the order in which it was asked for; those that nobody asked for by the start of their span.

    A span belongs to the call of its id. Without an id it belongs to the oldest call of its name and arguments that has
    no span yet, or of its name alone where its arguments were not captured. `agents` names who works in a span, by the
    span's identity.
    """
    told = list(talks)
    calls = _asked_for(told)
    waiting = _Waiting(calls)
    for span in ran:
        call = waiting.call_for(span)
        if call is None:
            calls.append(_Call((span.start or 0, 0), span=span))
        else:
            call.span = span
    ids = Counter(call.asked.id for call in calls if call.asked is not None)
    returned = {call_id: item for call_id, item in _results(told).items() if ids[call_id] < 2}
    ordered = sorted(calls, key=lambda call: call.when)
    groups = _groups(ordered)
    whole = [
        msgspec.structs.replace(_whole(call, returned), group=groups.get(id(call)), agent=_agent(call, agents))
        for call in ordered
    ]
    return whole, _notes(ordered)


def _asked_for(talks: list[tuple[Span, Talk]]) -> list[_Call]:
    """What the models asked for, each id once: a layer may repeat another. Some makers give every call the id 0."""
    found: dict[Hashable, _Call] = {}
    for span, talk in talks:
        for index, asked in enumerate(item for message in talk.said for item in message.asked):
            same = (asked.id, asked.name, _canonical(arguments_of(asked))) if asked.id else (id(span), index)
            found.setdefault(same, _Call((span.start or 0, index), id(span), asked=asked))
    return list(found.values())


def _groups(calls: list[_Call]) -> dict[int, int]:
    """Numbers for those that one answer asked for together, and for spans of their own that overlap."""
    together: list[list[_Call]] = []
    for call in calls:
        last = together[-1] if together else []
        if last and (_asked_together(last[-1], call) or any(_overlap(other.span, call.span) for other in last[-8:])):
            last.append(call)
        else:
            together.append([call])
    shared = (group for group in together if len(group) > 1)
    return {id(call): number for number, group in enumerate(shared, 1) for call in group}


def _asked_together(one: _Call, other: _Call) -> bool:
    return one.source is not None and one.source == other.source


def _overlap(one: Span | None, other: Span | None) -> bool:
    """Whether two spans with the same parent, of which the first began first, ran at the same time."""
    if one is None or other is None or one.parent_id != other.parent_id:
        return False
    return one.end is not None and other.start is not None and other.start < one.end


def _agent(call: _Call, agents: Mapping[int, str | None]) -> str | None:
    return agents.get(id(call.span)) if call.span is not None else agents.get(call.source or 0)


class _Waiting:
    """The calls that have no span yet, found by id, by name and arguments, or by name."""

    def __init__(self, calls: list[_Call]) -> None:
        self._queues: dict[Hashable, deque[_Call]] = {}
        for call in sorted(calls, key=lambda call: call.when):
            if call.asked is not None:
                name, arguments = call.asked.name, _canonical(arguments_of(call.asked))
                for key in (("id", call.asked.id), ("same", name, arguments), ("name", name)):
                    self._queues.setdefault(key, deque()).append(call)

    def call_for(self, span: Span) -> _Call | None:
        name, given = tool_name(span), _arguments(span)
        if call_id := _call_id(span):
            return self._next(("id", call_id))
        return self._next(("name", name) if given is None else ("same", name, _canonical(given)))

    def _next(self, key: Hashable) -> _Call | None:
        queue = self._queues.get(key, deque())
        while queue:
            call = queue.popleft()
            if call.span is None:
                return call
        return None


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _call_id(span: Span) -> str | None:
    return name_or_number(span.attributes.get("gen_ai.tool.call.id"))


def _results(talks: list[tuple[Span, Talk]]) -> dict[str, Returned]:
    """What the models were told came back, by the call's id."""
    found: dict[str, Returned] = {}
    for _, talk in talks:
        for returned in (item for message in talk.given for item in message.returned):
            if returned.id is not None and returned.result is not msgspec.UNSET:
                found.setdefault(returned.id, returned)
    return found


def _whole(call: _Call, returned: dict[str, Returned]) -> ToolCall:
    """Of one call: what its span tells, and where that is silent, what the messages tell."""
    asked, span = call.asked, call.span
    call_id = (asked and asked.id) or (span and _call_id(span)) or None
    given = _arguments(span) if span is not None else None
    result = _result(span) if span is not None else msgspec.UNSET
    if result is msgspec.UNSET and call_id in returned:
        result = unpacked(returned[call_id].result)
    return ToolCall(
        name=asked.name if asked is not None else (span and tool_name(span)) or "",
        arguments=arguments_of(asked) if given is None and asked is not None else given,
        id=call_id,
        result=result,
        error=error_of(span) if span is not None else None,
        duration_ms=span.milliseconds if span is not None else None,
    )


def _arguments(span: Span) -> Any:
    """None where they were not captured."""
    found = next((span.attributes[key] for key in _ARGUMENTS if span.attributes.get(key) is not None), None)
    return {} if found == "" else unpacked(found)


def _result(span: Span) -> Any:
    found = next((span.attributes[key] for key in _RESULT if key in span.attributes), msgspec.UNSET)
    return unpacked(found)


def error_of(span: Span) -> dict[str, Any] | None:
    """How a span failed, as {type, message} with what is told of both; None where nothing says that it did."""
    kind = text(span.attributes.get("error.type"))
    tool_failed = mapping(unpacked(span.attributes.get("gcp.vertex.agent.tool_response"))).get("isError") is True
    if not span.failed and kind is None and not tool_failed:
        return None
    thrown = next((event.attributes for event in span.events if event.name == "exception"), {})
    facts = {
        "type": text(thrown.get("exception.type")) or kind or ("tool_error" if tool_failed else None),
        "message": text(thrown.get("exception.message")) or span.message,
    }
    return {key: value for key, value in facts.items() if value is not None} or {"type": "error"}


def reason_of(span: Span) -> str:
    """How a span failed, in words."""
    return ": ".join((error_of(span) or {}).values())


def _notes(calls: list[_Call]) -> list[str]:
    """Notes about what was not captured, or was cut."""
    notes = []
    ran = [call.span for call in calls if call.span is not None]
    silent = [call for call in calls if call.span is not None and call.asked is None and _arguments(call.span) is None]
    if silent:
        notes.append(f"the arguments of {len(silent)} of {len(calls)} tool calls were not captured in the trace")
    cut = [span for span in ran if any(looks_cut(span.attributes.get(key)) for key in (*_ARGUMENTS, *_RESULT))]
    cut_names = dict.fromkeys(tool_name(span) for span in cut)
    notes += [f"the arguments or the result of {name} are not whole JSON, and kept as text" for name in cut_names]
    asked = (call.asked for call in calls if call.asked is not None and call.span is None)
    return notes + [
        f"the arguments of {item.name} are not JSON, and kept as text" for item in asked if looks_cut(item.arguments)
    ]
