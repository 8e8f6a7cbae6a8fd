"""Bodies of OTLP requests over HTTP: read with a limit, unpacked, and turned into one line of OTLP JSON each."""

from __future__ import annotations

import base64
import re
import zlib
from http import HTTPStatus
from io import BufferedIOBase
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from email.message import Message

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
MAX_BODY = 16 * 1024 * 1024  # bytes of one request, also after unpacking
_MAX_CHUNK_LINE = 1024
_IDS = ("traceId", "spanId", "parentSpanId")
_NEEDS_EXTRA = (
    "the agent sends its spans as protobuf, which needs opentelemetry-proto: "
    "pip install 'agenteval-cli[otlp]', or let the agent send OTLP as JSON"
)


class BodyError(Exception):
    """A request that cannot be read. `status` answers it; `ours` says that it is our machine that is at fault."""

    def __init__(self, status: HTTPStatus, words: str, *, ours: bool = False) -> None:
        super().__init__(words)
        self.status = status
        self.ours = ours


def body_of(headers: Message, stream: BufferedIOBase) -> bytes:
    """The body of a request, unpacked. Raises BodyError where it is too long, cut or packed in an unknown way."""
    if "chunked" in (headers.get("Transfer-Encoding") or "").lower():
        raw = _chunked(stream)
    else:
        raw = _counted(headers.get("Content-Length"), stream)
    packing = (headers.get("Content-Encoding") or "identity").strip().lower()
    if packing in ("identity", ""):
        return raw
    if packing not in ("gzip", "deflate"):
        raise BodyError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the agent packs its spans with {packing[:40]!r}; use gzip")
    return _unpacked(raw)


def _counted(length: str | None, stream: BufferedIOBase) -> bytes:
    if length is None or not re.fullmatch(r"[0-9]{1,15}", length.strip()):
        raise BodyError(HTTPStatus.LENGTH_REQUIRED, "an OTLP request came without its length")
    size = int(length)
    if size > MAX_BODY:
        raise _too_long()
    return _exactly(size, stream)


def _exactly(size: int, stream: BufferedIOBase) -> bytes:
    try:
        raw = stream.read(size)
    except OSError as error:
        raise BodyError(HTTPStatus.REQUEST_TIMEOUT, "an OTLP request did not come to its end") from error
    if len(raw) != size:
        raise BodyError(HTTPStatus.BAD_REQUEST, "an OTLP request ended before its end")
    return raw


def _chunked(stream: BufferedIOBase) -> bytes:
    """A body in chunks, as exporters of Node send it."""
    body = bytearray()
    while size := _chunk_size(stream):
        if len(body) + size > MAX_BODY:
            raise _too_long()
        body += _exactly(size, stream)
        _line(stream)
    while _line(stream).strip():
        pass
    return bytes(body)


def _chunk_size(stream: BufferedIOBase) -> int:
    written = _line(stream).split(b";")[0].strip()
    if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", written):
        raise BodyError(HTTPStatus.BAD_REQUEST, "the chunks of an OTLP request are malformed")
    return int(written, 16)


def _line(stream: BufferedIOBase) -> bytes:
    try:
        return stream.readline(_MAX_CHUNK_LINE)
    except OSError as error:
        raise BodyError(HTTPStatus.REQUEST_TIMEOUT, "an OTLP request did not come to its end") from error


def _unpacked(raw: bytes) -> bytes:
    """gzip or zlib, as the bytes themselves say; never more than the limit of it."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        body = unpacker.decompress(raw, MAX_BODY + 1)
    except zlib.error as error:
        raise BodyError(HTTPStatus.BAD_REQUEST, "an OTLP request is not packed as it says") from error
    if len(body) > MAX_BODY:
        raise _too_long()
    if not unpacker.eof:
        raise BodyError(HTTPStatus.BAD_REQUEST, "an OTLP request is packed and cut")
    return body


def _too_long() -> BodyError:
    return BodyError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"an OTLP request has more than {MAX_BODY:,} bytes")


# ---- to JSON


def as_json(body: bytes, kind: str, key: str) -> bytes:
    """A request as one line of OTLP JSON, where `key` is resourceSpans or resourceLogs. Raises BodyError."""
    if kind == JSON:
        return _checked_json(body)
    if kind == PROTOBUF:
        return _from_protobuf(body, key)
    raise BodyError(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"an OTLP request came as {kind[:60]!r}, not as JSON or protobuf"
    )


def _checked_json(body: bytes) -> bytes:
    """Checked without building its values, and put on one line."""
    try:
        msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        return msgspec.json.format(body, indent=-1)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BodyError(HTTPStatus.BAD_REQUEST, "an OTLP request is not a JSON object") from error


def _from_protobuf(body: bytes, key: str) -> bytes:
    try:
        from google.protobuf import json_format
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    except ImportError as error:
        raise BodyError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, _NEEDS_EXTRA, ours=True) from error
    of_spans = key == "resourceSpans"
    request: Any = (
        trace_service_pb2.ExportTraceServiceRequest() if of_spans else logs_service_pb2.ExportLogsServiceRequest()
    )
    try:
        request.ParseFromString(body)
        document = json_format.MessageToDict(request, use_integers_for_enums=True)
    except (DecodeError, ValueError, RecursionError) as error:
        raise BodyError(HTTPStatus.BAD_REQUEST, "an OTLP request is not the protobuf that it says") from error
    for resource in document.get(key, ()):
        for scope in resource.get("scopeSpans", ()) if of_spans else resource.get("scopeLogs", ()):
            for item in scope.get("spans", ()) if of_spans else scope.get("logRecords", ()):
                _write_ids_in_hex(item)
    return msgspec.json.encode(document)


def _write_ids_in_hex(item: dict[str, Any]) -> None:
    """OTLP JSON has ids in hex, where JSON of a protobuf has base64 for all bytes."""
    for each in (item, *item.get("links", ())):
        each.update({key: base64.b64decode(each[key]).hex() for key in _IDS if key in each})


# ---- answers


def success_body(kind: str) -> bytes:
    """All was taken."""
    return b"{}" if kind == JSON else b""


def partial_success_body(kind: str, words: str) -> bytes:
    """Taken, but not kept: ExportPartialSuccess with a message."""
    if kind == JSON:
        return msgspec.json.encode({"partialSuccess": {"errorMessage": words}})
    return _field(1, _field(2, words.encode()))


def error_body(kind: str, words: str) -> bytes:
    """google.rpc.Status with a message."""
    return msgspec.json.encode({"message": words}) if kind == JSON else _field(2, words.encode())


def _field(number: int, value: bytes) -> bytes:
    """A length-delimited field of protobuf, of fewer than 16,384 bytes."""
    size = len(value)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + value
