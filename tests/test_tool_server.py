"""The tool server as real clients see it: plain HTTP, the MCP SDK over HTTP and over the bridge, a framework's agent."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import AGENTEVAL, Repo
from hypothesis import given, settings
from hypothesis import strategies as st

from agenteval_cli.case import Limits
from agenteval_cli.tool_connections import Connection
from agenteval_cli.tool_endpoint import Endpoint, told_in_environment, told_in_request
from agenteval_cli.tool_http import MAX_BODY, MAX_HEAD, Request
from agenteval_cli.tool_server import ToolServer
from agenteval_cli.transcript import ToolCall

ORDERS = {"orders": {"5": {"total": "9.00", "paid": True}}}
SHOP: list[dict[str, Any]] = [
    {
        "name": "get_order",
        "description": "Look an order up.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        "responses": [{"when": {"id": "5"}, "result": {"$state": "/orders/5"}}],
    },
    {
        "name": "refund",
        "responses": [
            {"times": 1, "error": {"status": 503, "message": "upstream unavailable"}},
            {"result": {"refund": "R-9"}, "effects": {"orders": {"5": {"paid": False}}}},
        ],
    },
    {"name": "slow", "responses": [{"result": "at last", "delay": "300ms"}]},
    {"name": "say", "responses": [{"result": "words, not JSON"}]},
    {"name": "picture", "responses": [{"content": [{"type": "text", "text": "a kettle"}]}]},
    {"name": "breaks", "responses": [{"error": {"kind": "malformed"}}]},
    {"name": "resets", "responses": [{"error": {"kind": "reset"}}]},
    {"name": "hangs", "responses": [{"error": {"kind": "timeout"}}]},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolServer]:
    made = ToolServer(tmp_path_factory.mktemp("root"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def shop(server: ToolServer) -> Iterator[Endpoint]:
    """An attempt called `shop`; a test that wants to see what it did closes it."""
    yield server.open("shop", SHOP, ORDERS)
    with contextlib.suppress(KeyError):
        server.close("shop")


def post(url: str, body: Any, timeout: float = 20) -> tuple[int, Any]:
    """The status and the JSON value of a response."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        request = urllib.request.Request(url, raw)  # noqa: S310  # it is http
        with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310  # the same
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def get(url: str) -> tuple[int, Any]:
    with contextlib.closing(http.client.HTTPConnection(url.split("/")[2])) as connection:
        connection.request("GET", "/" + url.split("/", 3)[3])
        response = connection.getresponse()
        return response.status, json.loads(response.read())


# ---- plain HTTP


def test_tools_are_called_with_plain_http(server: ToolServer, shop: Endpoint) -> None:
    assert post(f"{shop.http_url}/get_order", {"id": "5"}) == (200, {"total": "9.00", "paid": True})
    assert post(f"{shop.http_url}/refund", {}) == (503, {"error": "upstream unavailable"})
    assert post(f"{shop.http_url}/refund", {}) == (200, {"refund": "R-9"})
    assert post(f"{shop.http_url}/say", b"") == (200, "words, not JSON")
    assert post(f"{shop.http_url}/picture", {}) == (200, {"content": [{"type": "text", "text": "a kettle"}]})
    observed = server.close("shop")
    assert [(call.name, call.arguments, call.status) for call in observed.calls] == [
        ("get_order", {"id": "5"}, "ok"),
        ("refund", {}, "error"),
        ("refund", {}, "ok"),
        ("say", {}, "ok"),
        ("picture", {}, "ok"),
    ]
    assert observed.calls[1].error == {"status": 503, "message": "upstream unavailable"}
    assert observed.state == {"orders": {"5": {"total": "9.00", "paid": False}}}
    assert not observed.marks


def test_the_inventory_has_names_descriptions_and_parameters_and_no_answers(shop: Endpoint) -> None:
    status, value = get(shop.http_url)
    assert (status, len(value["tools"])) == (200, len(SHOP))
    assert value["tools"][0] == {key: SHOP[0][key] for key in ("name", "description", "parameters")}
    assert value["tools"][1] == {"name": "refund"}


