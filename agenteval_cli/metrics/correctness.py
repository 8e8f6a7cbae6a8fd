"""correctness: whether the answer says what the reference answer says, rated by steps"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, rating

CRITERION = "The answer is factually the same as the reference answer."
STEPS = (
    "List the facts in the reference answer.",
    "Find for each of them whether the answer states it, leaves it out, or contradicts it.",
    "Contradictions weigh most, then what is left out; other wording, order and length weigh nothing.",
)


def measure(material: Material, means: Means, options: Mapping[str, Any]) -> Measured:
    return rating(
        means,
        options.get("criterion", CRITERION),
        options.get("steps", STEPS),
        [("user", material.input), ("reference answer", material.expected_output or ""), ("answer", material.output)],
    )


METRIC = Metric(
    name="correctness",
    summary="rating from 1 to 5 against the reference answer, brought to 0..1",
    source="Liu et al., G-Eval, arXiv:2303.16634",
    threshold=0.5,
    case_needs=("expected_output",),
    options=("criterion", "steps"),
    measure=measure,
)
