"""faithfulness: how much of what the answer claims the retrieved documents support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material, numbered
from agenteval_cli.metrics.interface import Means, Measured, Metric, listed, share
from agenteval_cli.metrics.words import CLAIMS, CLAIMS_TASK


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    claims = listed(means, CLAIMS_TASK, [("user", material.input), ("answer", material.output)], CLAIMS)
    documents = numbered(material.retrieval_context or ())
    return share(
        means,
        "can the statement be inferred from the documents alone?",
        claims,
        [("documents", documents)],
        noun="claims are supported",
    )


METRIC = Metric(
    name="faithfulness",
    summary="claims of the answer that the retrieved documents support / claims",
    source="Es et al., RAGAS, arXiv:2309.15217, section 3",
    needs=("retrieval_context",),
    measure=measure,
)