@pytest.mark.parametrize(
    ("tool", "body", "status", "words"),
    [
        ("get_ordr", b"{}", 404, "no tool 'get_ordr'; did you mean 'get_order'?"),
        ("get_order", b"{'id': 5}", 400, "the arguments are not a JSON object"),
        ("get_order", b"null", 400, "the arguments are not a JSON object"),
        ("get_order", b"[]", 400, "the arguments are not a JSON object"),
        ("get_order", b"\xff\xfe", 400, "the arguments are not a JSON object"),
        ("get_order", b'{"id": 1e999}', 400, "the arguments are not a JSON object"),
        ("get_order", b"[" * 100_000, 400, "the arguments are not a JSON object"),
        ("get_order", b'{"id": ' + b"[" * 100 + b"]" * 100 + b"}", 400, "the arguments are not a JSON object"),
        ("get_order", b'{"id": "6"}', 422, "no response is recorded for this call of get_order"),
        ("get_order", b'{"id": "\\ud800"}', 422, "no response is recorded for this call of get_order"),
        ("%F0%9F%AB%96%2F%00", b"{}", 404, "no tool '\N{TEAPOT}/\x00'"),
    ],
)
def test_a_wrong_call_is_refused_in_words_and_observed(
    server: ToolServer, shop: Endpoint, tool: str, body: bytes, status: int, words: str
) -> None:
    assert post(f"{shop.http_url}/{tool}", body) == (status, {"error": words})
    observed = server.close("shop")
    assert [call.status for call in observed.calls] == ["error"]
    assert len(observed.marks) == 1
    json.dumps([call.arguments for call in observed.calls]).encode()


def test_the_agent_cannot_look_at_the_state(shop: Endpoint) -> None:
    assert get(shop.http_url.removesuffix("tools") + "state")[0] == 404


def test_errors_of_every_kind_reach_a_plain_client_as_real_ones_do(server: ToolServer, shop: Endpoint) -> None:
    with pytest.raises(json.JSONDecodeError):
        post(f"{shop.http_url}/breaks", {})
    with pytest.raises(ConnectionResetError):
        post(f"{shop.http_url}/resets", {})
    with pytest.raises(TimeoutError):
        post(f"{shop.http_url}/hangs", {}, timeout=0.2)
    time.sleep(0.2)
    assert post(f"{shop.http_url}/say", {})[0] == 200
    calls = server.close("shop").calls
    assert [call.error and call.error["kind"] for call in calls] == ["malformed", "reset", "timeout", None]
    assert 0 < (calls[2].duration_ms or 0) < 60_000
    assert calls[3].group is None


def test_a_delay_puts_off_the_answer_and_holds_up_nobody_else(server: ToolServer, shop: Endpoint) -> None:
    with ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(post, f"{shop.http_url}/slow", {}) for _ in range(6)]
        time.sleep(0.1)
        assert post(f"{shop.http_url}/say", {})[0] == 200
        assert not any(each.done() for each in slow)
        assert [each.result() for each in slow] == [(200, "at last")] * 6
    calls = server.close("shop").calls
    assert {call.group for call in calls} == {1}
    assert all((call.duration_ms or 0) >= 290 for call in calls if call.name == "slow")


def test_a_client_that_does_not_wait_has_no_answer(server: ToolServer, shop: Endpoint) -> None:
    with pytest.raises(TimeoutError):
        post(f"{shop.http_url}/slow", {}, timeout=0.05)
    time.sleep(0.5)
    (call,) = server.close("shop").calls
    assert call.status == "unknown"
    assert (call.duration_ms or 0) < 290


def test_the_call_over_the_limit_is_refused_while_the_attempt_runs(server: ToolServer) -> None:
    endpoint = server.open("limited", SHOP, ORDERS, limits=Limits(tool_calls=1))
    assert post(f"{endpoint.http_url}/say", {})[0] == 200
    assert post(f"{endpoint.http_url}/say", {}) == (429, {"error": "over the limit of 1 tool calls"})
    assert server.close("limited").over_limit == "over the limit of 1 tool calls"


def test_each_call_is_told_as_it_is_answered(server: ToolServer) -> None:
    heard: list[ToolCall] = []
    endpoint = server.open("heard", SHOP, ORDERS, on_call=heard.append)
    post(f"{endpoint.http_url}/say", {"a": 1})
    assert [(call.name, call.arguments, call.result) for call in heard] == [("say", {"a": 1}, "words, not JSON")]
    server.close("heard")


# ---- who may call


