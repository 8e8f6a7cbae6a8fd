"""What a metric owes, and the two shapes that most of them have: a share of items, and a rating on a scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.judgement import CANNOT_TELL, YES
from agenteval_cli.material import Block, Material, numbered, shown_call
from agenteval_cli.questions import RATING, WEIGHTS, Question, answers_by_item, item_keys, list_keys, rating_keys
from agenteval_cli.weighing import mean_of

JUDGE = "judge"
EMBEDDINGS = "embeddings"
MOST_ITEMS = 100  # that one question asks about; more than that no model answers for one by one
MOST_PARTS = 10  # questions that items are shared out among
AGAINST = (YES, CANNOT_TELL)  # of what is bad: what nobody can tell counts against the agent
Ask = Callable[[Question], Mapping[str, Any]]
AskAll = Callable[[Sequence[Question]], Sequence[Mapping[str, Any]]]
Embed = Callable[[Sequence[str]], list[list[float]]]


class NotMeasurableError(Exception):
    """There is nothing to measure: no claim, no call, no document. Never a score of 1, and never one of 0."""


class Measured(msgspec.Struct, frozen=True):
    """A score from 0 to 1 and what it is made of, in words."""

    score: float
    reason: str


class Means(msgspec.Struct, frozen=True):
    """How a metric asks. All raise NoVerdictError or NoAnswerError, which a metric lets pass.

    `ask_all` is for questions that do not need each other's answers: they are asked at the same time.
    """

    ask: Ask
    embed: Embed
    ask_all: AskAll


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


def listed(means: Means, task: str, blocks: Sequence[Block], what: str) -> list[str]:
    """The texts that a judge finds in the blocks. Raises NotMeasurableError where there are none."""
    (items,) = listed_each(means, task, [blocks], what)
    if not items:
        raise NotMeasurableError(f"the judge found no {what}")
    return items


def listed_each(means: Means, task: str, each: Sequence[Sequence[Block]], what: str) -> list[list[str]]:
    """The texts that a judge finds in each of several sets of blocks, none of them twice."""
    keys = list_keys(f"a list of texts, {what}; empty if none")
    answers = means.ask_all([Question(task=task, blocks=tuple(blocks), keys=keys) for blocks in each])
    return [list(dict.fromkeys(item.strip() for item in answer["items"] if item.strip())) for answer in answers]


def decided(
    means: Means, tasks: Sequence[str], items: Sequence[str], blocks: Sequence[Block], *, in_order: bool = False
) -> list[list[Mapping[str, Any]]]:
    """For each task the verdict on each item: `answer` is yes, no or cannot_tell, with a `reason`.

    Many items are shared out among several questions, unless each is to be seen after all that come before it.
    """
    if not items:
        raise NotMeasurableError("there is nothing to decide about")
    most = MOST_ITEMS if in_order else MOST_ITEMS * MOST_PARTS
    if len(items) > most:
        raise NotMeasurableError(f"{len(items)} items are more than a judge decides about in one go ({most})")
    parts = [items[start : start + MOST_ITEMS] for start in range(0, len(items), MOST_ITEMS)]
    answers = iter(means.ask_all([_question_about(part, task, blocks) for task in tasks for part in parts]))
    return [
        [verdict for part in parts for verdict in answers_by_item(next(answers), len(part))] for _ in range(len(tasks))
    ]


def _question_about(items: Sequence[str], task: str, blocks: Sequence[Block]) -> Question:
    return Question(
        task=f"For each of the numbered items decide: {task}",
        blocks=(*blocks, ("items", numbered(items))),
        keys=item_keys(len(items)),
    )


def share(
    means: Means,
    task: str,
    items: Sequence[str],
    blocks: Sequence[Block],
    *,
    noun: str,
    counts: Sequence[str] = (YES,),
    in_order: bool = False,
) -> Measured:
    """The share of the items whose answer is one of `counts`."""
    (verdicts,) = decided(means, [task], items, blocks, in_order=in_order)
    return counted(items, verdicts, noun=noun, counts=counts)


def counted(
    items: Sequence[str], verdicts: Sequence[Mapping[str, Any]], *, noun: str, counts: Sequence[str] = (YES,)
) -> Measured:
    """The share of verdicts, one for each item, whose answer is one of `counts`. There must be one at least."""
    count = [verdict["answer"] in counts for verdict in verdicts]
    others = [
        f"{item!r}: {verdict['reason']}" for item, verdict, yes in zip(items, verdicts, count, strict=True) if not yes
    ]
    first = f"; first other: {others[0][:300]}" if others else ""
    return Measured(sum(count) / len(count), f"{sum(count)} of {len(count)} {noun}{first}")


def rating(
    means: Means,
    criterion: str,
    steps: Sequence[str],
    blocks: Sequence[Block],
    scale: tuple[int, int] = (1, 5),
) -> Measured:
    """A rating by a rubric with evaluation steps, brought to 0..1 (G-Eval, arXiv:2303.16634).

    Where the judge tells how probable each rating was, it is their mean weighed by that, else the rating that it gave.
    """
    low, high = scale
    how = f"\n\nSteps:\n{numbered(steps)}" if steps else ""
    question = Question(
        task=f"Rate the answer by this criterion: {criterion}{how}\n\n{low} is the worst rating, {high} the best.",
        blocks=tuple(blocks),
        keys=rating_keys(scale),
        scale=scale,
    )
    answer = means.ask(question)
    said = f"{answer[RATING]} on {low} to {high}"
    if WEIGHTS not in answer:
        return Measured((answer[RATING] - low) / (high - low), f"{said}: {answer['reason']}")
    mean = mean_of({int(number): weight for number, weight in answer[WEIGHTS].items()})
    return Measured(
        min(1.0, max(0.0, (mean - low) / (high - low))),
        f"{said}, {mean:.2f} weighed by token probabilities: {answer['reason']}",
    )


def texts_in(options: Mapping[str, Any], name: str) -> list[str]:
    """The texts that an option gives, one or several; none where it is absent."""
    given = options.get(name, ())
    return [given] if isinstance(given, str) else [str(text) for text in given]


def steps_of(material: Material) -> list[str]:
    """The steps of the path: the tool calls, or the reasoning where no calls are known."""
    steps = [shown_call(call) for call in material.tool_calls or ()]
    steps = steps or [f"{step.type}: {step.content}" for step in material.reasoning or ()]
    if not steps:
        raise NotMeasurableError("the agent reported no steps")
    return steps
