"""The one module that starts agents: an argument list and no shell, in a session of its own, never left behind.

Both pipes are read at once up to a cap, input is fed while output is read, the deadline and a cancellation end the
whole process group (TERM, a grace, KILL), and what the agent said until then is kept.
"""

from __future__ import annotations

import errno
import signal
import subprocess
import threading
import time
from collections.abc import Mapping

import msgspec

from agenteval_cli.orphans import Guardian, Orphans
from agenteval_cli.pump import Cancel, Pump, signal_group
from agenteval_cli.workplaces import new_workplace, remove

__all__ = ["MAX_STDERR", "MAX_STDOUT", "Cancel", "Command", "Ended", "NotStartedError", "Processes", "how_it_ended"]

MAX_STDOUT = 16 * 1024 * 1024
MAX_STDERR = 1024 * 1024
_LONGEST_SWEEP = 1.0  # seconds, if what is killed leaves ever more behind
_SWEEP_AGAIN = 0.005
_NOT_STARTABLE = (errno.E2BIG, errno.ENOEXEC)  # arguments too long; not a program


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


class Processes:
    """The agents that are running now. One for a run; each call may come from a thread of its own."""

    def __init__(self, guardian: Guardian, cancel: Cancel) -> None:
        self.cancel = cancel
        self.live: set[int] = set()
        self.lock = threading.Lock()
        self._guardian = guardian
        self._orphans = Orphans(guardian)
        self._running: set[bytes] = set()

    def has_ended(self, trace_id: str) -> None:
        """Nothing of the attempt with this trace ID may be left running from now on."""
        with self.lock:
            self._running.discard(trace_id.encode())

    def sweep(self) -> None:
        """End and reap what left the group of an attempt that has ended."""
        end = time.monotonic() + _LONGEST_SWEEP
        while time.monotonic() < end:
            with self.lock:
                if not self._orphans.ended_some(self.live, self._running):
                    return
            time.sleep(_SWEEP_AGAIN)

    def new_folder(self) -> str:
        """A new, empty folder to work in. Raises OSError. It goes with the run, if nobody removes it before."""
        return new_workplace(self._guardian.folder)

    def remove_folder(self, folder: str) -> bool:
        """Remove a folder that an agent worked in; whether it is gone. Never raises."""
        return remove(folder)

    def run(self, command: Command) -> Ended:
        """Start the command, feed it, read it, and return when it and its group are gone.

        Raises NotStartedError where the program cannot be started, OSError where this machine has no room for one more.
        """
        began = time.monotonic()
        process = self.start(command)
        stdout, stderr = _Capped(MAX_STDOUT), _Capped(MAX_STDERR)
        try:
            why = _why_it_ended(Pump(process, stdout, stderr, self.cancel), command.stdin, began + command.seconds)
        finally:
            self.end(process)
        exit_code, number = how_it_ended(process)
        return Ended(
            why=why,
            exit_code=exit_code,
            signal=number,
            seconds=time.monotonic() - began,
            stdout=bytes(stdout.kept),
            stderr=bytes(stderr.kept),
            stdout_size=stdout.size,
            stderr_size=stderr.size,
        )

    def start(self, command: Command) -> subprocess.Popen[bytes]:
        """Start the command with three pipes, in a session of its own. Raises what `run` raises; `end` must follow."""
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
            self._running |= _trace_ids(command.env)
        self._guardian.watch(process.pid)
        return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill what is left of the group while the leader, not yet reaped, still keeps its number; then reap it."""
        signal_group(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        with self.lock:
            self.live.discard(process.pid)
        self._guardian.forget(process.pid)


def _trace_ids(env: Mapping[str, str]) -> set[bytes]:
    """The trace ID in the environment of an agent, which whatever it starts inherits."""
    return {part.encode() for part in env.get("TRACEPARENT", "").split("-")[1:2]}


def how_it_ended(process: subprocess.Popen[bytes]) -> tuple[int | None, int | None]:
    """The exit code or the number of the signal of a process; neither while it is not known to have ended."""
    code: int | None = process.returncode
    if code is None:
        return None, None
    return (code, None) if code >= 0 else (None, -code)


def _why_it_ended(pump: Pump, stdin: bytes, deadline: float) -> str:
    """exited, timeout or cancelled; the process has ended in every case, its group may have members left."""
    try:
        pump.send(stdin, last=True)
        why = _until(pump, deadline)
        if why != "exited":
            pump.stop()
        pump.drain()
        return why
    finally:
        pump.close()


def _until(pump: Pump, deadline: float) -> str:
    while True:
        ready = pump.wait(deadline)
        if pump.is_cancelled(ready):
            return "cancelled"
        if pump.has_exited(ready):
            return "exited"
        if time.monotonic() >= deadline:
            return "timeout"


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