def test_an_attempt_that_is_over_is_gone_and_what_was_observed_stays(server: ToolServer, shop: Endpoint) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(post, f"{shop.http_url}/hangs", {})
        time.sleep(0.1)
        observed = server.close("shop")
        assert waiting.result(5)[0] == 410
    assert post(f"{shop.http_url}/say", {}) == (410, {"error": "this attempt is over"})
    assert post(shop.mcp_url, {"jsonrpc": "2.0", "id": 1, "method": "ping"})[0] == 410
    assert [call.name for call in observed.calls] == ["hangs"]
    assert not Path(shop.config).exists()


@pytest.mark.parametrize("path", ["/", "/tools/say", "/x/tools/say", "//tools", "/%2e%2e/tools", "/x/nothing", "*"])
def test_nobody_finds_an_attempt_without_its_secret(shop: Endpoint, path: str) -> None:
    with contextlib.closing(http.client.HTTPConnection(shop.http_url.split("/")[2])) as connection:
        connection.request("POST", path, b"{}")
        assert connection.getresponse().status == 404


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 403),
        ("Host", "127.0.0.1", 403),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Accept", "application/json", 200),
    ],
)
def test_a_web_page_whose_name_points_here_is_refused(shop: Endpoint, header: str, value: str, status: int) -> None:
    with contextlib.closing(http.client.HTTPConnection(shop.http_url.split("/")[2])) as connection:
        connection.request("GET", "/" + shop.http_url.split("/", 3)[3], headers={header: value})
        assert connection.getresponse().status == status


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_the_local_names_are_good(shop: Endpoint, name: str) -> None:
    port = shop.http_url.split("/")[2].split(":")[1]
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", int(port))) as connection:
        headers = {"Host": f"{name}:{port}", "Origin": f"http://{name}:{port}"}
        connection.request("GET", "/" + shop.http_url.split("/", 3)[3], headers=headers)
        assert connection.getresponse().status == 200


@pytest.mark.parametrize(
    ("method", "what", "allowed"),
    [("GET", "tools/say", "POST"), ("PUT", "tools/say", "POST"), ("POST", "tools", "GET"), ("GET", "mcp", "POST")],
)
def test_the_wrong_method_is_told_the_right_one(shop: Endpoint, method: str, what: str, allowed: str) -> None:
    with contextlib.closing(http.client.HTTPConnection(shop.http_url.split("/")[2])) as connection:
        connection.request(method, "/" + shop.http_url.split("/", 3)[3].removesuffix("tools") + what, b"{}")
        response = connection.getresponse()
        assert (response.status, response.headers["Allow"]) == (405, allowed)


def test_thirty_two_attempts_at_once_never_see_each_other(server: ToolServer) -> None:
    def live(number: int) -> tuple[list[Any], Any]:
        name = f"attempt-{number}"
        tool = {
            "name": "count",
            "responses": [
                {"times": 1, "result": {"$state": ""}, "effects": {f"call-{index}": number}} for index in range(15)
            ],
        }
        endpoint = server.open(name, [tool], {"own": number})
        for _ in range(15):
            post(f"{endpoint.http_url}/count", {"from": number})
        observed = server.close(name)
        assert not observed.marks
        assert {call.arguments["from"] for call in observed.calls} == {number}
        return [call.result for call in observed.calls], observed.state

    with ThreadPoolExecutor(32) as pool:
        for number, (results, state) in enumerate(pool.map(live, range(32))):
            assert [len(result) for result in results] == list(range(2, 17))
            assert state == {"own": number, **{f"call-{index}": number for index in range(15)}}


# ---- HTTP as it can come


def raw(endpoint: Endpoint, *sent: bytes, wait: float = 0.3) -> bytes:
    """What comes back for these bytes until the server closes, or has nothing more to say."""
    host, port = endpoint.http_url.split("/")[2].split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        for part in sent:
            connection.sendall(part)
        connection.settimeout(wait)
        received = b""
        with contextlib.suppress(TimeoutError):
            while chunk := connection.recv(65536):
                received += chunk
        return received


def request_of(endpoint: Endpoint, tool: str, *headers: str, body: bytes = b"") -> bytes:
    _, _, host, path = endpoint.http_url.split("/", 3)
    return "\r\n".join((f"POST /{path}/{tool} HTTP/1.1", f"Host: {host}", *headers, "", "")).encode() + body


