"""hallucination: how many of the case's documents the answer contradicts; 0 is the best"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import AGAINST, Means, Measured, Metric, share


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    return share(
        means,
        "does the answer contradict this document?",
        material.context or (),
        [("user", material.input), ("answer", material.output)],
        noun="documents are contradicted, or nobody can tell",
        counts=AGAINST,
    )


METRIC = Metric(
    name="hallucination",
    summary="documents of the case that the answer contradicts / documents",
    source="DeepEval's hallucination metric: contradicted contexts / contexts",
    case_needs=("context",),
    threshold=0.5,
    lower_is_better=True,
    measure=measure,
)
