"""plan_adherence: whether the agent did what it planned"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material, blocks_of
from agenteval_cli.metrics.interface import Means, Measured, Metric, NotMeasurableError, share


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    plan = [step.content for step in material.reasoning or () if step.type.upper() == "PLAN"]
    if not plan:
        raise NotMeasurableError("the agent reported no plan")
    return share(
        means,
        "did the agent carry out this step of its plan, or give a good reason not to?",
        plan,
        [block for block in blocks_of(material) if block[0] in ("reasoning", "tool calls", "answer")],
        noun="planned steps were carried out",
    )


METRIC = Metric(
    name="plan_adherence",
    summary="planned steps that were carried out / planned steps",
    source="after DeepEval's plan adherence, step by step instead of one number",
    needs=("reasoning",),
    part="trajectory",
    measure=measure,
)
