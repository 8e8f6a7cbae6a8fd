"""One attempt, executed: plain serialisable values in, an Ending out, so that another machine could do it."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli.endings import AgentFault, Answered, Cancelled, Ending, Facts, HarnessFault, TimedOut
from agenteval_cli.process import MAX_STDOUT, Command, Ended, NotStartedError, Processes
from agenteval_cli.protocols import PROTOCOLS, UnreadableAnswerError
from agenteval_cli.protocols.text_protocol import as_text

MAX_ARGUMENT = 128 * 1024 - 1  # bytes of one argument: MAX_ARG_STRLEN on Linux
_KEPT_OF_TOO_MUCH = 64 * 1024


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """All that an attempt needs. `files` maps names in the attempt's folder to the files they are copied from."""

    request: dict[str, Any]
    argv: tuple[str, ...]
    env: dict[str, str]
    protocol: str
    seconds: float
    files: dict[str, str]


def deadline_in(seconds: float) -> str:
    """The moment so many seconds from now, UTC as RFC 3339."""
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def execute(task: Task, processes: Processes) -> Ending:
    """Run the agent once, in an empty folder that is gone afterwards."""
    try:
        folder = tempfile.mkdtemp(prefix="agenteval-")
    except OSError as error:
        return HarnessFault(f"no working folder for the attempt: {error.strerror}: {error.filename}")
    try:
        _lay_out(task.files, folder)
        return _executed(task, folder, processes)
    except OSError as error:
        return HarnessFault(f"{error.strerror}: {error.filename}" if error.filename else str(error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lay_out(files: Mapping[str, str], folder: str) -> None:
    for name, source in files.items():
        target = Path(folder, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _executed(task: Task, folder: str, processes: Processes) -> Ending:
    protocol = PROTOCOLS[task.protocol]
    text = as_text(task.request["input"])
    if any("{input}" in part for part in task.argv) and len(text.encode()) > MAX_ARGUMENT:
        words = f"the input has {len(text.encode()):,} bytes, too long for {{input}} in argv; let the agent read stdin"
        return HarnessFault(words)
    argv = tuple(part.replace("{input}", text) for part in task.argv)
    env = {**task.env, **_told(task.request)}
    command = Command(argv, env, folder, protocol.stdin(task.request), task.seconds)
    try:
        ended = processes.run(command)
    except NotStartedError as error:
        return AgentFault(Facts(), str(error))
    return _ending(task, ended)


def _told(request: Mapping[str, Any]) -> dict[str, str]:
    """The same facts in the environment. The attempt's opaque name is its trace ID."""
    return {
        "AGENTEVAL_DEADLINE": request["deadline"],
        "AGENTEVAL_SEED": str(request["seed"]),
        "TRACEPARENT": f"00-{request['attempt']}-{os.urandom(8).hex()}-01",
    }


def _ending(task: Task, ended: Ended) -> Ending:
    facts = _facts(ended)
    if ended.why == "cancelled":
        return Cancelled(facts)
    if ended.why == "timeout":
        return TimedOut(facts, task.seconds)
    if ended.exit_code != 0:
        return AgentFault(facts, _crash(ended))
    if ended.stdout_size > MAX_STDOUT:
        words = f"the agent printed {ended.stdout_size:,} bytes; the limit is {MAX_STDOUT:,}"
        return AgentFault(msgspec.structs.replace(facts, stdout=facts.stdout[:_KEPT_OF_TOO_MUCH]), words)
    try:
        transcript = PROTOCOLS[task.protocol].read(ended.stdout)
    except UnreadableAnswerError as error:
        return AgentFault(facts, str(error))
    return Answered(facts, transcript)


def _crash(ended: Ended) -> str:
    if ended.signal is not None:
        from signal import Signals

        return f"the agent was killed by {Signals(ended.signal).name}"
    last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    said = f"; it said: {last[0][:300]}" if last else ""
    return f"the agent exited with code {ended.exit_code}{said}"


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
