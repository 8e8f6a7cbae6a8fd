"""conversation_coherence: how many of the agent's turns follow from what was said"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, share, turns_of


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    turns = turns_of(material, least=1)
    return share(
        means.ask,
        "does the agent's part of this turn follow from the conversation before it, without contradicting it?",
        turns,
        (),
        noun="turns are coherent",
    )


METRIC = Metric(
    name="conversation_coherence",
    summary="turns are coherent / turns",
    source="our own; turn by turn, as DeepEval's turn relevancy",
    case_needs=("turns",),
    measure=measure,
)
