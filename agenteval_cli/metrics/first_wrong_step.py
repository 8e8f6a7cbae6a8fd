"""first_wrong_step: how far the agent got before its first wrong step"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.judgement import NO
from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, decided, steps_of


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    steps = steps_of(material)
    (verdicts,) = decided(
        means,
        ["given all steps before it, is this step a mistake that the agent could have avoided?"],
        steps,
        [("user", material.input), ("answer", material.output)],
        in_order=True,
    )
    wrong = next((index for index, verdict in enumerate(verdicts) if verdict["answer"] != NO), None)
    if wrong is None:
        return Measured(1.0, f"none of {len(steps)} steps is wrong")
    words = f"step {wrong + 1} of {len(steps)}, {steps[wrong][:120]}: {verdicts[wrong]['reason']}"
    return Measured(wrong / len(steps), words)


METRIC = Metric(
    name="first_wrong_step",
    summary="steps before the first wrong one / steps; 1 where none is wrong; the reason names it",
    source="the first error of a process: Lightman et al., arXiv:2305.20050; Zheng et al., arXiv:2412.06559",
    part="trajectory",
    measure=measure,
)
