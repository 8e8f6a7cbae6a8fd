"""Every kind of check by its name, and the module that has it: loaded for the case that uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from agenteval_cli.case import CHECK_OPTIONS, OutcomeCheck
from agenteval_cli.checks.interface import COMMON_OPTIONS, Evidence, Kind, Path
from agenteval_cli.finding import Finding
from agenteval_cli.patterns import PatternTimeoutError

CHECKS: Mapping[str, str] = MappingProxyType(
    {
        "contains": "contains",
        "contains_any": "contains",
        "contains_all": "contains",
        "in_order": "contains",
        "not_contains": "contains",
        "starts_with": "ends",
        "ends_with": "ends",
        "equals": "equals",
        "one_of": "equals",
        "regex": "regex",
        "not_regex": "regex",
        "length": "length",
        "not_empty": "length",
        "is_json": "json_schema",
        "json_schema": "json_schema",
        "field": "field",
        "number": "number",
        "money": "money",
        "date": "date",
        "similarity": "similarity",
        "language": "language",
        "citations": "citations",
        "state": "state",
        "files": "files",
        "stop": "stop",
        "all_of": "combined",
        "any_of": "combined",
        "not": "combined",
        "code": "program",
        "command": "program",
    }
)


_OF_ONE_ANSWER = frozenset({"code", "command", "stop"})


@cache
def kind(name: str) -> Kind:
    """The kind of check with this name."""
    found: Kind = import_module(f"agenteval_cli.checks.{CHECKS[name]}").KINDS[name]
    return found


def decided(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """What one check finds. What could not be decided, in time or for its depth, is an error, not a verdict."""
    try:
        return kind(check.kind).decide(check, evidence)
    except PatternTimeoutError as error:
        return Finding("error", str(error))
    except RecursionError:
        return Finding("error", "what the agent gave is nested too deeply to be compared")


def faults(item: Mapping[str, Any]) -> Iterator[tuple[str, Path, str]]:
    """What is wrong with a check as it stands in a case that satisfies the schema: (rule, path inside it, sentence)."""
    name = next(key for key in item if key in CHECKS)
    found = kind(name)
    for option in item:
        if option in CHECK_OPTIONS and option not in found.options and option not in COMMON_OPTIONS:
            yield "bad-check", (option,), f"{option} says nothing about {name}; it belongs to {_having(option)}"
    asked = next(filter(_is_of_one_answer, _with_parts(item)), None) if item.get("turn") in ("any", "all") else None
    if asked is not None:
        words = next(key for key in CHECKS if key in asked)
        yield "bad-check", ("turn",), f"{words} is asked of one answer; name its turn, or leave it out"
    if item.get("turn") == 0:
        yield "bad-check", ("turn",), "turns are counted from 1, and from -1 backwards"
    yield from ((found.rule, path, words) for path, words in found.faults(item))


def _is_of_one_answer(item: Mapping[str, Any]) -> bool:
    return not _OF_ONE_ANSWER.isdisjoint(item) or _embeds(item)


def _with_parts(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A check as the case writes it, and those inside it."""
    yield item
    for part in (*item.get("all_of", ()), *item.get("any_of", ()), *([item["not"]] if "not" in item else ())):
        yield from _with_parts(part)


def _embeds(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("similarity"), dict) and item["similarity"].get("measure") == "embedding"


def _having(option: str) -> str:
    return ", ".join(name for name in CHECKS if option in kind(name).options)
