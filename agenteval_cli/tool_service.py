"""What the tool server does with each request. All of it runs in the server's loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli import mcp_messages
from agenteval_cli.mcp_messages import Message, ToolCallRequest
from agenteval_cli.recordings import Answer, Failure
from agenteval_cli.tool_connections import Exchange
from agenteval_cli.tool_handlers import Groups, Handlers
from agenteval_cli.tool_http import (
    MALFORMED,
    Place,
    Request,
    Response,
    inventory,
    is_local,
    json_response,
    mcp_response,
    place_of,
    plain_response,
    refusal,
    unreadable_message,
    value_of,
)
from agenteval_cli.tool_replay import Ask, Replay, Reply
from agenteval_cli.transcript import ToolCall

OnCall = Callable[[ToolCall], None]
Rendered = Callable[[Answer], Response]


class Visitor:
    """One attempt at the server. `asking` keeps calls in order while a handler is asked, which may change the state."""

    def __init__(self, secret: str, replay: Replay, handlers: Handlers, on_call: OnCall | None) -> None:
        self.secret = secret
        self.replay = replay
        self.handlers = handlers
        self.on_call = on_call
        self.has_handlers = any(tool.handler is not None for tool in replay.tools.values())
        self.asking = asyncio.Lock()


class _Called(msgspec.Struct, frozen=True):
    """A call as it came at `moment`: `size` is that of its arguments in bytes, `rendered` how an answer is sent."""

    tool: str
    arguments: Any
    size: int
    moment: float
    rendered: Rendered


class _OpenCall(msgspec.Struct, frozen=True):
    """A call that has not been answered yet; `timer` will answer it, unless it is to time out."""

    visitor: Visitor
    number: int
    timer: asyncio.TimerHandle | None = None


class Service:
    """Finds the attempt that a request belongs to, and answers from its replay."""

    def __init__(self, root: Path, env: Mapping[str, str], groups: Groups | None, *, shows_state: bool) -> None:
        self.port = 0
        self._root = root
        self._env = env
        self._groups = groups
        self._shows_state = shows_state
        self._visitors: dict[str, Visitor] = {}
        self._over: set[str] = set()
        self._open_calls: dict[Exchange, _OpenCall] = {}
        self._connections: set[asyncio.Transport] = set()
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself holds them only weakly

    # ---- attempts

    def admit(self, secret: str, replay: Replay, on_call: OnCall | None) -> Visitor:
        """Let an attempt in. May be called from any thread."""
        visitor = Visitor(secret, replay, Handlers(self._root, self._env, self._groups), on_call)
        self._visitors[secret] = visitor
        return visitor

    def dismiss(self, visitor: Visitor) -> None:
        """The attempt is over: whoever still waits for an answer is told so, and its handlers are ended."""
        self._visitors.pop(visitor.secret, None)
        self._over.add(visitor.secret)
        for exchange, call in list(self._open_calls.items()):
            if call.visitor is visitor:
                self._forget(exchange)
                exchange.respond(refusal(410, "this attempt is over", closes=True))
        if visitor.has_handlers:
            self._spawn(visitor.handlers.close())

    async def end(self, server: asyncio.Server) -> None:
        """End every attempt, task and connection, and the server."""
        for visitor in list(self._visitors.values()):
            self.dismiss(visitor)
        # A connection just being accepted is a task too; it would be lost, and stay open, if the server closed first.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.gather(*others, return_exceptions=True)
        server.close()
        for connection in list(self._connections):
            connection.abort()
        await asyncio.sleep(0)  # lets the connections note that they are lost

    # ---- connections

    def opened(self, connection: asyncio.Transport) -> None:
        self._connections.add(connection)

    def closed(self, connection: asyncio.Transport) -> None:
        self._connections.discard(connection)

    def left(self, exchange: Exchange) -> None:
        """The client went away before it had its answer."""
        call = self._forget(exchange)
        if call is not None:
            call.visitor.replay.gone(call.number, time.monotonic())

    def serve(self, request: Request, exchange: Exchange) -> None:
        """Answer one request, now or when its time has come."""
        place = place_of(request.target)
        if not is_local(request.headers, self.port):
            exchange.respond(refusal(403, "this server answers to 127.0.0.1 and localhost only", closes=True))
        elif place is not None and place.secret in self._over:
            exchange.respond(refusal(410, "this attempt is over", closes=True))
        elif place is None or place.secret not in self._visitors:
            exchange.respond(refusal(404, "there is nothing here", closes=True))
        elif place.what == "mcp":
            self._serve_mcp(request, exchange, self._visitors[place.secret])
        else:
            self._serve_plain(request, exchange, self._visitors[place.secret], place)

    # ---- the two ways to call

    def _serve_plain(self, request: Request, exchange: Exchange, visitor: Visitor, place: Place) -> None:
        is_call = place.what == "tools" and bool(place.tool)
        wanted = "POST" if is_call else "GET"
        if place.what == "state" and not self._shows_state:
            exchange.respond(refusal(404, "there is nothing here"))
        elif request.method != wanted:
            exchange.respond(refusal(405, f"use {wanted}", allow=wanted))
        elif is_call:
            self._plain_call(request, exchange, visitor, place.tool)
        elif place.what == "tools":
            exchange.respond(inventory(visitor.replay.tools.values()))
        else:
            state = visitor.replay.state
            exchange.respond(json_response(None if state is msgspec.UNSET else state))

    def _plain_call(self, request: Request, exchange: Exchange, visitor: Visitor, tool: str) -> None:
        """Arguments that are no JSON are a call too, a wrong one: kept as the text they are."""
        try:
            arguments = value_of(request.body) if request.body else {}
        except ValueError:
            arguments = None
        if arguments is None:  # in a transcript that would say that nobody knows them
            arguments = request.body.decode("utf-8", "replace")
        self._call(exchange, visitor, _called(tool, arguments, request, plain_response))

    def _serve_mcp(self, request: Request, exchange: Exchange, visitor: Visitor) -> None:
        if request.method != "POST":  # there is no stream to GET and no session to DELETE
            exchange.respond(refusal(405, "use POST", allow="POST"))
            return
        try:
            message = value_of(request.body)
        except ValueError as error:
            exchange.respond(unreadable_message(str(error)))
            return
        understood = mcp_messages.understood(message, visitor.replay.tools.values())
        match understood:
            case Message():
                exchange.respond(mcp_response(understood))
            case ToolCallRequest(name=name, arguments=arguments):
                self._call(exchange, visitor, _called(name, arguments, request, _as_message(understood)))

    # ---- calls

    def _call(self, exchange: Exchange, visitor: Visitor, called: _Called) -> None:
        if visitor.has_handlers:
            self._spawn(self._call_in_order(exchange, visitor, called))
        else:
            reply = visitor.replay.call(called.tool, called.arguments, called.moment, called.size)
            self._reply(exchange, visitor, reply, called.rendered)

    async def _call_in_order(self, exchange: Exchange, visitor: Visitor, called: _Called) -> None:
        """Where a handler may be asked, no other call is decided before it has said what becomes of the state."""
        async with visitor.asking:
            reply = visitor.replay.call(called.tool, called.arguments, called.moment, called.size)
            if isinstance(reply.answer, Ask) and reply.number is not None:
                self._open_calls[exchange] = _OpenCall(visitor, reply.number)
                said = await visitor.handlers.ask(called.tool, reply.answer)
                reply = visitor.replay.handled(reply.number, said)
        if exchange.is_over and reply.number is not None:
            visitor.replay.gone(reply.number, time.monotonic())
        self._reply(exchange, visitor, reply, called.rendered)

    def _reply(self, exchange: Exchange, visitor: Visitor, reply: Reply, rendered: Rendered) -> None:
        answer, number = reply.answer, reply.number
        assert not isinstance(answer, Ask)  # noqa: S101  # only tools with handlers ask, and those are asked above
        if number is None:
            exchange.respond(rendered(answer))
        elif isinstance(answer, Failure) and answer.kind == "timeout":
            self._open_calls[exchange] = _OpenCall(visitor, number)
            _tell(visitor, visitor.replay.told(number))
        elif reply.delay:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(reply.delay, self._answer, exchange, visitor, number, answer, rendered)
            self._open_calls[exchange] = _OpenCall(visitor, number, timer)
        else:
            self._answer(exchange, visitor, number, answer, rendered)

    def _answer(self, exchange: Exchange, visitor: Visitor, number: int, answer: Answer, rendered: Rendered) -> None:
        """Note first, send then: what the agent does next comes after this."""
        self._forget(exchange)
        _tell(visitor, visitor.replay.answered(number, time.monotonic()))
        if isinstance(answer, Failure) and answer.kind == "reset":
            exchange.reset()
        else:
            exchange.respond(rendered(answer))

    def _forget(self, exchange: Exchange) -> _OpenCall | None:
        call = self._open_calls.pop(exchange, None)
        if call is not None and call.timer is not None:
            call.timer.cancel()
        return call

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _called(tool: str, arguments: Any, request: Request, rendered: Rendered) -> _Called:
    return _Called(tool, arguments, len(request.body), time.monotonic(), rendered)


def _as_message(request: ToolCallRequest) -> Rendered:
    """How the answer to this message is sent."""

    def rendered(answer: Answer) -> Response:
        if isinstance(answer, Failure) and answer.kind == "malformed":
            return Response(200, MALFORMED)
        return mcp_response(mcp_messages.answer_to(request, answer))

    return rendered


def _tell(visitor: Visitor, call: ToolCall) -> None:
    if visitor.on_call is not None:
        visitor.on_call(call)
