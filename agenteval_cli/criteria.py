"""Judged criteria of a case: each asks one question, alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli.digests import digest

MAJORITY = "majority"
UNANIMOUS = "unanimous"
MEAN = "mean"
SAME_AS_REFERENCE = "The answer says the same as the reference answer: nothing it states is missing or contradicted."


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """One criterion. `name` is its place in the case; `turn` the index of the turn it is about, None for the whole.

    Either `text` is the statement that is judged, with `steps` and a `scale` for a rubric, or `metric` names a measure.
    `threshold` is held against a score from 0 to 1. No `judges` means the default one.
    """

    name: str
    text: str = ""
    metric: str | None = None
    steps: tuple[str, ...] = ()
    scale: tuple[int, int] | None = None
    threshold: float | None = None
    options: dict[str, Any] = {}
    gate: bool = False
    votes: int = 1
    rule: str = MAJORITY
    judges: tuple[str, ...] = ()
    turn: int | None = None

    @property
    def digest(self) -> str:
        """Of what is asked and how the answers are put together; whether it gates changes neither."""
        asked = msgspec.to_builtins(self)
        return digest({key: value for key, value in asked.items() if key not in ("name", "gate", "turn")})


def criteria_of(data: Mapping[str, Any]) -> tuple[Criterion, ...]:
    """The criteria in a case's data: its own, those of its simulation and its turns, and `match: judged`."""
    return tuple(_all(data))


def _all(data: Mapping[str, Any]) -> Iterator[Criterion]:
    if "criteria" in data:
        yield from _listed("criteria", data["criteria"], None)
    if "criteria" in data.get("simulation", ()):
        yield from _listed("simulation.criteria", data["simulation"]["criteria"], None)
    for index, turn in enumerate(data.get("turns", ())):
        if "criteria" in turn:
            yield from _listed(f"turns[{index}].criteria", turn["criteria"], index)
    if data.get("match") == "judged" and data.get("expected_output") is not None:
        yield Criterion(name="match.judged", text=SAME_AS_REFERENCE, gate=True)


def _listed(place: str, given: Any, turn: int | None) -> Iterator[Criterion]:
    for index, item in enumerate([given] if isinstance(given, str) else given):
        criterion = {"text": item} if isinstance(item, str) else item
        yield _criterion(_name(place, index, criterion), criterion, turn)


def _name(place: str, index: int, item: Mapping[str, Any]) -> str:
    """`criteria.tone` by its own ID, else `criteria[2].faithfulness` by its metric, else `criteria[0]`."""
    if "id" in item:
        return f"{place}.{item['id']}"
    return f"{place}[{index}].{item['metric']}" if "metric" in item else f"{place}[{index}]"


def _criterion(name: str, item: Mapping[str, Any], turn: int | None) -> Criterion:
    judge = item.get("judge", ())
    scale = item.get("scale")
    return Criterion(
        name=name,
        text=item.get("text", ""),
        metric=item.get("metric"),
        steps=tuple(item.get("steps", ())),
        scale=(int(scale[0]), int(scale[1])) if scale else None,
        threshold=item.get("threshold"),
        options=item.get("options", {}),
        gate=item.get("gate", False),
        votes=int(item.get("votes", 1)),
        rule=item.get("rule", MAJORITY),
        judges=(judge,) if isinstance(judge, str) else tuple(judge),
        turn=turn,
    )
