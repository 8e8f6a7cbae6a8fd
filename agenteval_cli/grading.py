"""The verdict on one attempt: a pure function of the case and how its execution ended."""

from __future__ import annotations

from typing import assert_never

import msgspec

from agenteval_cli import checks, limits, trajectory
from agenteval_cli.case import Case
from agenteval_cli.endings import AgentFault, Answered, Cancelled, Ending, HarnessFault, TimedOut
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, PASSED, CheckResult
from agenteval_cli.transcript import Transcript

NOT_CHECKED = "not_checked"


class Verdict(msgspec.Struct, frozen=True):
    """`status` of STATUSES; `outcome` and `trajectory` each passed, failed or not_checked; `reason` in words."""

    status: str
    outcome: str = NOT_CHECKED
    trajectory: str = NOT_CHECKED
    reason: str = ""
    checks: tuple[CheckResult, ...] = ()


def verdict_on(case: Case, ending: Ending) -> Verdict:
    """Grade one attempt of one case."""
    match ending:
        case Answered(facts=facts, transcript=transcript):
            return _graded(case, transcript, facts.seconds)
        case AgentFault(reason=reason):
            return Verdict("agent_error", reason=reason)
        case TimedOut(limit=limit):
            return Verdict("timeout", reason=f"no answer within {limit:g} s")
        case Cancelled():
            return Verdict("cancelled", reason="the run was stopped before the agent answered")
        case HarnessFault(reason=reason):
            return Verdict("harness_error", reason=reason)
        case _ as never:
            assert_never(never)


def _graded(case: Case, transcript: Transcript, seconds: float) -> Verdict:
    results = (
        *(checks.checked(check, transcript) for check in case.outcome),
        *trajectory.checked(case.trajectory, transcript),
        *limits.checked(case.limits, transcript, seconds),
    )
    status, decisive = _status(results)
    return Verdict(
        status=status,
        outcome=_part(results, "outcome"),
        trajectory=_part(results, "trajectory"),
        reason=_reason(status, decisive),
        checks=results,
    )


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
