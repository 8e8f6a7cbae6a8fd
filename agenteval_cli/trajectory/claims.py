"""claims: what the agent says it called is what the tool server saw it call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from agenteval_cli.compare import shown
from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.trajectory.evidence import Calls, Evidence
from agenteval_cli.trajectory.identity import claimed_identity, own_name
from agenteval_cli.transcript import ToolCall

DEFAULT = "warning"


def claims(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """Claimed and observed calls are paired one to one, by tool and arguments. Their order is not compared."""
    if constraints.claims == "ignore":
        return
    claimed, seen = evidence.claimed, evidence.calls
    invented, untold = _without_arguments(claimed, seen, _left_over(claimed, seen), _left_over(seen, claimed))
    words = [
        *(f"the agent claims {_shown(claimed[index])}, which never came" for index in invented[:1]),
        *(f"step {index + 1}, {_shown(seen[index])}, came and the agent does not tell of it" for index in untold[:1]),
    ]
    if not words:
        yield "claims.mismatch", OK
        return
    more = len(invented) + len(untold) - len(words)
    also = f" (and {more} more)" if more else ""
    yield "claims.mismatch", Finding(FAILED, "; ".join(words) + also, _names(seen), _names(claimed))


def _left_over(calls: Calls, others: Calls) -> list[int]:
    """The indices of calls that are in `calls` more often than in `others`."""
    left = Counter(map(claimed_identity, others))
    over = []
    for index, call in enumerate(calls):
        key = claimed_identity(call)
        if left[key]:
            left[key] -= 1
        else:
            over.append(index)
    return over


def _without_arguments(
    claimed: Calls, seen: Calls, invented: list[int], untold: list[int]
) -> tuple[list[int], list[int]]:
    """What is left over where a claim whose arguments nobody told may be any call of its tool."""
    left, still = list(untold), []
    for index in invented:
        claim = claimed[index]
        same_tool = (at for at in left if own_name(seen[at]) == own_name(claim))
        found = next(same_tool, None) if claim.arguments is None else None
        if found is None:
            still.append(index)
        else:
            left.remove(found)
    return still, left


def _shown(call: ToolCall) -> str:
    return f"{call.name}({shown(call.arguments)})"


def _names(calls: Calls) -> list[str]:
    return [call.name for call in calls[:50]]
