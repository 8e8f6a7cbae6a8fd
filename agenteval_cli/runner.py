"""Runs a plan: a crew executes and grades attempts, one writer keeps them, and every way out leaves nothing running.

plan → (task → ending → verdict → records) in the crew's threads → writer, in the calling thread → watcher
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from agenteval_cli.agents import ReadyAgent
from agenteval_cli.attempt_records import Records
from agenteval_cli.cast import Cast
from agenteval_cli.crew import Crew
from agenteval_cli.judging import Court, Judges
from agenteval_cli.orphans import Guardian, adopt_orphans
from agenteval_cli.phrases import count
from agenteval_cli.process import Cancel, Processes
from agenteval_cli.recordings import are_replayed
from agenteval_cli.records import FINISHED, INTERRUPTED, RUN_FORMAT, RUNNING, AttemptRecord, RunRecord
from agenteval_cli.redaction import Redactor
from agenteval_cli.replays import Recordings
from agenteval_cli.repository import LoadedCase
from agenteval_cli.run_writer import RunWriter
from agenteval_cli.schedule import Agenda, Brakes, Budget, jobs_of
from agenteval_cli.sessions import Means
from agenteval_cli.signals import signals_cancel
from agenteval_cli.statuses import GRADED
from agenteval_cli.summary import RunSummary, Sums, counted
from agenteval_cli.trying import Work, now
from agenteval_cli.users import user_for
from agenteval_cli.watching import Watcher
from agenteval_cli.worker_pool import WorkerPool

if TYPE_CHECKING:
    from agenteval_cli.otlp_receiver import OtlpReceiver
    from agenteval_cli.tool_server import ToolServer

_KEPT_AT_ONCE = 200  # attempts of an earlier run that are held while they are written


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to run: a run's record with its plan, and what it needs, by name.

    `earlier` has the attempts that the run has already where it is gone on with, None for a new one. `kept` are
    attempts of another run that still hold; they are written first. `recordings` has the words of another run's users
    where they are replayed. `shuffle` is the seed of the order, or None.
    """

    record: RunRecord
    folder: Path
    cases: Mapping[str, LoadedCase]
    agents: Mapping[str, ReadyAgent]
    root: Path
    earlier: tuple[AttemptRecord, ...] | None = None
    kept: Iterable[Records] = ()
    concurrency: int | None = None
    retries: int = 0
    budget: Budget = Budget()
    shuffle: int | None = None
    redact: tuple[str, ...] = ()
    court: Court = Court()
    cast: Cast = Cast()
    recordings: Recordings = MappingProxyType({})


class Ended(msgspec.Struct, frozen=True):
    """A run as it is on disk: its record, its sums, its folder."""

    record: RunRecord
    summary: RunSummary
    folder: str


def run(order: Order, watcher: Watcher) -> Ended:
    """Run what is missing of the plan; the status is interrupted where a signal stopped it.

    Each attempt is on disk before the watcher hears of it. Raises IncompleteError where the run cannot be written,
    UsageError where another process writes it.
    """
    writer = _opened(order)
    cancel = Cancel()
    try:
        with signals_cancel(cancel):
            watcher.start(order.record)
            record, sums = _run(order, writer, cancel, watcher)
            ended = _ended(record, sums, interrupted=cancel.requested)
            writer.replace(ended)
    finally:
        watcher.close()
        cancel.close()
        writer.close()
    return Ended(ended, sums.summary(ended), str(writer.folder))


def _opened(order: Order) -> RunWriter:
    if order.earlier is None:
        return RunWriter.create(order.folder, order.record)
    writer = RunWriter.reopen(order.folder, len(order.earlier))
    writer.replace(order.record)
    return writer