def test_requests_that_are_sent_ahead_are_answered_in_order(server: ToolServer, shop: Endpoint) -> None:
    one = request_of(shop, "slow", "Content-Length: 2", body=b"{}")
    two = request_of(shop, "say", "Content-Length: 0")
    answer = raw(shop, one + two * 1500 + request_of(shop, "say", "Content-Length: 0", "Connection: close"), wait=5)
    assert answer.index(b"at last") < answer.index(b"words")
    assert answer.count(b"HTTP/1.1 200 OK") == 1502
    assert [call.name for call in server.close("shop").calls] == ["slow"] + ["say"] * 1501


def test_a_body_may_come_in_chunks_and_after_a_hundred(shop: Endpoint) -> None:
    chunked = request_of(shop, "get_order", "Transfer-Encoding: chunked", body=b'4\r\n{"id\r\n6\r\n":"5"}\r\n0\r\n\r\n')
    assert b'"total":"9.00"' in raw(shop, chunked)
    waiting = request_of(shop, "get_order", "Expect: 100-continue", "Content-Length: 10")
    assert raw(shop, waiting, b'{"id":"5"}').startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GARBAGE\r\n\r\n", b"400"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", b"40"),
        (b"GET / HTTP/1.1\r\nBig: " + b"x" * (MAX_HEAD + 1) + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n" + b"x" * (MAX_BODY + 1), b"413"),
    ],
)
def test_what_is_no_request_or_too_large_is_refused_and_the_connection_ended(
    shop: Endpoint, sent: bytes, status: bytes
) -> None:
    try:
        answer = raw(shop, sent)
    except (BrokenPipeError, ConnectionResetError):  # it went on sending after the refusal
        answer = b"HTTP/1.1 " + status
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert post(f"{shop.http_url}/say", {})[0] == 200


class _Recorder:
    """A service that only notes what it is asked."""

    def __init__(self) -> None:
        self.seen: list[Request] = []

    def serve(self, request: Request, _exchange: object) -> None:
        self.seen.append(request)

    def left(self, _exchange: object) -> None: ...
    def opened(self, _connection: object) -> None: ...
    def closed(self, _connection: object) -> None: ...


class _NoTransport(asyncio.Transport):
    """Leads nowhere."""

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def is_closing(self) -> bool:
        return False


@given(st.lists(st.integers(0, 200), max_size=6))
@settings(deadline=None)
def test_a_request_is_the_same_however_it_is_cut(cuts: list[int]) -> None:
    whole = b'POST /secret/tools/say HTTP/1.1\r\nHost: here\r\nX-A: b\r\nContent-Length: 12\r\n\r\n{"a": "b c"}'
    service = _Recorder()
    connection = Connection(service)
    connection.connection_made(_NoTransport())
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    for start, end in pairwise(places):
        connection.data_received(whole[start:end])
    (request,) = service.seen
    assert (request.method, request.target, request.body) == ("POST", "/secret/tools/say", b'{"a": "b c"}')
    assert request.headers == {"host": "here", "x-a": "b", "content-length": "12"}


# ---- handlers

FAKES = """
import os

class Refused(Exception):
    status = 409

calls = []

def stock(arguments, state):
    print("a fake may print")
    calls.append(arguments)
    if arguments.get("item") == "gone":
        raise Refused("out of stock")
    if arguments.get("item") == "bug":
        raise KeyError("oops")
    if arguments.get("item") == "exit":
        print("I leave", file=__import__("sys").stderr)
        os._exit(3)
    state["left"] = state.get("left", 3) - 1
    return {"left": state["left"], "calls": len(calls)}
"""

SHELL_FAKE = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if call["arguments"].get("bad"):
        print("not JSON", flush=True)
    else:
        print(json.dumps({"result": call["tool"], "state": {**call["state"], "seen": call["arguments"]}}), flush=True)
