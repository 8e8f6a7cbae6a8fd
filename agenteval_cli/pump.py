"""Moves bytes in and out of one running process, never blocking on any of its pipes, and stops it.

What is read goes to two sinks; what is to be written waits until the pipe takes it. One poll() waits for all of it,
for the end of the process, and for a request to cancel.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
import typing

GRACE = 1.0  # seconds between TERM and KILL
DRAIN = 0.2  # seconds that a pipe may stay open, held by a helper, once the agent itself has ended
_CHUNK = 256 * 1024
_MOST_IN_A_PIPE = 1024 * 1024
_POLL_WITHOUT_PIDFD = 0.01
_LONGEST_WAIT = 86_400.0  # seconds; poll() takes no more than some weeks, and whoever waits asks again


class Sink(typing.Protocol):
    """Takes what is read from a pipe, in order."""

    def take(self, chunk: bytes) -> None: ...


class Cancel:
    """A request to stop that every waiting loop sees at once. Safe to call from a signal handler.

    A second request says that even the grace between TERM and KILL is too long.
    """

    def __init__(self) -> None:
        self.fd, self._write_fd = os.pipe()
        self.insisted_fd, self._write_insisted_fd = os.pipe()
        self.requested = False

    def request(self) -> None:
        fd = self._write_insisted_fd if self.requested else self._write_fd
        self.requested = True
        with contextlib.suppress(OSError):
            os.write(fd, b"x")

    def close(self) -> None:
        for fd in (self.fd, self._write_fd, self.insisted_fd, self._write_insisted_fd):
            os.close(fd)


class Pump:
    """The pipes of one process. `ready` in what follows is what `wait` returned."""

    def __init__(self, process: subprocess.Popen[bytes], stdout: Sink, stderr: Sink, cancel: Cancel) -> None:
        assert process.stdin is not None  # noqa: S101  # all three are pipes: see Processes.start
        assert process.stdout is not None  # noqa: S101  # the same
        assert process.stderr is not None  # noqa: S101  # the same
        self._process = process
        self._cancel = cancel
        self._stdin = process.stdin
        self._stdout_fd = process.stdout.fileno()
        self._readers = {self._stdout_fd: stdout, process.stderr.fileno(): stderr}
        self._unsent = memoryview(b"")
        self._closes_when_sent = False
        self._exit_fd = _exit_fd(process.pid)
        self._poll = select.poll()
        for fd in (*self._readers, self._stdin.fileno()):
            os.set_blocking(fd, False)
        for fd in (*self._readers, cancel.fd, *([self._exit_fd] if self._exit_fd is not None else [])):
            self._poll.register(fd, select.POLLIN)

    @property
    def is_open(self) -> bool:
        """Whether both stdin and stdout are, as far as is known."""
        return not self._stdin.closed and self._stdout_fd in self._readers

    def send(self, data: bytes, *, last: bool) -> None:
        """Have this written, the start of it at once; stdin is closed after the last. Ask for it one at a time."""
        self._unsent = memoryview(data)
        self._closes_when_sent = last
        self._poll.register(self._stdin.fileno(), select.POLLOUT)
        self._feed()

    def wait(self, deadline: float) -> set[int]:
        """Wait for something to do, do what concerns the pipes, and say which descriptors were ready."""
        left = min(max(0.0, deadline - time.monotonic()), _LONGEST_WAIT)
        if self._exit_fd is None:
            left = min(left, _POLL_WITHOUT_PIDFD)
        ready = {fd for fd, _ in self._poll.poll(left * 1000)}  # poll rounds up to whole milliseconds
        for fd in self._readers.keys() & ready:
            self._read(fd)
        if not self._stdin.closed and self._stdin.fileno() in ready:
            self._feed()
        return ready

    def is_cancelled(self, ready: set[int]) -> bool:
        return self._cancel.fd in ready

    def has_exited(self, ready: set[int]) -> bool:
        if self._exit_fd is None:
            return self._process.poll() is not None
        return self._exit_fd in ready

    def ends_by_itself(self, seconds: float) -> bool:
        """Close stdin and give it so long to end."""
        self._close_stdin()
        end = time.monotonic() + seconds
        while True:
            ready = self.wait(end)
            if self.has_exited(ready):
                return True
            if self.is_cancelled(ready) or time.monotonic() >= end:
                return False

    def stop(self) -> None:
        """TERM to the group, a grace in which it may still speak (none where the cancel is insisted on), then KILL."""
        self._poll.unregister(self._cancel.fd)
        self._poll.register(self._cancel.insisted_fd, select.POLLIN)
        signal_group(self._process.pid, signal.SIGTERM)
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            ready = self.wait(end)
            if self.has_exited(ready):
                return
            if self._cancel.insisted_fd in ready:
                break
        signal_group(self._process.pid, signal.SIGKILL)

    def drain(self) -> None:
        """Read what is left in the pipes; a helper that holds one open is waited for only a moment."""
        for fd in (self._exit_fd, self._cancel.fd, self._cancel.insisted_fd):
            with contextlib.suppress(KeyError, TypeError):
                self._poll.unregister(fd)  # type: ignore[arg-type]
        self.read_what_is_there()
        end = time.monotonic() + DRAIN
        while self._readers and time.monotonic() < end:
            self.wait(end)

    def read_what_is_there(self) -> None:
        """All that the process itself can have left in the pipes, however late this machine comes to it."""
        for fd in list(self._readers):
            for _ in range(_MOST_IN_A_PIPE // _CHUNK + 1):
                if not self._read(fd):
                    break

    def discard_from_now_on(self) -> None:
        self._readers = dict.fromkeys(self._readers, _Nowhere())

    def close(self) -> None:
        """Let go of what the pump opened itself; the pipes are the process's own."""
        if self._exit_fd is not None:
            os.close(self._exit_fd)
            self._exit_fd = None

    def _read(self, fd: int) -> bool:
        """Read once; False where nothing is there now or ever again."""
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            self._readers[fd].take(chunk)
            return True
        self._poll.unregister(fd)
        del self._readers[fd]
        return False

    def _feed(self) -> None:
        """Write what the pipe takes; an agent that closed its stdin early simply gets no more."""
        try:
            if self._unsent:
                sent = os.write(self._stdin.fileno(), self._unsent[:_CHUNK])
                self._unsent = self._unsent[sent:]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = self._unsent[:0]
            self._closes_when_sent = True
        if not self._unsent:
            self._poll.unregister(self._stdin.fileno())
            if self._closes_when_sent:
                self._stdin.close()

    def _close_stdin(self) -> None:
        if self._stdin.closed:
            return
        with contextlib.suppress(KeyError):
            self._poll.unregister(self._stdin.fileno())
        self._stdin.close()


class _Nowhere:
    def take(self, chunk: bytes) -> None:
        pass


def signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _exit_fd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process exits, where the platform has one (Linux 5.3)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
