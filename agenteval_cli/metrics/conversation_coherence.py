"""conversation_coherence: how many of the agent's turns are to the point of what was said"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, counted
from agenteval_cli.metrics.turns import decided_each, turns_of, windows

TASK = """\
Is what the agent says last relevant to the conversation up to there? Something short or vague is relevant where it \
answers a greeting or something vague."""


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    turns = turns_of(material, least=1)
    verdicts = decided_each(means, TASK, [[("conversation", window)] for window in windows(turns)])
    return counted(turns, verdicts, noun="turns are relevant")


METRIC = Metric(
    name="conversation_coherence",
    summary="turns in which the agent is relevant to the conversation up to there, the last 10 turns of it / turns",
    source="DeepEval's turn relevancy: relevant turns / turns, each asked with a sliding window of 10",
    case_needs=("turns",),
    measure=measure,
)
