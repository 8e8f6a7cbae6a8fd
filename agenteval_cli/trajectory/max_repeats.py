"""max_repeats: how often the identical call, same tool and same arguments, may come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.trajectory.evidence import Evidence, several_untold
from agenteval_cli.trajectory.identity import identity
from agenteval_cli.trajectory.matching import step


def max_repeats(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """The first step that is one too many is named."""
    most = constraints.max_repeats or 1
    counts: Counter[Hashable] = Counter()
    for index, call in enumerate(evidence.calls):
        key = identity(call)
        counts[key] += 1
        if counts[key] > most:
            words = f"{step(index, call)} makes {counts[key]} identical calls; at most {most} may come"
            yield "max_repeats", Finding(FAILED, words, most, counts[key])
            return
    several_untold(evidence.calls, most)
    yield "max_repeats", OK
