"""The parts of a case that rules look at, each with its path; turns included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agenteval_cli.rules.interface import Path

Part = tuple[Path, Mapping[str, Any]]


def parts(data: Mapping[str, Any]) -> Iterator[Part]:
    """The case itself and each of its turns: all that may hold checks."""
    yield (), data
    for index, turn in enumerate(data.get("turns", ())):
        yield ("turns", index), turn


def outcome_checks(data: Mapping[str, Any]) -> Iterator[Part]:
    """Every outcome check."""
    for path, part in parts(data):
        for index, check in enumerate(part.get("outcome", ())):
            yield (*path, "outcome", index), check


def trajectories(data: Mapping[str, Any]) -> Iterator[Part]:
    """Every trajectory."""
    for path, part in parts(data):
        if "trajectory" in part:
            yield (*path, "trajectory"), part["trajectory"]


def calls(data: Mapping[str, Any]) -> Iterator[Part]:
    """Every call that a trajectory names, as a mapping with its `tool`."""
    for path, trajectory in trajectories(data):
        for key in ("required", "forbidden"):
            for index, call in enumerate(trajectory.get(key, ())):
                yield (*path, key, index), call if isinstance(call, Mapping) else {"tool": call}
        for index, call in enumerate(trajectory.get("calls", {}).get("expected", ())):
            yield (*path, "calls", "expected", index), {**call, "tool": call["name"]}
