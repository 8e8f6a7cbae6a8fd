"""The users' words of an earlier run, by the attempts of a new plan that are to hear them again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from agenteval_cli.errors import UsageError
from agenteval_cli.records import AttemptRecord, PlannedCase, TranscriptRecord
from agenteval_cli.repository import LoadedCase
from agenteval_cli.statuses import GRADED
from agenteval_cli.store import Run, read_transcript
from agenteval_cli.summary import counted
from agenteval_cli.talk import Recorded

Recordings = Mapping[tuple[str, int], Recorded]


def recordings_of(run: Run, plan: Sequence[PlannedCase], cases: Mapping[str, LoadedCase]) -> Recordings:
    """By case and number of attempt, the words of the same attempt of the run.

    Where the run has fewer attempts of a case they are said again in turn. Raises UsageError where no case of the plan
    has a simulated user, and where the run has no words of one that has.
    """
    simulated = [planned for planned in plan if cases[planned.case].case.role is not None]
    if not simulated:
        raise UsageError("--replay-user: none of the selected cases has a simulated user")
    known = _known(run)
    missing = [planned.case for planned in simulated if planned.case.casefold() not in known]
    if missing:
        raise UsageError(f"--replay-user: run {run.record.id} has no whole conversation of {', '.join(missing)}")
    return {
        (planned.case, number): _of_number(known[planned.case.casefold()], number)
        for planned in simulated
        for number in range(1, planned.attempts + 1)
    }


def _of_number(recorded: Sequence[Recorded], number: int) -> Recorded:
    return next((each for each in recorded if each.attempt == number), recorded[(number - 1) % len(recorded)])


def _known(run: Run) -> dict[str, list[Recorded]]:
    """The conversations of the run's graded attempts, by folded case ID."""
    known: dict[str, list[Recorded]] = defaultdict(list)
    for _, attempt in sorted(counted(run.attempts).items()):
        if attempt.status in GRADED and attempt.turns is not None:
            recorded = _recorded(run.record.id, attempt, read_transcript(run, attempt))
            if recorded is not None:
                known[attempt.case.casefold()].append(recorded)
    return known


def _recorded(run: str, attempt: AttemptRecord, record: TranscriptRecord) -> Recorded | None:
    """The user's side of an attempt that had a simulated user; None of one that had a script."""
    if record.talk is None or not record.talk.user:
        return None
    turns = record.turns or ((record.transcript,) if record.transcript else ())
    return Recorded(
        run=run,
        attempt=attempt.attempt,
        user=record.talk.user,
        said=record.talk.said,
        answers=tuple(turn.output for turn in turns),
        stop=record.talk.stop,
    )
