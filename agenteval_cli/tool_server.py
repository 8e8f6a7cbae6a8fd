"""The server that answers the tool calls of all attempts of a run from their recordings, and observes them.

One asyncio loop in a thread of its own, on a free port of 127.0.0.1. Each attempt has a path that only it knows.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from agenteval_cli.case import Limits
from agenteval_cli.observed_calls import Observed
from agenteval_cli.tool_connections import Connection
from agenteval_cli.tool_endpoint import Endpoint, config_files
from agenteval_cli.tool_handlers import Groups
from agenteval_cli.tool_replay import Replay
from agenteval_cli.tool_service import OnCall, Service, Visitor

_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR")
_BACKLOG = 1024


class ToolServer:
    """Serves any number of attempts at once. Its methods may be called from any thread.

    Handlers run in `root` with `env`; `groups` is told of theirs. The files that name the endpoints are in `folder`, or
    where temporary files are. `shows_state` is for people who debug a case: an agent under test must not be able to
    look instead of calling a tool.
    """

    def __init__(
        self,
        root: Path,
        *,
        env: Mapping[str, str] | None = None,
        groups: Groups | None = None,
        folder: str | None = None,
        shows_state: bool = False,
    ) -> None:
        own = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        self._service = Service(root, own if env is None else env, groups, shows_state=shows_state)
        self._visits: dict[str, _Visit] = {}
        self._parent = folder
        self._running: _Running | None = None

    def start(self) -> None:
        """Listen on a free port. Raises OSError where there is none, or no room for the files that name it.

        It starts a thread: whatever forks must have done so before.
        """
        folder = Path(tempfile.mkdtemp(prefix="agenteval-tools-", dir=self._parent))
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="tools", daemon=True)
        thread.start()
        try:
            server = asyncio.run_coroutine_threadsafe(self._listen(loop), loop).result()
        except OSError:
            _end(loop, thread, folder)
            raise
        self._running = _Running(loop, thread, server, folder)

    def open(
        self,
        attempt: str,
        tools: Sequence[Mapping[str, Any]],
        state: Any = msgspec.UNSET,
        *,
        limits: Limits | None = None,
        on_call: OnCall | None = None,
    ) -> Endpoint:
        """Make a place for an attempt: its inventory with fixtures resolved, its state, the limits that hold live.

        `on_call` hears of each call when it has been answered, in the server's thread. Raises OSError where there is
        no room for the files.
        """
        secret = secrets.token_urlsafe(24)
        base = f"http://127.0.0.1:{self._service.port}/{secret}"
        endpoint = Endpoint(f"{base}/tools", f"{base}/mcp", str(self._started.folder / f"{secret}.json"))
        for path, content in config_files(endpoint).items():
            # Only this user may read it, since it holds the attempt's secret.
            Path(path).touch(mode=0o600, exist_ok=False)
            Path(path).write_text(json.dumps(content, indent=2), encoding="utf-8")
        replay = Replay(tools, state, time.monotonic(), limits)
        self._visits[attempt] = _Visit(endpoint, self._service.admit(secret, replay, on_call))
        return endpoint

    def next_turn(self, attempt: str) -> None:
        """What the attempt calls from now on belongs to its next turn."""
        self._visits[attempt].visitor.replay.next_turn()

    def close(self, attempt: str) -> Observed:
        """End the attempt's place: what it did until now. Later calls are refused and change nothing."""
        visit = self._visits.pop(attempt)
        observed = visit.visitor.replay.close()
        if self._running is not None:
            self._running.loop.call_soon_threadsafe(self._service.dismiss, visit.visitor)
        for path in config_files(visit.endpoint):
            Path(path).unlink(missing_ok=True)
        return observed

    def stop(self) -> None:
        """Stop listening, end every connection and handler, and leave no file. Attempts can still be closed."""
        if self._running is not None:
            running, self._running = self._running, None
            asyncio.run_coroutine_threadsafe(self._service.end(running.server), running.loop).result()
            _end(running.loop, running.thread, running.folder)

    @property
    def _started(self) -> _Running:
        if self._running is None:
            raise RuntimeError("the tool server is not started")
        return self._running

    async def _listen(self, loop: asyncio.AbstractEventLoop) -> asyncio.Server:
        server = await loop.create_server(lambda: Connection(self._service), "127.0.0.1", 0, backlog=_BACKLOG)
        self._service.port = server.sockets[0].getsockname()[1]
        return server


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread, folder: Path) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    shutil.rmtree(folder, ignore_errors=True)


class _Running(NamedTuple):
    """A server that has been started; `folder` has the files that name its endpoints."""

    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    server: asyncio.Server
    folder: Path


class _Visit(msgspec.Struct, frozen=True):
    """An attempt that is open: where it was told to go, and what the server's loop knows of it."""

    endpoint: Endpoint
    visitor: Visitor
