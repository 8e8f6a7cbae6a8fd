"""Runs a plan: workers execute and grade attempts, one writer keeps them, and every way out leaves nothing running.

    plan → (task → ending → verdict → records) in worker threads → writer, in the calling thread → on_attempt

Threads, not asyncio: an attempt waits in poll() on its own pipes, which costs a tenth of asyncio's start-up and lets
the writer stay a plain loop (docs/decisions.md).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import platform
import queue
import secrets
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli import __version__
from agenteval_cli.agents import ReadyAgent
from agenteval_cli.attempt import Task, deadline_in, execute
from agenteval_cli.endings import Answered, Ending, Facts, HarnessFault
from agenteval_cli.git import GitState
from agenteval_cli.grading import verdict_on
from agenteval_cli.orphans import Guardian, adopt_orphans
from agenteval_cli.process import Cancel, Processes
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    FINISHED,
    INTERRUPTED,
    RUNNING,
    TRANSCRIPT_FORMAT,
    AgentRecord,
    AttemptRecord,
    PlannedCase,
    Platform,
    RunRecord,
    TranscriptPlace,
    TranscriptRecord,
    raw_output,
)
from agenteval_cli.redaction import Redactor
from agenteval_cli.repository import LoadedCase
from agenteval_cli.requests import request_for
from agenteval_cli.store import Run, RunWriter, new_run_id, read_run
from agenteval_cli.summary import summary_of

SWEEP_EVERY = 1.0
_STDERR_TAIL = 2000
_NOWHERE = TranscriptPlace(0, 0)
Records = tuple[AttemptRecord, TranscriptRecord]


class Order(msgspec.Struct, frozen=True):
    """What to run: the plan, its cases by ID, its agents by name, and where the run is to be kept."""

    plan: tuple[PlannedCase, ...]
    not_selected: tuple[str, ...]
    cases: Mapping[str, LoadedCase]
    agents: Mapping[str, ReadyAgent]
    root: Path
    runs: Path
    git: GitState
    seed: int
    min_pass_rate: float
    redact: tuple[str, ...] = ()


def run(order: Order, on_start: Callable[[RunRecord], None], on_attempt: Callable[[AttemptRecord], None]) -> Run:
    """Run the plan and return the run as it is on disk; its status is interrupted where a signal stopped it.

    Each attempt is on disk before `on_attempt` hears of it. Raises IncompleteError where the run cannot be written.
    """
    record = _new_record(order)
    writer = RunWriter(order.runs / record.id, record)
    mark = secrets.token_hex(8)
    guardian = Guardian(f"TRACEPARENT=00-{mark}")
    adopt_orphans()
    cancel = Cancel()
    try:
        on_start(record)
        with _signals_cancel(cancel):
            _work_off(order, writer, Processes(guardian, cancel), mark, on_attempt)
        ended = read_run(writer.folder)
        writer.replace(_ended(ended, interrupted=cancel.requested))
    finally:
        guardian.dismiss()
        cancel.close()
        writer.close()
    return read_run(writer.folder)


def _work_off(
    order: Order, writer: RunWriter, processes: Processes, mark: str, on_attempt: Callable[[AttemptRecord], None]
) -> None:
    """Start the workers of every agent, write what they finish, and wait for all of them, whatever happens."""
    redactor = Redactor((value for agent in order.agents.values() for value in agent.secrets), order.redact)
    done: queue.SimpleQueue[Records | BaseException | None] = queue.SimpleQueue()
    workers = list(_workers(order, processes, mark, redactor, done))
    for worker in workers:
        worker.start()
    try:
        for batch in _batches(done, len(workers), processes.sweep):
            for attempt in writer.append(batch):
                on_attempt(attempt)
    except BaseException:
        processes.cancel.request()
        raise
    finally:
        for worker in workers:
            worker.join()
        processes.sweep()


def _batches(done: queue.SimpleQueue[Any], workers: int, idle: Callable[[], None]) -> Iterator[list[Records]]:
    """What the workers finish, all that is there at once, until each of them has said that it is done."""
    swept = time.monotonic()
    while workers:
        batch = []
        with contextlib.suppress(queue.Empty):
            item = done.get(timeout=SWEEP_EVERY)
            while True:
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    workers -= 1
                else:
                    batch.append(item)
                item = done.get_nowait()
        yield batch
        if time.monotonic() - swept > SWEEP_EVERY:
            idle()
            swept = time.monotonic()


def _workers(
    order: Order, processes: Processes, mark: str, redactor: Redactor, done: queue.SimpleQueue[Any]
) -> Iterator[threading.Thread]:
    """As many threads for each agent as it may have attempts at once, all taking from that agent's list."""
    for name, jobs in _jobs(order.plan).items():
        agent = order.agents[name]
        todo = iter(jobs)
        lock = threading.Lock()

        def work(agent: ReadyAgent = agent, todo: Iterator[tuple[PlannedCase, int]] = todo, lock: Any = lock) -> None:
            try:
                while not processes.cancel.requested:
                    with lock:
                        job = next(todo, None)
                    if job is None:
                        break
                    done.put(_attempted(order, agent, *job, processes, mark, redactor))
            except BaseException as error:  # noqa: BLE001  # a bug of ours must stop the run, not a thread
                done.put(error)
            finally:
                done.put(None)

        for _ in range(min(agent.agent.concurrency, len(jobs))):
            yield threading.Thread(target=work)


