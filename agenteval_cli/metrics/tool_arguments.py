"""tool_arguments: whether expected calls were made with the right arguments"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agenteval_cli.constraints import CallPattern
from agenteval_cli.matchers import mismatch
from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, NotMeasurableError
from agenteval_cli.transcript import ToolCall

MOST_CALLS = 16


def measure(material: Material, _means: Means, _options: Mapping[str, Any]) -> Measured:
    wanted = [pattern for pattern in material.expected_calls or () if pattern.arguments]
    if not wanted:
        raise NotMeasurableError("no expected call names its arguments")
    calls = material.tool_calls or ()
    if len(calls) > MOST_CALLS:
        raise NotMeasurableError(f"{len(calls)} calls are more than can be paired exactly ({MOST_CALLS})")
    right = _most_right([[_right(pattern, call) for call in calls] for pattern in wanted])
    total = sum(len(pattern.arguments or {}) for pattern in wanted)
    return Measured(right / total, f"{right} of {total} expected arguments are right")


def _most_right(right: Sequence[Sequence[int]]) -> int:
    """The most right arguments that a pairing of expected calls (rows) with made ones (columns) can have."""
    best = {0: 0}  # the calls that are used, as bits -> the most that are right with them
    for row in right:
        after = dict(best)
        for used, sum_so_far in best.items():
            for index, more in enumerate(row):
                taken = used | 1 << index
                if more and taken != used and after.get(taken, -1) < sum_so_far + more:
                    after[taken] = sum_so_far + more
        best = after
    return max(best.values())


def _right(pattern: CallPattern, call: ToolCall) -> int:
    """How many of the expected arguments the call has as expected; none where it is of another tool."""
    made = call.arguments if isinstance(call.arguments, Mapping) and call.name == pattern.tool else {}
    return sum(key in made and mismatch(value, made[key]) is None for key, value in (pattern.arguments or {}).items())


METRIC = Metric(
    name="tool_arguments",
    summary="expected arguments that are right / expected arguments, with calls paired one to one for the best sum",
    source="share of right arguments per expected call, as most peers; the pairing is exact instead of greedy",
    case_needs=("trajectory",),
    needs=("tool_calls", "expected_calls"),
    by="",
    part="trajectory",
    threshold=0.8,
    measure=measure,
)
