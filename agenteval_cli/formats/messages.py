"""The messages of a conversation, in one shape for every format, and the calls in them joined with their results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import msgspec

from agenteval_cli.formats.shapes import looks_cut, unpacked
from agenteval_cli.transcript import ReasoningStep, ToolCall


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the model asked for. Arguments are as they came; UNSET where they were not captured."""

    name: str
    arguments: Any = msgspec.UNSET
    id: str | None = None


class Returned(msgspec.Struct, frozen=True, kw_only=True):
    """What came back for a call, named by its id or, failing that, by the tool."""

    id: str | None = None
    name: str | None = None
    result: Any = msgspec.UNSET


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message. `text` is None where it has none; `left_out` are the kinds of the parts that are not text."""

    role: str
    text: str | None = None
    asked: tuple[Asked, ...] = ()
    returned: tuple[Returned, ...] = ()
    thoughts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    name: str | None = None


def shown(messages: Iterable[Message]) -> tuple[dict[str, Any], ...]:
    """The messages as a transcript keeps them: role and content, calls with their arguments, results by call id."""
    return tuple(item for message in messages for item in _shown(message))


def _shown(message: Message) -> Iterator[dict[str, Any]]:
    said: dict[str, Any] = {"role": message.role}
    if message.name is not None:
        said["name"] = message.name
    if message.asked:
        said["tool_calls"] = [_shown_call(call) for call in message.asked]
    if message.text is not None or message.asked or not message.returned:
        yield {**said, "content": message.text}
    for item in message.returned:
        facts = {"tool_call_id": item.id, "name": item.name}
        known = {key: value for key, value in facts.items() if value is not None}
        yield {"role": "tool", **known, "content": None if item.result is msgspec.UNSET else item.result}


def _shown_call(call: Asked) -> dict[str, Any]:
    facts = {"id": call.id, "name": call.name, "arguments": arguments_of(call)}
    return {key: value for key, value in facts.items() if value is not None}


def arguments_of(call: Asked) -> Any:
    """Arguments, decoded once where they are JSON text; none at all is {}, what was not captured is None."""
    if call.arguments is msgspec.UNSET:
        return None
    if call.arguments is None or call.arguments == "":
        return {}
    return unpacked(call.arguments)


def joined_calls(messages: Iterable[Message]) -> tuple[list[ToolCall], list[str]]:
    """Every call in the order it was asked for, with its result; and notes about what does not fit together.

    Calls of one message are a group. Results are joined by the call's id. One without an id belongs to the oldest call
    of its name that has none yet, or to the oldest of all where it names no tool either.
    """
    calls: list[ToolCall] = []
    waiting = _Waiting(calls)
    notes: list[str] = []
    groups = count(1)
    for message in messages:
        group = next(groups) if len(message.asked) > 1 else None
        for asked in message.asked:
            calls.append(ToolCall(name=asked.name, arguments=arguments_of(asked), id=asked.id, group=group))
            waiting.add(len(calls) - 1)
            if looks_cut(asked.arguments):
                notes.append(f"the arguments of {asked.name} are not JSON, and kept as text")
        for returned in message.returned:
            place = waiting.place_for(returned)
            if place is None:
                notes.append(f"a result belongs to no call{_of(returned)} and was left aside")
            else:
                calls[place] = msgspec.structs.replace(calls[place], result=unpacked(returned.result))
    return calls, notes


class _Waiting:
    """The calls that have no result yet, found by id or name. Ids can come again: the oldest that waits is meant."""

    def __init__(self, calls: list[ToolCall]) -> None:
        self._calls = calls
        self._queues: dict[tuple[str, str | None], deque[int]] = {}

    def add(self, place: int) -> None:
        call = self._calls[place]
        for key in (("id", call.id), ("name", call.name), ("any", None)):
            self._queues.setdefault(key, deque()).append(place)

    def place_for(self, returned: Returned) -> int | None:
        key = ("id", returned.id) if returned.id else ("name", returned.name) if returned.name else ("any", None)
        queue = self._queues.get(key, deque())
        while queue:
            place = queue.popleft()
            if self._calls[place].result is msgspec.UNSET:
                return place
        return None


def _of(returned: Returned) -> str:
    named = returned.id or returned.name
    return f" ({named[:80]})" if named else ""


def thoughts_in(messages: Iterable[Message]) -> tuple[ReasoningStep, ...] | None:
    """The visible reasoning, in order; None where there is none to see."""
    steps = tuple(ReasoningStep("THOUGHT", thought) for message in messages for thought in message.thoughts)
    return steps or None


def left_out_of(messages: Iterable[Message]) -> list[str]:
    """Notes about parts that are not text."""
    kinds = dict.fromkeys(kind for message in messages for kind in message.left_out)
    return [f"parts of the kind '{kind[:60]}' were left aside" for kind in kinds]


def answer_in(messages: Iterable[Message]) -> str | None:
    """The text of the last message where it is the assistant's. What it said before a tool answered is no answer."""
    last = next(reversed(list(messages)), None)
    return last.text if last is not None and last.role == "assistant" else None
