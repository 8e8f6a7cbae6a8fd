"""A test case: the frozen value that a valid case file becomes, once, at the door."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

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
    """One check of the answer or the end state. `name` is its place in the case, as `outcome[0].contains`."""

    name: str
    kind: str
    expected: Any
    ignore_case: bool = False
    severity: str = "error"
    note: str = ""


class CallPattern(msgspec.Struct, frozen=True):
    """A tool call as a constraint names it. `times` is a matcher for how often; None means at least once."""

    tool: str
    arguments: dict[str, Any] | None = None
    exact: bool = False
    times: Any = None
    status: str | None = None


class OrderRule(msgspec.Struct, frozen=True):
    """Every call of `then` has a call of `first` before it."""

    first: str
    then: str


class Trajectory(msgspec.Struct, frozen=True):
    """The constraints on the path that this version checks; None is no constraint, an empty `only` allows no tool."""

    required: tuple[CallPattern, ...] | None = None
    forbidden: tuple[CallPattern, ...] | None = None
    only: tuple[str, ...] | None = None
    order: tuple[OrderRule, ...] | None = None
    max_repeats: int | None = None


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
    files: tuple[str, ...]
    tools: tuple[Tool, ...]
    limits: Limits
    attempts: int | None
    min_pass_rate: float
    outcome: tuple[OutcomeCheck, ...]
    trajectory: Trajectory

    @property
    def input(self) -> Any:
        """What the user says in the turn under test."""
        return self.messages[-1]["content"] if self.messages else None


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
        files=tuple(data.get("files", ())),
        tools=tuple(_tool(tool) for tool in data.get("tools", ()) if "name" in tool),
        limits=_limits(data.get("limits", {})),
        attempts=_whole(data.get("attempts")),
        min_pass_rate=float(data.get("min_pass_rate", 1.0)),
        outcome=_outcome(data),
        trajectory=_trajectory(data.get("trajectory", {})),
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
        return {key: _filled(item, values) for key, item in value.items()}
    return [_filled(item, values) for item in value] if isinstance(value, list) else value


def _as_text(value: str | float | bool) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _messages(data: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The whole conversation up to the turn under test."""
    before = tuple(data.get("conversation", ()))
    return (*before, {"role": "user", "content": data["input"]}) if "input" in data else before


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
    checks = [_outcome_check(index, item) for index, item in enumerate(data.get("outcome", ()))]
    kind = {"exact": "equals", "contains": "contains"}.get(data.get("match", ""))
    if kind and data.get("expected_output") is not None:
        checks.append(OutcomeCheck(f"match.{data['match']}", kind, data["expected_output"]))
    return tuple(checks)


def _outcome_check(index: int, item: Mapping[str, Any]) -> OutcomeCheck:
    options = {"ignore_case", "severity", "note", "turn"}
    kind = next(key for key in item if key not in options)
    return OutcomeCheck(
        name=f"outcome[{index}].{kind}",
        kind=kind,
        expected=item[kind],
        ignore_case=item.get("ignore_case", False),
        severity=item.get("severity", "error"),
        note=item.get("note", ""),
    )


def _trajectory(data: Mapping[str, Any]) -> Trajectory:
    return Trajectory(
        required=tuple(map(_call, data["required"])) if "required" in data else None,
        forbidden=tuple(map(_call, data["forbidden"])) if "forbidden" in data else None,
        only=tuple(data["only"]) if "only" in data else None,
        order=tuple(OrderRule(**rule) for rule in data["order"]) if "order" in data else None,
        max_repeats=_whole(data.get("max_repeats")),
    )


def _call(item: str | Mapping[str, Any]) -> CallPattern:
    return CallPattern(item) if isinstance(item, str) else CallPattern(**item)
