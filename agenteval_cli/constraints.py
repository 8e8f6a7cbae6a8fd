"""What a case says of the path: the frozen values that its `trajectory` becomes, once, at the door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agenteval_cli.pointers import resolved

Data = Mapping[str, Any]
ORDERED_MODES = frozenset({"exact", "in_order"})


class CallPattern(msgspec.Struct, frozen=True):
    """A tool call as a constraint names it.

    `times` is a matcher for how often it comes, None means at least once; `occurrence` is the number of the call of
    its tool that has to fit, from 1, or -1 for the last one. `ignore` names arguments that are not compared; `defaults`
    are the values of arguments that a call leaves out.
    """

    tool: str
    arguments: dict[str, Any] | None = None
    exact: bool = False
    times: Any = None
    status: str | None = None
    occurrence: int | None = None
    ignore: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}


class OrderRule(msgspec.Struct, frozen=True):
    """Every call of `then`, or only the first one, has a call of `first` before it; with `each`, one of its own."""

    first: CallPattern
    then: CallPattern
    mode: str = "every"
    count_failed: bool = False


class ExpectedCall(msgspec.Struct, frozen=True):
    """One expected call, with its place in the case, as `expected[1].parallel[0]`."""

    pattern: CallPattern
    place: str
    optional: bool = False


class Stage(msgspec.Struct, frozen=True):
    """Expected calls that may come in any order; with `overlap` they must have run at the same time."""

    members: tuple[ExpectedCall, ...]
    overlap: bool = False


class CallsRule(msgspec.Struct, frozen=True):
    """The calls as a whole, in the words of `mode`; `extra` says whether others may come besides."""

    mode: str
    stages: tuple[Stage, ...]
    extra: bool

    @property
    def ordered(self) -> bool:
        return self.mode in ORDERED_MODES

    @property
    def members(self) -> tuple[ExpectedCall, ...]:
        return tuple(member for stage in self.stages for member in stage.members)


class RecoveryRule(msgspec.Struct, frozen=True):
    """What must follow each failed call of a tool: `must` is retry, fallback, escalate or stop."""

    after_error: str
    must: str
    tool: str | None = None
    within: int | None = None
    same_arguments: bool = True


class Confirmation(msgspec.Struct, frozen=True):
    """A call that needs the user's yes; `yes` are patterns for it, None means the words that are known for it."""

    call: CallPattern
    yes: tuple[str, ...] | None = None


class PlanRule(msgspec.Struct, frozen=True):
    """What the reported reasoning must show of a plan."""

    required: bool = False
    before_action: bool = False
    names_tools: bool = False


class Handoff(msgspec.Struct, frozen=True):
    """The work goes from one agent to another."""

    giver: str
    taker: str


class Trajectory(msgspec.Struct, frozen=True, kw_only=True):
    """The constraints on the path; None is no constraint, an empty `only` allows no tool.

    `standing` says whether the rules that need no asking count here: they do for a case, not once more for its turns.
    `inventory` has each tool of the case with its parameters' schema (None: it has none), and is None where the case
    has no `tools`; `user_says` is what the user says before any of the calls, where that is one message.
    """

    required: tuple[CallPattern, ...] | None = None
    forbidden: tuple[CallPattern, ...] | None = None
    only: tuple[str, ...] | None = None
    order: tuple[OrderRule, ...] | None = None
    calls: CallsRule | None = None
    recovery: tuple[RecoveryRule, ...] | None = None
    max_repeats: int | None = None
    loops: int | None = None
    valid_arguments: bool | None = None
    unknown_tool: bool | None = None
    confirm_before: tuple[Confirmation, ...] | None = None
    plan: PlanRule | None = None
    handoffs: tuple[Handoff, ...] | None = None
    claims: str | None = None
    standing: bool = False
    inventory: dict[str, Any] | None = None
    user_says: Any = None


