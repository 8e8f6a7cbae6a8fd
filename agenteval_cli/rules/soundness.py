"""Can this case fail, and is what it holds answers against well-formed?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agenteval_cli import matchers
from agenteval_cli.case import NO_OWN_TEXT
from agenteval_cli.compare import kind_of, shown
from agenteval_cli.problems import did_you_mean
from agenteval_cli.rules.interface import Found, Path, Rule, Subject

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def _nothing_can_fail(case: Subject) -> Found:
    parts = [case.data, *case.data.get("turns", ())]
    if not any(_can_fail(part) for part in parts):
        words = "nothing can fail this case; give it outcome, trajectory, limits, match or a criterion with gate: true"
        yield (), words


def _can_fail(part: Mapping[str, Any]) -> bool:
    outcome = any(check.get("severity") != "warning" for check in part.get("outcome", ()))
    return (
        outcome or any(key in part for key in ("trajectory", "limits", "match")) or has_gate(part.get("criteria", ()))
    )


def has_gate(criteria: Any) -> bool:
    """Whether one of the criteria gates."""
    return not isinstance(criteria, str) and any(
        isinstance(criterion, Mapping) and criterion.get("gate") is True for criterion in criteria
    )


def _reference_is_unused(case: Subject) -> Found:
    if case.data.get("expected_output") is None:
        if "match" in case.data:
            yield ("match",), "there is no expected_output to match"
    elif "match" not in case.data and "criteria" not in case.data:
        yield ("expected_output",), "compared by nothing; add match: exact or contains, or a criterion that uses it"
    elif case.data.get("match") == "contains" and not isinstance(case.data["expected_output"], str):
        yield ("expected_output",), "match: contains needs a text"


def _last_message(case: Subject) -> Found:
    conversation = case.data.get("conversation")
    if conversation and "input" not in case.data and conversation[-1]["role"] != "user":
        at: Path = ("conversation", len(conversation) - 1, "role")
        yield at, "the last message is the turn under test and must be the user's, or give input"


def _one_way_in(case: Subject) -> Found:
    given = [key for key in ("input", "turns", "simulation") if key in case.data]
    if len(given) > 1:
        yield (given[1],), f"{given[0]} is given too; a case has one of input, turns and simulation"


def _bad_patterns(case: Subject) -> Found:
    for path, check in case.checks:
        if "regex" not in check:
            continue
        from agenteval_cli.patterns import pattern_fault

        if fault := pattern_fault(check["regex"]):
            yield (*path, "regex"), fault


def _bad_schemas(case: Subject) -> Found:
    for path, schema in _schemas(case):
        from agenteval_cli.schemas import schema_fault

        if fault := schema_fault(schema):
            yield path, f"not a JSON Schema: {fault}"


def _schemas(case: Subject) -> Iterator[tuple[Path, Any]]:
    for path, check in case.checks:
        if "json_schema" in check:
            yield (*path, "json_schema"), check["json_schema"]
    for index, tool in enumerate(case.data.get("tools", ())):
        if "parameters" in tool:
            yield ("tools", index, "parameters"), tool["parameters"]


def _bad_fields(case: Subject) -> Found:
    for path, check in case.checks:
        if "field" not in check:
            continue
        from agenteval_cli.jsonpath import path_fault

        field = check["field"]
        at = (*path, "field")
        if fault := path_fault(field["path"]):
            yield (*at, "path"), fault
        names = [key for key in field if key != "path"]
        unknown = [name for name in names if name not in matchers.OPERATORS]
        if unknown or len(names) != 1:
            known = ", ".join(matchers.OPERATORS)
            yield (*at, *unknown[:1]), f"beside path stands exactly one operator: {known}"
        else:
            yield from matchers.operator_faults(names[0], field[names[0]], (*at, names[0]))


def _bad_matchers(case: Subject) -> Found:
    for path, check in case.checks:
        if "state" in check:
            yield from matchers.faults(check["state"], (*path, "state"))
    for path, call in case.calls:
        if "arguments" in call:
            yield from matchers.faults(call["arguments"], (*path, "arguments"))
        if "times" in call:
            yield from _bad_times(call["times"], (*path, "times"))


def _bad_times(times: Any, path: Path) -> Found:
    if matchers.operator_of(times) is not None:
        yield from matchers.faults(times, path)
    elif kind_of(times) != "number" or times != int(times) or times < 0:
        yield path, f"{shown(times)} is not a count; write a whole number, or a matcher such as {{gte: 2}}"


def _unknown_variables(case: Subject) -> Found:
    names = {item["name"] for item in case.data.get("variables", ())}
    if names:
        used = set(_PLACEHOLDER.findall(repr({key: case.data[key] for key in case.data if key not in NO_OWN_TEXT})))
        for index, item in enumerate(case.data["variables"]):
            if item["name"] not in used:
                yield ("variables", index, "name"), f"{{{{{item['name']}}}}} stands nowhere in this case"


def _unfilled_placeholders(case: Subject) -> Found:
    names = {item["name"] for item in case.data.get("variables", ())}
    if names:
        for key, value in case.data.items():
            unknown = [name for name in _PLACEHOLDER.findall(repr(value)) if name not in names]
            if unknown and key not in NO_OWN_TEXT:
                yield (key,), f"no variable '{unknown[0]}' fills {{{{{unknown[0]}}}}}{did_you_mean(unknown[0], names)}"


def _misplaced_checks(case: Subject) -> Found:
    for key in ("input", "metadata", "state"):
        data = case.data.get(key)
        found = {name: value for name, value in data.items() if name in _CHECKS} if isinstance(data, dict) else {}
        for name, value in found.items():
            if isinstance(value, list | dict):
                yield (
                    (key, name),
                    f"{name} stands inside {key}, where it checks nothing; indent it less if it is a check",
                )


_CHECKS = frozenset({"outcome", "trajectory", "criteria", "limits"})

RULES = (
    Rule(
        name="no-checks",
        summary="nothing can fail the case",
        why="A case that cannot fail is always green. Warnings and criteria without `gate` only report.",
        look=_nothing_can_fail,
    ),
    Rule(
        name="unused-reference",
        summary="expected_output is compared by nothing, or match has nothing to compare",
        why="A reference answer compares nothing by itself. Say how with `match`, or give a criterion that uses it.",
        look=_reference_is_unused,
    ),
    Rule(
        name="last-message",
        summary="the conversation does not end with the user",
        why="The last message is the turn under test. An assistant's message there leaves nothing to answer.",
        look=_last_message,
    ),
    Rule(
        name="one-input",
        summary="more than one of input, turns and simulation",
        why="Each says on its own what the agent gets; two of them would have to be guessed at.",
        look=_one_way_in,
    ),
    Rule(
        name="bad-pattern",
        summary="a regular expression that does not compile",
        why="It would fail at every attempt, after the agent has run.",
        look=_bad_patterns,
    ),
    Rule(
        name="bad-schema",
        summary="a JSON Schema that is none, or that would have to be fetched",
        why="It would fail at every attempt. Cases work offline: put what a `$ref` needs under `$defs`.",
        look=_bad_schemas,
    ),
    Rule(
        name="bad-field",
        summary="a field check without a JSONPath or without exactly one operator",
        why="`field` holds what the path selects against one operator: {path: $.total, equals: 12}.",
        look=_bad_fields,
    ),
    Rule(
        name="bad-matcher",
        summary="an operator with an operand that it cannot use",
        why="A one-key mapping whose key is an operator is that operator. To compare with one write `equals`.",
        look=_bad_matchers,
    ),
    Rule(
        name="unused-variable",
        summary="a variable that stands nowhere in the case",
        why="Often the placeholder is misspelt, and the agent would read the braces.",
        severity="warning",
        look=_unknown_variables,
    ),
    Rule(
        name="unknown-placeholder",
        summary="a placeholder that no variable of the case fills",
        why="The braces stay as they are: the agent reads them, and a check for them always or never holds.",
        severity="warning",
        look=_unfilled_placeholders,
    ),
    Rule(
        name="misplaced-checks",
        summary="checks that are indented into input, metadata or state",
        why="There they are data, and check nothing.",
        severity="warning",
        look=_misplaced_checks,
    ),
)
