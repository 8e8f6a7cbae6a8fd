"""The Model Context Protocol as far as a server of tools needs it: JSON-RPC messages in and out, no I/O.

Both of its forms are spoken: with a handshake (`initialize`, revisions up to 2025-11-25), and without one, where every
request says its revision in `_meta` (from 2026-07-28). No session is kept, so that any request may come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from agenteval_cli.recordings import Answer, Blocks, Failure, RecordedTool, Result

HANDSHAKE_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISIONS: Final = ("2026-07-28",)
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
NO_SUCH_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
UNSUPPORTED_REVISION: Final = -32022
_REVISION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"
_SERVER: Final = {"name": "agenteval", "version": "1"}  # of this server's ways, which clients may go by
_CAPABILITIES: Final[Mapping[str, Any]] = {"tools": {}}
# Statuses of errors without a handshake; with one, an error is a message like others.
_STATUSES: Final = {NO_SUCH_METHOD: 404, INVALID_REQUEST: 400, INVALID_PARAMS: 400, UNSUPPORTED_REVISION: 400}

Id = str | int | float | None


class ToolCallRequest(msgspec.Struct, frozen=True):
    """A message that calls a tool."""

    id: Id
    name: str
    arguments: Any
    is_stateless: bool


class Message(msgspec.Struct, frozen=True):
    """A message to send back, with the status of its HTTP response. `body` None is an empty response."""

    body: dict[str, Any] | None
    status: int = 200


ACCEPTED: Final = Message(None, 202)


def understood(message: Any, tools: Iterable[RecordedTool]) -> ToolCallRequest | Message:
    """A call that is to be made, or the message that answers anything else."""
    if not isinstance(message, Mapping) or message.get("jsonrpc") != "2.0":
        return _error(None, INVALID_REQUEST, "send one JSON-RPC 2.0 message at a time", status=400)
    method = message.get("method")
    if "id" not in message or not isinstance(method, str):
        return ACCEPTED  # a notification, or an answer to what was never asked
    id_, params = message["id"], message.get("params") or {}
    if not isinstance(params, Mapping) or isinstance(id_, bool) or not isinstance(id_, str | int | float):
        return _error(None, INVALID_REQUEST, "the id is a text or a number, and params an object", status=400)
    revision = _revision(params)
    if revision is not None and revision not in STATELESS_REVISIONS:
        supported = {"supported": [*STATELESS_REVISIONS, *HANDSHAKE_REVISIONS], "requested": revision}
        return _error(id_, UNSUPPORTED_REVISION, "this revision is not supported", stateless=True, data=supported)
    is_stateless = revision is not None
    if method == "tools/call":
        return _call(id_, params, is_stateless=is_stateless)
    return _answered(id_, method, params, tools, is_stateless=is_stateless)


def _revision(params: Mapping[str, Any]) -> Any:
    """What a request of the form without handshake says; None is a request of the other."""
    meta = params.get("_meta")
    return meta.get(_REVISION_KEY) if isinstance(meta, Mapping) else None


def _call(id_: Id, params: Mapping[str, Any], *, is_stateless: bool) -> ToolCallRequest | Message:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        return _error(id_, INVALID_PARAMS, "a call names its tool", stateless=is_stateless)
    return ToolCallRequest(id_, name, {} if arguments is None else arguments, is_stateless)


def _answered(
    id_: Id, method: str, params: Mapping[str, Any], tools: Iterable[RecordedTool], *, is_stateless: bool
) -> Message:
    match method:
        case "tools/list":
            result: dict[str, Any] = {"tools": [_tool(tool) for tool in tools]}
            return _result(id_, result, is_stateless=is_stateless, is_cacheable=True)
        case "ping":
            return _result(id_, {}, is_stateless=is_stateless)
        case "initialize" if not is_stateless:
            return _result(id_, _handshake(params), is_stateless=False)
        case "server/discover" if is_stateless:
            revisions = [*STATELESS_REVISIONS, *HANDSHAKE_REVISIONS]
            result = {"supportedVersions": revisions, "capabilities": _CAPABILITIES}
            return _result(id_, result, is_stateless=True, is_cacheable=True)
    return _error(id_, NO_SUCH_METHOD, f"no method '{method[:100]}'", stateless=is_stateless)


def _handshake(params: Mapping[str, Any]) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    revision = wanted if wanted in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]
    return {"protocolVersion": revision, "capabilities": _CAPABILITIES, "serverInfo": _SERVER}


def _tool(tool: RecordedTool) -> dict[str, Any]:
    schema = tool.parameters if isinstance(tool.parameters, Mapping) else {}
    told = {"name": tool.name, "inputSchema": {"type": "object", **schema}}
    return {**told, "description": tool.description} if tool.description else told


def answer_to(request: ToolCallRequest, answer: Answer) -> Message:
    """The message with the answer of a tool."""
    if isinstance(answer, Failure) and answer.reason == "unknown_tool":
        return _error(request.id, INVALID_PARAMS, answer.message, stateless=request.is_stateless)
    return _result(request.id, _tool_result(answer), is_stateless=request.is_stateless)


def _tool_result(answer: Answer) -> dict[str, Any]:
    match answer:
        case Result(value):
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            result = {"content": [{"type": "text", "text": text}], "isError": False}
            # Only objects: other values are allowed since 2026-07-28, and older clients refuse them.
            return {**result, "structuredContent": value} if isinstance(value, Mapping) else result
        case Blocks(content):
            return {"content": content, "isError": False}
        case Failure(message=words):
            return {"content": [{"type": "text", "text": words}], "isError": True}


def _result(id_: Id, result: Mapping[str, Any], *, is_stateless: bool, is_cacheable: bool = False) -> Message:
    if is_stateless:
        cached = {"ttlMs": 0, "cacheScope": "private"} if is_cacheable else {}
        result = {**result, "resultType": "complete", **cached, "_meta": {_SERVER_KEY: _SERVER}}
    return Message({"jsonrpc": "2.0", "id": id_, "result": dict(result)})


def failed(id_: Id, code: int, words: str) -> dict[str, Any]:
    """The message that a request failed by the protocol, not by the tool."""
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": words}}


def _error(id_: Id, code: int, words: str, *, stateless: bool = False, status: int = 200, data: Any = None) -> Message:
    body = failed(id_, code, words)
    if data is not None:
        body["error"]["data"] = data
    return Message(body, _STATUSES.get(code, 200) if stateless else status)
