"""order: a call of `then` has a call of `first` before it; a `first` that failed does not count unless asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from agenteval_cli.constraints import CallPattern, OrderRule, Trajectory
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, Finding
from agenteval_cli.trajectory.evidence import Calls, Evidence
from agenteval_cli.trajectory.matching import fits, may_fit, named, step, together, untold
from agenteval_cli.transcript import ToolCall

Fits = Callable[[CallPattern, ToolCall], bool]
_WHICH = {"every": "every", "first": "the first", "each": "each"}


def order(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """Where `then` was never called there is nothing to be out of order."""
    for index, rule in enumerate(constraints.order or ()):
        yield f"order[{index}]", _finding(rule, evidence.calls)


def _finding(rule: OrderRule, calls: Calls) -> Finding:
    """Where nobody told all of a call it is taken both ways, as a `then` and no `first` and the other way round."""
    found = _decided(rule, calls, fits, may_fit)
    worst = _decided(rule, calls, may_fit, fits)
    if found.result == worst.result:
        return found
    unclear = (at for at, call in enumerate(calls) for each in (rule.first, rule.then) if _is_unclear(each, call))
    at = next(unclear)
    return Finding(NO_EVIDENCE, untold(at, calls[at]), worst.expected)


def _is_unclear(pattern: CallPattern, call: ToolCall) -> bool:
    return may_fit(pattern, call) and not fits(pattern, call)


def _decided(rule: OrderRule, calls: Calls, is_then: Fits, is_first: Fits) -> Finding:
    thens = [at for at, call in enumerate(calls) if is_then(rule.then, call)]
    firsts = [at for at, call in enumerate(calls) if _counts(rule, call, is_first)]
    for number, at in enumerate(thens[:1] if rule.mode == "first" else thens):
        before = _before(firsts, calls, at)
        if before <= (number if rule.mode == "each" else 0):
            wanted = f"{named(rule.first)} before {_WHICH[rule.mode]} {named(rule.then)}"
            words = f"without a {named(rule.first)} of its own" if before else _words(rule, calls, firsts, at)
            return Finding(FAILED, f"{step(at, calls[at])} came {words}", wanted, at + 1)
    return OK


def _before(firsts: list[int], calls: Calls, at: int) -> int:
    """How many of the `first` came before this call. One made at the same time did not."""
    earlier = bisect_left(firsts, at)
    if calls[at].group is None:
        return earlier
    return earlier - sum(together(calls[first], calls[at]) for first in firsts[:earlier])


def _counts(rule: OrderRule, call: ToolCall, is_first: Fits) -> bool:
    """Whether this call is a `first`. One that failed has not done what `then` relies on."""
    asked_for = rule.count_failed or rule.first.status == "error"
    return is_first(rule.first, call) and (asked_for or call.status != "error")


def _words(rule: OrderRule, calls: Calls, firsts: list[int], at: int) -> str:
    first = named(rule.first)
    if firsts and firsts[0] > at:
        return f"before {first}, which came at step {firsts[0] + 1}"
    if firsts and firsts[0] < at:
        return f"at the same time as {first}, which is step {firsts[0] + 1}"
    failed = any(fits(rule.first, call) for call in calls)
    return f"without a {first} that worked" if failed and not firsts else f"without any {first} before it"
