"""plan_quality: whether the plan would get the task done"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material, numbered
from agenteval_cli.metrics.interface import Means, Measured, Metric, NotMeasurableError, rating

CRITERION = "The plan is complete, in a workable order, and without needless steps for what the user asked."
STEPS = (
    "Find what has to happen for the user's request to be done.",
    "Find which of it the plan leaves out, and which of its steps nobody needs.",
    "Find steps that come before what they depend on.",
)


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    plan = [step.content for step in material.reasoning or () if step.type.upper() == "PLAN"]
    if not plan:
        raise NotMeasurableError("the agent reported no plan")
    return rating(means, CRITERION, STEPS, [("user", material.input), ("plan", numbered(plan))])


METRIC = Metric(
    name="plan_quality",
    summary="rating of the reported plan from 1 to 5, brought to 0..1",
    source="after DeepEval's plan quality, in the form of G-Eval (arXiv:2303.16634)",
    needs=("reasoning",),
    part="trajectory",
    measure=measure,
)
