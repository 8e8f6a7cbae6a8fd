"""A test case: the frozen value that a valid case file becomes, once, at the door."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli.constraints import Trajectory, inventory_of, trajectory_from
from agenteval_cli.pointers import resolved
from agenteval_cli.simulation import Role, role_of
from agenteval_cli.state_patches import is_literal
from agenteval_cli.units import seconds

DEFAULT_TIER = "regression"
NO_OWN_TEXT = frozenset({"schema", "id", "title", "why", "tags", "metadata", "notes", "provenance", "variables"})
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool of the inventory, as the agent is told of it."""

    name: str
    description: str = ""
    parameters: Any = None


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The budgets of one attempt; `timeout` in seconds, `cost` as decimal text."""

    timeout: float | None = None
    steps: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost: str | None = None
    turns: int | None = None


class OutcomeCheck(msgspec.Struct, frozen=True):
    """One check of the answer or the end state. `name` is its place in the case, as `outcome[0].contains`.

    `turn` is that of the conversation, from 1, or from -1 backwards, ANY or ALL; the last one where it is None. `parts`
    are the checks that all_of, any_of and not put together. The rest are the options that stand beside a check.
    """

    name: str
    kind: str
    expected: Any
    ignore_case: bool = False
    severity: str = "error"
    note: str = ""
    turn: int | str | None = None
    ignore_space: bool = False
    fold: tuple[str, ...] = ()
    normal_form: str = "NFC"
    full: bool = False
    flags: tuple[str, ...] = ()
    json: Any = "whole"
    exact: bool = False
    parts: tuple[OutcomeCheck, ...] = ()


ANY, ALL = "any", "all"  # turns
CHECK_OPTIONS = frozenset(OutcomeCheck.__struct_fields__) - {"name", "kind", "expected", "parts"}
_SIMILAR = {"measure": "token_f1", "threshold": 0.7}  # what match: similar asks for
_WITH_REFERENCES = frozenset({"state", "number", "money", "date"})  # a reference into the state may stand in them


class Turn(msgspec.Struct, frozen=True):
    """One turn of a script: what the user says, and what must hold of the answer to it."""

    user: Any
    outcome: tuple[OutcomeCheck, ...]
    trajectory: Trajectory


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One test case. `data` is the file's content with its variables filled in; the rest is read from it."""

    id: str
    file: str
    data: dict[str, Any]
    title: str
    tier: str
    tags: tuple[str, ...]
    quarantined: bool
    agent: str | None
    messages: tuple[dict[str, Any], ...]
    turns: tuple[Turn, ...]
    role: Role | None
    files: tuple[str, ...]
    tools: tuple[Tool, ...]
    limits: Limits
    attempts: int | None
    min_pass_rate: float
    outcome: tuple[OutcomeCheck, ...]
    trajectory: Trajectory

    @property
    def input(self) -> Any:
        """What the user says in the turn under test; of a script, in the first one. None where it is simulated."""
        return self.messages[-1]["content"] if self.messages and self.role is None else None


def case_from(file: str, data: dict[str, Any]) -> Case:
    """The case of data that satisfies the schema, its variables filled in and its fixtures resolved."""
    return Case(
        id=data["id"],
        file=file,
        data=data,
        title=data.get("title", ""),
        tier=data.get("tier", DEFAULT_TIER),
        tags=tuple(data.get("tags", ())),
        quarantined="quarantine" in data,
        agent=data.get("agent"),
        messages=_messages(data),
        turns=tuple(_turn(index, turn, data) for index, turn in enumerate(data.get("turns", ()))),
        role=role_of(data),
        files=tuple(data.get("files", ())),
        tools=tuple(_tool(tool) for tool in data.get("tools", ()) if "name" in tool),
        limits=_limits(data.get("limits", {})),
        attempts=_whole(data.get("attempts")),
        min_pass_rate=float(data.get("min_pass_rate", 1.0)),
        outcome=_outcome(data),
        trajectory=_trajectory(data),
    )


