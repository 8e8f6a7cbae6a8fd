"""A conversation as lines of text, to be read in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from agenteval_cli.cli.console import coloured, safe
from agenteval_cli.cli.values_view import Frame, as_text, block, one_line_json, shortened
from agenteval_cli.conversation import Answer, Called, End, Event, Said, Silence, Thought
from agenteval_cli.phrases import lasting
from agenteval_cli.transcript import ToolCall

_INLINE = 120
_MOST_OF_A_RESULT = 16
_MOST_OF_A_STATE = 6
NO_MARGINS: Mapping[int, Iterable[str]] = MappingProxyType({})


def lines_of(events: Iterable[Event], frame: Frame, margins: Mapping[int, Iterable[str]] = NO_MARGINS) -> Iterator[str]:
    """The conversation to be read: turns by role, calls numbered and indented, thoughts dim.

    `margins` are lines to put under turns, by their number from 1.
    """
    for event in events:
        yield from _lines(event, frame)
        if isinstance(event, Answer | Silence) and event.turn is not None:
            yield from margins.get(event.turn, ())


def _lines(event: Event, frame: Frame) -> Iterator[str]:
    match event:
        case Said(role="system", content=content) if not frame.full:
            yield _folded(as_text(content), frame)
        case Said(role=role, content=content):
            yield f"  {coloured(f'{safe(role)}:', 'bold')}{_about(event)}"
            yield from block(as_text(content), 4, frame)
        case Thought(step=step):
            yield from _aside(f"{step.type.lower()}: {step.content}", frame)
        case Called(number=number, call=call):
            yield from _call(number, call, frame)
        case Answer():
            yield from _answer(event, frame)
        case Silence():
            yield from _silence(event, frame)
        case End(words=sentences):
            for sentence in sentences:
                yield from _aside(sentence, frame)


def _aside(text: str, frame: Frame) -> Iterator[str]:
    first, *rest = block(text, 4, frame)
    yield from (coloured(line, "dim") for line in (first[2:], *rest))


def _silence(event: Silence, frame: Frame) -> Iterator[str]:
    turn = f" (turn {event.turn})" if event.turn else ""
    words = "printed, which is no answer:" if event.printed else "gave no answer" if turn else "printed nothing"
    yield f"  {coloured('agent:', 'bold')}{turn} {words}"
    yield from block(event.printed, 4, frame)


def _about(said: Said) -> str:
    """` (turn 2, simulated by shopper)`"""
    words = [f"turn {said.turn}"] if said.turn is not None else []
    words += [safe(said.by)] if said.by else []
    return f" ({', '.join(words)})" if words else ""


def _folded(text: str, frame: Frame) -> str:
    """The system prompt on one line: it is the same in every attempt."""
    more = f"({len(text):,} characters; --full shows all)"
    whole = safe(text)
    name = coloured("system:", "bold")
    if "\n" not in text and len(whole) <= (frame.inside(11) or _INLINE):
        return f"  {name} {whole}"
    first = shortened(safe(text.strip().partition("\n")[0]), frame.inside(12 + len(more)) or _INLINE)
    return f"  {name} {first} {coloured(more, 'dim')}"


def _call(number: int, call: ToolCall, frame: Frame) -> Iterator[str]:
    """On one line where it fits; else the arguments, or what came back, or both below."""
    took = coloured(f"  ({lasting(call.duration_ms / 1000)})", "dim") if call.duration_ms is not None else ""
    room = min(frame.width or _INLINE, _INLINE) - 12
    head = f"  {number}. {_called(call)}"
    line = f"{head} → {safe(_ended(call))}"
    if len(line) <= room:
        yield _marked(line, call) + took
        return
    fits = len(head) <= room
    yield _marked(head if fits else f"  {number}. {shortened(safe(call.name), _INLINE)}", call) + took
    if not fits and call.arguments is not None:
        yield "     arguments"
        yield from block(as_text(call.arguments), 7, frame, most=_MOST_OF_A_RESULT)
    if call.status == "unknown":
        yield f"     {_ended(call)}"
        return
    yield f"     {'error' if call.status == 'error' else 'result'}"
    returned = call.error if call.status == "error" else call.result
    yield from block(as_text(returned), 7, frame, most=_MOST_OF_A_RESULT)


def _called(call: ToolCall) -> str:
    return f"{safe(call.name)}({'' if call.arguments is None else safe(one_line_json(call.arguments))})"


def _ended(call: ToolCall) -> str:
    match call.status:
        case "error":
            return f"error {one_line_json(call.error)}"
        case "ok":
            return one_line_json(call.result)
        case _:
            return "neither result nor error was reported"


def _marked(line: str, call: ToolCall) -> str:
    return coloured(line, "red") if call.status == "error" else line


def _answer(answer: Answer, frame: Frame) -> Iterator[str]:
    transcript = answer.transcript
    if transcript.tool_calls is None:
        yield coloured("  (it was not reported which tools were called)", "dim")
    turn = f" (turn {answer.turn})" if answer.turn else ""
    yield f"  {coloured('agent:', 'bold')}{turn}"
    yield from block("(no answer)" if transcript.output is None else as_text(transcript.output), 4, frame)
    if transcript.retrieval_context:
        yield f"  retrieved: {len(transcript.retrieval_context)}"
        for text in transcript.retrieval_context:
            yield from block(f"- {text}", 4, frame, most=3)
    if answer.state is not msgspec.UNSET:
        yield "  end state:"
        yield from block(as_text(answer.state), 4, frame, most=_MOST_OF_A_STATE)
