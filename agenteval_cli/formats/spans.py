"""Spans, whoever wrote them down: OTLP as JSON, downloads of Tempo and Jaeger, plain lists, the console exporter."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from collections.abc import Iterator
from typing import Any

import msgspec

from agenteval_cli.formats.shapes import count, mapping, name_or_number, objects, sequence, text
from agenteval_cli.formats.source import Source

_FAILED = (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")
_RESOURCES = ("resourceSpans", "batches")
_SCOPES = ("scopeSpans", "instrumentationLibrarySpans")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened within a span. `body` is what a log record says besides its attributes."""

    name: str
    attributes: dict[str, Any] = {}
    body: Any = None


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One span. Times are in nanoseconds since 1970, ids hexadecimal in lower case; None is not told."""

    name: str
    trace_id: str | None = None
    span_id: str | None = None
    parent_id: str | None = None
    start: int | None = None
    end: int | None = None
    attributes: dict[str, Any] = {}
    events: tuple[Event, ...] = ()
    failed: bool = False
    message: str | None = None
    dropped: bool = False

    @property
    def milliseconds(self) -> float | None:
        """How long it took; None where a time is missing or the clock went back."""
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return (self.end - self.start) / 1e6


def holds_spans(source: Source) -> bool:
    """Whether every value of the source is a container of spans, or a span."""
    return bool(source.values) and all(map(_holds_spans, source.values))


def _holds_spans(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_span, value))
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), list) for key in (*_RESOURCES, "resourceLogs")):
        return True
    return _is_jaeger(value) or _is_span(value)


def _is_span(value: Any) -> bool:
    """One span of a plain list, or of the console exporter; what Phoenix writes has its kind beside its context."""
    if not isinstance(value, dict) or not isinstance(value.get("attributes"), dict) or "span_kind" in value:
        return False
    place = value.get("context", value)
    return isinstance(place, dict) and "trace_id" in place and "span_id" in place and "name" in value


def _is_jaeger(value: dict[str, Any]) -> bool:
    return any("traceID" in span for trace in objects(value.get("data")) for span in objects(trace.get("spans")))


def spans_in(source: Source) -> list[Span]:
    """Every span of the source, in the order of their starts; log records are events of the span they name."""
    found: list[Span] = []
    logs: dict[str, list[Event]] = {}
    for value in source.values:
        found += _spans(value)
        for span_id, event in _logs(value):
            logs.setdefault(span_id, []).append(event)
    # Of two that start together the longer is the outer one.
    return sorted((_with_logs(span, logs) for span in found), key=lambda span: (span.start or 0, -(span.end or 0)))


def _with_logs(span: Span, logs: dict[str, list[Event]]) -> Span:
    more = logs.get(span.span_id or "")
    return span if not more else msgspec.structs.replace(span, events=(*span.events, *more))


def _spans(value: Any) -> Iterator[Span]:
    if isinstance(value, list):
        yield from map(_plain_span, objects(value))
        return
    holder = mapping(value)
    for scope in _scopes(holder, _RESOURCES, _SCOPES):
        yield from map(_otlp_span, objects(scope.get("spans")))
    if _is_jaeger(holder):
        yield from (_jaeger_span(span) for trace in objects(holder["data"]) for span in objects(trace.get("spans")))
    elif _is_span(holder):
        yield _plain_span(holder)


def _scopes(holder: dict[str, Any], outer: tuple[str, ...], inner: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for resource in (item for key in outer for item in objects(holder.get(key))):
        yield from (scope for key in inner for scope in objects(resource.get(key)))


# ---- OTLP and Tempo


def _otlp_span(item: dict[str, Any]) -> Span:
    status = mapping(item.get("status"))
    return Span(
        name=text(item.get("name")) or "",
        trace_id=_id(item.get("traceId")),
        span_id=_id(item.get("spanId")),
        parent_id=_id(item.get("parentSpanId")),
        start=count(item.get("startTimeUnixNano")),
        end=count(item.get("endTimeUnixNano")),
        attributes=_attributes(item.get("attributes")),
        events=tuple(
            Event(name=text(event.get("name")) or "", attributes=_attributes(event.get("attributes")))
            for event in objects(item.get("events"))
        ),
        failed=status.get("code") in _FAILED,
        message=text(status.get("message")),
        dropped=bool(count(item.get("droppedAttributesCount"))),
    )


def _logs(value: Any) -> Iterator[tuple[str, Event]]:
    """Log records that name a span. Some instrumentations put the messages only there."""
    for scope in _scopes(mapping(value), ("resourceLogs",), ("scopeLogs",)):
        for record in objects(scope.get("logRecords")):
            attributes = _attributes(record.get("attributes"))
            name = text(record.get("eventName")) or text(attributes.get("event.name"))
            if name and (span_id := _id(record.get("spanId"))):
                yield span_id, Event(name=name, attributes=attributes, body=_any_value(record.get("body")))


def _attributes(listed: Any) -> dict[str, Any]:
    pairs = ((item.get("key"), item.get("value")) for item in objects(listed))
    return {key: _any_value(value) for key, value in pairs if isinstance(key, str)}


def _any_value(value: Any) -> Any:
    """A typed value as what it is; whole numbers arrive as text."""
    for kind, held in mapping(value).items():
        match kind:
            case "stringValue" | "boolValue" | "bytesValue" | "doubleValue":
                return held
            case "intValue":
                return _whole(held)
            case "arrayValue":
                return [_any_value(item) for item in sequence(mapping(held).get("values"))]
            case "kvlistValue":
                return _attributes(mapping(held).get("values"))
    return None


def _whole(held: Any) -> Any:
    written = held.removeprefix("-") if isinstance(held, str) else ""
    return int(held) if written.isascii() and written.isdigit() and len(written) < 20 else held


def _id(value: Any) -> str | None:
    """An id as lower-case hex. A naive dump of the protobuf has it as base64; all zeros is none."""
    written = name_or_number(value)
    if written is None:
        return None
    plain = written.removeprefix("0x").lower()
    if len(written) in (12, 24) and written.endswith("="):
        try:
            plain = base64.b64decode(written, validate=True).hex()
        except (binascii.Error, ValueError):
            return plain
    return plain if plain.strip("0") else None


# ---- plain lists, the console exporter, Jaeger


def _plain_span(item: dict[str, Any]) -> Span:
    status = mapping(item.get("status"))
    place = mapping(item.get("context")) or item
    return Span(
        name=text(item.get("name")) or "",
        trace_id=_id(place.get("trace_id")),
        span_id=_id(place.get("span_id")),
        parent_id=_id(item.get("parent_span_id", item.get("parent_id"))),
        start=_moment(item.get("start_time")),
        end=_moment(item.get("end_time")),
        attributes=mapping(item.get("attributes")),
        events=tuple(
            Event(
                name=text(event.get("event_name")) or text(event.get("name")) or "",
                attributes=mapping(event.get("attributes")),
                body=event.get("body"),
            )
            for event in (*objects(item.get("span_events")), *objects(item.get("events")))
        ),
        failed=status.get("code", status.get("status_code")) in _FAILED,
        message=text(status.get("message")) or text(status.get("description")),
    )


def _moment(value: Any) -> int | None:
    """Nanoseconds of a number of them, or of an ISO time (with microseconds, as Python writes it)."""
    if not isinstance(value, str) or value.isdigit():
        return count(value)
    try:
        moment = dt.datetime.fromisoformat(value)
        zoned = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return (zoned - _EPOCH) // dt.timedelta(microseconds=1) * 1000
    except (ValueError, OverflowError):
        return None


def _jaeger_span(item: dict[str, Any]) -> Span:
    tags = {tag["key"]: tag.get("value") for tag in objects(item.get("tags")) if isinstance(tag.get("key"), str)}
    start, lasted = count(item.get("startTime")), count(item.get("duration"))
    parents = (reference for reference in objects(item.get("references")) if reference.get("refType") == "CHILD_OF")
    return Span(
        name=text(item.get("operationName")) or "",
        trace_id=_id(item.get("traceID")),
        span_id=_id(item.get("spanID")),
        parent_id=_id(next(parents, {}).get("spanID")),
        start=None if start is None else start * 1000,
        end=None if start is None or lasted is None else (start + lasted) * 1000,
        attributes=tags,
        failed=tags.get("error") is True or tags.get("otel.status_code") == "ERROR",
        message=text(tags.get("otel.status_description")),
    )
