"""A bridge for MCP clients that only start servers as commands: each message on stdin is posted to the tool server.

Requests are in flight at the same time, as the client sends them. A server that is gone answers each of them with an
error, so that the client is never left waiting for what cannot come.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import msgspec

from agenteval_cli.errors import UsageError
from agenteval_cli.mcp_messages import INTERNAL_ERROR, PARSE_ERROR, failed

_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_GRACE = 1.0  # seconds for answers that are on their way when the client closes its end


def bridge(url: str, requests: BinaryIO, responses: BinaryIO) -> None:
    """Carry messages until there are no more. Raises UsageError where the URL is none."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise UsageError(f"'{url}' is no URL of a tool server; it is in AGENTEVAL_MCP_URL of an attempt")
    carrier = _Carrier(parts.netloc, parts.path, responses)
    for line in requests:
        if line.strip():
            carrier.take(line.strip())
    carrier.wait(_GRACE)


class _Carrier:
    """What is on its way to the server and back."""

    def __init__(self, netloc: str, path: str, responses: BinaryIO) -> None:
        self._netloc = netloc
        self._path = path
        self._responses = responses
        self._lock = threading.Lock()
        self._under_way: dict[Any, http.client.HTTPConnection] = {}

    def take(self, line: bytes) -> None:
        """Send one message on, without waiting for what comes back."""
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            self._respond(msgspec.json.encode(failed(None, PARSE_ERROR, "the line is not JSON")))
            return
        if not isinstance(message, dict) or "id" not in message:
            self._cancel(message)
            return
        key = msgspec.json.encode(message["id"])
        connection = http.client.HTTPConnection(self._netloc)
        with self._lock:
            self._under_way[key] = connection
        threading.Thread(target=self._carry, args=(key, message["id"], connection, line), daemon=True).start()

    def wait(self, seconds: float) -> None:
        """Wait for what is under way, but not longer."""
        end = time.monotonic() + seconds
        while self._under_way and time.monotonic() < end:
            time.sleep(0.01)

    def _carry(self, key: bytes, id_: Any, connection: http.client.HTTPConnection, line: bytes) -> None:
        try:
            connection.request("POST", self._path, line, _HEADERS)
            answer = connection.getresponse()
            body = answer.read()
            if not _is_message(body):
                body = msgspec.json.encode(failed(id_, INTERNAL_ERROR, _why_not(answer.status)))
        except (OSError, http.client.HTTPException) as error:
            words = f"the tool server did not answer: {str(error) or type(error).__name__}"
            body = msgspec.json.encode(failed(id_, INTERNAL_ERROR, words))
        with self._lock:
            was_cancelled = self._under_way.pop(key, None) is not connection
        connection.close()
        if not was_cancelled:
            self._respond(body)

    def _cancel(self, message: Any) -> None:
        """A notification. The server wants none; one that cancels a request ends it, as its client is not waiting."""
        if not isinstance(message, dict) or message.get("method") != "notifications/cancelled":
            return
        params = message.get("params")
        key = msgspec.json.encode(params.get("requestId")) if isinstance(params, dict) else b""
        with self._lock:
            connection = self._under_way.pop(key, None)
        if connection is not None and connection.sock is not None:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)  # which wakes the thread that reads; closing does not

    def _respond(self, body: bytes) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):  # the client has gone
            self._responses.write(body + b"\n")
            self._responses.flush()


def _is_message(body: bytes) -> bool:
    """Whether a body is a JSON-RPC message, on one line."""
    try:
        message = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(message, dict) and "jsonrpc" in message and b"\n" not in body


def _why_not(status: int) -> str:
    if status == 410:
        return "this attempt is over"
    return f"the tool server answered with status {status} and no message"
