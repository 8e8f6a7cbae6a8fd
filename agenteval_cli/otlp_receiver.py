"""A receiver of OTLP over HTTP on the loopback, which the run starts where agents send their transcripts as spans."""

from __future__ import annotations

import http.server
import secrets
import threading
import time
from http import HTTPStatus
from typing import Any

from agenteval_cli.otlp_bodies import (
    JSON,
    MAX_BODY,
    BodyError,
    as_json,
    body_of,
    error_body,
    partial_success_body,
    success_body,
)

MAX_KEPT = 16 * 1024 * 1024  # bytes of JSON of one attempt, as of stdout
GRACE = 0.5  # seconds to wait for spans of a process that has ended, where none came yet
_SOCKET_TIMEOUT = 5.0  # seconds in which a client must send its next bytes
_KEPT_SIGNALS = {"traces": "resourceSpans", "logs": "resourceLogs"}  # some put the messages of a call into log records
_SIGNALS = (*_KEPT_SIGNALS, "metrics")  # metrics are taken and dropped, so that exporters do not complain


class OtlpReceiver:
    """Takes the spans of many attempts at once. Each has a path that only it knows, so that they never mix."""

    def __init__(self) -> None:
        self._server: _Server | None = None
        self._by_attempt: dict[str, _Place] = {}
        self._by_secret: dict[str, _Place] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Listen on a free port of 127.0.0.1. Raises OSError where there is none."""
        self._server = _Server(self)
        # A short poll interval, since close() waits for the loop to look up.
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="otlp", daemon=True)
        thread.start()

    def close(self) -> None:
        """Stop listening and forget all that came."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        with self._lock:
            self._by_attempt.clear()
            self._by_secret.clear()

    def place_for(self, attempt: str) -> dict[str, str]:
        """Make a new place for the spans of an attempt: the environment that sends them there."""
        if self._server is None:
            raise RuntimeError("the receiver is not started")
        place = _Place(secrets.token_urlsafe(24))
        self.forget(attempt)
        with self._lock:
            self._by_attempt[attempt] = place
            self._by_secret[place.secret] = place
        base = f"http://127.0.0.1:{self._server.server_port}/{place.secret}"
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": base,
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{base}/v1/traces",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
        }

    def taken(self, attempt: str, grace: float = GRACE) -> bytes | None:
        """What came for an attempt, as lines of OTLP JSON; None where no spans did. Its place is gone afterwards.

        To be called when the process has ended: exporters flush before that, so that what came is all. Where nothing
        came yet, or a request is being read, it is waited for at most `grace` seconds. Raises BodyError where something
        came that could not be read, with the reason.
        """
        with self._lock:
            place = self._by_attempt.pop(attempt, None)
        if place is None:
            return None
        try:
            return place.taken(grace)
        finally:
            with self._lock:
                self._by_secret.pop(place.secret, None)

    def forget(self, attempt: str) -> None:
        """Take nothing more for an attempt."""
        with self._lock:
            place = self._by_attempt.pop(attempt, None)
            if place is not None:
                self._by_secret.pop(place.secret, None)

    def place_of(self, secret: str) -> _Place | None:
        """The place that this secret opens."""
        with self._lock:
            return self._by_secret.get(secret)


class _Place:
    """What came for one attempt, in bounded memory: one body is read at a time, and the rest is refused."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self.reading = threading.Lock()
        self._changed = threading.Condition()
        self._lines: list[bytes] = []
        self._size = 0
        self._has_spans = False
        self._under_way = 0
        self._refused: BodyError | None = None

    def begin(self) -> None:
        with self._changed:
            self._under_way += 1

    def end(self) -> None:
        with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def keep(self, line: bytes, signal: str) -> bool:
        """Keep one request; False where there is no more room for it."""
        with self._changed:
            if self._size + len(line) > MAX_KEPT:
                words = f"the agent sent more than {MAX_KEPT:,} bytes of spans"
                self._refused = self._refused or BodyError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words)
                return False
            self._lines.append(line)
            self._size += len(line)
            self._has_spans = self._has_spans or signal == "traces"
            return True

    def refuse(self, error: BodyError) -> None:
        """Remember why something that came could not be read."""
        with self._changed:
            self._refused = self._refused or error

    def taken(self, grace: float) -> bytes | None:
        end = time.monotonic() + grace
        with self._changed:
            while self._under_way or not (self._has_spans or self._refused):
                if not self._changed.wait(end - time.monotonic()) and time.monotonic() >= end:
                    break
            if self._refused is not None:
                raise self._refused
            return b"\n".join(self._lines) if self._has_spans else None


class _Server(http.server.ThreadingHTTPServer):
    """One thread for each connection; none outlives the run."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, receiver: OtlpReceiver) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.receiver = receiver

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle of a request is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    """POST /<secret>/v1/<signal>. Everything else is refused without a hint."""

    protocol_version = "HTTP/1.1"
    server_version = "agenteval"
    sys_version = ""
    timeout = _SOCKET_TIMEOUT
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        parts = self.path.split("?")[0].strip("/").split("/")
        place = self.server.receiver.place_of(parts[0])
        if place is None or len(parts) != 3 or parts[1] != "v1" or parts[2] not in _SIGNALS:
            self._reply(HTTPStatus.NOT_FOUND, b"", "text/plain", closing=True)
            return
        place.begin()
        try:
            with place.reading:
                self._take(place, parts[2])
        finally:
            place.end()

    def _take(self, place: _Place, signal: str) -> None:
        kind = self.headers.get_content_type()
        try:
            body = body_of(self.headers, self.rfile)
            if signal not in _KEPT_SIGNALS:
                kept = True
            else:
                kept = place.keep(as_json(body, kind, _KEPT_SIGNALS[signal]), signal)
        except BodyError as error:
            if signal in _KEPT_SIGNALS:
                place.refuse(error)
            self._reply(error.status, error_body(kind, str(error)), kind, closing=True)
            return
        full = f"more than {MAX_KEPT:,} bytes came; the rest was left aside"
        self._reply(HTTPStatus.OK, success_body(kind) if kept else partial_success_body(kind, full), kind)

    def _reply(self, status: HTTPStatus, body: bytes, kind: str, *, closing: bool = False) -> None:
        """Answer; after a refusal the rest of the request is not read, so that the connection is of no more use."""
        self.send_response(status)
        self.send_header("Content-Type", kind if kind == JSON else "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        if closing:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as the base class has it
        """Say nothing: the terminal belongs to the run."""


__all__ = ["GRACE", "MAX_BODY", "MAX_KEPT", "BodyError", "OtlpReceiver"]
