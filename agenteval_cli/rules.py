"""What a valid case must be beyond its schema: named rules over one document, and over all of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from agenteval_cli import matchers
from agenteval_cli.compare import kind_of, shown
from agenteval_cli.problems import Problem
from agenteval_cli.yaml_reader import Document

Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, str]]

# Where a number is what is wanted, 1.0 is not a text that lost its quotes.
_NUMBERS = frozenset({"min_pass_rate", "attempts", "threshold", "times", "gt", "gte", "lt", "lte", "between", "approx"})
_NUMBERS_TOO = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "value", "within"}
)
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def problems_of(document: Document) -> list[Problem]:
    """Every problem that one schema-valid case has by itself."""
    return [
        document.problem(path, rule, words, severity=_SEVERITY.get(rule, "error"))
        for rule, look in _RULES.items()
        for path, words in look(document.data)
    ]


def number_is_meant(problem: Problem) -> bool:
    """Whether a warning about a number that could have been text is beside the point where it stands."""
    names = re.split(r"[.\[\]]+", problem.path)
    return any(name in _NUMBERS or name in _NUMBERS_TOO for name in names)


def has_id(document: Document) -> bool:
    """Whether the document says which case it is, valid or not."""
    return isinstance(document.data, dict) and isinstance(document.data.get("id"), str)


def repeated_ids(documents: Iterable[Document], asked: Collection[str] | None = None) -> Iterator[Problem]:
    """IDs that more than one file has, ignoring case: each file is told of another, the first of all of the second.

    Only the files in `asked` are told, where it is given.
    """
    holders: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        if has_id(document):
            holders[document.data["id"].casefold()].append(document)
    for same in holders.values():
        for index, document in enumerate(same if len(same) > 1 else ()):
            if asked is None or document.file in asked:
                other = same[1] if index == 0 else same[0]
                words = f"the ID '{document.data['id']}' is also that of {other.file}; IDs are unique, ignoring case"
                yield document.problem(("id",), "duplicate-id", words)


def _nothing_can_fail(data: Mapping[str, Any]) -> Found:
    parts = [data, *data.get("turns", ())]
    if not any(_can_fail(part) for part in parts):
        words = "nothing can fail this case; give it outcome, trajectory, limits, match or a criterion with gate: true"
        yield (), words


def _can_fail(part: Mapping[str, Any]) -> bool:
    outcome = any(check.get("severity") != "warning" for check in part.get("outcome", ()))
    return (
        outcome or any(key in part for key in ("trajectory", "limits", "match")) or _has_gate(part.get("criteria", ()))
    )


def _has_gate(criteria: Any) -> bool:
    return not isinstance(criteria, str) and any(
        isinstance(criterion, Mapping) and criterion.get("gate") is True for criterion in criteria
    )


def _reference_is_unused(data: Mapping[str, Any]) -> Found:
    if data.get("expected_output") is None:
        if "match" in data:
            yield ("match",), "there is no expected_output to match"
    elif "match" not in data and "criteria" not in data:
        yield ("expected_output",), "compared by nothing; add match: exact or contains, or a criterion that uses it"
    elif data.get("match") == "contains" and not isinstance(data["expected_output"], str):
        yield ("expected_output",), "match: contains needs a text"


def _last_message(data: Mapping[str, Any]) -> Found:
    conversation = data.get("conversation")
    if conversation and "input" not in data and conversation[-1]["role"] != "user":
        at: Path = ("conversation", len(conversation) - 1, "role")
        yield at, "the last message is the turn under test and must be the user's, or give input"


def _one_way_in(data: Mapping[str, Any]) -> Found:
    given = [key for key in ("input", "turns", "simulation") if key in data]
    if len(given) > 1:
        yield (given[1],), f"{given[0]} is given too; a case has one of input, turns and simulation"


def _bad_patterns(data: Mapping[str, Any]) -> Found:
    from agenteval_cli.patterns import pattern_fault

    for path, check in _outcome_checks(data):
        if "regex" in check and (fault := pattern_fault(check["regex"])):
            yield (*path, "regex"), fault


def _bad_schemas(data: Mapping[str, Any]) -> Found:
    from agenteval_cli.schemas import schema_fault

    for path, check in _outcome_checks(data):
        if "json_schema" in check and (fault := schema_fault(check["json_schema"])):
            yield (*path, "json_schema"), f"not a JSON Schema: {fault}"
    for index, tool in enumerate(data.get("tools", ())):
        if "parameters" in tool and (fault := schema_fault(tool["parameters"])):
            yield ("tools", index, "parameters"), f"not a JSON Schema: {fault}"


def _bad_fields(data: Mapping[str, Any]) -> Found:
    from agenteval_cli.jsonpath import path_fault

    for path, check in _outcome_checks(data):
        if "field" not in check:
            continue
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


def _bad_matchers(data: Mapping[str, Any]) -> Found:
    for path, check in _outcome_checks(data):
        if "state" in check:
            yield from matchers.faults(check["state"], (*path, "state"))
    for path, call in _calls(data):
        if "arguments" in call:
            yield from matchers.faults(call["arguments"], (*path, "arguments"))
        if "times" in call:
            yield from _bad_times(call["times"], (*path, "times"))


def _bad_times(times: Any, path: Path) -> Found:
    if matchers.operator_of(times) is not None:
        yield from matchers.faults(times, path)
    elif kind_of(times) != "number" or not float(times).is_integer() or times < 0:
        yield path, f"{shown(times)} is not a count; write a whole number, or a matcher such as {{gte: 2}}"


def _unknown_variables(data: Mapping[str, Any]) -> Found:
    names = {item["name"] for item in data.get("variables", ())}
    if names:
        used = set(_PLACEHOLDER.findall(repr({key: value for key, value in data.items() if key != "variables"})))
        for index, item in enumerate(data["variables"]):
            if item["name"] not in used:
                yield ("variables", index, "name"), f"{{{{{item['name']}}}}} stands nowhere in this case"


def _outcome_checks(data: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for path, part in _parts(data):
        for index, check in enumerate(part.get("outcome", ())):
            yield (*path, "outcome", index), check


def _calls(data: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for path, part in _parts(data):
        trajectory = part.get("trajectory", {})
        for key in ("required", "forbidden"):
            for index, call in enumerate(trajectory.get(key, ())):
                if isinstance(call, Mapping):
                    yield (*path, "trajectory", key, index), call


def _parts(data: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    yield (), data
    for index, turn in enumerate(data.get("turns", ())):
        yield ("turns", index), turn


_RULES: Mapping[str, Callable[[Mapping[str, Any]], Found]] = {
    "no-checks": _nothing_can_fail,
    "unused-reference": _reference_is_unused,
    "last-message": _last_message,
    "one-input": _one_way_in,
    "bad-pattern": _bad_patterns,
    "bad-schema": _bad_schemas,
    "bad-field": _bad_fields,
    "bad-matcher": _bad_matchers,
    "unused-variable": _unknown_variables,
}
_SEVERITY = {"unused-variable": "warning"}
