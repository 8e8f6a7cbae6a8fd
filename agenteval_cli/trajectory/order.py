"""order: every call of `then` has a call of `first` before it; a `first` that failed does not count."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.case import OrderRule, Trajectory
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.trajectory.calls import Calls, step


def order(constraints: Trajectory, calls: Calls) -> Iterator[tuple[str, Finding]]:
    """Where `then` was never called there is nothing to be out of order."""
    for index, rule in enumerate(constraints.order or ()):
        yield f"order[{index}]", _finding(rule, calls)


def _finding(rule: OrderRule, calls: Calls) -> Finding:
    firsts = [at for at, call in enumerate(calls) if call.name == rule.first and call.status != "error"]
    for at, call in enumerate(calls):
        if call.name == rule.then and not (firsts and firsts[0] < at):
            wanted = f"{rule.first} before every {rule.then}"
            return Finding(FAILED, f"{step(at, call)} came {_words(rule, calls, firsts)}", wanted, call.name)
    return OK


def _words(rule: OrderRule, calls: Calls, firsts: list[int]) -> str:
    if firsts:
        return f"before {rule.first}, which came at step {firsts[0] + 1}"
    failed = any(call.name == rule.first for call in calls)
    return f"without a {rule.first} that worked" if failed else f"without any {rule.first}"
