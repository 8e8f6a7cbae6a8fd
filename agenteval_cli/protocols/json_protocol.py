"""json: one request document on stdin, one response document on stdout, logs on stderr."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from agenteval_cli import schemas
from agenteval_cli.problems import did_you_mean, shown_path
from agenteval_cli.protocols.interface import UnreadableAnswerError
from agenteval_cli.transcript import (
    ReasoningStep,
    ToolCall,
    Transcript,
    Usage,
    decoded,
    without_escapes,
    without_surrogates,
)

_EXPECTED = "the json protocol wants one JSON document and logs on stderr"


class JsonProtocol:
    """The response is held against schemas/response.schema.json; what it leaves out stays unknown."""

    def stdin(self, request: Mapping[str, Any]) -> bytes:
        return msgspec.json.encode(request) + b"\n"

    def read(self, stdout: bytes) -> Transcript:
        text, replaced = decoded(stdout)
        response = _one_document(without_escapes(text).removeprefix("\ufeff").strip())
        if not schemas.is_valid("response", response):
            raise UnreadableAnswerError(_first_fault(response))
        return _transcript(response, bytes_replaced=replaced)

    def cannot_carry(self, request: Mapping[str, Any]) -> list[str]:  # noqa: ARG002  # json carries all there is
        return []


def _one_document(text: str) -> Any:
    if not text:
        raise UnreadableAnswerError(f"the agent printed nothing; {_EXPECTED}")
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return _one_document_or_why_not(text)


def _one_document_or_why_not(text: str) -> Any:
    """The slower reader, which knows what is wrong, and mends lone surrogates."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    try:
        value, end = decoder.raw_decode(text)
    except RecursionError as error:
        raise UnreadableAnswerError("the answer is nested too deeply to read") from error
    except ValueError as error:
        raise UnreadableAnswerError(f"{_not_json(text, error)}; {_EXPECTED}") from error
    rest = text[end:].strip()
    if rest:
        raise UnreadableAnswerError(f"{_what_follows(decoder, rest)}; {_EXPECTED}")
    return without_surrogates(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _not_json(text: str, error: ValueError) -> str:
    words = f"the answer is not JSON: {error}"
    if "{" in text and not text.startswith("{"):
        return f"{words}; it begins with {text[:60]!r}"
    return words if len(text) > 200 else f"{words}; the agent printed {text[:200]!r}"


def _what_follows(decoder: json.JSONDecoder, rest: str) -> str:
    try:
        decoder.raw_decode(rest)
    except ValueError:
        return f"text follows the JSON document: {rest[:60]!r}"
    return "the agent printed two JSON documents"


def _first_fault(response: Any) -> str:
    path, words, _ = next(schemas.explanations("response", response))
    place = f" at {shown_path(path)}" if path else ""
    return f"the response is not in the protocol{place}: {words}"


def _transcript(response: Mapping[str, Any], *, bytes_replaced: bool) -> Transcript:
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
        bytes_replaced=bytes_replaced,
        notes=tuple(_unknown_keys(response)),
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
    except (msgspec.DecodeError, UnicodeEncodeError):
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


def _unknown_keys(response: Mapping[str, Any]) -> list[str]:
    known = schemas.load("response")["properties"]
    return [
        f"the response's key '{key}' is not known and was left aside{did_you_mean(key, known)}"
        for key in response
        if key not in known
    ]
