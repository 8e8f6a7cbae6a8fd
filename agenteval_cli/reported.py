"""What an agent reports in our own form, as a transcript: the json protocol's response, and a case's recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

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
    )


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
    )


def _arguments(value: Any) -> Any:
    """Arguments that arrive as JSON text are decoded once; text that does not parse is kept as it is."""
    if not isinstance(value, str):
        return value
    try:
        decoded_value = msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return value
    return decoded_value if isinstance(decoded_value, dict) else value


def _reasoning_step(item: Mapping[str, Any]) -> ReasoningStep:
    return ReasoningStep(item["type"], item.get("content") or "", item.get("tool_call"))


def _usage(item: Mapping[str, Any] | None) -> Usage | None:
    if not item:
        return None
    return Usage(item.get("input_tokens"), item.get("output_tokens"), item.get("total_tokens"))


def _cost(value: str | float | None) -> str | None:
    return None if value is None else str(value)
