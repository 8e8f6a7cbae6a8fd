"""The users' words of an earlier run, by the attempts of a new plan that are to hear them again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from agenteval_cli.errors import UsageError
from agenteval_cli.records import AttemptRecord, PlannedCase, TranscriptRecord
from agenteval_cli.redaction import is_masked
from agenteval_cli.repository import LoadedCase
from agenteval_cli.statuses import GRADED
from agenteval_cli.store import Run, read_transcript
from agenteval_cli.summary import counted
from agenteval_cli.talk import Recorded

Recordings = Mapping[tuple[str, int], Recorded]


def recordings_of(
    run: Run, plan: Sequence[PlannedCase], cases: Mapping[str, LoadedCase], users: Mapping[str, str]
) -> Recordings:
    """By case and number of attempt, the words of the same attempt of the run.

    Where the run has fewer attempts of a case they are said again in turn. A case that the run has no words of, or
    other ones than it would have now, gets a recording that says so. `users` has the digests of those that go by rules,
    by name. Raises UsageError where there is nothing at all to replay.
    """
    simulated = [planned for planned in plan if cases[planned.case].case.role is not None]
    if not simulated:
        raise UsageError("--replay-user: none of the selected cases has a simulated user")
    known = _known(run)
    if not any(planned.case.casefold() in known for planned in simulated):
        raise UsageError(f"--replay-user: run {run.record.id} has no conversation of the selected cases to replay")
    then = {user.name: user.digest for user in run.record.users}
    same_rules = {name for name, digest in users.items() if then.get(name) == digest}
    return {
        (planned.case, number): _of_attempt(run, planned, number, known.get(planned.case.casefold(), ()), same_rules)
        for planned in simulated
        for number in range(1, planned.attempts + 1)
    }


def _of_attempt(
    run: Run, planned: PlannedCase, number: int, recorded: Sequence[Recorded], same_rules: Collection[str]
) -> Recorded:
    before = next((each for each in run.record.plan if each.case.casefold() == planned.case.casefold()), None)
    missing = ""
    if before is not None and before.digests.input != planned.digests.input:
        missing = f"the case has been edited since {run.record.id}; its user would not say the same"
    elif not recorded:
        missing = f"{run.record.id} has no whole conversation of this case to replay"
    if missing:
        user = planned.user or "replayed"
        return Recorded(run=run.record.id, attempt=number, user=user, said=(), answers=(), missing=missing)
    words = next((each for each in recorded if each.attempt == number), recorded[(number - 1) % len(recorded)])
    if is_masked(words.said):
        missing = f"its words in {words.run} #{words.attempt} were masked when they were written down"
        return replace(words, said=(), answers=(), stop=None, missing=missing)
    return replace(words, by_rules=words.user == planned.user and words.user in same_rules)


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
