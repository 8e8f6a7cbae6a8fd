"""contextual_relevancy: how much of what was retrieved is about the question"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material, numbered
from agenteval_cli.metrics.interface import Means, Measured, Metric, listed, share
from agenteval_cli.metrics.words import DOCUMENTS_TASK, STATEMENTS


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    documents = [("documents", numbered(material.retrieval_context or ()))]
    statements = listed(means, DOCUMENTS_TASK, documents, STATEMENTS)
    return share(
        means,
        "is the statement relevant to what the user asked?",
        statements,
        [("user", material.input)],
        noun="retrieved statements are relevant",
    )


METRIC = Metric(
    name="contextual_relevancy",
    summary="statements in the retrieved documents that are about the question / statements",
    source="DeepEval's contextual relevancy; Es et al., RAGAS, arXiv:2309.15217, count sentences",
    needs=("retrieval_context",),
    measure=measure,
)
