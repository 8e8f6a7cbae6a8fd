"""Requests to the tool server, and its responses to them, as bytes of HTTP bodies. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from agenteval_cli.mcp_messages import PARSE_ERROR, Message, failed
from agenteval_cli.recordings import Answer, Blocks, Failure, RecordedTool, Result
from agenteval_cli.repeats import object_of
from agenteval_cli.transcript import without_surrogates
from agenteval_cli.yaml_reader import MAX_DEPTH

MAX_BODY: Final = 4 * 1024 * 1024  # bytes
MAX_HEAD: Final = 64 * 1024
_TOO_DEEP: Final = f"it is nested deeper than {MAX_DEPTH} levels"
MALFORMED: Final = b'{"result": {"status": "o'  # what a server that died in the middle of its answer leaves
# Every text, and the colon after it that makes it a name: each is taken once, however it is written.
_TEXTS: Final = re.compile(rb'"((?:[^"\\]++|\\.)*+)"(\s*+:)?+')
_LOCAL_NAMES: Final = ("127.0.0.1", "localhost")


class Request(msgspec.Struct, frozen=True):
    """One whole request. Header names are in lower case; of equal ones the last counts."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class Response(msgspec.Struct, frozen=True):
    """One response; its body is JSON or empty. `closes` ends the connection after it."""

    status: int
    body: bytes = b""
    allow: str = ""
    closes: bool = False


class Place(msgspec.Struct, frozen=True):
    """What a target names: the secret of an attempt, what is asked of it (tools, mcp, state), and which tool."""

    secret: str
    what: str
    tool: str = ""


def place_of(target: str) -> Place | None:
    """The place that `/SECRET/tools/NAME` and the like name; None where it is none of ours."""
    _, _, rest = target.partition("/")
    secret, _, rest = rest.partition("?")[0].partition("/")
    what, _, tool = rest.partition("/")
    if what not in ("tools", "mcp", "state") or (tool and what != "tools"):
        return None
    return Place(secret, what, unquote(tool))


def is_local(headers: Mapping[str, str], port: int) -> bool:
    """Whether a request was meant for us: a web page whose name was made to point here says its own name."""
    hosts = [f"{name}:{port}" for name in _LOCAL_NAMES]
    origin = headers.get("origin")
    return headers.get("host") in hosts and (origin is None or origin in [f"http://{host}" for host in hosts])


def value_of(body: bytes) -> Any:
    """The JSON value of a body. Raises ValueError where it is none, or others could read it otherwise or not at all.

    Lone surrogates are mended.
    """
    try:
        value = _decoded(body)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise ValueError(_TOO_DEEP)
    names = [text for text, colon in _TEXTS.findall(body) if colon]  # of all objects, so that some may be alike
    if len(names) > len(set(names)) or b"\\u" in body:
        json.loads(body, object_pairs_hook=object_of)
    return value


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return without_surrogates(json.loads(body, parse_constant=_no_constant, parse_float=_finite))


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and mappings are nested deeper than that."""
    if not isinstance(value, list | Mapping):
        return False
    items = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in items)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large for a number")
    return number


def json_response(value: Any, status: int = 200) -> Response:
    """A response with a JSON value."""
    return Response(status, msgspec.json.encode(value))


def refusal(status: int, words: str, *, allow: str = "", closes: bool = False) -> Response:
    """`{"error": …}` with a status."""
    return Response(status, msgspec.json.encode({"error": words}), allow, closes)


def plain_response(answer: Answer) -> Response:
    """What `POST …/tools/NAME` answers: the result itself, or the failure with its status."""
    match answer:
        case Result(value):
            return json_response(value)
        case Blocks(content):
            return json_response({"content": content})
        case Failure(kind="malformed"):
            return Response(200, MALFORMED)
        case Failure(message=words, status=status):
            return refusal(status, words)


def mcp_response(message: Message) -> Response:
    """A message of the protocol as a response."""
    return Response(message.status, b"" if message.body is None else msgspec.json.encode(message.body))


def unreadable_message(words: str) -> Response:
    """The response to a body that is no message at all."""
    return json_response(failed(None, PARSE_ERROR, f"the body is not JSON: {words}"), 400)


def inventory(tools: Iterable[RecordedTool]) -> Response:
    """What `GET …/tools` answers: the tools as the agent is told of them, never with their recorded responses."""
    return json_response({"tools": [_told(tool) for tool in tools]})


def _told(tool: RecordedTool) -> dict[str, Any]:
    told = {"name": tool.name, "description": tool.description or None, "parameters": tool.parameters}
    return {key: value for key, value in told.items() if value is not None}


def as_bytes(response: Response, *, keeps_alive: bool) -> bytes:
    """The response as it goes over the wire."""
    status = response.status
    phrase = HTTPStatus(status).phrase if status in _KNOWN else "Error"
    lines = [f"HTTP/1.1 {status} {phrase}", f"Content-Length: {len(response.body)}"]
    if response.body:
        lines.append("Content-Type: application/json")
    if response.allow:
        lines.append(f"Allow: {response.allow}")
    if not keeps_alive or response.closes:
        lines.append("Connection: close")
    return "\r\n".join((*lines, "\r\n")).encode() + response.body


_KNOWN: Final = frozenset(HTTPStatus)
