"""coherence: whether the answer hangs together"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, rating

CRITERION = "The answer is a well-organised whole: its sentences follow from each other and none contradicts another."
STEPS = (
    "Read the answer and find its main point.",
    "Find sentences that contradict each other or do not follow.",
    "Rate only how it hangs together, not whether it is true.",
)


def measure(material: Material, means: Means, options: Mapping[str, Any]) -> Measured:
    return rating(
        means, options.get("criterion", CRITERION), options.get("steps", STEPS), [("answer", material.output)]
    )


METRIC = Metric(
    name="coherence",
    summary="rating from 1 to 5, brought to 0..1",
    source="Liu et al., G-Eval, arXiv:2303.16634",
    threshold=0.7,
    options=("criterion", "steps"),
    measure=measure,
)
