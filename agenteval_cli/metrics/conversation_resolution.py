"""conversation_resolution: how much of what the user wanted in a conversation is settled at its end"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material, numbered
from agenteval_cli.metrics.interface import Means, Measured, Metric, listed, share, texts_in
from agenteval_cli.metrics.turns import turns_of

TASK = "List what the user wants in this conversation: one goal each, so that one can say whether it is settled."


def measure(material: Material, means: Means, options: Mapping[str, Any]) -> Measured:
    turns = numbered(turns_of(material, least=1))
    goals = texts_in(options, "goals") or listed(means, TASK, [("conversation", turns)], "goals")
    return share(
        means,
        "is this settled at the end of the conversation?",
        goals,
        [("conversation", turns)],
        noun="goals are settled",
    )


METRIC = Metric(
    name="conversation_resolution",
    summary="goals settled at the end / goals; the goals are options.goals or drawn from what the user says",
    source="DeepEval's conversation completeness: satisfied user intentions / user intentions",
    case_needs=("turns",),
    threshold=0.5,
    options=("goals",),
    measure=measure,
)
