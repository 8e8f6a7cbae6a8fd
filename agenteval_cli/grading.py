"""The verdict on one attempt: a pure function of the case and how its execution ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import assert_never

import msgspec

from agenteval_cli import checks, judged, limits, trajectory
from agenteval_cli.case import ALL, ANY, Case, OutcomeCheck
from agenteval_cli.checks import NOTHING_TOLD, Evidence, Told
from agenteval_cli.criteria import criteria_of
from agenteval_cli.endings import (
    AgentFault,
    Answered,
    Cancelled,
    Ending,
    HarnessFault,
    OverLimit,
    TimedOut,
    Unanswered,
    UserFault,
)
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, PASSED, CheckResult
from agenteval_cli.judgement import Judgement
from agenteval_cli.phrases import count
from agenteval_cli.transcript import Transcript
from agenteval_cli.turns import joined

NOT_CHECKED = "not_checked"
_NEVER_MADE_GOOD = ("trajectory.forbidden", "trajectory.only", "trajectory.max_repeats", "trajectory.confirm_before")
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

    `judgements` are those on its criteria; one that has none is not judged, and never passed. Where a later turn got no
    answer, the checks of those before it are made all the same, and cannot change the status.
    """
    match ending:
        case Answered():
            return _graded(case, ending, told, judgements)
        case _:
            return broken_off(case, ending.turns, *_why_unanswered(ending))


def _why_unanswered(ending: Unanswered) -> tuple[str, str]:
    """The status, and the reason in words."""
    match ending:
        case AgentFault(reason=reason):
            return "agent_error", reason
        case TimedOut(limit=limit):
            spent = f"the attempt's {limit:g} s were over" if ending.turns else f"no answer within {limit:g} s"
            return "timeout", spent
        case OverLimit(reason=reason):
            return "over_limit", reason
        case Cancelled():
            return "cancelled", "the run was stopped before the agent answered"
        case UserFault(reason=reason):
            return "ungraded", reason
        case HarnessFault(reason=reason):
            return "harness_error", reason
        case _ as never:
            assert_never(never)


def broken_off(case: Case, turns: tuple[Transcript, ...], status: str, reason: str) -> Verdict:
    """A conversation without a last answer: what its turns show can fail, and nothing as a whole can pass.

    Made are the checks of each turn, and those of the case that name one; of the rules for the whole path those that no
    later turn could have made good, where they are broken.
    """
    results = (*_of_turns(case, turns, NOTHING_TOLD), *_of_named_turns(case, turns), *_broken_already(case, turns))
    failed = {result.part for result in results if result.gates and result.result == FAILED}
    return Verdict(
        status=status,
        outcome=FAILED if "outcome" in failed else NOT_CHECKED,
        trajectory=FAILED if "trajectory" in failed or status == "over_limit" else NOT_CHECKED,
        reason=f"turn {len(turns) + 1}: {reason}" if turns else reason,
        checks=results,
    )


def _of_named_turns(case: Case, turns: tuple[Transcript, ...]) -> Iterator[CheckResult]:
    for check in case.outcome:
        if isinstance(check.turn, int) and 1 <= check.turn <= len(turns):
            yield _of_outcome(check, turns[check.turn - 1], case, NOTHING_TOLD, turn=check.turn)
        if check.turn == ALL:
            results = [_of_outcome(check, each, case, NOTHING_TOLD, turn=at) for at, each in enumerate(turns, start=1)]
            yield from [result for result in results if result.result == FAILED][:1]


def _broken_already(case: Case, turns: tuple[Transcript, ...]) -> Iterator[CheckResult]:
    for result in trajectory.checked(case.trajectory, joined(turns)) if turns else ():
        if result.result == FAILED and result.name.startswith(_NEVER_MADE_GOOD):
            yield result


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
        *(_of_whole(check, answered, case, told) for check in case.outcome),
        *trajectory.checked(case.trajectory, transcript),
        *limits.checked(case.limits, transcript, answered.facts.seconds, _turns_held(case, answered)),
        *_of_turns(case, answered.turns or (transcript,), told),
        *_not_come(case, len(answered.turns) or 1),
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
        for check in turn.outcome:
            yield _of_outcome(check, transcript, case, told, turn=index + 1)
        for result in trajectory.checked(turn.trajectory, transcript):
            yield msgspec.structs.replace(result, name=f"turns[{index}].{result.name}", turn=index + 1)


def _turns_held(case: Case, answered: Answered) -> int | None:
    """How many turns there were; None where the case asks once, and only the agent knows."""
    return len(answered.turns) or 1 if case.turns or case.role is not None else None


