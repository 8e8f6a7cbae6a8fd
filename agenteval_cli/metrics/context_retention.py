"""context_retention: how many of the agent's turns neither forget nor contradict what the user told"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.judgement import NO
from agenteval_cli.material import Material, numbered
from agenteval_cli.metrics.interface import Means, Measured, Metric, NotMeasurableError, counted, listed_each
from agenteval_cli.metrics.turns import decided_each, turns_of, windows

FACTS_TASK = """\
List the facts that the user states in the last message of theirs, each understandable by itself. Take them from what \
the user says there, also as an answer to what the agent asked; what the user only asks or wishes is none."""
FORGETS_TASK = """\
Does what the agent says contradict the facts, or show that it has forgotten one, by asking for it again say? To ask \
for a confirmation, a correction or more detail is not forgetting."""


def measure(material: Material, means: Means, _options: Mapping[str, Any]) -> Measured:
    turns = turns_of(material, least=2)
    facts = listed_each(means, FACTS_TASK, _heard(turns, material), "facts")
    known = [[fact for earlier in facts[: index + 1] for fact in earlier] for index in range(len(turns))]
    told = [index for index in range(len(turns)) if known[index]]
    if not told:
        raise NotMeasurableError("the user states no facts to remember")
    blocks = [[("facts", numbered(known[index])), ("agent", material.turns[index][1])] for index in told]
    verdicts = decided_each(means, FORGETS_TASK, blocks)
    return counted([turns[index] for index in told], verdicts, noun="turns forget nothing", counts=(NO,))


def _heard(turns: list[str], material: Material) -> list[list[tuple[str, str]]]:
    """For each turn what was said before it, and what the user says in it."""
    before = ["", *windows(turns)[:-1]]
    return [
        [*([("conversation before", said)] if said else []), ("user", user)]
        for said, (user, _) in zip(before, material.turns, strict=True)
    ]


METRIC = Metric(
    name="context_retention",
    summary="turns that neither contradict nor forget a fact that the user stated / turns with such a fact before them",
    source="DeepEval's knowledge retention: turns without attrition / turns after some knowledge",
    case_needs=("turns",),
    measure=measure,
)