"""


@pytest.fixture
def fakes(tmp_path: Path) -> Iterator[ToolServer]:
    (tmp_path / "fakes.py").write_text(FAKES, encoding="utf-8")
    (tmp_path / "fake.py").write_text(SHELL_FAKE, encoding="utf-8")
    made = ToolServer(tmp_path)
    made.start()
    yield made
    made.stop()


STOCK = [{"name": "stock", "handler": "fakes:stock", "responses": [{"when": {"item": "known"}, "result": "recorded"}]}]


def test_a_python_function_is_a_fake_with_a_state(fakes: ToolServer) -> None:
    endpoint = fakes.open("a", STOCK, {"left": 10})
    other = fakes.open("b", STOCK, {"left": 5})
    url = f"{endpoint.http_url}/stock"
    assert post(url, {"item": "known"}) == (200, "recorded")
    assert post(url, {}) == (200, {"left": 9, "calls": 1})
    assert post(url, {"item": "gone"}) == (409, {"error": "out of stock"})
    assert post(url, {}) == (200, {"left": 8, "calls": 3})
    assert post(f"{other.http_url}/stock", {}) == (200, {"left": 4, "calls": 1})
    observed = fakes.close("a")
    assert observed.state == {"left": 8}
    assert not observed.marks
    assert fakes.close("b").state == {"left": 4}


@pytest.mark.parametrize(
    ("handler", "arguments", "words"),
    [
        ("fakes:stock", {"item": "bug"}, "KeyError: 'oops'"),
        ("fakes:stock", {"item": "exit"}, "it ended without an answer; it said: I leave"),
        ("fakes:nothing", {}, "no attribute 'nothing'"),
        ("no_such_module:x", {}, "No module named 'no_such_module'"),
        ([sys.executable, "fake.py"], {"bad": True}, "char 0"),
        (["no-such-program"], {}, "No such file"),
    ],
)
def test_a_broken_fake_says_so_and_is_not_the_agents_fault(
    fakes: ToolServer, handler: Any, arguments: dict[str, Any], words: str
) -> None:
    endpoint = fakes.open("a", [{"name": "fake", "handler": handler}], {})
    status, answer = post(f"{endpoint.http_url}/fake", arguments)
    assert status == 500
    assert words in answer["error"]
    observed = fakes.close("a")
    assert observed.broken is not None
    assert words in observed.broken


def test_a_command_is_a_fake_too(fakes: ToolServer) -> None:
    endpoint = fakes.open("a", [{"name": "echo", "handler": [sys.executable, "fake.py"]}], {})
    assert post(f"{endpoint.http_url}/echo", {"x": 1}) == (200, "echo")
    assert fakes.close("a").state == {"seen": {"x": 1}}


def test_the_state_of_a_fake_is_exact_under_parallel_calls(fakes: ToolServer) -> None:
    taking = {"name": "mark", "responses": [{"result": "ok", "effects": {"marked": True}}]}
    endpoint = fakes.open("a", [*STOCK, taking], {"left": 100})
    with ThreadPoolExecutor(16) as pool:
        stock = [pool.submit(post, f"{endpoint.http_url}/stock", {}) for _ in range(40)]
        assert post(f"{endpoint.http_url}/mark", {})[0] == 200
        assert sorted(each.result()[1]["left"] for each in stock) == list(range(60, 100))
    assert fakes.close("a").state == {"left": 60, "marked": True}


def test_no_fake_outlives_its_attempt(fakes: ToolServer, tmp_path: Path) -> None:
    script = "import os, sys; open('pid', 'w').write(str(os.getpid())); sys.stdin.readline(); sys.stdin.read(); input()"
    endpoint = fakes.open("a", [{"name": "stuck", "handler": [sys.executable, "-c", script]}], {})
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(post, f"{endpoint.http_url}/stuck", {})
        wait_for(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        fakes.close("a")
        assert waiting.result(5)[0] == 410
    pid = int((tmp_path / "pid").read_text())
    wait_for(lambda: not Path(f"/proc/{pid}").exists() if sys.platform == "linux" else not _is_alive(pid))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(holds: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)


# ---- MCP: the SDK's own client

mcp = pytest.importorskip("mcp", reason="the MCP SDK is not installed")


async def talk(client: Any) -> list[Any]:
    """Lists the tools and calls some, through a session of the SDK."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [tool["name"] for tool in SHOP]
    assert tools[0].description == "Look an order up."
    assert tools[0].input_schema == SHOP[0]["parameters"]
    order = await client.call_tool("get_order", {"id": "5"})
    failed = await client.call_tool("refund", {})
    words, picture = await client.call_tool("say", {}), await client.call_tool("picture", {})
    unmatched = await client.call_tool("get_order", {"id": "6"})
    results = [order, failed, words, picture, unmatched]
    assert order.structured_content == {"total": "9.00", "paid": True}
    assert json.loads(order.content[0].text) == order.structured_content
    with pytest.raises(mcp.MCPError, match="no tool 'sai'; did you mean 'say'"):
        await client.call_tool("sai", {})
    return [(result.is_error, result.content[0].text) for result in results[1:]]


