"""contextual_precision: whether what is relevant was retrieved first"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.judgement import YES
from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, decided


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    documents = material.retrieval_context or ()
    (verdicts,) = decided(
        means,
        ["is this document useful for arriving at the reference answer?"],
        documents,
        [("user", material.input), ("reference answer", material.expected_output or "")],
    )
    relevant = [verdict["answer"] == YES for verdict in verdicts]
    found = sum(relevant)
    if not found:
        return Measured(0.0, f"none of {len(relevant)} documents is relevant")
    at_rank = [sum(relevant[: rank + 1]) / (rank + 1) for rank, yes in enumerate(relevant) if yes]
    ranks = ", ".join(str(rank) for rank, yes in enumerate(relevant, start=1) if yes)
    return Measured(sum(at_rank) / found, f"{found} of {len(relevant)} documents are relevant, at rank {ranks}")


METRIC = Metric(
    name="contextual_precision",
    summary="mean of precision@k over the ranks k of relevant documents",
    source="RAGAS' context precision with reference: sum of precision@k x relevance(k) / relevant in the top K",
    case_needs=("expected_output",),
    needs=("retrieval_context",),
    measure=measure,
)