def _run(order: Order, writer: RunWriter, cancel: Cancel, watcher: Watcher) -> tuple[RunRecord, Sums]:
    """Write what is known already, then execute the rest. Returns the record with what stopped it, and the sums."""
    sums = Sums()
    brakes = Brakes(order.budget, order.record.plan)
    done = set()
    counts = counted(order.earlier or ())
    for attempt in (*(order.earlier or ()), *_kept(order, writer)):
        key = attempt.case, attempt.attempt
        sums.add(attempt)
        brakes.seen(attempt, retried=counts.get(key, attempt) is not attempt)
        if attempt.status in GRADED:
            done.add(key)
            watcher.attempt(attempt)
    agenda = Agenda(jobs_of(order.record.plan, done, order.shuffle), brakes.why)
    apart = []
    for attempt in _executed(order, agenda, brakes, writer, cancel, watcher):
        sums.add(attempt)
        watcher.attempt(attempt)
        if attempt.replay is not None and attempt.replay.apart_at is not None:
            apart.append((attempt.replay.apart_at, attempt.case, attempt.attempt))
    if apart:
        turn, case, number = min(apart)
        words = f"from turn {turn} on in {case} #{number}; `agenteval show` tells both answers"
        watcher.note(
            f"in {count(len(apart), 'attempt')} the replayed words stopped fitting the answers, earliest {words}"
        )
    if brakes.without_cost:
        watcher.note(f"{brakes.without_cost} attempts reported no cost, which --budget-cost did not see")
    left = sum(agenda.sizes().values())
    return msgspec.structs.replace(order.record, stopped=brakes.why() if left else None), sums


def _kept(order: Order, writer: RunWriter) -> Iterator[AttemptRecord]:
    """The attempts of an earlier run that still hold, written down as this run's."""
    batch = []
    for records in order.kept:
        batch.append(records)
        if len(batch) == _KEPT_AT_ONCE:
            yield from writer.append(batch)
            batch.clear()
    yield from writer.append(batch)


def _executed(
    order: Order, agenda: Agenda, brakes: Brakes, writer: RunWriter, cancel: Cancel, watcher: Watcher
) -> Iterator[AttemptRecord]:
    """The attempts of the agenda as they end, each on disk before it is told of."""
    mark = secrets.token_hex(8)
    guardian = Guardian(f"TRACEPARENT=00-{mark}")
    adopt_orphans()
    processes = Processes(guardian, cancel)
    receiver = _receiver(order.agents.values())
    tools = _tools(order, guardian)
    agents = order.agents.values()
    of_agents = (value for agent in agents for value in agent.secrets)
    redactor = Redactor((*order.court.secrets, *order.cast.secrets, *of_agents), order.redact)
    judges = Judges(order.court, processes, redactor)
    users = {name: user_for(ready, processes, redactor) for name, ready in order.cast.users.items()}
    try:
        work = Work(
            cases=order.cases,
            agents=order.agents,
            root=order.root,
            seed=order.record.seed,
            mark=mark,
            concurrency=order.concurrency,
            retries=order.retries,
            means=Means(processes, WorkerPool(processes, mark), receiver, tools),
            redactor=redactor,
            watcher=watcher,
            judges=judges,
            users=users,
            recordings=order.recordings,
        )
        for batch in Crew(work, agenda, brakes):
            yield from writer.append(batch)
    finally:
        judges.close()
        for user in users.values():
            user.close()
        if receiver is not None:
            receiver.close()
        if tools is not None:
            tools.stop()
        guardian.dismiss()


def _tools(order: Order, guardian: Guardian) -> ToolServer | None:
    """A started tool server where some case has recorded tools. After the guardian, which must fork first."""
    if not any(are_replayed(loaded.case.data.get("tools", ())) for loaded in order.cases.values()):
        return None
    from agenteval_cli.tool_server import ToolServer

    server = ToolServer(order.root, groups=guardian, folder=guardian.folder)
    server.start()
    return server


def _receiver(agents: Iterable[ReadyAgent]) -> OtlpReceiver | None:
    """A started receiver where some agent sends its transcript as spans. After the guardian, which must fork first."""
    if all(agent.agent.transcript_from != "otlp" for agent in agents):
        return None
    from agenteval_cli.otlp_receiver import OtlpReceiver

    receiver = OtlpReceiver()
    receiver.start()
    return receiver


def _ended(record: RunRecord, sums: Sums, *, interrupted: bool) -> RunRecord:
    status = INTERRUPTED if interrupted else FINISHED
    ended = msgspec.structs.replace(record, status=status, finished_at=now())
    return msgspec.structs.replace(ended, counts=sums.summary(ended).statuses)


def begun_again(record: RunRecord) -> RunRecord:
    """The record of a run that is gone on with."""
    return msgspec.structs.replace(
        record,
        format=RUN_FORMAT,
        status=RUNNING,
        finished_at=None,
        stopped=None,
        counts={},
        resumed_at=(*record.resumed_at, now()),
    )
