"""The parts of a case that rules look at, taken apart once for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agenteval_cli.rules.interface import Part, Path, Subject


def subject(data: Mapping[str, Any], tools: Sequence[Mapping[str, Any]] | None = None) -> Subject:
    """The case taken apart; `tools` is its inventory where that is not just what it says itself."""
    parts: list[Part] = [((), data)]
    parts += ((("turns", index), turn) for index, turn in enumerate(data.get("turns", ())))
    checks = [
        ((*path, "outcome", index), check)
        for path, part in parts
        for index, check in enumerate(part.get("outcome", ()))
    ]
    trajectories = [((*path, "trajectory"), part["trajectory"]) for path, part in parts if "trajectory" in part]
    calls = [call for path, trajectory in trajectories for call in _calls(path, trajectory)]
    return Subject(data, list(data.get("tools", ())) if tools is None else tools, parts, checks, trajectories, calls)


def _calls(path: Path, trajectory: Mapping[str, Any]) -> Iterator[Part]:
    for key in ("required", "forbidden"):
        for index, call in enumerate(trajectory.get(key, ())):
            yield (*path, key, index), call if isinstance(call, Mapping) else {"tool": call}
    for index, call in enumerate(trajectory.get("calls", {}).get("expected", ())):
        yield (*path, "calls", "expected", index), {**call, "tool": call["name"]}
