"""The fields of a TestCase: from the keys of a mapping to fields, and from what was given to what is kept."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from msgspec import UNSET

from agenteval_cli import schemas
from agenteval_cli.json_values import decimal_text, frozen, kind_of
from agenteval_cli.problems import did_you_mean, shown_path
from agenteval_cli.units import seconds

# What a recording holds, and the field that holds it here.
RECORDED: Mapping[str, str] = MappingProxyType(
    {
        "output": "actual_output",
        "messages": "messages",
        "tool_calls": "tool_calls",
        "reasoning": "reasoning",
        "retrieval_context": "retrieval_context",
        "usage": "usage",
        "cost": "cost",
        "latency_ms": "latency_ms",
        "state": "end_state",
        "model": "model",
        "trace_id": "trace_id",
    }
)
_OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "title": "name",
        "expected": "expected_output",
        "expectedOutput": "expected_output",
        "actual": "actual_output",
        "actualOutput": "actual_output",
        "match_type": "match",
    }
)
_OWN_KEYS = frozenset(
    ["schema", "id", "title", "tags", "metadata", "input", "expected_output", "match", "criteria", "recording"]
)
_INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "expected_contains": "outcome: [{contains: [...]}]",
        "expected_not_contains": "outcome: [{not_contains: [...]}]",
        "expected_schema": "outcome: [{json_schema: {...}}]",
    }
)
_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?(ms|s|m|h)")


# ---- what a mapping says, by field


def by_field(mapping: Mapping[str, Any], fields: Collection[str]) -> dict[str, Any]:
    """What a mapping says, by field; `schema`, and what else only case files say, by its own name."""
    given: dict[str, Any] = {}
    for key, value in _flat(mapping):
        name = _OTHER_NAMES.get(key, key)
        if name == "more" or (name not in fields and name not in schemas.load("case")["properties"]):
            raise ValueError(_unknown(key, fields))
        if name in given:
            raise ValueError(f"{name} is given twice, once as '{key}'")
        given[name] = value
    return given


def _flat(mapping: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The items of a mapping, those of its recording and the timeout of its limits among them."""
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise TypeError(f"the key {key!r} is {kind_of(key)}; keys are texts")
        if key == "recording" and isinstance(value, Mapping):
            yield from ((_recorded_field(inner), item) for inner, item in value.items())
            if "output" not in value:
                raise ValueError("recording: the output is missing; null where there was no answer")
        elif key == "limits" and isinstance(value, Mapping) and "timeout" in value:
            yield "timeout", value["timeout"]
            yield from [(key, rest)] if (rest := {k: v for k, v in value.items() if k != "timeout"}) else []
        else:
            yield key, value


def _recorded_field(key: str) -> str:
    if key not in RECORDED:
        raise ValueError(f"recording: unknown key '{key}'{did_you_mean(str(key), RECORDED)}")
    return RECORDED[key]


def _unknown(key: str, fields: Collection[str]) -> str:
    known = ({*fields} - {"more"}) | schemas.load("case")["properties"].keys()
    if key in _INSTEAD:
        return f"unknown key '{key}'; write {_INSTEAD[key]}"
    return f"unknown key '{key}'{did_you_mean(key, known) or '; docs/cases.md has the keys of a case'}"


# ---- what is kept of what was given


def settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a case as they are kept: copied, frozen, each of its kind."""
    kept = {name: value if value is UNSET else frozen(value, name) for name, value in given.items() if name != "cost"}
    kept["cost"] = None if given["cost"] is None else decimal_text(given["cost"], "cost")
    kept["criteria"] = (kept["criteria"],) if isinstance(kept["criteria"], str) else kept["criteria"]
    for name in ("criteria", "tags", "messages", "tool_calls", "reasoning", "retrieval_context"):
        kept[name] = _as_tuple(kept[name], name)
    for name in ("metadata", "more"):
        if not isinstance(kept[name], dict):
            raise TypeError(f"{name} is a mapping, not {kind_of(given[name])}")
    for name in ("name", "id", "match"):
        if not isinstance(kept[name], str | None):
            raise TypeError(f"{name} is a text, not {kind_of(given[name])}")
    kept["timeout"] = _timeout(kept["timeout"])
    _check_more(kept["more"], given.keys())
    if kept["actual_output"] is UNSET and any(is_recorded(key, kept[name]) for key, name in RECORDED.items()):
        kept["actual_output"] = None
    return kept


def is_recorded(key: str, value: Any) -> bool:
    """Whether a value of this key of a recording was observed: None is a value of some keys, UNSET of none."""
    return value is not UNSET and (value is not None or key in ("output", "state"))


def _as_tuple(value: Any, name: str) -> tuple[Any, ...] | None:
    if not isinstance(value, list | tuple | None):
        raise TypeError(f"{name} is a list, not {kind_of(value)}")
    return None if value is None and name not in ("criteria", "tags") else tuple(value or ())


def _timeout(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return seconds(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"timeout is a number of seconds, or a text such as '2m', not {value!r}")
    if value < 0:
        raise ValueError(f"timeout: {value!r} is less than 0 seconds")
    return float(value)


def timeout_text(timeout: float) -> str:
    """Seconds as a case file has them, every digit kept."""
    return f"{Decimal(int(timeout)) if timeout.is_integer() else Decimal(repr(timeout)):f}s"


def _check_more(more: Any, fields: Collection[str]) -> None:
    for key, value in more.items():
        if key in _OWN_KEYS and (key, value) != ("expected_output", None):
            raise ValueError(f"more: '{key}' has a field of its own")
        if key not in schemas.load("case")["properties"]:
            raise ValueError(f"more: {_unknown(key, fields)}")
    limits = more.get("limits", {})
    if not isinstance(limits, dict):
        raise TypeError(f"more.limits is a mapping, not {kind_of(limits)}")
    if "timeout" in limits:
        raise ValueError("more.limits: give timeout as the field of that name")


def fault_of(data: Mapping[str, Any]) -> str | None:
    """The first reason why this is not the data of a case file, in the words of the fields; None where it is."""
    if schemas.is_valid("case", data):
        return None
    path, words, _ = next(iter(schemas.explanations("case", data)))
    match path:
        case ["title", *inner]:
            path = ["name", *inner]
        case ["recording", str(key), *inner]:
            path = [RECORDED.get(key, key), *inner]
    return f"{shown_path(path)}: {words}" if path else words
