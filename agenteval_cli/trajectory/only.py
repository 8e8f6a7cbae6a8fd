"""only: an allow-list; no tool outside it was called."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.trajectory.evidence import Evidence
from agenteval_cli.trajectory.matching import step


def only(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """The first step outside the list is named. An empty list means that no tool may be called."""
    allowed = constraints.only or ()
    for index, call in enumerate(evidence.calls):
        if call.name not in allowed:
            words = f"{step(index, call)} is not one of the tools allowed here: {', '.join(allowed) or 'none'}"
            yield "only", Finding(FAILED, words, list(allowed), call.name)
            return
    yield "only", OK
