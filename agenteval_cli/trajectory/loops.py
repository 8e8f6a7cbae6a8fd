"""loops: a round of two or three calls, not all identical, may come at most so many times in a row."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.trajectory.evidence import Calls, Evidence, several_untold
from agenteval_cli.trajectory.identity import identity
from agenteval_cli.trajectory.matching import step

LENGTHS = (2, 3)


def loops(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """The step that completes the first round too many is named."""
    most = constraints.loops or 1
    keys = [identity(call) for call in evidence.calls]
    found = [(at, length) for length in LENGTHS if (at := _first_too_many(keys, length, most)) is not None]
    if not found:
        several_untold(evidence.calls, most)
    yield "loops", _finding(evidence.calls, *min(found), most) if found else OK


def _first_too_many(keys: Sequence[Hashable], length: int, most: int) -> int | None:
    """Where round number `most` + 1 of a cycle is complete."""
    run = 0  # how many calls in a row are what came `length` before them
    for at in range(length, len(keys)):
        run = run + 1 if keys[at] == keys[at - length] else 0
        if run >= most * length and len(set(keys[at - length + 1 : at + 1])) > 1:
            return at
    return None


def _finding(calls: Calls, at: int, length: int, most: int) -> Finding:
    names = ", ".join(call.name for call in calls[at - length + 1 : at + 1])
    words = f"{step(at, calls[at])}, ends round {most + 1} of {names} in a row; at most {most} may come"
    return Finding(FAILED, words, most, most + 1)
