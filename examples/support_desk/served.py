"""Tools behind a server, called over plain HTTP or as an MCP server over HTTP, with the standard library alone."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from support_desk.protocol import Json
from support_desk.tools import ToolError

SECONDS = 10
# What the shop's services say in front of a colon; anything else is a service that does not answer as it should.
REASONS = ("not_found", "dispatched", "already_refunded", "payments_down", "unknown_code")
REVISION = "2025-06-18"
MCP_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": REVISION}


@dataclass(frozen=True, slots=True)
class ServedOverHttp:
    url: str

    def use(self, tool: str, arguments: Mapping[str, str]) -> Any:
        return _posted(f"{self.url}/{tool}", dict(arguments))

    def state(self) -> Json | None:
        return None


class ServedOverMcp:
    def __init__(self, url: str) -> None:
        self._url = url
        self._sent = 0
        client = {"name": "support_desk", "version": "1"}
        self._send("initialize", protocolVersion=REVISION, capabilities={}, clientInfo=client)
        _posted(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, MCP_HEADERS)

    def use(self, tool: str, arguments: Mapping[str, str]) -> Any:
        result = self._send("tools/call", name=tool, arguments=dict(arguments))
        text = "".join(block.get("text", "") for block in result.get("content", ()))
        if result.get("isError"):
            raise _refused(text)
        return result["structuredContent"] if "structuredContent" in result else _value(text.encode())

    def state(self) -> Json | None:
        return None

    def _send(self, method: str, **params: Any) -> Json:
        self._sent += 1
        message = {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params}
        answer = _posted(self._url, message, MCP_HEADERS)
        if "result" not in answer:
            raise _refused(str(answer.get("error", {}).get("message", "no result")))
        return dict(answer["result"])


def _posted(url: str, body: Json, headers: Mapping[str, str] | None = None) -> Any:
    """The JSON that the server answers with. Raises ToolError for all else."""
    headers = {"content-type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310  # our own server
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310  # the same
            return _value(response.read() or b"null")
    except urllib.error.HTTPError as error:
        raise _refused(_words(error)) from error
    except (OSError, http.client.HTTPException) as error:
        raise ToolError("no_answer", f"no answer: {error}") from error


def _value(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError as error:
        raise ToolError("no_answer", f"the answer is not JSON: {error}") from error


def _words(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return str(error)


def _refused(words: str) -> ToolError:
    code = words.partition(":")[0]
    return ToolError(code if code in REASONS else "no_answer", words)
