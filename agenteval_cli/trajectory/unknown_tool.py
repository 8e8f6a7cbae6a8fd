"""unknown_tool: no tool outside the case's inventory was called."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.problems import did_you_mean
from agenteval_cli.trajectory.evidence import Evidence, NoEvidenceError
from agenteval_cli.trajectory.matching import step


def unknown_tool(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """The first call outside the inventory is named."""
    if constraints.unknown_tool is False:
        return
    tools = constraints.inventory
    if tools is None:
        raise NoEvidenceError("the case has no tools to hold the calls against")
    for index, call in enumerate(evidence.calls):
        if call.name not in tools:
            words = f"{step(index, call)} is no tool of the case{did_you_mean(call.name, tools)}"
            yield "unknown_tool", Finding(FAILED, words, list(tools), call.name)
            return
    yield "unknown_tool", OK
