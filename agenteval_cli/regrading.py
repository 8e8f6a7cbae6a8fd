"""Grading without an agent: answers that are there already get their verdicts, and a run is made of them.

answer → (what programs and judges say of it) → verdict → records, in threads where somebody is asked → writer
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice

import msgspec
from msgspec.structs import replace

from agenteval_cli.agents import PASSED_TO_EVERY_AGENT
from agenteval_cli.attempt_records import Records
from agenteval_cli.case import Case
from agenteval_cli.checks import Told
from agenteval_cli.config import DEFAULT_CONCURRENCY
from agenteval_cli.criteria import criteria_of
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.forked import each, pieces_of
from agenteval_cli.graded_answers import Ask, Asked, Given, GradeOrder, Hands, Kept, graded_records
from agenteval_cli.grading import asked_of
from agenteval_cli.judgement import Judgement
from agenteval_cli.judging import Judges
from agenteval_cli.orphans import Guardian, adopt_orphans
from agenteval_cli.outside import answers_to
from agenteval_cli.process import Cancel, Processes
from agenteval_cli.records import FINISHED, INTERRUPTED, AttemptRecord, RunRecord
from agenteval_cli.redaction import Redactor
from agenteval_cli.run_writer import RunWriter
from agenteval_cli.signals import signals_cancel
from agenteval_cli.store import Transcripts
from agenteval_cli.summary import RunSummary, Sums
from agenteval_cli.transcript import Transcript
from agenteval_cli.trying import now
from agenteval_cli.watching import Watcher

_PROGRAMS = frozenset({"code", "command"})
_AT_ONCE = 200  # attempts that are held while they are written
_LOOK = 0.1  # seconds between looks at whether a signal came
_WORTH_SHARING = 5  # pieces of so many attempts: from here on it takes longer than starting processes


class Change(msgspec.Struct, frozen=True):
    """An attempt, or a retry of it, whose status is not what it was; `reason` is that of the status it has now."""

    case: str
    attempt: int
    retry: int
    before: str
    after: str
    reason: str


class Graded(msgspec.Struct, frozen=True):
    """The run as it is on disk, and what changed against the earlier verdicts, in the order of the plan."""

    record: RunRecord
    summary: RunSummary
    folder: str
    changed: tuple[Change, ...]


def grade(order: GradeOrder, watcher: Watcher) -> Graded:
    """Grade every answer and write the run; its status is interrupted where a signal stopped it.

    Each attempt is on disk before the watcher hears of it. Raises IncompleteError where the run cannot be written.
    """
    writer = RunWriter.create(order.folder, order.record)
    sums = Sums()
    changed: list[Change] = []
    before = {_key(item.attempt): item.attempt for item in order.items if isinstance(item, Kept)}
    cancel = Cancel()
    try:
        with signals_cancel(cancel):
            watcher.start(order.record)
            with contextlib.closing(_graded(order, watcher, cancel)) as batches:
                for attempt in (attempt for batch in batches for attempt in writer.append(batch)):
                    sums.add(attempt)
                    changed += _changes(attempt, before)
                    watcher.attempt(attempt)
            ended = replace(order.record, status=INTERRUPTED if cancel.requested else FINISHED, finished_at=now())
            summary = sums.summary(ended)
            ended = replace(ended, counts=summary.statuses)
            writer.replace(ended)
    finally:
        watcher.close()
        cancel.close()
        writer.close()
    places = {planned.case: place for place, planned in enumerate(order.record.plan)}
    changed.sort(key=lambda change: (places[change.case], change.attempt, change.retry))
    return Graded(ended, summary, str(writer.folder), tuple(changed))


def _key(attempt: AttemptRecord) -> tuple[str, int, int, str]:
    """One try: a run that was stopped and gone on with may have two that are the first."""
    return attempt.case.casefold(), attempt.attempt, attempt.retry, attempt.started_at


def _changes(attempt: AttemptRecord, before: dict[tuple[str, int, int, str], AttemptRecord]) -> Iterator[Change]:
    was = before.get(_key(attempt), attempt).status
    if was != attempt.status:
        yield Change(attempt.case, attempt.attempt, attempt.retry, was, attempt.status, attempt.reason)


# ---- in processes, which are quick, or in threads, where somebody is asked


def _graded(order: GradeOrder, watcher: Watcher, cancel: Cancel) -> Generator[list[Records]]:
    """The records of every answer, a batch at a time, in any order, until a signal comes."""
    run = next((item.run for item in order.items if isinstance(item, Kept)), None)
    redactor = Redactor((*order.court.secrets, *order.secrets), order.redact)
    asks = any(map(_asks, {item.loaded.case.id: item.loaded.case for item in order.items}.values()))
    with contextlib.closing(Transcripts(run)) if run else contextlib.nullcontext() as transcripts:
        hands = Hands(redactor, _nobody, transcripts)
        for batch in _asked_for(order, hands, watcher, cancel) if asks else _shared_out(order, hands):
            if cancel.requested:
                return
            yield batch


def _shared_out(order: GradeOrder, hands: Hands) -> Iterator[list[Records]]:
    """Where nobody is asked; many are shared out among processes."""
    pieces = pieces_of(order.items, _AT_ONCE)
    if len(pieces) < _WORTH_SHARING:
        yield from ([graded_records(order, hands, item) for item in piece] for piece in pieces)
        return

    def work(piece: Sequence[Kept | Given]) -> bytes:
        return msgspec.json.encode([graded_records(order, hands, item) for item in piece])

    decode = msgspec.json.Decoder(list[Records]).decode
    yield from (decode(raw) for _, raw in each(pieces, work, _nothing))


def _asks(case: Case) -> bool:
    """Whether a verdict on the case needs a program or a judge."""
    blank = Answered(Facts(), Transcript(), tuple(Transcript() for _ in case.turns))
    return bool(criteria_of(case.data)) or any(check.kind in _PROGRAMS for check, _ in asked_of(case, blank))


def _asked_for(order: GradeOrder, hands: Hands, watcher: Watcher, cancel: Cancel) -> Iterator[list[Records]]:
    """In threads, with programs and judges at hand; nothing of them is left running."""
    guardian = Guardian(f"TRACEPARENT=00-{secrets.token_hex(8)}")  # before any thread: it forks
    adopt_orphans()
    processes = Processes(guardian, cancel)
    judges = Judges(order.court, processes, hands.redactor)
    try:
        agents = {planned.case: planned.agent for planned in order.record.plan}
        asking = replace(hands, ask=_asking(order, processes, judges))

        def work(item: Kept | Given) -> Records:
            watcher.began(item.loaded.case.id, item.number, agents[item.loaded.case.id])
            return graded_records(order, asking, item)

        threads = order.concurrency or DEFAULT_CONCURRENCY
        with ThreadPoolExecutor(threads) as pool:
            try:
                yield from _in_order(pool, work, order.items, 2 * threads, cancel)
            except BaseException:
                cancel.request()
                raise
            finally:
                pool.shutdown(cancel_futures=True)
    finally:
        judges.close()
        processes.sweep()
        guardian.dismiss()


def _in_order(
    pool: ThreadPoolExecutor,
    work: Callable[[Kept | Given], Records],
    items: Sequence[Kept | Given],
    at_once: int,
    cancel: Cancel,
) -> Iterator[list[Records]]:
    """What the work gives for each item, in order, while only so many are begun and not yet written.

    What ends after a request to stop may have ended by it, and is not given.
    """
    begun: deque[Future[Records]] = deque()
    left = iter(items)
    while not cancel.requested:
        begun.extend(pool.submit(work, item) for item in islice(left, at_once - len(begun)))
        if not begun:
            return
        wait([begun[0]], timeout=_LOOK)
        if begun[0].done() and not cancel.requested:
            yield [begun.popleft().result()]


def _asking(order: GradeOrder, processes: Processes, judges: Judges) -> Ask:
    env = {name: os.environ[name] for name in PASSED_TO_EVERY_AGENT if name in os.environ}

    def ask(case: Case, answered: Answered, kept: Sequence[Judgement]) -> Asked:
        told = Told(answers_to(case, answered, processes.run, order.root, env))
        return Asked(told, judges.judge(case, answered, kept), judges.notes(case))

    return ask


def _nothing() -> None:
    """A process has all it needs."""


def _nobody(_case: Case, _answered: Answered, _kept: Sequence[Judgement]) -> Asked:
    return Asked()
