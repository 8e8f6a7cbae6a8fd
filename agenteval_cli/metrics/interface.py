"""What a metric owes, and the two shapes that most of them have: a share of items, and a rating on a scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.judgement import CANNOT_TELL, YES
from agenteval_cli.material import Block, Material, numbered, shown_call
from agenteval_cli.questions import Question, answers_by_item, item_keys, list_keys

JUDGE = "judge"
EMBEDDINGS = "embeddings"
MOST_ITEMS = 100  # that one question asks about; more than that no model answers for one by one
AGAINST = (YES, CANNOT_TELL)  # of what is bad: what nobody can tell counts against the agent
Ask = Callable[[Question], Mapping[str, Any]]
Embed = Callable[[Sequence[str]], list[list[float]]]


class NotMeasurableError(Exception):
    """There is nothing to measure: no claim, no call, no document. Never a score of 1, and never one of 0."""


class Measured(msgspec.Struct, frozen=True):
    """A score from 0 to 1 and what it is made of, in words."""

    score: float
    reason: str


class Means(msgspec.Struct, frozen=True):
    """How a metric asks. Both raise NoVerdictError or JudgeFaultError, which a metric lets pass."""

    ask: Ask
    embed: Embed


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A named measure of one attempt.

    `case_needs` are keys of the case without which it cannot be computed, `needs` fields of the material that the agent
    must have reported. `by` is who answers: judge, embeddings, or nobody. With `lower_is_better` a threshold is the
    most that is allowed.
    """

    name: str
    summary: str
    source: str
    measure: Callable[[Material, Means, Mapping[str, Any]], Measured]
    case_needs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    by: str = JUDGE
    part: str = "outcome"
    threshold: float = 0.7
    lower_is_better: bool = False
    options: tuple[str, ...] = ()

    def holds(self, score: float, threshold: float) -> bool:
        return score <= threshold if self.lower_is_better else score >= threshold


def listed(ask: Ask, task: str, blocks: Sequence[Block], what: str) -> list[str]:
    """The texts that a judge finds in the blocks. Raises NotMeasurableError where there are none."""
    question = Question(task=task, blocks=tuple(blocks), keys=list_keys(f"a list of texts, {what}; empty if none"))
    items = list(dict.fromkeys(item.strip() for item in ask(question)["items"] if item.strip()))
    if not items:
        raise NotMeasurableError(f"the judge found no {what}")
    return items


def decided(ask: Ask, task: str, items: Sequence[str], blocks: Sequence[Block]) -> list[Mapping[str, Any]]:
    """For each item its verdict: `answer` is yes, no or cannot_tell, with a `reason`."""
    if not items:
        raise NotMeasurableError("there is nothing to decide about")
    if len(items) > MOST_ITEMS:
        raise NotMeasurableError(f"{len(items)} items are more than a judge decides about in one go ({MOST_ITEMS})")
    question = Question(
        task=f"For each of the numbered items decide: {task}",
        blocks=(*blocks, ("items", numbered(items))),
        keys=item_keys(len(items)),
    )
    return answers_by_item(ask(question), len(items))


def share(
    ask: Ask, task: str, items: Sequence[str], blocks: Sequence[Block], *, noun: str, counts: Sequence[str] = (YES,)
) -> Measured:
    """The share of the items whose answer is one of `counts`."""
    verdicts = decided(ask, task, items, blocks)
    counted = [verdict["answer"] in counts for verdict in verdicts]
    others = [
        f"{item!r}: {verdict['reason']}" for item, verdict, yes in zip(items, verdicts, counted, strict=True) if not yes
    ]
    first = f"; first other: {others[0][:300]}" if others else ""
    return Measured(sum(counted) / len(counted), f"{sum(counted)} of {len(counted)} {noun}{first}")


def rating(
    ask: Ask,
    criterion: str,
    steps: Sequence[str],
    blocks: Sequence[Block],
    scale: tuple[int, int] = (1, 5),
) -> Measured:
    """A rating by a rubric with evaluation steps, brought to 0..1 (the form-filling of G-Eval, arXiv:2303.16634)."""
    low, high = scale
    how = f"\n\nSteps:\n{numbered(steps)}" if steps else ""
    question = Question(
        task=f"Rate the answer by this criterion: {criterion}{how}\n\n{low} is the worst rating, {high} the best.",
        blocks=tuple(blocks),
        keys={
            "reason": ({"type": "string"}, "what each step found, in short"),
            "rating": ({"type": "integer", "minimum": low, "maximum": high}, f"a whole number from {low} to {high}"),
        },
    )
    answer = ask(question)
    return Measured(
        (answer["rating"] - low) / (high - low), f"{answer['rating']} on {low} to {high}: {answer['reason']}"
    )


def steps_of(material: Material) -> list[str]:
    """The steps of the path: the tool calls, or the reasoning where no calls are known."""
    steps = [shown_call(call) for call in material.tool_calls or ()]
    steps = steps or [f"{step.type}: {step.content}" for step in material.reasoning or ()]
    if not steps:
        raise NotMeasurableError("the agent reported no steps")
    return steps


def turns_of(material: Material, least: int) -> list[str]:
    """The turns of a conversation, what the user said and what came back. Raises NotMeasurableError below `least`."""
    if len(material.turns) < least:
        raise NotMeasurableError(f"{len(material.turns)} turns of a conversation are too few to tell")
    return [f"user: {user}\n   agent: {answer}" for user, answer in material.turns]
