"""number: a number in the answer, within a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from agenteval_cli import matchers
from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, no_answer, not_meant
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.compare import shown
from agenteval_cli.finding import OK, Finding
from agenteval_cli.mentions import WHICH, judged
from agenteval_cli.numerals import Numeral, exact, numerals_in

_KEYS = ("value", "within", "percent", "which", "decimal")
_ORDERED = frozenset({"gt", "gte", "lt", "lte", "between", "any_of", "not"})
_SETTLE = "say what the decimal mark is with decimal: '.' or ','"


def number(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """One of the numbers in the answer, or the one that is meant, is what is expected."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    spec = _spec(check.expected)
    words = judged(
        numerals_in(answer, spec.get("decimal")),
        lambda numeral, value: _holds(spec, numeral, value),
        which=spec.get("which", "any"),
        noun="number",
        wanted=_wanted(spec),
        settle=_SETTLE,
    )
    return not_meant(words, check, answer) if words else OK


def _spec(expected: Any) -> Mapping[str, Any]:
    is_spec = isinstance(expected, Mapping) and "value" in expected
    return expected if is_spec else {"value": expected}


def _holds(spec: Mapping[str, Any], numeral: Numeral, value: Decimal) -> bool:
    if numeral.percent != spec.get("percent", False):
        return False
    want = exact(spec["value"])
    if want is None:
        return (
            matchers.mismatch(spec["value"], int(value) if value == value.to_integral_value() else float(value)) is None
        )
    return abs(value - want) <= _margin(spec, want)


def _margin(spec: Mapping[str, Any], want: Decimal) -> Decimal:
    """How far off it may be: a number, or a share of the value such as `1%`."""
    within = spec.get("within", 0)
    if isinstance(within, str) and within.endswith("%"):
        return abs(want) * Decimal(within.removesuffix("%")) / 100
    return exact(within) or Decimal(0)


def _wanted(spec: Mapping[str, Any]) -> str:
    value = spec["value"]
    margin = f" ± {spec['within']}" if "within" in spec else ""
    sign = " %" if spec.get("percent") else ""
    return f"{value if isinstance(value, str) else shown(value)}{margin}{sign}"


def _faults(item: Mapping[str, Any]) -> Faults:
    spec = _spec(item["number"])
    at = ("number", "value") if spec is item["number"] else ("number",)
    unknown = next((key for key in spec if key not in _KEYS), None)
    if unknown is not None:
        yield ("number", unknown), f"unknown key '{unknown}'; known here: {', '.join(_KEYS)}"
    operator = matchers.operator_of(spec["value"])
    if operator in _ORDERED:
        yield from matchers.faults(spec["value"], at)
    elif exact(spec["value"]) is None:
        yield at, f"{shown(spec['value'])} is not a number; write 42, '1234.50', or a matcher such as {{gt: 5}}"
    yield from _faults_of_options(spec)


def _faults_of_options(spec: Mapping[str, Any]) -> Faults:
    within = spec.get("within", 0)
    margin = exact(within.removesuffix("%") if isinstance(within, str) else within)
    if margin is None or margin < 0:
        yield ("number", "within"), "within is a number of at least 0, or a share of the value such as '1%'"
    elif "within" in spec and exact(spec["value"]) is None:
        yield ("number", "within"), "within needs a number as value"
    if spec.get("which", "any") not in WHICH:
        yield ("number", "which"), f"{shown(spec['which'])} is not one of {', '.join(WHICH)}"
    if spec.get("decimal", ".") not in (".", ","):
        yield ("number", "decimal"), "decimal is the decimal mark of the answer, '.' or ','"
    if not isinstance(spec.get("percent", False), bool):
        yield ("number", "percent"), "percent is true or false"


KINDS = {"number": Kind(number, "the answer has this number, or one that the matcher accepts", frozenset(), _faults)}
