"""Shards of one run put together into one: a run of its own, as if it had been one from the start."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from agenteval_cli.attempt_records import Records
from agenteval_cli.errors import UsageError
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    FINISHED,
    INTERRUPTED,
    RUN_FORMAT,
    TRANSCRIPT_FORMAT,
    AgentRecord,
    JudgeRecord,
    RunRecord,
    UserRecord,
)
from agenteval_cli.run_writer import RunWriter
from agenteval_cli.schedule import shard_of
from agenteval_cli.store import Run, read_transcript
from agenteval_cli.summary import summary_of

_AT_ONCE = 200
Named = TypeVar("Named", AgentRecord, JudgeRecord, UserRecord)


def merged_record(parts: Sequence[Run], run_id: str) -> RunRecord:
    """The record of the whole. Raises UsageError where the parts are not shards of one run, or one is missing."""
    records = [part.record for part in parts]
    _refuse_what_does_not_fit(records)
    first = min(records, key=lambda record: record.id)
    stopped = next((record.stopped for record in records if record.stopped), None)
    plan = tuple(sorted((planned for record in records for planned in record.plan), key=lambda planned: planned.file))
    whole = replace(
        first,
        format=RUN_FORMAT,
        id=run_id,
        status=FINISHED if all(record.status == FINISHED for record in records) else INTERRUPTED,
        finished_at=max(record.finished_at or record.started_at for record in records),
        git=replace(first.git, dirty=_any(record.git.dirty for record in records)),
        agents=_all(record.agents for record in records),
        judges=_all(record.judges for record in records),
        users=_all(record.users for record in records),
        plan=plan,
        not_selected=tuple(sorted({name for record in records for name in record.not_selected} - _ids(records))),
        shard=None,
        merged=tuple(record.id for record in records),
        since=first.since if len({record.since for record in records}) == 1 else None,
        stopped=stopped,
        resumed_at=(),
    )
    attempts = (attempt for part in parts for attempt in part.attempts)
    return replace(whole, counts=summary_of(whole, attempts).statuses)


def merge(parts: Sequence[Run], runs: Path, run_id: str) -> Run:
    """Write the merged run. Raises UsageError as merged_record does, IncompleteError where it cannot be written."""
    record = merged_record(parts, run_id)
    writer = RunWriter.create(runs / run_id, replace(record, status=INTERRUPTED))
    attempts = []
    try:
        for part in parts:
            for batch in _batches(part):
                attempts += writer.append(batch)
        writer.replace(record)
    except BaseException:
        shutil.rmtree(writer.folder, ignore_errors=True)  # a copy that is not whole: nothing is lost with it
        raise
    finally:
        writer.close()
    return Run(record, tuple(attempts), str(writer.folder))


def _all(parts: Iterable[tuple[Named, ...]]) -> tuple[Named, ...]:
    """Each once, by name: they are the same in all shards."""
    return tuple({item.name: item for part in parts for item in part}.values())


def _any(flags: Iterable[bool | None]) -> bool | None:
    """Whether one of them is true; None where that is not known of all."""
    known = list(flags)
    return True if True in known else None if None in known else False


def _batches(part: Run) -> Iterator[list[Records]]:
    for start in range(0, len(part.attempts), _AT_ONCE):
        yield [
            (
                replace(attempt, format=ATTEMPT_FORMAT),
                replace(read_transcript(part, attempt), format=TRANSCRIPT_FORMAT),
            )
            for attempt in part.attempts[start : start + _AT_ONCE]
        ]


def _ids(records: Sequence[RunRecord]) -> set[str]:
    return {planned.case for record in records for planned in record.plan}


def _refuse_what_does_not_fit(records: Sequence[RunRecord]) -> None:
    shards = [record.shard for record in records]
    if None in shards:
        whole = next(record.id for record in records if record.shard is None)
        raise UsageError(f"run {whole} is not a shard: `agenteval run --shard I/N` makes them")
    numbers = Counter(shard[0] for shard in shards if shard)
    counts = {shard[1] for shard in shards if shard}
    if len(counts) > 1:
        raise UsageError(
            f"these are shards of different splits: {', '.join(f'{i}/{n}' for i, n in filter(None, shards))}"
        )
    count = counts.pop()
    for number in range(1, count + 1):
        if numbers[number] == 0:
            raise UsageError(f"shard {number}/{count} is missing; a merged run has all of them")
        if numbers[number] > 1:
            raise UsageError(f"shard {number}/{count} is given {numbers[number]} times")
    _refuse_different_conditions(records)


def _refuse_different_conditions(records: Sequence[RunRecord]) -> None:
    """Shards that ran under different conditions would make a run that no single run could have made."""
    first = records[0]
    digests: dict[tuple[str, str], str] = {}
    for record in records[1:]:
        for what, same in (
            ("commits", record.git.commit == first.git.commit),
            ("versions of agenteval", (record.tool_version, record.grading) == (first.tool_version, first.grading)),
            ("pass rates", record.min_pass_rate == first.min_pass_rate),
            ("replayed words", record.replays == first.replays),
        ):
            if not same:
                raise UsageError(f"shards {first.id} and {record.id} have different {what}")
    for record in records:
        for kind, part in (("agent", record.agents), ("judge", record.judges), ("user", record.users)):
            for item in part:
                if digests.setdefault((kind, item.name), item.digest) != item.digest:
                    words = f"different versions of {kind} '{item.name}'"
                    raise UsageError(f"shards {first.id} and {record.id} ran {words}")
    times = Counter(planned.case for record in records for planned in record.plan)
    if twice := next((case for case in times if times[case] > 1), None):
        raise UsageError(f"{twice} is in two of the shards; they were not made of the same selection")
    _refuse_different_selections(records)


def _refuse_different_selections(records: Sequence[RunRecord]) -> None:
    """The whole, split again, must give the same parts: shards of other selections leave out what nobody would miss."""
    whole = [planned for record in records for planned in record.plan]
    for record in records:
        index, count = record.shard or (1, 1)
        if {planned.case for planned in shard_of(whole, index, count)} != {planned.case for planned in record.plan}:
            raise UsageError(f"shard {index}/{count} was not made of the same selection as the others")
