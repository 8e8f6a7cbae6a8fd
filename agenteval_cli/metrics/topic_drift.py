"""topic_drift: how many of the agent's turns leave the topic; 0 is the best"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import AGAINST, Means, Measured, Metric, share, turns_of


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    turns = turns_of(material, least=2)
    return share(
        means.ask,
        "does the agent's part of this turn leave what the user wants in this conversation?",
        turns,
        (),
        noun="turns leave the topic, or nobody can tell",
        counts=AGAINST,
    )


METRIC = Metric(
    name="topic_drift",
    summary="turns leave the topic / turns",
    source="our own; the complement of DeepEval's turn relevancy over the whole conversation",
    case_needs=("turns",),
    threshold=0.5,
    lower_is_better=True,
    measure=measure,
)
