"""task_completion: how much of what the user wanted is done"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material, blocks_of
from agenteval_cli.metrics.interface import Means, Measured, Metric, listed, share, texts_in

TASK = "List what the user wants done or answered: one goal each, so that one can say whether it is reached."


def measure(material: Material, means: Means, options: Mapping[str, Any]) -> Measured:
    goals = texts_in(options, "goals") or listed(means, TASK, [("user", material.input)], "goals")
    return share(
        means,
        "do the evidence and the answer show that this goal is reached? What the agent only says it did is not shown.",
        goals,
        blocks_of(material),
        noun="goals are reached",
    )


METRIC = Metric(
    name="task_completion",
    summary="goals that are reached / goals; the goals are options.goals or drawn from what the user asks",
    source="after DeepEval's task completion (task against outcome), goal by goal instead of one number",
    threshold=0.5,
    options=("goals",),
    measure=measure,
)
