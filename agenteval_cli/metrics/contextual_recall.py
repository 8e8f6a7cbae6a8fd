"""contextual_recall: how much of the reference answer the retrieved documents would give"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material, numbered
from agenteval_cli.metrics.interface import Means, Measured, Metric, listed, share
from agenteval_cli.metrics.words import CLAIMS, CLAIMS_TASK


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    reference = [("answer", material.expected_output or "")]
    claims = listed(means, CLAIMS_TASK, reference, CLAIMS)
    return share(
        means,
        "can the statement be attributed to the documents?",
        claims,
        [("documents", numbered(material.retrieval_context or ()))],
        noun="claims of the reference are in the documents",
    )


METRIC = Metric(
    name="contextual_recall",
    summary="claims of the reference answer that the retrieved documents hold / claims",
    source="RAGAS' context recall with a judge: attributable claims of the reference / its claims",
    case_needs=("expected_output",),
    needs=("retrieval_context",),
    measure=measure,
)
