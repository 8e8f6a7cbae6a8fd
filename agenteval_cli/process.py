"""The one module that starts agents: an argument list and no shell, in a session of its own, never left behind.

Both pipes are read at once up to a cap, input is fed while output is read, the deadline and a cancellation end the
whole process group (TERM, a grace, KILL), and what the agent said until then is kept.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping

import msgspec

from agenteval_cli.orphans import Guardian, sweep

MAX_STDOUT = 16 * 1024 * 1024
MAX_STDERR = 1024 * 1024
GRACE = 1.0  # seconds between TERM and KILL
DRAIN = 0.2  # seconds that a pipe may stay open, held by a helper, once the agent itself has ended
_CHUNK = 256 * 1024
_MOST_IN_A_PIPE = 1024 * 1024
_POLL_WITHOUT_PIDFD = 0.01


class Command(msgspec.Struct, frozen=True):
    """What to start: arguments, environment, working folder, bytes for stdin, and the seconds it may take."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: str
    stdin: bytes
    seconds: float


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended. `why` is exited, timeout or cancelled; `exit_code` or `signal` is set; output is capped."""

    why: str
    exit_code: int | None
    signal: int | None
    seconds: float
    stdout: bytes
    stderr: bytes
    stdout_size: int
    stderr_size: int


class NotStartedError(Exception):
    """The command could not be started at all."""


class Cancel:
    """A request to stop that every waiting loop sees at once. Safe to call from a signal handler."""

    def __init__(self) -> None:
        self.fd, self._write_fd = os.pipe()
        self.requested = False

    def request(self) -> None:
        self.requested = True
        with contextlib.suppress(OSError):
            os.write(self._write_fd, b"x")

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._write_fd)


class Processes:
    """The agents that are running now. One for a run; each `run` call may come from a thread of its own."""

    def __init__(self, guardian: Guardian, cancel: Cancel) -> None:
        self.cancel = cancel
        self.live: set[int] = set()
        self.lock = threading.Lock()
        self._guardian = guardian
        self._over: set[bytes] = set()

    def has_ended(self, trace_id: str) -> None:
        """Nothing that carries this trace ID in its environment may be left running from now on."""
        self._over.add(trace_id.encode())

    def sweep(self) -> None:
        """End and reap what left the group of an attempt that has ended."""
        with self.lock:
            sweep(self.live | {self._guardian.pid}, self._over)

    def run(self, command: Command) -> Ended:
        """Start the command, feed it, read it, and return when it and its group are gone.

        Raises NotStartedError where the program cannot be started, OSError where this machine has no room for one more.
        """
        began = time.monotonic()
        process = self._started(command)
        try:
            pump = _Pump(process, command.stdin, self.cancel.fd)
            why = pump.until_ended(began + command.seconds)
        finally:
            _end_group(process)
            with self.lock:
                self.live.discard(process.pid)
            self._guardian.forget(process.pid)
        code = process.returncode
        return Ended(
            why=why,
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            seconds=time.monotonic() - began,
            stdout=bytes(pump.stdout.kept),
            stderr=bytes(pump.stderr.kept),
            stdout_size=pump.stdout.size,
            stderr_size=pump.stderr.size,
        )

    def _started(self, command: Command) -> subprocess.Popen[bytes]:
        # Spawning and noting the pid are one step, so that a sweep never takes a new agent for an orphan.
        with self.lock:
            try:
                process = subprocess.Popen(
                    command.argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=command.folder,
                    env=command.env,
                    start_new_session=True,
                    bufsize=0,
                )
            except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
                raise NotStartedError(f"{command.argv[0]} cannot be started: {error.strerror}") from error
            except OSError as error:
                if error.errno in _NOT_STARTABLE:
                    raise NotStartedError(f"{command.argv[0]} cannot be started: {error.strerror}") from error
                raise
            except ValueError as error:
                raise NotStartedError(f"{command.argv[0]} cannot be started: {error}") from error
            self.live.add(process.pid)
        self._guardian.watch(process.pid)
        return process


_NOT_STARTABLE = (7, 8)  # E2BIG: arguments too long; ENOEXEC: not a program


class _Capped:
    """Bytes of one pipe: all are read, the first `cap` are kept, the size of all is known."""

    def __init__(self, cap: int) -> None:
        self.kept = bytearray()
        self.size = 0
        self._cap = cap

    def take(self, chunk: bytes) -> None:
        self.size += len(chunk)
        room = self._cap - len(self.kept)
        if room > 0:
            self.kept += chunk[:room]


class _Pump:
    """Moves bytes in and out of one process until it ends, its time is up, or the run is cancelled."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, cancel_fd: int) -> None:
        assert process.stdin is not None  # noqa: S101  # all three are pipes: see Processes._started
        assert process.stdout is not None  # noqa: S101  # the same
        assert process.stderr is not None  # noqa: S101  # the same
        self.process = process
        self.stdout = _Capped(MAX_STDOUT)
        self.stderr = _Capped(MAX_STDERR)
        self._readers = {process.stdout.fileno(): self.stdout, process.stderr.fileno(): self.stderr}
        self._stdin = process.stdin
        self._unsent = memoryview(stdin)
        self._cancel_fd = cancel_fd
        self._exit_fd = _exit_fd(process.pid)
        self._poll = select.poll()
        for fd in (*self._readers, self._stdin.fileno()):
            os.set_blocking(fd, False)
        for fd in (*self._readers, cancel_fd, *([self._exit_fd] if self._exit_fd is not None else [])):
            self._poll.register(fd, select.POLLIN)
        self._poll.register(self._stdin.fileno(), select.POLLOUT)
        self._feed()

    def until_ended(self, deadline: float) -> str:
        """exited, timeout or cancelled; the process has ended in every case, its group may have members left."""
        try:
            why = self._until(deadline)
            if why != "exited":
                self._poll.unregister(self._cancel_fd)
                self._stop()
            self._drain()
            return why
        finally:
            if self._exit_fd is not None:
                os.close(self._exit_fd)

    def _until(self, deadline: float) -> str:
        while True:
            ready = self._wait(deadline)
            if self._cancel_fd in ready:
                return "cancelled"
            if self._has_exited(ready):
                return "exited"
            if time.monotonic() >= deadline:
                return "timeout"

    def _wait(self, deadline: float) -> set[int]:
        """Wait for something to do, do what concerns the pipes, and say which descriptors were ready."""
        left = max(0.0, deadline - time.monotonic())
        if self._exit_fd is None:
            left = min(left, _POLL_WITHOUT_PIDFD)
        ready = {fd for fd, _ in self._poll.poll(left * 1000 + 0.5)}
        for fd in self._readers.keys() & ready:
            self._read(fd)
        if not self._stdin.closed and self._stdin.fileno() in ready:
            self._feed()
        return ready

    def _has_exited(self, ready: set[int]) -> bool:
        if self._exit_fd is None:
            return self.process.poll() is not None
        return self._exit_fd in ready

    def _stop(self) -> None:
        """TERM to the group, a grace in which it may still speak, then KILL."""
        _signal_group(self.process.pid, signal.SIGTERM)
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            if self._has_exited(self._wait(end)):
                return
        _signal_group(self.process.pid, signal.SIGKILL)

    def _drain(self) -> None:
        """Read what is left in the pipes; a helper that holds one open is waited for only a moment."""
        if self._exit_fd is not None:
            self._poll.unregister(self._exit_fd)
        for fd in list(self._readers):
            self._read_what_is_there(fd)
        end = time.monotonic() + DRAIN
        while self._readers and time.monotonic() < end:
            self._wait(end)

    def _read_what_is_there(self, fd: int) -> None:
        """All that the agent itself can have left in a pipe, however late this machine comes to it."""
        for _ in range(_MOST_IN_A_PIPE // _CHUNK + 1):
            if not self._read(fd):
                return

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
        if not self._unsent:
            self._poll.unregister(self._stdin.fileno())
            self._stdin.close()


def _exit_fd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process exits, where the platform has one (Linux 5.3)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the group while the leader, not yet reaped, still keeps its number; then reap it."""
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