EXPECTED = [
    (True, "upstream unavailable"),
    (False, "words, not JSON"),
    (False, "a kettle"),
    (True, "no response is recorded for this call of get_order"),
]


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_sdks_client_calls_tools_over_http(server: ToolServer, shop: Endpoint, mode: str) -> None:
    async def scenario() -> list[Any]:
        async with mcp.Client(shop.mcp_url, mode=mode) as client:
            return await talk(client)

    assert asyncio.run(scenario()) == EXPECTED
    calls = server.close("shop").calls
    assert [call.name for call in calls] == ["get_order", "refund", "say", "picture", "get_order", "sai"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_calls_tools_over_the_bridge(server: ToolServer, shop: Endpoint, mode: str) -> None:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    entry = json.loads(Path(shop.stdio_config).read_text(encoding="utf-8"))["mcpServers"]["agenteval"]

    async def scenario() -> list[Any]:
        parameters = StdioServerParameters(command=entry["command"], args=entry["args"])
        async with mcp.Client(stdio_client(parameters), mode=mode) as client:
            return await talk(client)

    assert asyncio.run(scenario()) == EXPECTED
    assert len(server.close("shop").calls) == 6


def test_errors_of_every_kind_reach_the_sdks_client_as_real_ones_do(server: ToolServer, shop: Endpoint) -> None:
    async def call(tool: str) -> Any:
        async with mcp.Client(shop.mcp_url, mode="legacy") as client:
            return await client.call_tool(tool, {}, read_timeout_seconds=1)

    for tool in ("breaks", "resets", "hangs"):
        with pytest.raises(BaseException) as failure:  # noqa: PT011  # a group of whatever its transport raises
            asyncio.run(asyncio.wait_for(call(tool), 20))
        assert not isinstance(failure.value, AssertionError)
    assert [call.error and call.error["kind"] for call in server.close("shop").calls] == [
        "malformed",
        "reset",
        "timeout",
    ]


MESSAGES = [
    ({"jsonrpc": "2.0", "method": "notifications/initialized"}, 202, None),
    ({"jsonrpc": "2.0", "id": 1, "result": {}}, 202, None),
    ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, 200, -32601),
    ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}, 200, -32602),
    ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}, 200, -32602),
    ({"jsonrpc": "2.0", "id": [], "method": "ping"}, 400, -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 5}, 400, -32600),
    ({"id": 1, "method": "ping"}, 400, -32600),
    ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], 400, -32600),
    (b"{", 400, -32700),
]


@pytest.mark.parametrize(("message", "status", "code"), MESSAGES)
def test_messages_that_are_not_calls(server: ToolServer, shop: Endpoint, message: Any, status: int, code: Any) -> None:
    with contextlib.closing(http.client.HTTPConnection(shop.mcp_url.split("/")[2])) as connection:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        connection.request("POST", "/" + shop.mcp_url.split("/", 3)[3], body)
        response = connection.getresponse()
        raw_body = response.read()
    assert response.status == status
    assert (json.loads(raw_body)["error"]["code"] if raw_body else None) == code
    assert not server.close("shop").calls


