"""conciseness: whether the answer says what is needed and no more"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, rating

CRITERION = "The answer gives what was asked for in as few words as that takes."
STEPS = (
    "Find what the user needs to know or get done.",
    "Find what in the answer is repeated, filler, or beside the question.",
    "Leaving out what is needed is no conciseness: rate that low as well.",
)


def measure(material: Material, means: Means, options: Mapping[str, Any]) -> Measured:
    return rating(
        means,
        options.get("criterion", CRITERION),
        options.get("steps", STEPS),
        [("user", material.input), ("answer", material.output)],
    )


METRIC = Metric(
    name="conciseness",
    summary="rating from 1 to 5, brought to 0..1",
    source="Liu et al., G-Eval, arXiv:2303.16634",
    threshold=0.5,
    options=("criterion", "steps"),
    measure=measure,
)
