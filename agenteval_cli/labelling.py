"""What there is to label in a run, and labels as the entries of a file: pure but for reading the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.case import Case
from agenteval_cli.criteria import Criterion, criteria_of
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.judged import metric_of, threshold_of
from agenteval_cli.material import Material, material_of
from agenteval_cli.metrics.interface import JUDGE
from agenteval_cli.records import AttemptRecord
from agenteval_cli.store import Run, Transcripts
from agenteval_cli.transcript import ReasoningStep


class Item(msgspec.Struct, frozen=True):
    """One criterion and one attempt, to be said yes or no to."""

    case: str
    attempt: int
    criterion: Criterion
    material: Material
    unstable: bool


def items_of(run: Run, cases: Mapping[str, Case]) -> list[Item]:
    """Every judged criterion of every attempt that was answered; first those on which the judges' votes parted.

    A criterion that was edited since is left out where it was judged: the run tells of another one.
    """
    with Transcripts(run) as transcripts:
        found = [item for attempt in run.attempts for item in _items(transcripts, attempt, cases.get(attempt.case))]
    return sorted(found, key=lambda item: not item.unstable)


def entry_of(item: Item, label: str, run_id: str, by: str) -> dict[str, Any]:
    """The label as an entry of labels/*.yaml. That there were no calls is not that nobody knows of any."""
    material = item.material
    criterion = item.criterion
    given: dict[str, Any] = {
        "criterion": criterion.text or None,
        "metric": criterion.metric,
        "steps": list(criterion.steps) or None,
        "scale": _list(criterion.scale),
        "threshold": criterion.threshold,
        "options": criterion.options or None,
        "label": label,
        "by": by or None,
        "run": run_id,
        "case": item.case,
        "attempt": item.attempt,
        "conversation": [{"role": role, "content": text} for role, text in material.before] or None,
        "input": material.input or None,
        "output": material.output,
        "expected_output": material.expected_output,
        "context": _list(material.context),
        "retrieval_context": _list(material.retrieval_context),
        "turns": [{"user": user, "output": output} for user, output in material.turns if criterion.metric] or None,
        "tool_calls": None if material.tool_calls is None else [_call(call) for call in material.tool_calls],
        "reasoning": None if material.reasoning is None else [_step(step) for step in material.reasoning],
        "state": material.state,
    }
    return {key: value for key, value in given.items() if value is not None}


def words_of(criterion: Criterion) -> str:
    """What there is to say yes or no to: the statement, or what of the metric the threshold asks for."""
    metric = metric_of(criterion)
    if metric is None:
        return criterion.text
    sign = "at most" if metric.lower_is_better else "at least"
    return f"{metric.name}, {metric.summary}: {sign} {threshold_of(criterion):g}"


def key_of(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells two labels of one run apart."""
    asked = str([entry.get(key) for key in ("criterion", "metric", "steps", "scale", "threshold", "options")])
    return (entry.get("run"), entry.get("case"), entry.get("attempt"), asked, entry.get("by", ""))


def _items(transcripts: Transcripts, attempt: AttemptRecord, case: Case | None) -> Iterator[Item]:
    judged = {judgement.criterion: judgement for judgement in attempt.judgements}
    asked = [item for item in criteria_of(case.data) if _is_judged(item)] if case else []
    wanted = [item for item in asked if item.name not in judged or judged[item.name].digest == item.digest]
    if case is None or not wanted:
        return
    record = transcripts.of(attempt)
    if record.transcript is None:
        return
    answered = Answered(Facts(), record.transcript, record.turns, record.talk)
    for criterion in wanted:
        unstable = criterion.name in judged and judged[criterion.name].unstable
        yield Item(attempt.case, attempt.attempt, criterion, material_of(case, answered, criterion.turn), unstable)


def _is_judged(criterion: Criterion) -> bool:
    metric = metric_of(criterion)
    return metric is None or metric.by == JUDGE


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _step(step: ReasoningStep) -> dict[str, str]:
    return {"type": step.type, "content": step.content}


def _call(call: Any) -> dict[str, Any]:
    made = msgspec.to_builtins(call)
    return {key: made[key] for key in ("name", "arguments", "result", "error") if made.get(key) is not None}