def trajectory_from(data: Data, state: Any, **known: Any) -> Trajectory:
    """The constraints of data that satisfies the schema; `known` are `standing`, `inventory` and `user_says`."""

    def patterns(key: str) -> tuple[CallPattern, ...] | None:
        return tuple(_pattern(item, state) for item in data[key]) if key in data else None

    return Trajectory(
        required=patterns("required"),
        forbidden=patterns("forbidden"),
        only=tuple(data["only"]) if "only" in data else None,
        order=tuple(_order(rule, state) for rule in data["order"]) if "order" in data else None,
        calls=_calls(data["calls"], state) if "calls" in data else None,
        recovery=tuple(map(_recovery, data["recovery"])) if "recovery" in data else None,
        max_repeats=_whole(data.get("max_repeats")),
        loops=_whole(data["loops"]["max"]) if "loops" in data else None,
        valid_arguments=data.get("valid_arguments"),
        unknown_tool=data.get("unknown_tool"),
        confirm_before=tuple(_confirmation(item, state) for item in data["confirm_before"])
        if "confirm_before" in data
        else None,
        plan=PlanRule(**data["plan"]) if "plan" in data else None,
        handoffs=tuple(Handoff(item["from"], item["to"]) for item in data["handoffs"]) if "handoffs" in data else None,
        claims=data["claims"]["mismatch"] if "claims" in data else None,
        **known,
    )


def inventory_of(data: Data) -> dict[str, Any] | None:
    """The case's tools with their parameters; None where it has none, or where a fixture is not filled in."""
    tools = data.get("tools")
    if tools is None or any("use" in tool for tool in tools):
        return None
    return {tool["name"]: tool.get("parameters") for tool in tools}


def _pattern(item: str | Data, state: Any) -> CallPattern:
    if isinstance(item, str):
        return CallPattern(item)
    arguments = item.get("arguments")
    return CallPattern(
        tool=item["tool"],
        arguments=None if arguments is None else {key: resolved(value, state) for key, value in arguments.items()},
        exact=item.get("exact", False),
        times=item.get("times"),
        status=item.get("status"),
        occurrence=_occurrence(item.get("occurrence")),
        ignore=tuple(item.get("ignore", ())),
        defaults=item.get("defaults", {}),
    )


def _occurrence(value: str | float | None) -> int | None:
    return {"first": 1, "last": -1}[value] if isinstance(value, str) else _whole(value)


def _order(data: Data, state: Any) -> OrderRule:
    return OrderRule(
        _pattern(data["first"], state),
        _pattern(data["then"], state),
        mode=data.get("mode", "every"),
        count_failed=data.get("count_failed", False),
    )


def _calls(data: Data, state: Any) -> CallsRule:
    stages = tuple(_stage(item, f"expected[{index}]", state) for index, item in enumerate(data["expected"]))
    default = "deny" if data["mode"] in ("exact", "subset") else "allow"
    return CallsRule(data["mode"], stages, data.get("extra", default) == "allow")


def _stage(item: str | Data, place: str, state: Any) -> Stage:
    if isinstance(item, str) or "parallel" not in item:
        return Stage((_expected(item, place, state),))
    members = tuple(
        _expected(member, f"{place}.parallel[{index}]", state) for index, member in enumerate(item["parallel"])
    )
    return Stage(members, overlap=item.get("overlap", False))


def _expected(item: str | Data, place: str, state: Any) -> ExpectedCall:
    if isinstance(item, str):
        return ExpectedCall(CallPattern(item), place)
    return ExpectedCall(_pattern({**item, "tool": item["name"]}, state), place, item.get("optional", False))


def _recovery(data: Data) -> RecoveryRule:
    return RecoveryRule(**{**data, "within": _whole(data.get("within"))})


def _confirmation(item: str | Data, state: Any) -> Confirmation:
    yes = None if isinstance(item, str) else item.get("yes")
    return Confirmation(_pattern(item, state), None if yes is None else tuple(yes))


def _whole(value: float | None) -> int | None:
    """2.0 is a whole number to JSON Schema, and an int from here on."""
    return None if value is None else int(value)
