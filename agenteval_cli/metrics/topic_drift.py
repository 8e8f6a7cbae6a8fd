"""topic_drift: how much of what the agent deals with is off the topics; 0 is the best"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.judgement import NO
from agenteval_cli.material import Material, numbered
from agenteval_cli.metrics.interface import (
    AGAINST,
    Means,
    Measured,
    Metric,
    NotMeasurableError,
    counted,
    decided,
    listed,
    texts_in,
)
from agenteval_cli.metrics.turns import turns_of

TOPICS_TASK = (
    "List the topics that the user's first wishes in this conversation are about: what the agent is there for."
)
DEALS_TASK = "does the agent deal with something in this turn? To decline, or to say nothing to the matter, is not to."
STRAYS_TASK = (
    "is what the agent says in this turn about none of the topics? A greeting or a thank-you is about no other."
)


def measure(material: Material, means: Means, options: Mapping[str, Any]) -> Measured:
    turns = turns_of(material, least=2)
    topics = texts_in(options, "topics") or listed(means, TOPICS_TASK, [("conversation", numbered(turns))], "topics")
    deals, strays = decided(means, [DEALS_TASK, STRAYS_TASK], turns, [("topics", numbered(topics))])
    dealt = [index for index in range(len(turns)) if deals[index]["answer"] != NO]
    if not dealt:
        raise NotMeasurableError("the agent deals with nothing in this conversation")
    noun = "turns leave the topics, or nobody can tell"
    return counted([turns[index] for index in dealt], [strays[index] for index in dealt], noun=noun, counts=AGAINST)


METRIC = Metric(
    name="topic_drift",
    summary="turns off the topics / turns in which the agent deals with something; the topics are options.topics or "
    "drawn from what the user first asks",
    source="1 - RAGAS' topic adherence (precision): answered and on the topics / answered",
    case_needs=("turns",),
    threshold=0.5,
    lower_is_better=True,
    options=("topics",),
    measure=measure,
)
