"""context_retention: how many of the agent's turns remember what was said before"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, share, turns_of


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    turns = turns_of(material, least=2)
    return share(
        means.ask,
        "does the agent's part of this turn use what it was told before, and ask for none of it again?",
        turns,
        (),
        noun="turns remember what was said",
    )


METRIC = Metric(
    name="context_retention",
    summary="turns remember what was said / turns",
    source="after DeepEval's knowledge retention: turns without forgetting / turns",
    case_needs=("turns",),
    measure=measure,
)
