"""What every report is made of: a run and what it came to, and what it is compared with, if it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import msgspec

from agenteval_cli.diff import RunDiff
from agenteval_cli.finding import CheckResult
from agenteval_cli.records import AttemptRecord, TranscriptRecord
from agenteval_cli.run_history import RunRate
from agenteval_cli.store import Run
from agenteval_cli.summary import CaseSummary, RunSummary

ReadTranscript = Callable[[AttemptRecord], TranscriptRecord | None]
FindLine = Callable[[CaseSummary], int]


def no_transcript(_: AttemptRecord) -> None:
    """For reports that show none."""


def first_line(_: CaseSummary) -> int:
    """For reports that point nowhere."""
    return 1


class Compared(msgspec.Struct, frozen=True):
    """The diff of a report, with the run before, the rule of the gate and the IDs of the cases that fail it.

    `transcript` reads those of the run before.
    """

    diff: RunDiff
    base: Run
    rule: str
    failed: tuple[str, ...]
    transcript: ReadTranscript = no_transcript


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """A run to report on; of a diff it is the head.

    `line` tells where in a case's file to point; `prefix` is the folder of the cases' repository within that of git,
    empty or with a slash at its end. `transcript` gives None for one that cannot be read. `refresh` is after how many
    seconds a page should be loaded again, while the run is on. `earlier` are runs before this one of the same agents
    and nearly the same cases, the oldest first.
    """

    run: Run
    summary: RunSummary
    compared: Compared | None = None
    line: FindLine = first_line
    prefix: str = ""
    transcript: ReadTranscript = no_transcript
    refresh: int | None = None
    earlier: tuple[RunRate, ...] = ()


def by_case(run: Run) -> dict[str, list[AttemptRecord]]:
    """Every try of every attempt, by case, in the order of their numbers."""
    found: dict[str, list[AttemptRecord]] = defaultdict(list)
    for attempt in run.attempts:
        found[attempt.case].append(attempt)
    for attempts in found.values():
        attempts.sort(key=lambda item: (item.attempt, item.retry))
    return found


def name_of(check: CheckResult) -> str:
    """The name of a check, with the turn of the conversation that it is about."""
    return check.name if check.turn is None else f"{check.name} (turn {check.turn})"
