"""Connections to the tool server: HTTP/1.1 over asyncio, one request after the other.

The parser is that of uvicorn, in C. There is no framework, since a call must be able to end as real ones do: with half
an answer, with none, or with a reset; and because of what it costs (docs/decisions.md).
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from typing import Protocol

import httptools

from agenteval_cli.tool_http import MAX_BODY, MAX_HEAD, Request, Response, as_bytes, refusal


class Exchange(Protocol):
    """One request and where its response goes. Exactly one of the methods is called, or none while it is waited for."""

    @property
    def is_over(self) -> bool: ...
    def respond(self, response: Response) -> None: ...
    def reset(self) -> None: ...


class Service(Protocol):
    """What answers requests. `left` tells that the client went away before it had its answer."""

    def serve(self, request: Request, exchange: Exchange) -> None: ...
    def left(self, exchange: Exchange) -> None: ...
    def opened(self, connection: asyncio.Transport) -> None: ...
    def closed(self, connection: asyncio.Transport) -> None: ...


class Connection(asyncio.Protocol):
    """One connection. The names of the `on_` methods are those of the parser."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._current: _Exchange | None = None
        self._is_going_on = False
        self._begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # TCP always is one
        self.transport = transport
        self._service.opened(transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # as the base class has it
        self._waiting.clear()
        self._service.closed(self.transport)
        if self._current is not None:
            self._service.left(self._current)
            self._current = None

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError:
            self._end_with(self._refused or refusal(400, "the request cannot be read", closes=True))
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._end_with(refusal(400, "this is no HTTP/1.1 request", closes=True))

    # ---- the parser's callbacks

    def on_message_begin(self) -> None:
        self._begin()

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value))
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if self._headers.get("expect", "").lower() == "100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > MAX_BODY:
            self._refuse(refusal(413, f"the body has more than {MAX_BODY:,} bytes", closes=True))

    def on_message_complete(self) -> None:
        method = self._parser.get_method().decode("latin-1")
        request = Request(method, self._target.decode("utf-8", "replace"), self._headers, bytes(self._body))
        self._waiting.append((request, self._parser.should_keep_alive()))
        self._go_on()

    # ---- one request after the other

    def _begin(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._head_size = 0
        self._refused: Response | None = None

    def _count_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > MAX_HEAD:
            self._refuse(refusal(431, f"the headers have more than {MAX_HEAD:,} bytes", closes=True))

    def _refuse(self, response: Response) -> None:
        self._refused = response
        raise ValueError  # which stops the parser

    def _end_with(self, response: Response) -> None:
        self.transport.write(as_bytes(response, keeps_alive=False))
        self.transport.close()

    def _go_on(self) -> None:
        """Serve what waits. A client that sends ahead is read no further until it has its answer."""
        if self._is_going_on:  # many short requests at once must not become as many nested calls
            return
        self._is_going_on = True
        while self._waiting and self._current is None and not self.transport.is_closing():
            request, keeps_alive = self._waiting.popleft()
            self._current = _Exchange(self, keeps_alive=keeps_alive)
            self._service.serve(request, self._current)
        self._is_going_on = False
        if self._waiting:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def is_serving(self, exchange: _Exchange) -> bool:
        return self._current is exchange

    def finish(self, exchange: _Exchange, response: Response, *, keeps_alive: bool) -> None:
        """Send the response of the current exchange, and go on to the next."""
        if self._current is not exchange or self.transport.is_closing():
            return
        self.transport.write(as_bytes(response, keeps_alive=keeps_alive))
        self._current = None
        if not keeps_alive or response.closes:
            self.transport.close()
        else:
            self._go_on()

    def reset(self) -> None:
        """End the connection as a server does that is killed: the client gets a reset, not an end."""
        self._current = None
        raw = self.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


class _Exchange:
    """One request of a connection."""

    __slots__ = ("_connection", "_keeps_alive")

    def __init__(self, connection: Connection, *, keeps_alive: bool) -> None:
        self._connection = connection
        self._keeps_alive = keeps_alive

    @property
    def is_over(self) -> bool:
        """Whether the client has its response, or has gone."""
        return not self._connection.is_serving(self)

    def respond(self, response: Response) -> None:
        self._connection.finish(self, response, keeps_alive=self._keeps_alive)

    def reset(self) -> None:
        self._connection.reset()
