"""is_json, json_schema: the answer, read as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.case_schemas import first_fault, schema_fault
from agenteval_cli.checks.answer import no_answer
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.checks.json_answer import answer_json, not_json
from agenteval_cli.compare import kind_of, shown
from agenteval_cli.finding import FAILED, OK, Finding

_JSON = frozenset({"json"})


def is_json(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer is JSON, strictly read; of the kind that is named."""
    if evidence.transcript.output is None:
        return no_answer(check)
    try:
        actual = answer_json(check, evidence)
    except ValueError as error:
        return msgspec.structs.replace(not_json(check, evidence, error), missing=False)
    if check.expected in (True, kind_of(actual)):
        return OK
    words = f"expected JSON of the kind {check.expected}, got the {kind_of(actual)} {shown(actual)}"
    return Finding(FAILED, words, check.expected, actual)


def json_schema(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer is one JSON value that the schema accepts."""
    try:
        actual = answer_json(check, evidence)
    except ValueError as error:
        return not_json(check, evidence, error)
    words = first_fault(check.expected, actual)
    return Finding(FAILED, words, check.expected, actual) if words else OK


def _faults(item: Mapping[str, Any]) -> Faults:
    if words := schema_fault(item["json_schema"]):
        yield ("json_schema",), f"not a JSON Schema: {words}"


KINDS = {
    "is_json": Kind(is_json, "the answer is JSON, read strictly: no NaN, no key twice", _JSON),
    "json_schema": Kind(
        json_schema, "the answer is one JSON value that the schema accepts", _JSON, _faults, "bad-schema"
    ),
}
