"""max_repeats: how often the identical call, same tool and same arguments, may come."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.case import Trajectory
from agenteval_cli.compare import same
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.trajectory.calls import Calls, step


def max_repeats(constraints: Trajectory, calls: Calls) -> Iterator[tuple[str, Finding]]:
    """The first step that is one too many is named."""
    most = constraints.max_repeats or 1
    for index, call in enumerate(calls):
        earlier = [other for other in calls[:index] if other.name == call.name]
        count = 1 + sum(same(call.arguments, other.arguments) for other in earlier)
        if count > most:
            words = f"{step(index, call)} makes {count} identical calls; at most {most} may come"
            yield "max_repeats", Finding(FAILED, words, most, count)
            return
    yield "max_repeats", OK
