"""Turns of a conversation, and a question about each of them in the light of those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agenteval_cli.material import Block, Material, indented
from agenteval_cli.metrics.interface import Means, NotMeasurableError
from agenteval_cli.questions import Question, verdict_keys

WINDOW = 10  # turns that a question about the last of them shows


def turns_of(material: Material, least: int) -> list[str]:
    """The turns of a conversation, what the user said and what came back. Raises NotMeasurableError below `least`."""
    if len(material.turns) < least:
        raise NotMeasurableError(f"{len(material.turns)} turns of a conversation are too few to tell")
    return [f"user: {indented(user, 6)}\n   agent: {indented(answer, 6)}" for user, answer in material.turns]


def windows(turns: Sequence[str]) -> list[str]:
    """For each turn a text of it and the turns before it, WINDOW in all."""
    return ["\n".join(turns[max(0, end - WINDOW) : end]) for end in range(1, len(turns) + 1)]


def decided_each(means: Means, task: str, each: Sequence[Sequence[Block]]) -> list[Mapping[str, Any]]:
    """The verdict on one question about each of several sets of blocks: `answer` and `reason`."""
    questions = [Question(task=task, blocks=tuple(blocks), keys=verdict_keys()) for blocks in each]
    return list(means.ask_all(questions))
