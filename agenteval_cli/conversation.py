"""What was said and done in an attempt, in the order it happened, as far as the transcript tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.records import TranscriptRecord
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript


class Said(msgspec.Struct, frozen=True):
    """A message, by whoever its role says."""

    role: str
    content: Any


class Thought(msgspec.Struct, frozen=True):
    """A step of reasoning."""

    step: ReasoningStep


class Called(msgspec.Struct, frozen=True):
    """A tool call and its number in the attempt."""

    number: int
    call: ToolCall


class Answer(msgspec.Struct, frozen=True):
    """What a turn ended with; `turn` counts from 1, and is None where there is only one."""

    transcript: Transcript
    turn: int | None = None


Event = Said | Thought | Called | Answer


def events_of(record: TranscriptRecord) -> Iterator[Event]:
    """The request, then what the agent did in each turn."""
    request = record.request
    system = Said("system", request.get("system_prompt"))
    asked = [Said(str(message.get("role")), message.get("content")) for message in request["messages"]]
    known = [system, *asked] if system.content else asked
    yield from known
    turns = record.turns or ((record.transcript,) if record.transcript else ())
    number = 1
    for turn, transcript in enumerate(turns, start=1):
        yield from _told(transcript, known, number)
        yield Answer(transcript, turn if len(turns) > 1 else None)
        number += len(transcript.tool_calls or ())


def _told(transcript: Transcript, known: Sequence[Said], number: int) -> Iterator[Event]:
    """Thoughts and calls; where the agent reports messages too, each call beside the message that asked for it."""
    steps = list(_steps(transcript, number))
    ids = {call.id for call in transcript.tool_calls or () if call.id is not None}
    answer = Said("assistant", transcript.output)
    for message in transcript.messages or ():
        said = Said(str(message.get("role")), _content(message, ids))
        if said.content not in (None, "", []) and not any(_same(said, other) for other in (*known, answer)):
            yield said
        for name in _calls_of(message):
            yield from _taken(steps, name)
    yield from steps


def _same(one: Said, other: Said) -> bool:
    """Whether both say the same; agents strip what they pass on."""
    texts = [item.content.strip() if isinstance(item.content, str) else item.content for item in (one, other)]
    return one.role == other.role and texts[0] == texts[1]


def _steps(transcript: Transcript, number: int) -> Iterator[Thought | Called]:
    """Each thought before the call that it led to, and all calls in order."""
    calls = [Called(number + index, call) for index, call in enumerate(transcript.tool_calls or ())]
    for step in transcript.reasoning or ():
        until = _until(calls, step.tool_call)
        before = calls[: max(until - 1, 0)]
        yield from before
        if step.content:
            yield Thought(step)
        yield from calls[len(before) : until]
        del calls[:until]
    yield from calls


def _taken(steps: list[Thought | Called], name: str) -> list[Thought | Called]:
    """The steps up to the call of that ID, taken from the list."""
    until = _until(steps, name)
    taken = steps[:until]
    del steps[:until]
    return taken


def _until(steps: Sequence[Thought | Called], name: str | None) -> int:
    """How many steps there are up to the call of that ID and with it; 0 where it is not among them."""
    found = (at for at, step in enumerate(steps, start=1) if isinstance(step, Called) and step.call.id == name)
    return 0 if name is None else next(found, 0)


def _calls_of(message: Mapping[str, Any]) -> Iterator[str]:
    """The IDs of the calls that a message asks for, in the two shapes that are about."""
    for part in (*_items(message.get("tool_calls")), *_items(message.get("content"))):
        if isinstance(part.get("id"), str) and part.get("type") in (None, "function", "tool_use"):
            yield part["id"]


def _content(message: Mapping[str, Any], ids: set[str]) -> Any:
    """What a message says, without the calls and results that are told as calls already."""
    content = message.get("content")
    if message.get("role") == "tool" and message.get("tool_call_id") in ids:
        return None
    parts = _items(content)
    if not isinstance(content, list) or len(parts) < len(content):
        return content
    left = [part for part in parts if part.get("id") not in ids and part.get("tool_use_id") not in ids]
    texts = [part["text"] for part in left if isinstance(part.get("text"), str)]
    return "\n".join(texts) if len(texts) == len(left) else left


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
