"""What outlives its agent: processes that left its group, and whatever runs on when the tool itself is killed.

A guardian process, forked before any thread starts, learns the group of every agent. When the pipe from the tool
closes, however the tool died, it kills those groups and removes the folders the agents worked in.

What left the group of its agent is found in two ways, both on Linux only. The tool adopts orphans
(PR_SET_CHILD_SUBREAPER), so that a daemon becomes its child, wherever it went and whatever it did to its environment.
And every agent has the run's mark in its environment, which tells whose a daemon is, and which the guardian looks for
when there is no tool left to adopt anything.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from agenteval_cli.errors import IncompleteError
from agenteval_cli.workplaces import remove, unused_workplace

_PR_SET_CHILD_SUBREAPER = 36
_PROC = Path("/proc")
_MARK = re.compile(r"TRACEPARENT=00-([0-9a-f]{16,32})")
_TRACE = re.compile(rb"(?:^|\0)TRACEPARENT=00-([0-9a-f]{32})-")
_LONGEST_REMOVAL = 2.0  # seconds in which what was killed may still be dying
_AGAIN = 0.005


def adopt_orphans() -> None:
    """Have processes whose parent died become our children, so that they can be found and reaped (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Guardian:
    """Ends the agents of a run if the tool dies before it could, and in any case removes `folder`, where they work.

    `mark` is how one variable of every agent begins: TRACEPARENT=00- and at least 16 random hexadecimal digits.
    Raises IncompleteError where there is no room for the folder.
    """

    def __init__(self, mark: str) -> None:
        found = _MARK.fullmatch(mark)
        if found is None:
            # Whatever carries the mark is killed: a weaker one would name processes that are not ours.
            raise ValueError(f"not the mark of a run: {mark!r}")
        self.trace_prefix = found[1].encode()
        self.folder = unused_workplace()
        read_end, self._fd = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._fd)
            _guard(read_end, mark.encode(), self.folder)
        os.close(read_end)
        try:
            Path(self.folder).mkdir(0o700)  # only now, that whenever the tool is killed somebody knows of it
        except OSError as error:
            self.dismiss()
            raise IncompleteError(f"no room for the folders that agents work in: {error.strerror}") from error

    def watch(self, group: int) -> None:
        self._tell(b"+", group)

    def forget(self, group: int) -> None:
        self._tell(b"-", group)

    def dismiss(self) -> None:
        """The run is over: the guardian clears up what is left and ends."""
        os.close(self._fd)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        remove(self.folder)  # an agent may have killed the guardian

    def _tell(self, sign: bytes, group: int) -> None:
        with contextlib.suppress(OSError):
            os.write(self._fd, b"%s%d\n" % (sign, group))


def _guard(read_end: int, mark: bytes, folder: str) -> None:
    """The guardian's whole life. Never returns."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nowhere, fd)
        for group in _groups_at_the_end(read_end):
            _kill_group(group)
        end = time.monotonic() + _LONGEST_REMOVAL
        while (_kill_marked(mark) or not remove(folder)) and time.monotonic() < end:
            time.sleep(_AGAIN)
    finally:
        os._exit(0)


def _groups_at_the_end(read_end: int) -> set[int]:
    """Follow the tool's messages until its end of the pipe closes; the groups that are still alive then."""
    groups: set[int] = set()
    with open(read_end, "rb") as messages:  # a descriptor, not a path
        for line in messages:
            number = int(line[1:])
            (groups.add if line[:1] == b"+" else groups.discard)(number)
    return groups


def _kill_marked(mark: bytes) -> bool:
    """Kill the processes with a variable that begins with the mark; whether there were any (Linux only)."""
    marked = [pid for pid in _pids() if pid != os.getpid() and b"\0" + mark in b"\0" + _environment(pid)]
    for pid in marked:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return bool(marked)


class _Process(NamedTuple):
    """What /proc/<pid>/stat says. `state` is a letter, Z for one that is dead and waits to be reaped."""

    pid: int
    state: str
    parent: int
    group: int
    session: int


class Orphans:
    """The processes that the tool adopted. For one thread at a time.

    One with the mark belongs to the attempt that the mark names. One without, or with a trace of its own, may belong to
    any attempt that ran when it was first seen, so that it is let be until all of those have ended.
    """

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self._suspects: dict[int, tuple[int, frozenset[bytes]]] = {}  # by pid: its group, and whose it may be

    def ended_some(self, live: Collection[int], running: Collection[bytes]) -> bool:
        """Kill those whose attempt is over, and reap those that are dead; whether there was any to kill.

        `live` are the pids of agents, which are somebody else's to wait for, `running` the trace IDs of the attempts
        that are not over. What is killed may leave children behind, which are ours by the next call.
        """
        found = [process for process in _adopted() if process.pid not in live and process.pid != self._guardian.pid]
        self._forget_all_but({process.pid for process in found}, live)
        over = [process for process in found if process.state != "Z" and self._is_over(process, running)]
        for process in over:
            _kill_group(process.group)
        for process in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
        return bool(over)

    def _is_over(self, process: _Process, running: Collection[bytes]) -> bool:
        trace = _TRACE.search(_environment(process.pid))
        if trace and trace[1].startswith(self._guardian.trace_prefix):
            return trace[1] not in running
        if os.getpid() == 1:
            return False  # in a container every orphan becomes our child, those of other people too
        if process.pid not in self._suspects:
            self._suspects[process.pid] = (process.group, frozenset(running))
            self._guardian.watch(process.group)
        return self._suspects[process.pid][1].isdisjoint(running)

    def _forget_all_but(self, there: set[int], live: Collection[int]) -> None:
        for pid in self._suspects.keys() - there:
            group, _ = self._suspects.pop(pid)
            if group not in live:
                self._guardian.forget(group)


def _adopted() -> Iterator[_Process]:
    """Our children that are in another session than we are: agents, and what they left. git, say, stays in ours."""
    ours, session = os.getpid(), os.getsid(0)
    for pid in _pids():
        with contextlib.suppress(OSError, ValueError, IndexError):
            after_name = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
            state, *numbers = after_name.split()[:4]
            process = _Process(pid, state, *map(int, numbers))
            if process.parent == ours and process.session != session:
                yield process


def _kill_group(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _environment(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def _pids() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(entry) for entry in os.listdir(_PROC) if entry.isdigit()]  # noqa: PTH208  # quicker than iterdir
    return []
