"""recovery: what follows each failed call of a tool: a retry, another tool, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenteval_cli.compare import same, shown
from agenteval_cli.constraints import RecoveryRule, Trajectory
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, PASSED, Finding
from agenteval_cli.trajectory.evidence import Calls, Evidence, NoEvidenceError
from agenteval_cli.trajectory.matching import step, together


def recovery(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """Decided for every failed call. Where none failed the rule holds, and says that it did not come up."""
    for index, rule in enumerate(constraints.recovery or ()):
        yield f"recovery[{index}]", _finding(rule, evidence.calls)


def _finding(rule: RecoveryRule, calls: Calls) -> Finding:
    failed = [at for at, call in enumerate(calls) if call.name == rule.after_error and call.status == "error"]
    try:
        wrong = next((words for at in failed if (words := _words(rule, calls, at))), None)
    except NoEvidenceError as missing:
        return Finding(NO_EVIDENCE, str(missing), _wanted(rule))
    if wrong is not None:
        return Finding(FAILED, wrong, _wanted(rule), [call.name for call in calls[failed[0] :][:12]])
    return OK if failed else _not_come_up(rule, calls)


def _not_come_up(rule: RecoveryRule, calls: Calls) -> Finding:
    made = [at for at, call in enumerate(calls) if call.name == rule.after_error]
    unknown = next((at for at in made if calls[at].status == "unknown"), None)
    if unknown is not None:
        return Finding(NO_EVIDENCE, f"nothing tells whether {step(unknown, calls[unknown])}, failed", _wanted(rule))
    what = "never failed" if made else "was never called"
    return Finding(PASSED, f"did not come up: {rule.after_error} {what}")


def _words(rule: RecoveryRule, calls: Calls, at: int) -> str | None:
    """What is wrong after the failed call at `at`. Calls made at the same time do not come after it."""
    later = [index for index in range(at + 1, len(calls)) if not together(calls[at], calls[index])]
    window = later[: rule.within]
    begin = f"{step(at, calls[at])}, failed"
    if rule.must == "stop":
        more = next((index for index in window if rule.tool in (None, calls[index].name)), None)
        return None if more is None else f"{begin}; {step(more, calls[more])}, came after it"
    wanted = rule.after_error if rule.must == "retry" else rule.tool
    same_tool = [index for index in window if calls[index].name == wanted]
    same_arguments = rule.must == "retry" and rule.same_arguments
    known = [index for index in same_tool if not same_arguments or None not in _arguments(calls, at, index)]
    if any(not same_arguments or same(*_arguments(calls, at, index)) for index in known):
        return None
    if known != same_tool:
        raise NoEvidenceError(f"nothing tells whether {wanted} was called again with the arguments of step {at + 1}")
    within = "" if rule.within is None else f" within {rule.within} {'step' if rule.within == 1 else 'steps'}"
    return (
        f"{begin}; {wanted} was not called{' again' * (rule.must == 'retry')}{within}{_near(calls, later, wanted, at)}"
    )


def _arguments(calls: Calls, one: int, other: int) -> tuple[Any, Any]:
    return calls[one].arguments, calls[other].arguments


def _near(calls: Calls, later: list[int], wanted: str | None, at: int) -> str:
    near = next((index for index in later if calls[index].name == wanted), None)
    if near is not None:
        asked = "" if same(calls[at].arguments, calls[near].arguments) else f", not {shown(calls[at].arguments)}"
        return f"; nearest is {step(near, calls[near])}{asked}"
    return (
        f"; after it came {', '.join(calls[index].name for index in later[:12])}"
        if later
        else "; nothing came after it"
    )


def _wanted(rule: RecoveryRule) -> dict[str, str | int | None]:
    said = {"after_error": rule.after_error, "must": rule.must, "tool": rule.tool, "within": rule.within}
    return {key: value for key, value in said.items() if value is not None}
