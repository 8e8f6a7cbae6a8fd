"""What an agent reports, as one transcript: our own form read, and what it said joined with what its trace tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli.compare import same
from agenteval_cli.extraction import strict
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript, Usage


def transcript_from(response: Mapping[str, Any]) -> Transcript:
    """The transcript in a response, or in a case's recording, that satisfies its schema."""
    return Transcript(
        output=response["output"],
        messages=_tuple(response.get("messages")),
        tool_calls=_each(response.get("tool_calls"), _tool_call),
        reasoning=_each(response.get("reasoning"), _reasoning_step),
        retrieval_context=_tuple(response.get("retrieval_context")),
        usage=_usage(response.get("usage")),
        cost=_cost(response.get("cost")),
        latency_ms=response.get("latency_ms"),
        state=response.get("state", msgspec.UNSET),
        model=response.get("model"),
        trace_id=response.get("trace_id"),
        ended=bool(response.get("ended")),
    )


def says_nothing(transcript: Transcript) -> bool:
    """Whether there is neither an answer nor a call: an agent that did nothing has not shown that it did no wrong."""
    return transcript.output in (None, "") and not transcript.tool_calls


def _tuple(items: list[Any] | None) -> tuple[Any, ...] | None:
    return None if items is None else tuple(items)


def _each(items: list[Any] | None, read: Any) -> tuple[Any, ...] | None:
    return None if items is None else tuple(map(read, items))


def _tool_call(item: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        name=item["name"],
        arguments=_arguments(item.get("arguments", {})),
        id=item.get("id"),
        result=item.get("result", msgspec.UNSET),
        error=item.get("error"),
        duration_ms=item.get("duration_ms"),
        started_ms=item.get("started_ms"),
        group=_whole(item.get("group")),
        agent=item.get("agent"),
    )


def _arguments(value: Any) -> Any:
    """Arguments that arrive as JSON text are decoded once; text that does not parse, or in two ways, is kept."""
    if not isinstance(value, str):
        return value
    try:
        decoded_value = msgspec.json.decode(value)
        strict(value)  # a key that is there twice
    except (ValueError, RecursionError):
        return value
    return decoded_value if isinstance(decoded_value, dict) else value


def _reasoning_step(item: Mapping[str, Any]) -> ReasoningStep:
    return ReasoningStep(item["type"], item.get("content") or "", item.get("tool_call"))


def _usage(item: Mapping[str, Any] | None) -> Usage | None:
    if not item:
        return None
    return Usage(*(_whole(item.get(name)) for name in ("input_tokens", "output_tokens", "total_tokens")))


def _whole(value: float | None) -> int | None:
    """12.0 is a whole number to JSON Schema, and to many a JSON library; a record wants it as 12."""
    return None if value is None else int(value)


def _cost(value: str | float | None) -> str | None:
    return None if value is None else str(value)


# ---- what was said, and what the trace tells


def merged(traced: Transcript, said: Transcript) -> Transcript:
    """Both as one: what the trace tells wins, the agent's own words fill what it leaves open, differences are notes."""
    facts = {name: _told(getattr(traced, name), getattr(said, name)) for name in Transcript.__struct_fields__}
    facts["tool_calls"] = _calls(traced.tool_calls, said.tool_calls)
    facts["ended"] = traced.ended or said.ended
    facts["bytes_replaced"] = traced.bytes_replaced or said.bytes_replaced
    facts["partial"] = traced.partial or said.partial
    facts["notes"] = (*traced.notes, *said.notes, *_differences(traced, said))
    return Transcript(**facts)


def _told(first: Any, second: Any) -> Any:
    return second if first is None or first is msgspec.UNSET else first


def _calls(traced: tuple[ToolCall, ...] | None, said: tuple[ToolCall, ...] | None) -> tuple[ToolCall, ...] | None:
    """The trace's calls; where the agent reports the same ones, with what the trace did not capture of them."""
    if traced is None or said is None:
        return said if traced is None else traced
    if not _agree(traced, said):
        return traced
    return tuple(_filled(one, other) for one, other in zip(traced, said, strict=True))


def _agree(traced: tuple[ToolCall, ...], said: tuple[ToolCall, ...]) -> bool:
    return len(traced) == len(said) and all(map(_same_call, traced, said))


def _same_call(traced: ToolCall, said: ToolCall) -> bool:
    """The same name and arguments; a trace without content knows no arguments."""
    return traced.name == said.name and (traced.arguments is None or same(traced.arguments, said.arguments))


def _filled(traced: ToolCall, said: ToolCall) -> ToolCall:
    ended = said if traced.status == "unknown" else traced
    return msgspec.structs.replace(
        traced,
        arguments=_told(traced.arguments, said.arguments),
        id=_told(traced.id, said.id),
        result=ended.result,
        error=ended.error,
        duration_ms=_told(traced.duration_ms, said.duration_ms),
    )


def _differences(traced: Transcript, said: Transcript) -> Iterator[str]:
    if traced.tool_calls is not None and said.tool_calls is not None and not _agree(traced.tool_calls, said.tool_calls):
        yield (
            f"the agent reports {_named(said.tool_calls)}, its transcript has {_named(traced.tool_calls)}; "
            "the transcript counts"
        )
    if None not in (traced.output, said.output) and not same(traced.output, said.output):
        yield "the answer on stdout is not the one in the transcript; the transcript counts"


def _named(calls: tuple[ToolCall, ...]) -> str:
    names = ", ".join([call.name for call in calls[:8]] + ["…"] * (len(calls) > 8))
    return f"{len(calls)} call{'' if len(calls) == 1 else 's'}{names and f' ({names})'}"
