"""Labels of people: what they say of criteria, in files that are kept with the cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli import schemas, yaml_reader
from agenteval_cli.criteria import Criterion
from agenteval_cli.digests import digest
from agenteval_cli.errors import InvalidFilesError
from agenteval_cli.material import Material, as_text
from agenteval_cli.transcript import ToolCall

FOLDER = "labels"


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What one person says of one statement about one answer: yes or no. `place` is its file and number."""

    place: str
    criterion: str
    label: str
    material: Material
    by: str = ""
    note: str = ""

    @property
    def item(self) -> str:
        """The same for labels of different people about the same thing."""
        return digest([self.criterion, msgspec.to_builtins(self.material)])


def as_criterion(label: Label) -> Criterion:
    """The criterion as a judge is asked it."""
    return Criterion(name=label.place, text=label.criterion)


def read_labels(folder: Path) -> list[Label]:
    """All labels in the folder, file by file. Raises InvalidFilesError with every problem of every file."""
    problems = []
    found: list[Label] = []
    for path in sorted(folder.rglob("*.yaml")):
        reading = yaml_reader.read(f"{folder.name}/{path.relative_to(folder)}", path.read_bytes())
        problems += [problem for problem in reading.problems if problem.severity == "error"]
        if reading.document is None:
            continue
        broken = schemas.problems_in(reading.document, "labels")
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
        yield Label(
            place=f"{file}#{number}",
            criterion=item["criterion"],
            label=item["label"],
            material=_material(item),
            by=item.get("by", ""),
            note=item.get("note", ""),
        )


def _material(item: dict[str, Any]) -> Material:
    calls = item.get("tool_calls")
    return Material(
        input=as_text(item.get("input", "")),
        output=as_text(item["output"]),
        before=tuple((message["role"], as_text(message["content"])) for message in item.get("conversation", ())),
        expected_output=as_text(item["expected_output"]) if item.get("expected_output") is not None else None,
        context=tuple(map(as_text, item["context"])) if "context" in item else None,
        retrieval_context=tuple(map(as_text, item["retrieval_context"])) if "retrieval_context" in item else None,
        tool_calls=None if calls is None else tuple(msgspec.convert(call, ToolCall) for call in calls),
    )
