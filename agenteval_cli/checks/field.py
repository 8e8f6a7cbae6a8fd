"""field: the value at a JSONPath (RFC 9535) of the answer, held against one operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.checks.json_answer import answer_json, not_json
from agenteval_cli.compare import ABSENT
from agenteval_cli.finding import ERROR, FAILED, OK, Finding
from agenteval_cli.jsonpath import path_fault, values_at
from agenteval_cli.matchers import OPERATORS, operator_faults

_OF_MONEY = ("currency", "within", "decimal", "symbols")  # may stand beside `money`


def field(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """Every value that the path selects satisfies the operator; a path that selects nothing gives the absent value."""
    path = check.expected["path"]
    operator, operand = _operator(check.expected)
    try:
        data = answer_json(check, evidence)
    except ValueError as error:
        return not_json(check, evidence, error)
    try:
        values = values_at(path, data)
    except ValueError as error:
        return Finding(ERROR, f"{path}: {error}", operand)
    for value in values or [ABSENT]:
        words = OPERATORS[operator](operand, value)
        if words:
            return Finding(FAILED, f"{path}: {words}", operand, None if value is ABSENT else value)
    return OK


def _operator(expected: Mapping[str, Any]) -> tuple[str, Any]:
    """The operator and its operand; what stands beside `money` is a part of its operand."""
    if "money" in expected:
        beside = {key: expected[key] for key in _OF_MONEY if key in expected}
        operand = expected["money"]
        return "money", {"amount": operand, **beside} if beside and not isinstance(operand, dict) else operand
    name = next(key for key in expected if key != "path")
    return name, expected[name]


def _faults(item: Mapping[str, Any]) -> Faults:
    expected = item["field"]
    if words := path_fault(expected["path"]):
        yield ("field", "path"), words
    beside = _OF_MONEY if "money" in expected and not isinstance(expected["money"], dict) else ()
    names = [key for key in expected if key != "path" and key not in beside]
    unknown = [name for name in names if name not in OPERATORS]
    if unknown or len(names) != 1:
        known = ", ".join(OPERATORS)
        yield ("field", *unknown[:1]), f"beside path stands exactly one operator: {known}"
    else:
        name, operand = _operator(expected)
        yield from operator_faults(name, operand, ("field", name))


KINDS = {
    "field": Kind(
        field,
        "every value at the JSONPath (RFC 9535) of the answer satisfies the operator; where the path selects nothing, "
        "the value is absent",
        frozenset({"json"}),
        _faults,
        "bad-field",
    )
}
