"""answer_relevancy: how much of the answer is about what was asked"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, listed, share
from agenteval_cli.metrics.words import STATEMENTS, STATEMENTS_TASK


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    statements = listed(means, STATEMENTS_TASK, [("answer", material.output)], STATEMENTS)
    return share(
        means,
        "does the statement answer, or help to answer, what the user asked?",
        statements,
        [("user", material.input)],
        noun="statements are relevant",
    )


METRIC = Metric(
    name="answer_relevancy",
    summary="statements of the answer that are about the question / statements",
    source="DeepEval's answer relevancy; after Es et al., RAGAS, arXiv:2309.15217, without the embeddings",
    measure=measure,
)
