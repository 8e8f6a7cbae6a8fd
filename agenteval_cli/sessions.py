"""How an agent is asked, turn by turn, in one attempt: a process for each turn, or a worker that stays.

Both answer a request with an Ending. The folder an agent works in is empty at first and gone afterwards.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from agenteval_cli import workers
from agenteval_cli.endings import AgentFault, Answered, Cancelled, Ending, Facts, HarnessFault, TimedOut
from agenteval_cli.phrases import as_text
from agenteval_cli.process import MAX_STDOUT, Command, Ended, NotStartedError, Processes
from agenteval_cli.protocols import PROTOCOLS, UnreadableAnswerError
from agenteval_cli.task import Task
from agenteval_cli.trace_places import TracePlace, trace_place
from agenteval_cli.worker_pool import WorkerPool
from agenteval_cli.workers import Answer
from agenteval_cli.workplaces import files_left

if TYPE_CHECKING:
    from agenteval_cli.otlp_receiver import OtlpReceiver
    from agenteval_cli.tool_server import ToolServer

MAX_ARGUMENT = 128 * 1024 - 1  # bytes of one argument: MAX_ARG_STRLEN on Linux
KEPT_OF_TOO_MUCH = 64 * 1024
KEPT_WITHOUT_ANSWER = 1024 * 1024


class Means(msgspec.Struct, frozen=True):
    """What a run has to execute attempts with; the receiver where some agent sends its transcript as spans."""

    processes: Processes
    pool: WorkerPool
    receiver: OtlpReceiver | None = None
    tools: ToolServer | None = None


class Session(Protocol):
    """One attempt's talk with its agent."""

    def ask(self, request: Mapping[str, Any], seconds: float) -> Ending:
        """What became of one request that may take so many seconds. Raises OSError where this machine is at fault."""
        ...

    def close(self) -> None:
        """Leave nothing behind. Never raises."""
        ...


class ProcessSession:
    """text and json: every turn starts the command, in the attempt's own folder."""

    def __init__(self, task: Task, means: Means) -> None:
        self._task = task
        self._means = means
        self._folder = means.processes.new_folder()
        try:
            _lay_out(task.files, self._folder)
        except OSError:
            self.close()
            raise

    def ask(self, request: Mapping[str, Any], seconds: float) -> Ending:
        with trace_place(
            self._task.transcript_from, request["attempt"], self._means.receiver, self._means.processes
        ) as place:
            return self._asked({**request, **place.in_request}, seconds, place)

    def _asked(self, request: Mapping[str, Any], seconds: float, place: TracePlace) -> Ending:
        text = as_text(request["input"])
        argv = tuple(part.replace("{input}", text) for part in self._task.argv)
        if argv != self._task.argv and (why := _not_an_argument(text, argv)):
            return HarnessFault(f"{why} for {{input}} in argv; let the agent read stdin")
        protocol = PROTOCOLS[self._task.protocol]
        env = {**self._task.env, **_told(request), **self._task.own_env, **place.env}
        try:
            ended = self._means.processes.run(Command(argv, env, self._folder, protocol.stdin(request), seconds))
        except NotStartedError as error:
            return AgentFault(Facts(), str(error))
        return self._ending(ended, seconds, place)

    def close(self) -> None:
        self._means.processes.remove_folder(self._folder)

    def _ending(self, ended: Ended, seconds: float, place: TracePlace) -> Ending:
        whole = _facts(ended)
        facts = msgspec.structs.replace(whole, stdout=whole.stdout[:KEPT_WITHOUT_ANSWER])
        if ended.why == "cancelled":
            return Cancelled(facts)
        if ended.why == "timeout":
            return TimedOut(facts, seconds)
        if ended.exit_code != 0:
            return AgentFault(facts, _crash(ended))
        if ended.stdout_size > MAX_STDOUT:
            return _too_much(facts)
        ending = _read(self._task, ended.stdout, whole, place)
        if self._task.look and isinstance(ending, Answered):
            transcript = msgspec.structs.replace(ending.transcript, files=files_left(self._folder))
            return msgspec.structs.replace(ending, transcript=transcript)
        return ending


def _not_an_argument(text: str, argv: Sequence[str]) -> str | None:
    """Why a text cannot be handed over in these arguments; None where it can."""
    if "\0" in text:
        return "the input has a NUL character, which is not possible"
    if max(len(part.encode()) for part in argv) > MAX_ARGUMENT:
        return f"the input has {len(text.encode()):,} bytes, too long"
    return None


