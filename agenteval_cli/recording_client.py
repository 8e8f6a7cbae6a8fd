"""Calls real tools, wherever they are: plain HTTP, an MCP server over HTTP, or one that is started as a command.

Used while a case is recorded. With the standard library alone, as it runs in a process of its own.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

Json = dict[str, Any]
SECONDS = 25  # for one answer; less than a handler has
_REVISION = "2025-06-18"
_SESSION = "mcp-session-id"


class NoToolsError(Exception):
    """The real tools cannot be reached, or talk in another way than was said."""


class Client(Protocol):
    """Real tools."""

    def tools(self) -> list[Json]:
        """The inventory, as a case has it: name, description, parameters. Raises NoToolsError."""
        ...

    def call(self, tool: str, arguments: Json) -> Json:
        """`{result}`, `{content}` or `{error: {status, message}}`. Raises NoToolsError."""
        ...


def client_for(target: Sequence[str]) -> Client:
    """What talks to a target: a URL that ends in /tools takes plain calls, another is an MCP server; else a command."""
    url = target[0].rstrip("/")
    if not url.startswith(("http://", "https://")):
        return McpClient(_Command(target))
    return PlainClient(url) if url.endswith("/tools") else McpClient(_Endpoint(url))


class PlainClient:
    """`POST URL/NAME` with the arguments as JSON; `GET URL` lists the tools."""

    def __init__(self, url: str) -> None:
        self._url = url

    def tools(self) -> list[Json]:
        status, body, _ = _exchanged(self._url, None, {})
        listed = _json(body)
        if status != 200 or not isinstance(listed, dict) or not isinstance(listed.get("tools"), list):
            raise NoToolsError(f"{self._url} does not list its tools; name them in the case")
        return [
            {key: tool[key] for key in ("name", "description", "parameters") if key in tool} for tool in listed["tools"]
        ]

    def call(self, tool: str, arguments: Json) -> Json:
        status, body, _ = _exchanged(f"{self._url}/{urllib.parse.quote(tool, safe='')}", arguments, {})
        value = _json(body)
        if status < 400:
            return {"result": value}
        words = value.get("error", value.get("message")) if isinstance(value, dict) else value
        return {"error": {"status": status, "message": words if isinstance(words, str) else json.dumps(value)}}


class McpClient:
    """An MCP server, however its messages travel."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._sent = 0
        info = {"name": "agenteval", "version": "1"}
        self._result("initialize", {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": info})
        wire.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tools(self) -> list[Json]:
        found: list[Json] = []
        page: Json = {}
        while True:
            listed = self._result("tools/list", page)
            found += map(_tool, listed.get("tools", ()))
            if not listed.get("nextCursor"):
                return found
            page = {"cursor": listed["nextCursor"]}

    def call(self, tool: str, arguments: Json) -> Json:
        answer = self._answer("tools/call", {"name": tool, "arguments": arguments})
        if "result" not in answer:
            return {"error": {"status": 500, "message": str(answer.get("error", {}).get("message", "no result"))}}
        result = answer["result"]
        content = result.get("content", [])
        all_text = all(block.get("type") == "text" for block in content)
        text = content[0].get("text") if len(content) == 1 and all_text else None
        if result.get("isError"):
            words = text if text is not None else json.dumps(content)
            return {"error": {"status": 500, "message": words}}
        if "structuredContent" in result and all_text:
            return {"result": _unwrapped(result["structuredContent"], text)}
        if text is None:
            return {"content": content}
        value = _json(text.encode())
        return {"result": value if isinstance(value, dict | list) else text}

    def _result(self, method: str, params: Json) -> Json:
        answer = self._answer(method, params)
        if not isinstance(answer.get("result"), dict):
            raise NoToolsError(f"{method} was refused: {answer.get('error', {}).get('message', 'no result')}")
        return dict(answer["result"])

    def _answer(self, method: str, params: Json) -> Json:
        self._sent += 1
        return self._wire.ask({"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params})


class Wire(Protocol):
    """How messages travel to an MCP server. Both raise NoToolsError."""

    def ask(self, message: Json) -> Json: ...
    def tell(self, message: Json) -> None: ...


class _Endpoint:
    def __init__(self, url: str) -> None:
        self._url = url
        self._headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": _REVISION}

    def ask(self, message: Json) -> Json:
        status, body, headers = _exchanged(self._url, message, self._headers)
        if _SESSION in headers:
            self._headers[_SESSION] = headers[_SESSION]
        if headers.get("content-type", "").startswith("text/event-stream"):
            answers = [_json(line.encode()) for line in _data_lines(body.decode("utf-8", "replace"))]
        else:
            answers = [_json(body)]
        for answer in answers:
            if isinstance(answer, dict) and answer.get("id") == message["id"]:
                return answer
        raise NoToolsError(f"{self._url} answered {status} and no message; is it an MCP server?")

    def tell(self, message: Json) -> None:
        _exchanged(self._url, message, self._headers)


class _Command:
    def __init__(self, argv: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise NoToolsError(f"{argv[0]} cannot be started: {error.strerror}") from error
        self._name = os.path.basename(argv[0])  # noqa: PTH119  # as short as it is told

    def ask(self, message: Json) -> Json:
        self.tell(message)
        assert self._process.stdout is not None  # noqa: S101  # it is a pipe
        for line in self._process.stdout:
            answer = _json(line)
            if isinstance(answer, dict) and answer.get("id") == message["id"] and "method" not in answer:
                return answer
        raise NoToolsError(f"{self._name} ended without an answer")

    def tell(self, message: Json) -> None:
        assert self._process.stdin is not None  # noqa: S101  # the same
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise NoToolsError(f"{self._name} ended without an answer") from error


def _exchanged(url: str, value: Json | None, headers: Mapping[str, str]) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers, whatever the status. A value is posted as JSON."""
    data = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers})  # noqa: S310  # the user's own URL
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310  # the same
            return answer.status, answer.read(), {name.lower(): text for name, text in answer.headers.items()}
    except urllib.error.HTTPError as error:
        return error.code, error.read(), {name.lower(): text for name, text in error.headers.items()}
    except (OSError, http.client.HTTPException) as error:
        raise NoToolsError(f"{url} does not answer: {error}") from error


def _unwrapped(structured: Any, text: str | None) -> Any:
    """The value of a tool that returns no object: SDKs send it as {"result": …}, and as text without that."""
    is_wrapped = isinstance(structured, dict) and list(structured) == ["result"]
    return structured["result"] if is_wrapped and (text is None or _json(text.encode()) != structured) else structured


def _tool(tool: Mapping[str, Any]) -> Json:
    named = {"name": tool["name"], "description": tool.get("description"), "parameters": tool.get("inputSchema")}
    return {key: value for key, value in named.items() if value}


def _json(body: bytes) -> Any:
    """The value of a body; the text itself where it is no JSON."""
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode("utf-8", "replace")


def _data_lines(text: str) -> Iterator[str]:
    return (line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:"))