def _not_come(case: Case, answered: int) -> Iterator[CheckResult]:
    """A script that was not said to its end passes nothing."""
    if answered < len(case.turns):
        words = f"the conversation went no further than turn {answered} of {len(case.turns)}"
        yield CheckResult(f"turns[{answered}]", "outcome", NO_EVIDENCE, words, turn=answered + 1)


def _of_whole(check: OutcomeCheck, answered: Answered, case: Case, told: Told) -> CheckResult:
    """A check of the case itself: of its last answer, or of the turn that it names."""
    stop = answered.talk.stop if answered.talk else None
    if check.turn is None:
        return _of_outcome(check, answered.transcript, case, told, stop=stop)
    if isinstance(check.turn, str):
        turns = answered.turns or (answered.transcript,)
        results = [_of_outcome(check, each, case, told, turn=at) for at, each in enumerate(turns, start=1)]
        return _any_of(results) if check.turn == ANY else _all_of(results)
    index = _index_of(check.turn, answered)
    if index is None:
        words = f"the conversation has no turn {check.turn}"
        return CheckResult(check.name, "outcome", FAILED, words, severity=check.severity, note=check.note)
    turns = answered.turns or (answered.transcript,)
    return _of_outcome(check, turns[index], case, told, turn=index + 1, stop=stop)


def _any_of(results: Sequence[CheckResult]) -> CheckResult:
    """The first turn in which it holds, else one that could not be decided, else the last one."""
    for wanted in (PASSED, NO_EVIDENCE, ERROR):
        found = next((result for result in results if result.result == wanted), None)
        if found is not None:
            return found
    words = f"in none of {count(len(results), 'turn')}; at last {results[-1].message}"
    return msgspec.structs.replace(results[-1], turn=None, message=words)


def _all_of(results: Sequence[CheckResult]) -> CheckResult:
    """The first turn in which it does not hold, else one that could not be decided."""
    for wanted in (FAILED, NO_EVIDENCE, ERROR):
        found = next((result for result in results if result.result == wanted), None)
        if found is not None:
            return found
    return msgspec.structs.replace(results[0], turn=None)


def _of_outcome(
    check: OutcomeCheck,
    transcript: Transcript,
    case: Case,
    told: Told,
    *,
    turn: int | None = None,
    stop: str | None = None,
) -> CheckResult:
    context = case.data.get("context")
    evidence = Evidence(transcript, None if context is None else tuple(context), told, stop)
    result = checks.result_of(check, evidence)
    return result if turn is None else msgspec.structs.replace(result, turn=turn)


def _looked_at(check: OutcomeCheck, answered: Answered) -> Transcript | None:
    """The transcript of the turn that the check names, else the whole; None where there was no such turn."""
    if check.turn is None:
        return answered.transcript
    if isinstance(check.turn, str):
        return None  # what is asked of others is asked of one answer
    index = _index_of(check.turn, answered)
    return None if index is None else (answered.turns or (answered.transcript,))[index]


def _index_of(turn: int, answered: Answered) -> int | None:
    """Where a turn counted from 1, or from -1 backwards, stands; None where there was none."""
    count = len(answered.turns) or 1
    index = turn - 1 if turn > 0 else count + turn
    return index if 0 <= index < count else None


def _status(results: tuple[CheckResult, ...]) -> tuple[str, CheckResult | None]:
    """The status and the check that decided it. A definite failure stands, whatever else could not be decided."""
    gating = [result for result in results if result.gates]
    failed = sorted((result for result in gating if result.result == FAILED), key=_when)
    over = next((result for result in failed if result.name.startswith("limits.")), None)
    if over is not None:
        return "over_limit", over
    if failed:
        return "failed", failed[0]
    open_ones = [result for result in gating if result.result in (NO_EVIDENCE, ERROR)]
    if open_ones:
        return "ungraded", open_ones[0]
    return ("passed", None) if gating else ("ungraded", None)


def _when(result: CheckResult) -> float:
    """Turn by turn, then the whole: what came of it comes after where it broke."""
    return math.inf if result.turn is None else result.turn


def _reason(status: str, decisive: CheckResult | None) -> str:
    if decisive is not None:
        named = decisive.turn is None or decisive.name.startswith("turns[")
        return f"{decisive.name}{'' if named else f' (turn {decisive.turn})'}: {decisive.message}"
    return "" if status == "passed" else "nothing was checked that can fail"


def _part(results: tuple[CheckResult, ...], part: str) -> str:
    found = [result.result for result in results if result.part == part and result.gates]
    if FAILED in found:
        return FAILED
    return PASSED if found and all(result == PASSED for result in found) else NOT_CHECKED
