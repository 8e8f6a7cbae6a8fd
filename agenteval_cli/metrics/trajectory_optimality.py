"""trajectory_optimality: how many of the steps were needed"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, share, steps_of


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    return share(
        means,
        "was this step needed for what the user asked? A repeat, a detour or a result that nothing uses was not.",
        steps_of(material),
        [("user", material.input), ("answer", material.output)],
        noun="steps were needed",
        in_order=True,
    )


METRIC = Metric(
    name="trajectory_optimality",
    summary="needed steps / steps; the steps are tool calls, or the reported reasoning where no calls are known",
    source="after DeepEval's step efficiency, step by step instead of one number",
    part="trajectory",
    measure=measure,
)