class WorkerSession:
    """jsonl: a worker of the pool answers, turn after turn, and goes back to it while it is in step."""

    def __init__(self, task: Task, means: Means) -> None:
        self._task = task
        self._means = means
        self._lease = means.pool.lease(task)

    def ask(self, request: Mapping[str, Any], seconds: float) -> Ending:
        with trace_place(self._task.transcript_from, request["attempt"], None, self._means.processes) as place:
            return self._asked({**request, **place.in_request}, seconds, place)

    def _asked(self, request: Mapping[str, Any], seconds: float, place: TracePlace) -> Ending:
        line = PROTOCOLS[self._task.protocol].stdin(request).rstrip(b"\n")
        try:
            return self._lease.ask(line, seconds, lambda answer: self._ending(request, answer, seconds, place))
        except NotStartedError as error:
            return AgentFault(Facts(), str(error))

    def close(self) -> None:
        self._lease.close()

    def _ending(self, request: Mapping[str, Any], answer: Answer, seconds: float, place: TracePlace) -> Ending:
        facts = _facts_of_answer(answer)
        match answer.why:
            case workers.ANSWERED if _named_in(answer.line) not in (None, request["attempt"]):
                return AgentFault(facts, "the agent answered another attempt than the one it was asked for")
            case workers.ANSWERED if not answer.stray:
                return _read(self._task, answer.line, facts, place)
            case workers.TIMEOUT:
                return TimedOut(facts, seconds)
            case workers.CANCELLED:
                return Cancelled(facts)
            case workers.TOO_MUCH:
                return _too_much(facts)
        return AgentFault(facts, _out_of_step(answer))


def session_for(task: Task, means: Means) -> Session:
    """How this task's agent is asked. Raises OSError where there is no room for its folder."""
    return WorkerSession(task, means) if task.protocol == "jsonl" else ProcessSession(task, means)


def _lay_out(files: Mapping[str, str], folder: str) -> None:
    for name, source in files.items():
        target = Path(folder, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _told(request: Mapping[str, Any]) -> dict[str, str]:
    """The same facts in the environment. The attempt's opaque name is its trace ID."""
    return {
        "AGENTEVAL_DEADLINE": request["deadline"],
        "AGENTEVAL_SEED": str(request["seed"]),
        "TRACEPARENT": f"00-{request['attempt']}-{os.urandom(8).hex()}-01",
    }


def _read(task: Task, raw: bytes, facts: Facts, place: TracePlace) -> Ending:
    try:
        return Answered(facts, place.answer(raw, task.protocol, task.transcript_format))
    except UnreadableAnswerError as error:
        return AgentFault(facts, str(error))


def _too_much(facts: Facts) -> AgentFault:
    words = f"the agent printed {facts.stdout_size:,} bytes; the limit is {MAX_STDOUT:,}"
    return AgentFault(msgspec.structs.replace(facts, stdout=facts.stdout[:KEPT_OF_TOO_MUCH]), words)


def _crash(ended: Ended | Answer) -> str:
    if ended.signal is not None:
        return f"the agent was killed by {_signal_name(ended.signal)}"
    last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    said = f"; it said: {last[0][:300]}" if last else ""
    return f"the agent exited with code {ended.exit_code}{said}"


def _signal_name(number: int) -> str:
    """SIGKILL and the like; most real-time signals have no name."""
    from signal import Signals

    return Signals(number).name if number in set(Signals) else f"signal {number}"


def _out_of_step(answer: Answer) -> str:
    """Why a worker's answer is none."""
    if answer.why == workers.ANSWERED:
        words = f"the agent printed more than one line for one request: {_shown(answer.stray)}"
        return f"{words}; logs belong on stderr"
    if answer.why == workers.STRAY:
        return f"the agent printed before it was asked: {_shown(answer.stray)}"
    if answer.why == workers.CLOSED:
        return "the agent closed its stdout and did not answer"
    return _crash(answer)


class _Named(msgspec.Struct, frozen=True):
    attempt: str | None = None


def _named_in(line: bytes) -> str | None:
    """The attempt that an answer names; None where it names none, or is no answer in our own form."""
    if b'"attempt"' not in line:
        return None
    try:
        return msgspec.json.decode(line, type=_Named).attempt
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _shown(raw: bytes) -> str:
    return repr(raw[:60].decode("utf-8", "replace"))


def _facts(ended: Ended) -> Facts:
    return Facts(
        seconds=ended.seconds,
        exit_code=ended.exit_code,
        signal=ended.signal,
        stdout=ended.stdout,
        stderr=ended.stderr,
        stdout_size=ended.stdout_size,
        stderr_size=ended.stderr_size,
    )


def _facts_of_answer(answer: Answer) -> Facts:
    return Facts(
        seconds=answer.seconds,
        exit_code=answer.exit_code,
        signal=answer.signal,
        stdout=answer.line,
        stderr=answer.stderr,
        stdout_size=len(answer.line),
        stderr_size=answer.stderr_size,
    )
