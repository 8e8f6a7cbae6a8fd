"""The parts of a case that rules look at, taken apart once for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.pointers import resolved
from agenteval_cli.rules.interface import Part, Path, Subject


def subject(data: Mapping[str, Any], tools: Sequence[Mapping[str, Any]] | None = None) -> Subject:
    """The case taken apart; `tools` is its inventory where that is not just what it says itself.

    In checks and calls, pointers into the case's state stand for their values; those to nothing are left.
    """
    parts: list[Part] = [((), data)]
    if "turns" in data:
        parts += ((("turns", index), turn) for index, turn in enumerate(data["turns"]))
    if "simulation" in data:
        parts.append((("simulation",), {"criteria": data["simulation"].get("criteria", ())}))
    checks = [
        ((*path, "outcome", index), check)
        for path, part in parts
        for index, check in enumerate(part.get("outcome", ()))
    ]
    trajectories = [((*path, "trajectory"), part["trajectory"]) for path, part in parts if "trajectory" in part]
    calls = [call for path, trajectory in trajectories for call in _calls(path, trajectory)]
    if "state" in data and b'"$state"' in msgspec.json.encode([data.get("outcome"), data.get("turns"), trajectories]):
        checks, calls = _pointed(checks, data["state"]), _pointed(calls, data["state"])
    inventory = list(data.get("tools", ())) if tools is None else tools
    return Subject(data, inventory, parts, checks, trajectories, calls, list(_faults(checks)))


def _faults(checks: list[Part]) -> Iterator[tuple[str, Path, str]]:
    """What the checks themselves say is wrong with them."""
    for path, check in checks:
        from agenteval_cli.checks.registry import faults

        yield from ((rule, (*path, *inner), words) for rule, inner, words in faults(check))


def _pointed(parts: list[Part], state: Any) -> list[Part]:
    return [(path, {key: resolved(value, state) for key, value in part.items()}) for path, part in parts]


def _calls(path: Path, trajectory: Mapping[str, Any]) -> Iterator[Part]:
    for key in ("required", "forbidden", "confirm_before"):
        for index, call in enumerate(trajectory.get(key, ())):
            yield (*path, key, index), _as_call(call)
    for index, rule in enumerate(trajectory.get("order", ())):
        yield (*path, "order", index, "first"), _as_call(rule["first"])
        yield (*path, "order", index, "then"), _as_call(rule["then"])
    yield from _expected((*path, "calls", "expected"), trajectory.get("calls", {}).get("expected", ()))


def _expected(path: Path, items: Sequence[Any]) -> Iterator[Part]:
    for index, item in enumerate(items):
        if isinstance(item, dict) and "parallel" in item:
            yield from _expected((*path, index, "parallel"), item["parallel"])
        else:
            yield (*path, index), {**item, "tool": item["name"]} if isinstance(item, dict) else {"tool": item}


def _as_call(call: Any) -> Mapping[str, Any]:
    return call if isinstance(call, dict) else {"tool": call}