def test_an_unknown_revision_is_told_those_that_are_known(shop: Endpoint) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    status, answer = post(shop.mcp_url, {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": meta}})
    assert (status, answer["error"]["code"]) == (400, -32022)
    assert "2026-07-28" in answer["error"]["data"]["supported"]


@pytest.mark.parametrize(("asked", "told"), [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")])
def test_the_handshake_agrees_on_a_revision(shop: Endpoint, asked: str, told: str) -> None:
    message = {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": asked}}
    _, answer = post(shop.mcp_url, message)
    assert (answer["id"], answer["result"]["protocolVersion"]) == ("a", told)


# ---- the bridge


class Bridge:
    """The bridge as a client that speaks lines sees it."""

    def __init__(self, *arguments: str, **env: str) -> None:
        command = [str(AGENTEVAL), "tools", "--stdio", *arguments]
        pipe = subprocess.PIPE
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PATH", "COVERAGE", "HOME"))}
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env={**kept, **env})

    def send(self, *messages: Any) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[bytes, bytes]:
        out, err = self.process.communicate(timeout=10)
        return out, err


def call_of(id_: Any, tool: str) -> dict[str, Any]:
    return {"id": id_, "method": "tools/call", "params": {"name": tool, "arguments": {}}}


def test_the_bridge_takes_its_url_from_the_environment_and_carries_calls_at_the_same_time(
    server: ToolServer, shop: Endpoint
) -> None:
    bridge = Bridge(AGENTEVAL_MCP_URL=shop.mcp_url)
    bridge.send(call_of("slow", "slow"), {"method": "notifications/initialized"}, call_of(2, "say"), b"no JSON")
    first = [bridge.receive() for _ in range(3)]
    assert {message["id"] for message in first} == {None, 2, "slow"}
    assert first[-1]["id"] == "slow"
    assert bridge.end() == (b"", b"")
    assert bridge.process.returncode == 0
    assert len(server.close("shop").calls) == 2


def test_every_failure_is_an_answer_on_the_bridge_and_a_cancelled_call_is_none(
    server: ToolServer, shop: Endpoint
) -> None:
    bridge = Bridge(shop.mcp_url)
    for tool, words in (("breaks", "no message"), ("resets", "did not answer")):
        bridge.send(call_of(tool, tool))
        answer = bridge.receive()
        assert answer["id"] == tool
        assert words in answer["error"]["message"]
    bridge.send(call_of(7, "hangs"))
    time.sleep(0.3)
    bridge.send({"method": "notifications/cancelled", "params": {"requestId": 7}}, call_of(8, "say"))
    assert bridge.receive()["id"] == 8
    server.close("shop")
    bridge.send(call_of(9, "say"))
    assert "this attempt is over" in json.dumps(bridge.receive())
    assert bridge.end() == (b"", b"")


def test_a_bridge_whose_server_has_gone_answers_every_request_with_an_error(tmp_path: Path) -> None:
    gone = ToolServer(tmp_path)
    gone.start()
    url = gone.open("a", SHOP).mcp_url
    bridge = Bridge(url)
    bridge.send(call_of(1, "say"))
    assert bridge.receive()["result"]["isError"] is False
    bridge.send(call_of(2, "hangs"))
    time.sleep(0.3)
    gone.stop()
    assert "error" in bridge.receive()
    for number in (3, 4):
        bridge.send(call_of(number, "say"))
        answer = bridge.receive()
        assert (answer["id"], answer["error"]["code"]) == (number, -32603)
    assert bridge.end() == (b"", b"")


@pytest.mark.parametrize("arguments", [[], ["no-url"]])
def test_a_bridge_without_a_url_is_asked_wrongly(arguments: list[str]) -> None:
    bridge = Bridge(*arguments)
    _, err = bridge.end()
    assert bridge.process.returncode == 2
    assert b"AGENTEVAL_MCP_URL" in err


# ---- how it is told


def test_the_files_for_mcp_clients_name_one_server_each(shop: Endpoint) -> None:
    for path in (shop.config, shop.stdio_config):
        assert Path(path).stat().st_mode & 0o777 == 0o600
        ((name, entry),) = json.loads(Path(path).read_text(encoding="utf-8"))["mcpServers"].items()
        assert name == "agenteval"
        assert ("url" in entry) != ("command" in entry)
    assert "shop" not in shop.config


def test_request_and_environment_tell_the_same(shop: Endpoint) -> None:
    environment = told_in_environment(shop)
    assert told_in_request(shop) == {
        "http_url": environment["AGENTEVAL_TOOLS_URL"],
        "mcp_url": environment["AGENTEVAL_MCP_URL"],
    }
    assert Path(environment["AGENTEVAL_MCP_CONFIG"]).exists()


# ---- a framework's agent, unmodified

FRAMEWORK_AGENT = """
import asyncio, json, os, sys
from pydantic_ai import Agent
from pydantic_ai.mcp import load_mcp_toolsets
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

def model(messages, info):
    tools = {tool.name for tool in info.function_tools}
    returned = [part for message in messages for part in message.parts if part.part_kind == "tool-return"]
    (get_order,) = (name for name in tools if name.endswith("get_order"))
    if not returned:
        return ModelResponse(parts=[ToolCallPart(get_order, {"id": "5"})])
    return ModelResponse(parts=[TextPart(f"The total is {returned[-1].content['total']}.")])

async def main():
    agent = Agent(FunctionModel(model), toolsets=load_mcp_toolsets(os.environ["AGENTEVAL_MCP_CONFIG"]))
    async with agent:
        print((await agent.run("What did I pay?")).output)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["config", "stdio_config"])
def test_an_agent_of_a_framework_needs_nothing_but_an_environment_variable(
    server: ToolServer, shop: Endpoint, kind: str, tmp_path: Path
) -> None:
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    done = subprocess.run(
        [sys.executable, "-c", FRAMEWORK_AGENT],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AGENTEVAL_MCP_CONFIG": getattr(shop, kind)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout == "The total is 9.00.\n", done
    observed = server.close("shop")
    assert [(call.name, call.arguments) for call in observed.calls] == [("get_order", {"id": "5"})]


# ---- by hand

SERVED_CASE = """
schema: 1
id: served
input: hello
state: {n: 1}
tools:
  - {name: look, responses: [{when: {id: 1}, result: {$state: /n}}]}
limits: {tool_calls: 2}
outcome: [{contains: hello}]
"""


def test_one_case_is_served_by_hand_and_each_call_is_shown(repo: Repo) -> None:
    repo.case("served", SERVED_CASE)
    process = repo.start("tools", "served")
    assert process.stdout is not None
    told = dict(process.stdout.readline().strip().removeprefix("export ").split("=", 1) for _ in range(3))
    url = told["AGENTEVAL_TOOLS_URL"]
    assert post(f"{url}/look", {"id": 1}) == (200, 1)
    assert process.stdout.readline().startswith('look {"id": 1} -> 1  (')
    assert post(f"{url}/look", {"id": 2})[0] == 422
    assert "no response is recorded" in process.stdout.readline()
    assert get(url.removesuffix("tools") + "state") == (200, {"n": 1})
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "call 2: no response is recorded for this call of look" in err
    assert err.endswith("2 calls\n")


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM])
def test_a_case_that_was_served_by_hand_leaves_no_file(repo: Repo, signal_sent: signal.Signals) -> None:
    repo.case("served", SERVED_CASE)
    process = repo.start("tools", "served", "--json")
    assert process.stdout is not None
    config = Path(json.loads(process.stdout.readline())["config"])
    assert config.exists()
    process.send_signal(signal_sent)
    process.communicate(timeout=10)
    assert (process.returncode, config.parent.exists()) == (0, False)


def test_the_calls_are_lines_of_json_where_that_is_asked_for(repo: Repo) -> None:
    repo.case("served", SERVED_CASE)
    process = repo.start("tools", "served", "--json")
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    post(f"{told['http_url']}/look", {"id": 1})
    call = json.loads(process.stdout.readline())["call"]
    assert (call["name"], call["arguments"], call["result"]) == ("look", {"id": 1}, 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tools"], "serve which case?"),
        (["tools", "nobody"], "nobody"),
        (["tools", "says-hello"], "no tool has responses or a handler"),
    ],
)
def test_what_cannot_be_served_is_said(repo: Repo, arguments: list[str], words: str) -> None:
    done = repo.run(*arguments)
    assert done.code == 2
    assert words in done.err


def test_a_server_leaves_no_thread_no_file_and_no_connection(tmp_path: Path) -> None:
    before = threading.active_count()
    made = ToolServer(tmp_path)
    made.start()
    endpoint = made.open("a", SHOP)
    with contextlib.closing(http.client.HTTPConnection(endpoint.http_url.split("/")[2], timeout=5)) as connection:
        connection.connect()
        made.stop()
        assert connection.sock is not None
        with contextlib.suppress(ConnectionResetError):
            assert connection.sock.recv(1) == b""
    assert threading.active_count() == before
    assert not Path(endpoint.config).parent.exists()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(endpoint.http_url.split("/")[2].split(":")[1])))


@pytest.mark.parametrize("body", [b'{"amount": 999, "amount": 1}', b'{"amount": 999, "\\u0061mount": 1}'])
def test_arguments_that_can_be_read_in_two_ways_are_kept_as_the_text_they_are(repo: Repo, body: bytes) -> None:
    repo.case("served", SERVED_CASE)
    process = repo.start("tools", "served", "--json")
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    post(f"{told['http_url']}/look", body)
    call = json.loads(process.stdout.readline())["call"]
    assert call["arguments"] == body.decode()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