def filled(data: dict[str, Any]) -> dict[str, Any]:
    """The case's own texts with {{name}} replaced by its variables; other braces are left as they are."""
    values = {item["name"]: _as_text(item["value"]) for item in data.get("variables", ())}
    if not values:
        return data
    return {key: value if key in NO_OWN_TEXT else _filled(value, values) for key, value in data.items()}


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return value if is_literal(value) else {key: _filled(item, values) for key, item in value.items()}
    return [_filled(item, values) for item in value] if isinstance(value, list) else value


def _as_text(value: str | float | bool) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _messages(data: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The whole conversation up to the turn under test."""
    before = tuple(data.get("conversation", ()))
    if "turns" in data:
        return (*before, {"role": "user", "content": data["turns"][0]["user"]})
    return (*before, {"role": "user", "content": data["input"]}) if "input" in data else before


def _turn(index: int, turn: Mapping[str, Any], data: Mapping[str, Any]) -> Turn:
    state = data.get("state", {})
    checks = tuple(
        _outcome_check(f"turns[{index}].outcome[{number}]", item, state)
        for number, item in enumerate(turn.get("outcome", ()))
    )
    constraints = trajectory_from(
        turn.get("trajectory", {}), state, inventory=inventory_of(data), user_says=turn["user"]
    )
    return Turn(turn["user"], checks, constraints)


def _trajectory(data: Mapping[str, Any]) -> Trajectory:
    """The constraints on the whole path; of several turns nobody can say which of them comes before a call."""
    messages = () if len(data.get("turns", ())) > 1 or "simulation" in data else _messages(data)
    return trajectory_from(
        data.get("trajectory", {}),
        data.get("state", {}),
        standing=True,
        inventory=inventory_of(data),
        user_says=messages[-1]["content"] if messages else None,
    )


def _tool(data: Mapping[str, Any]) -> Tool:
    return Tool(data["name"], data.get("description", ""), data.get("parameters"))


def _limits(data: Mapping[str, Any]) -> Limits:
    timeout = seconds(data["timeout"]) if "timeout" in data else None
    whole = {key: int(value) for key, value in data.items() if key not in ("timeout", "cost")}
    return Limits(timeout=timeout, cost=data.get("cost"), **whole)


def _whole(value: float | None) -> int | None:
    """2.0 is a whole number to JSON Schema, and an int from here on."""
    return None if value is None else int(value)


def _outcome(data: Mapping[str, Any]) -> tuple[OutcomeCheck, ...]:
    state = data.get("state", {})
    checks = [_outcome_check(f"outcome[{index}]", item, state) for index, item in enumerate(data.get("outcome", ()))]
    kind = {"exact": "equals", "contains": "contains", "similar": "similarity"}.get(data.get("match", ""))
    expected = data.get("expected_output")
    if kind and expected is not None:
        asked = {"to": _as_text(expected), **_SIMILAR} if kind == "similarity" else expected
        checks.append(OutcomeCheck(f"match.{data['match']}", kind, asked))
    return tuple(checks)


def _outcome_check(place: str, item: Mapping[str, Any], state: Any) -> OutcomeCheck:
    kind = next(key for key in item if key not in CHECK_OPTIONS)
    options: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in item.items() if key != kind
    }
    return OutcomeCheck(
        name=f"{place}.{kind}",
        kind=kind,
        expected=_matcher(kind, item[kind], state),
        parts=tuple(_parts(f"{place}.{kind}", kind, item[kind], state)),
        **options,
    )


def _parts(place: str, kind: str, expected: Any, state: Any) -> Iterator[OutcomeCheck]:
    """The checks that a check is made of, each by its place in the case."""
    if kind == "not":
        yield _outcome_check(place, expected, state)
    elif kind in ("all_of", "any_of"):
        for index, item in enumerate(expected):
            yield _outcome_check(f"{place}[{index}]", item, state)


def _matcher(kind: str, expected: Any, state: Any) -> Any:
    """What a check expects, references into the case's state replaced where matchers stand."""
    if kind in _WITH_REFERENCES:
        return resolved(expected, state)
    if kind == "field":
        path, matcher = expected["path"], {key: value for key, value in expected.items() if key != "path"}
        return {"path": path, **resolved(matcher, state)}
    return expected
