"""semantic_similarity: how near answer and reference answer are as embeddings"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import EMBEDDINGS, Means, Measured, Metric, NotMeasurableError


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    one, other = means.embed([material.output, material.expected_output or ""])
    near = cosine(one, other)
    return Measured(max(0.0, min(1.0, near)), f"cosine {near:.3f}")


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors. Raises NotMeasurableError where a length is 0 or endless."""
    lengths = math.hypot(*one) * math.hypot(*other)
    if not 0 < lengths < math.inf:
        raise NotMeasurableError("an embedding has no length that can be measured")
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths


METRIC = Metric(
    name="semantic_similarity",
    summary="cosine of the embeddings of answer and reference answer; below 0 counts as 0",
    source="Reimers and Gurevych, Sentence-BERT, arXiv:1908.10084; the number means what the model makes it mean",
    case_needs=("expected_output",),
    by=EMBEDDINGS,
    measure=measure,
)
