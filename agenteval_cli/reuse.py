"""What an earlier run says about a new plan: attempts that still hold, those to grade again, those to run again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from agenteval_cli import __version__
from agenteval_cli.attempt_records import Records
from agenteval_cli.checks import NOTHING_TOLD, Told
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.finding import FAILED, NO_EVIDENCE, PASSED, CheckResult
from agenteval_cli.grading import GRADING, NOT_CHECKED, broken_off, verdict_on
from agenteval_cli.judgement import Judgement
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    TRANSCRIPT_FORMAT,
    AttemptRecord,
    PlannedCase,
    RunRecord,
    TranscriptRecord,
)
from agenteval_cli.redaction import MASK
from agenteval_cli.repository import LoadedCase
from agenteval_cli.statuses import GRADED
from agenteval_cli.store import Run, read_transcript
from agenteval_cli.summary import counted

REUSE = "reuse"
REGRADE = "regrade"
RERUN = "rerun"
UNGRADED = "ungraded"
MASKED = f"the stored transcript has {MASK} where secrets stood, so that checks may come out otherwise than they did"
_HIDDEN = "it failed before on what is masked in the stored transcript; run the case again"


class Reuse(msgspec.Struct, frozen=True):
    """The plan with its reasons, and the attempts of the earlier run that go into the new one."""

    plan: tuple[PlannedCase, ...]
    kept: tuple[AttemptRecord, ...]
    regraded: frozenset[str]


def reuse_of(
    plan: tuple[PlannedCase, ...],
    agents: Mapping[str, str],
    earlier: Run,
    judges: Collection[str] = (),
    users: Mapping[str, str] = MappingProxyType({}),
) -> Reuse:
    """Hold a plan against an earlier run.

    `agents` and `users`, who play the simulated ones, have the digest of each by name, `judges` those of the judges.
    """
    before = {planned.case.casefold(): planned for planned in earlier.record.plan}
    attempts = _usable(earlier)
    kept: list[AttemptRecord] = []
    decided = []
    regraded = set()
    for planned in plan:
        decision, why = _decision(planned, before.get(planned.case.casefold()), agents, earlier.record)
        usable = [
            attempt
            for attempt in attempts.get(planned.case.casefold(), ())
            if attempt.attempt <= planned.attempts and _serves(attempt, decision)
        ]
        if decision != RERUN and planned.user and not _same_user(planned.user, users, earlier.record):
            decision, why, usable = RERUN, f"the simulated user has changed since {earlier.record.id}", []
        elif decision != RERUN and not usable:
            decision, why = RERUN, f"{earlier.record.id} has no graded attempt of it"
        elif _judged_by_others(usable, earlier.record, judges):
            decision, why, usable = RERUN, f"a judge has changed since {earlier.record.id}", []
        if decision == REGRADE:
            regraded.add(planned.case)
        kept += usable
        some = f"; {len(usable)} of {planned.attempts} attempts are there" if 0 < len(usable) < planned.attempts else ""
        decided.append(replace(planned, reason=f"{decision}: {why}{some}"))
    return Reuse(tuple(decided), tuple(kept), frozenset(regraded))


def _same_user(name: str, users: Mapping[str, str], earlier: RunRecord) -> bool:
    """Whether the user was played by the same, and said its own words."""
    before = {user.name: user.digest for user in earlier.users}
    return earlier.replays is None and before.get(name) == users.get(name)


def _judged_by_others(attempts: Sequence[AttemptRecord], earlier: RunRecord, judges: Collection[str]) -> bool:
    """Whether a judge said something of these attempts that is not the same any more."""
    asked = {judge.name: judge.digest for judge in earlier.judges}
    said = {vote.judge for attempt in attempts for judgement in attempt.judgements for vote in judgement.votes}
    return any(asked.get(name) not in judges for name in said)


def kept_records(reuse: Reuse, cases: Mapping[str, LoadedCase], earlier: Run) -> Iterator[Records]:
    """The kept attempts as the new run's, with the run they came from; graded again where the checks have changed.

    One whose transcript leaves the new checks undecided is not kept: it is run again.
    """
    for attempt in reuse.kept:
        transcript = read_transcript(earlier, attempt)
        loaded = cases[_id_of(attempt, cases)]
        record = replace(
            attempt,
            format=ATTEMPT_FORMAT,
            case=loaded.case.id,
            digests=loaded.digests,
            reused_from=attempt.reused_from or earlier.record.id,
        )
        if loaded.case.id in reuse.regraded:
            record = graded_again(record, loaded, transcript)
        if record.status in GRADED:
            yield record, replace(transcript, format=TRANSCRIPT_FORMAT, case=loaded.case.id)


def graded_again(
    attempt: AttemptRecord,
    loaded: LoadedCase,
    transcript: TranscriptRecord,
    *,
    told: Told = NOTHING_TOLD,
    judgements: tuple[Judgement, ...] | None = None,
) -> AttemptRecord:
    """The attempt with its checks made anew. One that gave no answer ends as it did: there is nothing to grade.

    `told` is what programs outside say of the answer; `judgements` None are those that the attempt has.
    """
    answered = answer_in(attempt, transcript)
    if answered is None:
        return _broken_off_again(attempt, loaded, transcript)
    kept = attempt.judgements if judgements is None else judgements
    verdict = verdict_on(loaded.case, answered, told, kept)
    again = replace(
        attempt,
        status=verdict.status,
        outcome=verdict.outcome,
        trajectory=verdict.trajectory,
        reason=verdict.reason,
        checks=verdict.checks,
        judgements=kept,
        regraded=True,
    )
    if not _is_masked(transcript):
        return again
    noted = replace(again, notes=tuple(dict.fromkeys((*attempt.notes, MASKED))))
    return without_evidence(noted, {check.name: _HIDDEN for check in attempt.checks if _saw_a_secret(check)})


def _broken_off_again(attempt: AttemptRecord, loaded: LoadedCase, transcript: TranscriptRecord) -> AttemptRecord:
    """A conversation that broke off, with the checks of its answered turns made anew. It ends as it did."""
    if not transcript.turns:
        return attempt
    verdict = broken_off(loaded.case, transcript.turns, attempt.status, attempt.reason)
    return replace(
        attempt, outcome=verdict.outcome, trajectory=verdict.trajectory, checks=verdict.checks, regraded=True
    )


def answer_in(attempt: AttemptRecord, transcript: TranscriptRecord) -> Answered | None:
    """The ending that a stored attempt had; None where it gave no answer."""
    if transcript.transcript is None:
        return None
    facts = Facts(seconds=attempt.duration_ms / 1000)
    return Answered(facts, transcript.transcript, transcript.turns, transcript.talk)


def without_evidence(attempt: AttemptRecord, words: Mapping[str, str]) -> AttemptRecord:
    """The attempt where checks passed on nothing, by name with why: they are no evidence, so it is not passed."""
    unfounded = {check.name for check in attempt.checks if check.name in words and check.result == PASSED}
    if not unfounded:
        return attempt
    checks = tuple(
        replace(check, result=NO_EVIDENCE, message=words[check.name]) if check.name in unfounded else check
        for check in attempt.checks
    )
    gating = [check for check in checks if check.name in unfounded and check.gates]
    parts = {check.part for check in gating}
    decided = attempt.status != "passed" or not gating
    return replace(
        attempt,
        checks=checks,
        status=attempt.status if decided else UNGRADED,
        reason=attempt.reason if decided else f"{gating[0].name}: {gating[0].message}",
        outcome=_undecided(attempt.outcome) if "outcome" in parts else attempt.outcome,
        trajectory=_undecided(attempt.trajectory) if "trajectory" in parts else attempt.trajectory,
    )


def _undecided(part: str) -> str:
    return NOT_CHECKED if part == PASSED else part


def _is_masked(transcript: TranscriptRecord) -> bool:
    return MASK.encode() in msgspec.json.encode((transcript.transcript, transcript.turns, transcript.talk))


def _saw_a_secret(check: CheckResult) -> bool:
    """Whether a check failed on something that was masked when it was written down, and that it cannot see again."""
    return check.result == FAILED and MASK.encode() in msgspec.json.encode(check)


def _decision(
    planned: PlannedCase, before: PlannedCase | None, agents: Mapping[str, str], earlier: RunRecord
) -> tuple[str, str]:
    """What becomes of one case, and why."""
    if before is None:
        return RERUN, f"not in {earlier.id}"
    if before.digests.input != planned.digests.input:
        return RERUN, f"what the agent gets has changed since {earlier.id}"
    digests = {agent.name: agent.digest for agent in earlier.agents}
    if digests[before.agent] != agents[planned.agent]:
        return RERUN, f"the agent has changed since {earlier.id}"
    if before.digests.grade != planned.digests.grade:
        return REGRADE, f"only the checks have changed since {earlier.id}"
    if (earlier.tool_version, earlier.grading) != (__version__, GRADING):
        checks = "" if earlier.grading == GRADING else ", whose checks meant something else"
        return REGRADE, f"{earlier.id} was graded by agenteval {earlier.tool_version}{checks}"
    return REUSE, f"nothing has changed since {earlier.id}"


def _serves(attempt: AttemptRecord, decision: str) -> bool:
    """Whether an attempt can be kept: a graded one, and to be graded again one that only its checks left undecided."""
    return decision != RERUN and (attempt.status in GRADED or (decision == REGRADE and attempt.status == UNGRADED))


def _usable(run: Run) -> dict[str, list[AttemptRecord]]:
    """The attempts that count and, where none of a number does, the last undecided one; by folded case ID, in order."""
    undecided = {(each.case, each.attempt): each for each in run.attempts if each.status == UNGRADED}
    usable: dict[str, list[AttemptRecord]] = defaultdict(list)
    for _, attempt in sorted({**undecided, **counted(run.attempts)}.items()):
        usable[attempt.case.casefold()].append(attempt)
    return usable


def _id_of(attempt: AttemptRecord, cases: Mapping[str, LoadedCase]) -> str:
    """The ID as it is written now; only its case can differ."""
    if attempt.case in cases:
        return attempt.case
    return next(case for case in cases if case.casefold() == attempt.case.casefold())
