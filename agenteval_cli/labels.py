"""Labels of people: what they say of criteria, in files that are kept with the cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli import schemas, yaml_reader
from agenteval_cli.criteria import Criterion
from agenteval_cli.digests import digest
from agenteval_cli.errors import InvalidFilesError, UsageError
from agenteval_cli.judged import kind_of
from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import JUDGE
from agenteval_cli.phrases import as_text
from agenteval_cli.problems import Problem, did_you_mean
from agenteval_cli.sources import bytes_of, is_yaml
from agenteval_cli.transcript import ReasoningStep, ToolCall
from agenteval_cli.yaml_reader import Document

FOLDER = "labels"
FORMAT = 2


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What one person says of one criterion and one answer: whether it holds, yes or no. `place` is file and number.

    `score` is the person's rating or measure, from 0 to 1, None where the label has none.
    """

    place: str
    criterion: Criterion
    label: str
    material: Material
    score: float | None = None
    by: str = ""
    note: str = ""

    @property
    def kind(self) -> str:
        """That of the criterion."""
        return kind_of(self.criterion)

    @property
    def item(self) -> str:
        """The same for labels of different people about the same thing."""
        return digest([self.criterion.digest, msgspec.to_builtins(self.material)])


def read_labels(folder: Path) -> list[Label]:
    """All labels in the folder, file by file. Raises InvalidFilesError with every problem of every file,
    UsageError for a file that cannot be read.
    """
    problems = []
    found: list[Label] = []
    for path in sorted(path for path in folder.rglob("*") if is_yaml(path.name) and not path.is_dir()):
        name = f"{folder.name}/{path.relative_to(folder)}"
        try:
            reading = yaml_reader.read(name, bytes_of(path))
        except OSError as error:
            raise UsageError(f"{name} cannot be read: {error.strerror}") from error
        problems += [problem for problem in reading.problems if problem.severity == "error"]
        if reading.document is None:
            continue
        broken = schemas.problems_in(reading.document, "labels") or _senseless(reading.document)
        problems += broken
        if not broken:
            found += _labels(reading.document.file, reading.document.data["labels"])
    if problems:
        raise InvalidFilesError(problems)
    return found


def disputed(labels: Sequence[Label]) -> set[str]:
    """The items on which people do not agree: nobody can be held against them."""
    said: dict[str, set[str]] = {}
    for label in labels:
        said.setdefault(label.item, set()).add(label.label)
    return {item for item, answers in said.items() if len(answers) > 1}


def _labels(file: str, items: Sequence[dict[str, Any]]) -> Iterator[Label]:
    for number, item in enumerate(items, start=1):
        place = f"{file}#{number}"
        criterion = _criterion(place, item)
        low, high = criterion.scale or (0, 1)
        yield Label(
            place=place,
            criterion=criterion,
            label=item["label"],
            material=_material(item),
            score=(item["score"] - low) / (high - low) if "score" in item else None,
            by=item.get("by", ""),
            note=item.get("note", ""),
        )


def _criterion(place: str, item: dict[str, Any]) -> Criterion:
    """The criterion as a judge is asked it."""
    scale = item.get("scale")
    return Criterion(
        name=place,
        text=item.get("criterion", ""),
        metric=item.get("metric"),
        steps=tuple(item.get("steps", ())),
        scale=(int(scale[0]), int(scale[1])) if scale else None,
        threshold=item.get("threshold"),
        options=item.get("options", {}),
    )


def _senseless(document: Document) -> list[Problem]:
    """What a schema cannot say: labels that no judge could be held against."""
    return [
        document.problem(("labels", index, key), "schema", words)
        for index, item in enumerate(document.data["labels"])
        for key, words in (*_confused(item), *_of_metric(item))
    ]


def _confused(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    scored = "metric" in item or "scale" in item
    for key in ("score", "threshold"):
        if key in item and not scored:
            yield key, f"a plain statement has no {key}; give a scale or a metric"
    for key in ("criterion", "steps", "scale"):
        if key in item and "metric" in item:
            yield key, "a label is of a statement or of a metric, not of both"
    if "options" in item and "metric" not in item:
        yield "options", "only metrics have options"
    low, high = item.get("scale", (0, 1))
    if low >= high:
        yield "scale", f"[{low}, {high}] does not go from the lowest rating to the highest"
    elif not low <= item.get("score", low) <= high:
        yield "score", f"{item['score']:g} is not between {low} and {high}"


def _of_metric(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "metric" not in item:
        return
    from agenteval_cli.metrics.registry import METRICS

    name = item["metric"]
    metric = METRICS.get(name)
    if metric is None:
        yield "metric", f"no metric '{name}'{did_you_mean(name, METRICS) or '; docs/metrics.md lists them'}"
        return
    if metric.by != JUDGE:
        yield "metric", f"no judge is asked for {name}: there is nobody to hold against people"
        return
    for key in (*metric.case_needs, *metric.needs):
        if key not in item:
            yield "metric", f"{name} needs {key}, which this label does not have"
    for key in item.get("options", {}):
        if key not in metric.options:
            known = f"it has {', '.join(metric.options)}" if metric.options else "it has none"
            yield "options", f"{name} has no option '{key}'; {known}"


def _material(item: dict[str, Any]) -> Material:
    calls, steps = item.get("tool_calls"), item.get("reasoning")
    return Material(
        input=as_text(item.get("input", "")),
        output=as_text(item["output"]),
        turns=tuple((as_text(turn["user"]), as_text(turn["output"])) for turn in item.get("turns", ())),
        before=tuple((message["role"], as_text(message["content"])) for message in item.get("conversation", ())),
        expected_output=as_text(item["expected_output"]) if item.get("expected_output") is not None else None,
        context=tuple(map(as_text, item["context"])) if "context" in item else None,
        retrieval_context=tuple(map(as_text, item["retrieval_context"])) if "retrieval_context" in item else None,
        tool_calls=None if calls is None else tuple(msgspec.convert(call, ToolCall) for call in calls),
        reasoning=None if steps is None else tuple(msgspec.convert(step, ReasoningStep) for step in steps),
        state=as_text(item["state"]) if "state" in item else None,
    )
