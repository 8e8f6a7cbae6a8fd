"""How many tool calls a second the server answers, with 32 attempts at once: `python benchmarks/tools.py`.

The clients are raw sockets in a process of their own, since a client library in Python costs more than the server.
"""

from __future__ import annotations

import json
import selectors
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from agenteval_cli.tool_server import ToolServer

ATTEMPTS = 32
CALLS = 300  # by each attempt
ROUNDS = 5
STATE = {"orders": {str(number): {"total": "129.00", "paid": True} for number in range(20)}, "calls": 0}
TOOLS = [
    {
        "name": "get_order",
        "description": "Look an order up.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
        "responses": [
            {"when": {"order_id": "0"}, "times": 1, "error": {"status": 503, "message": "try again"}},
            {"when": {"order_id": "5"}, "result": {"order": {"$state": "/orders/5"}}, "effects": {"last": "5"}},
        ],
    }
]
ARGUMENTS = {"order_id": "5"}
MESSAGE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "get_order", "arguments": ARGUMENTS},
}


def main() -> None:
    if sys.argv[1:]:
        print(calls_a_second(json.loads(sys.argv[1]), json.loads(sys.argv[2])))
        return
    print(f"{ATTEMPTS} attempts at once, {CALLS} calls each, best and median of {ROUNDS} rounds, calls a second")
    for way in ("plain", "mcp"):
        rates = sorted(round_of(way) for _ in range(ROUNDS))
        print(f"{way:8}{rates[-1]:8,.0f}{rates[len(rates) // 2]:8,.0f}")


def round_of(way: str) -> float:
    """The rate of one round. Every call must have been observed, by the attempt that made it."""
    server = ToolServer(Path.cwd())
    server.start()
    try:
        names = [str(number) for number in range(ATTEMPTS)]
        endpoints = [server.open(name, TOOLS, STATE) for name in names]
        urls = [e.mcp_url if way == "mcp" else f"{e.http_url}/get_order" for e in endpoints]
        body = MESSAGE if way == "mcp" else ARGUMENTS
        command = [sys.executable, __file__, json.dumps(urls), json.dumps(body)]
        rate = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        observed = [server.close(name) for name in names]
    finally:
        server.stop()
    assert [len(each.calls) for each in observed] == [CALLS] * ATTEMPTS
    assert all(each.state["last"] == "5" and not each.marks for each in observed)
    return rate


def calls_a_second(urls: list[str], body: object) -> float:
    """Each URL is called again and again over a connection of its own, all of them at once."""
    selector = selectors.DefaultSelector()
    for url in urls:
        selector.register(_Client(url, json.dumps(body).encode()), selectors.EVENT_READ)
    began = time.perf_counter()
    while selector.get_map():
        for key, _ in selector.select():
            if key.fileobj.is_done():  # type: ignore[union-attr]  # all of them are clients
                selector.unregister(key.fileobj)
    return len(urls) * CALLS / (time.perf_counter() - began)


class _Client:
    """One connection that sends a request when it has the answer to the last one."""

    def __init__(self, url: str, body: bytes) -> None:
        parts = urlsplit(url)
        head = (f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}")
        self._request = "\r\n".join((*head, "Content-Type: application/json", "", "")).encode() + body
        self._socket = socket.create_connection((parts.hostname, parts.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._left = CALLS
        self._answer = b""
        self._socket.sendall(self._request)

    def fileno(self) -> int:
        return self._socket.fileno()

    def is_done(self) -> bool:
        """Read what is there; whether that was the last answer."""
        self._answer += self._socket.recv(65536)
        head, gap, body = self._answer.partition(b"\r\n\r\n")
        if not gap or len(body) < int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]):
            return False
        assert head.startswith(b"HTTP/1.1 200"), self._answer
        self._answer = b""
        self._left -= 1
        if self._left:
            self._socket.sendall(self._request)
        return not self._left


if __name__ == "__main__":
    main()
