"""tool_result_use: whether the answer makes use of what the tools gave"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material, shown_call
from agenteval_cli.metrics.interface import Means, Measured, Metric, NotMeasurableError, share


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    results = [shown_call(call) for call in material.tool_calls or () if call.status != "error"]
    if not results:
        raise NotMeasurableError("no tool gave a result")
    return share(
        means,
        "is this result used in the answer, or rightly left out because the user does not need it?",
        results,
        [("user", material.input), ("answer", material.output)],
        noun="results are used",
    )


METRIC = Metric(
    name="tool_result_use",
    summary="results of tools that the answer uses or rightly leaves out / results",
    source="our own",
    needs=("tool_calls",),
    part="trajectory",
    measure=measure,
)
