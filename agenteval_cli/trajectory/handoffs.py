"""handoffs: the work went from one agent to another, in this order; other handoffs may come between."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.trajectory.evidence import Evidence, NoEvidenceError


def handoffs(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """A handoff is where a call has another agent than the one before it; calls without an agent are passed over."""
    made = [(at, call.agent) for at, call in enumerate(evidence.calls) if call.agent is not None]
    if evidence.calls and not made:
        raise NoEvidenceError("nothing tells which agent made which call: no call has an agent")
    came = [(at, giver, taker) for (_, giver), (at, taker) in pairwise(made) if giver != taker]
    place = 0
    for index, rule in enumerate(constraints.handoffs or ()):
        wanted = (rule.giver, rule.taker)
        found = next((at for at in range(place, len(came)) if came[at][1:] == wanted), None)
        if found is None:
            words = f"{rule.giver} did not hand over to {rule.taker}{_after(place, came)}; {_all(came)}"
            yield f"handoffs[{index}]", Finding(FAILED, words, list(wanted), [list(item[1:]) for item in came[:12]])
        else:
            place = found + 1
            yield f"handoffs[{index}]", OK


def _after(place: int, came: list[tuple[int, str, str]]) -> str:
    return f" after step {came[place - 1][0] + 1}" if place else ""


def _all(came: list[tuple[int, str, str]]) -> str:
    if not came:
        return "there was no handoff"
    return "there were " + ", ".join(f"{giver} to {taker} at step {at + 1}" for at, giver, taker in came[:12])
