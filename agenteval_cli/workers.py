"""A worker: one agent process that answers many requests, a line for a line, as the jsonl protocol has it.

It is started, watched and ended with the same care as every other agent (process.py). What is new here is that it
stays, so that it can fall out of step: what it prints that nobody asked for is told, never taken for an answer.
"""

from __future__ import annotations

import time

import msgspec

from agenteval_cli.process import MAX_STDERR, MAX_STDOUT, Command, Processes, how_it_ended
from agenteval_cli.pump import DRAIN, Pump

ANSWERED = "answered"
TIMEOUT = "timeout"
EXITED = "exited"  # the process is gone
CLOSED = "closed"  # the process lives, but closed the pipe that the request or the answer needs
CANCELLED = "cancelled"
TOO_MUCH = "too_much"  # a line longer than MAX_STDOUT
STRAY = "stray"  # it had printed a line before this request was sent

_PATIENCE = 0.5  # seconds a worker in order may take to end by itself once its stdin is closed


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How one request ended. After any `why` but answered, or with `stray`, the worker is of no more use: end it.

    `line` is the answer without its line end, or as much of one as came. `stray` is what was printed besides the
    answer and would have been taken for the next one. `stderr` is what came since the answer before, its last
    MAX_STDERR bytes; `stderr_size` counts all of it. `sent` is False where the worker was unfit before it was given any
    byte of the request, which is then as good as new. `exit_code` or `signal` is set where the worker exited.
    """

    why: str
    line: bytes
    seconds: float
    stderr: bytes
    stderr_size: int
    stray: bytes = b""
    sent: bool = True
    exit_code: int | None = None
    signal: int | None = None

    @property
    def in_step(self) -> bool:
        """Whether the worker may be given another request."""
        return self.why == ANSWERED and not self.stray


class Worker:
    """One running worker, for one thread. Its owner must end it, whatever became of it.

    Of the command, `stdin` and `seconds` have no meaning here. Raises what Processes.start raises.
    """

    def __init__(self, processes: Processes, command: Command) -> None:
        self.answered = 0  # requests so far
        self._processes = processes
        self._process = processes.start(command)
        self._line = _Line(MAX_STDOUT)
        self._stderr = _Tail(MAX_STDERR)
        self._pump = Pump(self._process, self._line, self._stderr, processes.cancel)
        self._in_step = True

    @property
    def pid(self) -> int:
        return self._process.pid

    def send_and_wait(self, line: bytes, seconds: float) -> Answer:
        """Send one line (its line end is added) and wait for one, at most so many seconds."""
        began = time.monotonic()
        unfit = self._unfit()
        if unfit is None:
            self._pump.send(line + b"\n", last=False)
            why = self._until(began + seconds)
        else:
            why = unfit
        answer = self._told(why, began, sent=unfit is None)
        self.answered += answer.why == ANSWERED
        self._in_step = answer.in_step
        return answer

    def end(self) -> None:
        """Close stdin, give a worker in order a moment to end by itself, then TERM and KILL for its group."""
        if self._process.returncode is not None:
            return
        try:
            self._pump.discard_from_now_on()
            if not self._pump.ends_by_itself(_PATIENCE if self._in_step else 0.0):
                self._pump.stop()
        finally:
            self._let_go()

    def _unfit(self) -> str | None:
        """Why this worker cannot be given a request."""
        ready = self._pump.wait(0.0)
        if self._line.is_whole():
            return STRAY
        if self._line.is_too_long():
            return TOO_MUCH
        if self._pump.is_cancelled(ready):
            return CANCELLED
        if self._pump.has_exited(ready):
            self._pump.drain()
            return EXITED
        return None if self._pump.is_open else CLOSED

    def _until(self, deadline: float) -> str:
        while True:
            if not self._pump.is_open:
                return self._with_a_pipe_closed(deadline)
            why = self._why(self._pump.wait(deadline))
            if why is not None:
                return why
            if time.monotonic() >= deadline:
                return TIMEOUT

    def _why(self, ready: set[int]) -> str | None:
        if self._line.is_whole():
            return ANSWERED
        if self._line.is_too_long():
            return TOO_MUCH
        if self._pump.has_exited(ready):
            self._pump.drain()
            return ANSWERED if self._line.is_whole() else EXITED
        return CANCELLED if self._pump.is_cancelled(ready) else None

    def _with_a_pipe_closed(self, deadline: float) -> str:
        """A process that ends closes its pipes a moment before."""
        end = min(deadline, time.monotonic() + DRAIN)
        while time.monotonic() < end:
            why = self._why(self._pump.wait(end))
            if why is not None:
                return why
        return CLOSED

    def _told(self, why: str, began: float, *, sent: bool) -> Answer:
        self._pump.read_what_is_there()  # stderr that was written before the answer
        line, stray = (b"", self._line.all()) if why == STRAY else self._line.taken()
        if len(line) > MAX_STDOUT:
            why, line = TOO_MUCH, line[:MAX_STDOUT]
        stderr, stderr_size = self._stderr.taken()
        if why == EXITED:
            self._let_go()
        exit_code, number = how_it_ended(self._process)
        return Answer(
            why=why,
            line=line,
            seconds=time.monotonic() - began,
            stderr=stderr,
            stderr_size=stderr_size,
            stray=stray,
            sent=sent,
            exit_code=exit_code,
            signal=number,
        )

    def _let_go(self) -> None:
        self._pump.close()
        self._processes.end(self._process)


class _Line:
    """What was printed: a line, as soon as it is whole, and what follows it. Blank lines count for nothing."""

    def __init__(self, cap: int) -> None:
        self._kept = bytearray()
        self._searched = 0
        self._end = -1
        self._cap = cap

    def take(self, chunk: bytes) -> None:
        self._kept += chunk

    def is_whole(self) -> bool:
        while self._end < 0:
            end = self._kept.find(b"\n", self._searched)
            if end < 0:
                self._searched = len(self._kept)
                return False
            if self._kept[:end].strip():
                self._end = end
            else:
                del self._kept[: end + 1]
                self._searched = 0
        return True

    def is_too_long(self) -> bool:
        return len(self._kept) > self._cap

    def taken(self) -> tuple[bytes, bytes]:
        """The line, or what there is of it, and the whole lines that follow it. What else follows begins the next."""
        if not self.is_whole():
            return self.all(), b""
        line = bytes(self._kept[: self._end]).removesuffix(b"\r")
        del self._kept[: self._end + 1]
        self._end, self._searched = -1, 0
        return line, self.all() if self.is_whole() else b""

    def all(self) -> bytes:
        kept = bytes(self._kept)
        self._kept.clear()
        self._end, self._searched = -1, 0
        return kept


class _Tail:
    """The last `cap` bytes of what was taken, and the size of all of it."""

    def __init__(self, cap: int) -> None:
        self._kept = bytearray()
        self._size = 0
        self._cap = cap

    def take(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * self._cap:
            del self._kept[: -self._cap]

    def taken(self) -> tuple[bytes, int]:
        told = bytes(self._kept[-self._cap :]), self._size
        self._kept.clear()
        self._size = 0
        return told
