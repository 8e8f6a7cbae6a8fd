"""The fakes of one attempt: programs that are asked for what no recorded response answers, a line at a time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from agenteval_cli.recordings import Failure, Handler, answer_from
from agenteval_cli.tool_http import value_of
from agenteval_cli.tool_replay import Ask, Handled

SECONDS = 30.0  # that a handler may take for one call
_MAX_LINE = 16 * 1024 * 1024
_KEPT_OF_STDERR = 2000


class Groups(Protocol):
    """Knows the process groups that must not outlive the tool, however it dies."""

    def watch(self, group: int) -> None: ...
    def forget(self, group: int) -> None: ...


class Handlers:
    """The running handlers of one attempt. Ask one thing at a time: a handler sees the state that the last one left."""

    def __init__(self, root: Path, env: Mapping[str, str], groups: Groups | None) -> None:
        self._root = root
        self._env = env
        self._groups = groups
        self._running: dict[Handler, _Running] = {}
        self._closed = False

    async def ask(self, name: str, ask: Ask) -> Handled:
        """What the handler says to one call. Never raises: a handler that fails is a broken tool, and says so."""
        try:
            running = self._running.get(ask.handler) or await self._start(ask.handler)
            call = {"tool": name, "arguments": ask.arguments, "state": ask.state}
            line = await asyncio.wait_for(running.answer(msgspec.json.encode(call) + b"\n"), SECONDS)
            return _said(name, value_of(line))
        except TimeoutError:
            words = f"no answer within {SECONDS:g} s"
        except (OSError, ValueError) as error:
            words = await self._why(ask.handler, error)
        await self._end(ask.handler)
        return _broken(name, words)

    async def close(self) -> None:
        """End them all, and any that is just being started."""
        self._closed = True
        for handler in list(self._running):
            await self._end(handler)

    async def _start(self, handler: Handler) -> _Running:
        argv = _argv(handler)
        # A group of its own, to be killed as one; our session, since what is in another counts as an agent's orphan.
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._root,
            env=self._env,
            process_group=0,
            limit=_MAX_LINE,
        )
        if self._groups is not None:
            self._groups.watch(process.pid)
        self._running[handler] = running = _Running(process)
        if self._closed:
            await self._end(handler)
            raise ConnectionError("the attempt is over")
        return running

    async def _end(self, handler: Handler) -> None:
        running = self._running.pop(handler, None)
        if running is not None:
            await running.end()
            if self._groups is not None:
                self._groups.forget(running.pid)

    async def _why(self, handler: Handler, error: Exception) -> str:
        running = self._running.get(handler)
        said = await running.last_words() if running is not None else ""
        return f"{error}; it said: {said}" if said else str(error)


class _Running:
    """One handler that is running."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.pid = process.pid
        self._process = process
        self._stderr = b""
        self._listening = asyncio.create_task(self._listen())

    async def answer(self, line: bytes) -> bytes:
        """The line it answers. Raises OSError where it has ended, ValueError where its line is endless."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101  # all three are pipes
        assert stdout is not None  # noqa: S101  # the same
        stdin.write(line)
        await stdin.drain()
        answer = await stdout.readline()
        if not answer.endswith(b"\n"):
            raise ConnectionError("it ended without an answer")
        return answer

    async def last_words(self) -> str:
        """The last line of its stderr, once it has ended or had a moment for it."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._listening), 0.5)
        return "".join(self._stderr.decode("utf-8", "replace").strip().splitlines()[-1:])

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        await self._process.wait()
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listening

    async def _listen(self) -> None:
        assert self._process.stderr is not None  # noqa: S101  # as above
        while chunk := await self._process.stderr.read(_KEPT_OF_STDERR):
            self._stderr = (self._stderr + chunk)[-_KEPT_OF_STDERR:]


def _argv(handler: Handler) -> tuple[str, ...]:
    if isinstance(handler, str):
        return (sys.executable, "-m", "agenteval_cli.handler_process", handler)
    return handler


def _said(name: str, said: Any) -> Handled:
    """The answer in a line of a handler. Raises ValueError where there is none."""
    try:
        line = msgspec.convert(said, _Line)
    except msgspec.ValidationError as error:
        raise ValueError(f"its answer is not as it should be: {error}") from None
    if line.fault:
        return _broken(name, line.fault)
    if line.result is line.content is line.error is msgspec.UNSET:
        raise ValueError("it answered without result, content or error")
    return Handled(answer_from(said), line.state)


class _Line(msgspec.Struct, frozen=True):
    """What a handler may answer; `fault` is what handler_process says of a function that raised."""

    result: Any = msgspec.UNSET
    content: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    error: _Error | msgspec.UnsetType = msgspec.UNSET
    state: Any = msgspec.UNSET
    fault: str = ""


class _Error(msgspec.Struct, frozen=True):
    status: int = 500
    message: str = ""
    kind: Literal["error", "malformed", "reset", "timeout"] = "error"


def _broken(name: str, words: str) -> Handled:
    return Handled(Failure(message=f"the handler of {name} failed: {words}", reason="broken"))
