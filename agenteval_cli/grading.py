"""The verdict on one attempt: a pure function of the case and how its execution ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import msgspec

from agenteval_cli import checks, judged, limits, trajectory
from agenteval_cli.case import Case, OutcomeCheck
from agenteval_cli.checks import NOTHING_TOLD, Evidence, Told
from agenteval_cli.criteria import criteria_of
from agenteval_cli.endings import AgentFault, Answered, Cancelled, Ending, HarnessFault, OverLimit, TimedOut
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, PASSED, CheckResult
from agenteval_cli.judgement import Judgement
from agenteval_cli.transcript import Transcript

NOT_CHECKED = "not_checked"
GRADING = 2  # raise it when a check comes to mean something else: kept attempts are graded again then


class Verdict(msgspec.Struct, frozen=True):
    """`status` of STATUSES; `outcome` and `trajectory` each passed, failed or not_checked; `reason` in words."""

    status: str
    outcome: str = NOT_CHECKED
    trajectory: str = NOT_CHECKED
    reason: str = ""
    checks: tuple[CheckResult, ...] = ()


def verdict_on(
    case: Case, ending: Ending, told: Told = NOTHING_TOLD, judgements: tuple[Judgement, ...] = ()
) -> Verdict:
    """Grade one attempt of one case. `told` is what programs and models outside were asked before (`asked_of`).

    `judgements` are those on its criteria; one that has none is not judged, and never passed.
    """
    match ending:
        case Answered():
            return _graded(case, ending, told, judgements)
        case AgentFault(reason=reason):
            return Verdict("agent_error", reason=reason)
        case TimedOut(limit=limit):
            return Verdict("timeout", reason=f"no answer within {limit:g} s")
        case OverLimit(reason=reason):
            return Verdict("over_limit", trajectory=FAILED, reason=reason)
        case Cancelled():
            return Verdict("cancelled", reason="the run was stopped before the agent answered")
        case HarnessFault(reason=reason):
            return Verdict("harness_error", reason=reason)
        case _ as never:
            assert_never(never)


def asked_of(case: Case, answered: Answered) -> Iterator[tuple[OutcomeCheck, Transcript]]:
    """Every outcome check of the case, those inside others too, with the transcript that it looks at."""
    turns = answered.turns or (answered.transcript,)
    pairs: list[tuple[OutcomeCheck, Transcript | None]] = [
        (check, _looked_at(check, answered)) for check in case.outcome
    ]
    for turn, said in zip(case.turns, turns, strict=False):
        pairs += [(check, said) for check in turn.outcome]
    for check, transcript in pairs:
        if transcript is not None:
            yield from ((inner, transcript) for inner in _with_parts(check))


def looks_at_files(case: Case) -> bool:
    """Whether a check of the case asks which files the attempt left."""
    checks_of_all = (*case.outcome, *(check for turn in case.turns for check in turn.outcome))
    return any(inner.kind == "files" for check in checks_of_all for inner in _with_parts(check))


def _with_parts(check: OutcomeCheck) -> Iterator[OutcomeCheck]:
    yield check
    for part in check.parts:
        yield from _with_parts(part)


def _graded(case: Case, answered: Answered, told: Told, judgements: tuple[Judgement, ...]) -> Verdict:
    """All checks of the whole, then those of each turn; every one of them must hold."""
    transcript = answered.transcript
    results = (
        *(_of_outcome(check, _looked_at(check, answered), case, told) for check in case.outcome),
        *trajectory.checked(case.trajectory, transcript),
        *limits.checked(case.limits, transcript, answered.facts.seconds, len(answered.turns) or 1),
        *_of_turns(case, answered.turns or (transcript,), told),
        *judged.checked(criteria_of(case.data), judgements),
    )
    status, decisive = _status(results)
    return Verdict(
        status=status,
        outcome=_part(results, "outcome"),
        trajectory=_part(results, "trajectory"),
        reason=_reason(status, decisive),
        checks=results,
    )


def _of_turns(case: Case, turns: tuple[Transcript, ...], told: Told) -> Iterator[CheckResult]:
    for index, (turn, transcript) in enumerate(zip(case.turns, turns, strict=False)):
        yield from (_of_outcome(check, transcript, case, told) for check in turn.outcome)
        for result in trajectory.checked(turn.trajectory, transcript):
            yield msgspec.structs.replace(result, name=f"turns[{index}].{result.name}")


def _of_outcome(check: OutcomeCheck, transcript: Transcript | None, case: Case, told: Told) -> CheckResult:
    if transcript is None:
        words = f"the conversation has no turn {check.turn}"
        return CheckResult(check.name, "outcome", FAILED, words, severity=check.severity, note=check.note)
    context = case.data.get("context")
    return checks.result_of(check, Evidence(transcript, None if context is None else tuple(context), told))


def _looked_at(check: OutcomeCheck, answered: Answered) -> Transcript | None:
    """The transcript of the turn that the check names, else the whole; None where there was no such turn."""
    if check.turn is None:
        return answered.transcript
    turns = answered.turns or (answered.transcript,)
    index = check.turn - 1 if check.turn > 0 else len(turns) + check.turn
    return turns[index] if 0 <= index < len(turns) else None


def _status(results: tuple[CheckResult, ...]) -> tuple[str, CheckResult | None]:
    """The status and the check that decided it. A definite failure stands, whatever else could not be decided."""
    gating = [result for result in results if result.gates]
    failed = [result for result in gating if result.result == FAILED]
    over = next((result for result in failed if result.name.startswith("limits.")), None)
    if over is not None:
        return "over_limit", over
    if failed:
        return "failed", failed[0]
    open_ones = [result for result in gating if result.result in (NO_EVIDENCE, ERROR)]
    if open_ones:
        return "ungraded", open_ones[0]
    return ("passed", None) if gating else ("ungraded", None)


def _reason(status: str, decisive: CheckResult | None) -> str:
    if decisive is not None:
        return f"{decisive.name}: {decisive.message}"
    return "" if status == "passed" else "nothing was checked that can fail"


def _part(results: tuple[CheckResult, ...], part: str) -> str:
    found = [result.result for result in results if result.part == part and result.gates]
    if FAILED in found:
        return FAILED
    return PASSED if found and all(result == PASSED for result in found) else NOT_CHECKED
