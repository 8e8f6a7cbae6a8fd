"""What outlives its agent: processes that left its group, and whatever runs on when the tool itself is killed.

A guardian process, forked before any thread starts, learns the group of every agent. When the pipe from the tool
closes, however the tool died, it kills those groups. On Linux the tool also adopts orphans (PR_SET_CHILD_SUBREAPER),
and both find processes that left their session by the run's mark in their environment.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PROC = Path("/proc")
_TRACE = re.compile(rb"(?:^|\0)TRACEPARENT=00-([0-9a-f]{32})-")


def adopt_orphans() -> None:
    """Have processes whose parent died become our children, so that they can be found and reaped (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Guardian:
    """Kills the agents of a run if the tool dies before it could. `mark` is in the environment of every agent."""

    def __init__(self, mark: str) -> None:
        read_end, self._fd = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._fd)
            _guard(read_end, mark.encode())
        os.close(read_end)

    def watch(self, group: int) -> None:
        self._tell(b"+", group)

    def forget(self, group: int) -> None:
        self._tell(b"-", group)

    def dismiss(self) -> None:
        """The run is over: the guardian clears up what is left and ends."""
        os.close(self._fd)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _tell(self, sign: bytes, group: int) -> None:
        with contextlib.suppress(OSError):
            os.write(self._fd, b"%s%d\n" % (sign, group))


def _guard(read_end: int, mark: bytes) -> None:
    """The guardian's whole life. Never returns."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nowhere, fd)
        groups = _groups_at_the_end(read_end)
        for group in groups:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        for pid in _marked(mark):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
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


def _marked(mark: bytes) -> Iterator[int]:
    """Processes, other than this one, with the mark in their environment (Linux only)."""
    for pid in _pids():
        if pid != os.getpid() and mark in _environment(pid):
            yield pid


def sweep(live: set[int], over: set[bytes]) -> None:
    """Kill the adopted children whose trace ID is that of an attempt that is over, and reap those that are dead.

    `live` are the agents that still run: they and only they are somebody else's to wait for.
    """
    for pid, parent, state in _children_of_all():
        if parent != os.getpid() or pid in live:
            continue
        with contextlib.suppress(OSError):
            trace = _TRACE.search(_environment(pid))
            if state == "Z":
                os.waitpid(pid, os.WNOHANG)
            elif trace and trace[1] in over:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _environment(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def _children_of_all() -> Iterator[tuple[int, int, str]]:
    for pid in _pids():
        with contextlib.suppress(OSError, ValueError):
            after_name = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
            yield pid, int(after_name[1]), after_name[0]


def _pids() -> list[int]:
    with contextlib.suppress(OSError):
        return [int(entry) for entry in os.listdir(_PROC) if entry.isdigit()]  # noqa: PTH208  # quicker than iterdir
    return []
