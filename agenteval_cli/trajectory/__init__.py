"""Rules over the path: siblings behind one interface, in a registry you can read.

A rule takes the case's constraints and the calls in the order they were made, and yields one Finding per constraint
with its place in the case. It does no I/O. Without evidence of the calls no rule is asked: nothing is a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from agenteval_cli.case import Trajectory
from agenteval_cli.finding import NO_EVIDENCE, CheckResult, Finding
from agenteval_cli.patterns import PatternTimeoutError
from agenteval_cli.trajectory.calls import Calls
from agenteval_cli.trajectory.forbidden import forbidden
from agenteval_cli.trajectory.max_repeats import max_repeats
from agenteval_cli.trajectory.only import only
from agenteval_cli.trajectory.order import order
from agenteval_cli.trajectory.required import required
from agenteval_cli.transcript import Transcript

Rule = Callable[[Trajectory, Calls], Iterator[tuple[str, Finding]]]

RULES: Mapping[str, Rule] = MappingProxyType(
    {"required": required, "forbidden": forbidden, "only": only, "order": order, "max_repeats": max_repeats}
)


def checked(constraints: Trajectory, transcript: Transcript) -> Iterator[CheckResult]:
    """Every constraint decided on one transcript."""
    for name, rule in RULES.items():
        if getattr(constraints, name) is None:
            continue
        if transcript.tool_calls is None:
            finding = Finding(NO_EVIDENCE, "nothing tells which tools were called: the agent reported no tool_calls")
            yield finding.named(f"trajectory.{name}", "trajectory")
            continue
        try:
            results = list(rule(constraints, transcript.tool_calls))
        except PatternTimeoutError as error:
            results = [(name, Finding("error", str(error)))]
        for place, finding in results:
            yield finding.named(f"trajectory.{place}", "trajectory")