def _jobs(plan: tuple[PlannedCase, ...]) -> dict[str, list[tuple[PlannedCase, int]]]:
    """The attempts of each agent, spread out: the first of every case, then the second of every case."""
    jobs: dict[str, list[tuple[PlannedCase, int]]] = defaultdict(list)
    for number in range(1, max(planned.attempts for planned in plan) + 1):
        for planned in plan:
            if number <= planned.attempts:
                jobs[planned.agent].append((planned, number))
    return jobs


def _attempted(
    order: Order,
    agent: ReadyAgent,
    planned: PlannedCase,
    number: int,
    processes: Processes,
    mark: str,
    redactor: Redactor,
) -> Records:
    """Execute and grade one attempt."""
    loaded = order.cases[planned.case]
    seed = attempt_seed(order.seed, planned.case, number)
    timeout = loaded.case.limits.timeout
    seconds = agent.agent.timeout if timeout is None else timeout
    request = request_for(loaded.case, mark + secrets.token_hex(8), seed, deadline_in(seconds))
    task = Task(
        request=request,
        argv=agent.argv,
        env=agent.env,
        protocol=agent.agent.protocol,
        seconds=seconds,
        files={name: str(order.root / name) for name in loaded.case.files},
    )
    started_at = _now()
    ending = execute(task, processes)
    processes.has_ended(request["attempt"])
    attempt = _attempt_record(loaded, number, seed, started_at, ending, agent)
    transcript = _transcript_record(planned.case, number, request, ending)
    return _masked(attempt, redactor), _masked(transcript, redactor)


def attempt_seed(run_seed: int, case: str, number: int) -> int:
    """The seed an attempt is told: the same for the same run seed, case and number, 31 bits."""
    raw = hashlib.sha256(f"{run_seed}:{case}:{number}".encode()).digest()
    return int.from_bytes(raw[:4], "big") >> 1


def _attempt_record(
    loaded: LoadedCase, number: int, seed: int, started_at: str, ending: Ending, agent: ReadyAgent
) -> AttemptRecord:
    verdict = verdict_on(loaded.case, ending)
    facts = Facts() if isinstance(ending, HarnessFault) else ending.facts
    return AttemptRecord(
        format=ATTEMPT_FORMAT,
        case=loaded.case.id,
        attempt=number,
        status=verdict.status,
        outcome=verdict.outcome,
        trajectory=verdict.trajectory,
        digests=loaded.digests,
        seed=seed,
        started_at=started_at,
        duration_ms=round(facts.seconds * 1000, 3),
        transcript=_NOWHERE,
        reason=verdict.reason,
        checks=verdict.checks,
        notes=tuple(_notes(ending, agent)),
        exit_code=facts.exit_code,
        signal=facts.signal,
        stderr_tail=facts.stderr[-_STDERR_TAIL:].decode("utf-8", "replace"),
        **_measured(ending),
    )


def _measured(ending: Ending) -> dict[str, Any]:
    """What the agent reported of itself; what it did not report stays unknown."""
    if not isinstance(ending, Answered):
        return {}
    transcript = ending.transcript
    usage = transcript.usage
    return {
        "latency_ms": transcript.latency_ms,
        "steps": transcript.steps,
        "tool_calls": None if transcript.tool_calls is None else len(transcript.tool_calls),
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "total_tokens": usage.total if usage else None,
        "cost": transcript.cost,
        "model": transcript.model,
    }


def _notes(ending: Ending, agent: ReadyAgent) -> Iterator[str]:
    """What a reader of the result should know that no check asked about."""
    if not isinstance(ending, Answered):
        return
    transcript = ending.transcript
    yield from transcript.notes
    if transcript.bytes_replaced:
        yield "the output has bytes that are not UTF-8; they are shown as U+FFFD and match nothing"
    pinned = agent.agent.pins.get("model")
    if pinned is not None and transcript.model is not None and transcript.model != pinned:
        yield f"the agent reports model '{transcript.model}', but its pin says '{pinned}'"


def _transcript_record(case: str, number: int, request: dict[str, Any], ending: Ending) -> TranscriptRecord:
    return TranscriptRecord(
        format=TRANSCRIPT_FORMAT,
        case=case,
        attempt=number,
        request=request,
        transcript=ending.transcript if isinstance(ending, Answered) else None,
        **({} if isinstance(ending, HarnessFault) else raw_output(ending.facts)),
    )


def _masked(record: Any, redactor: Redactor) -> Any:
    if not redactor.active:
        return record
    return msgspec.convert(redactor.value(msgspec.to_builtins(record)), type(record))


def _new_record(order: Order) -> RunRecord:
    return RunRecord(
        id=new_run_id(order.runs),
        tool_version=__version__,
        started_at=_now(),
        status=RUNNING,
        git=order.git,
        agents=tuple(_agent_record(agent) for agent in order.agents.values()),
        platform=Platform(platform.system(), platform.machine(), platform.python_version()),
        seed=order.seed,
        min_pass_rate=order.min_pass_rate,
        plan=order.plan,
        not_selected=order.not_selected,
    )


def _agent_record(ready: ReadyAgent) -> AgentRecord:
    agent = ready.agent
    return AgentRecord(agent.name, agent.command, agent.protocol, ready.digest, agent.pins)


def _ended(ended: Run, *, interrupted: bool) -> RunRecord:
    return msgspec.structs.replace(
        ended.record,
        status=INTERRUPTED if interrupted else FINISHED,
        finished_at=_now(),
        counts=summary_of(ended.record, ended.attempts).statuses,
    )


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextlib.contextmanager
def _signals_cancel(cancel: Cancel) -> Iterator[None]:
    """INT, TERM and HUP ask every agent to end; what has ended by then is kept."""
    before = {
        number: signal.signal(number, lambda *_: cancel.request())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
