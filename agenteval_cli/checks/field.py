"""field: the value at a JSONPath (RFC 9535) of the answer, held against one operator."""

from __future__ import annotations

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_json, answer_text
from agenteval_cli.compare import ABSENT
from agenteval_cli.finding import ERROR, FAILED, OK, Finding
from agenteval_cli.jsonpath import values_at
from agenteval_cli.matchers import OPERATORS
from agenteval_cli.transcript import Transcript


def field(check: OutcomeCheck, transcript: Transcript) -> Finding:
    """Every value that the path selects satisfies the operator; a path that selects nothing gives the absent value."""
    path, operator = check.expected["path"], next(key for key in check.expected if key != "path")
    operand = check.expected[operator]
    try:
        data = answer_json(transcript)
    except ValueError as error:
        return Finding(FAILED, f"the answer is not JSON: {error}", check.expected, answer_text(transcript))
    try:
        values = values_at(path, data)
    except ValueError as error:
        return Finding(ERROR, f"{path}: {error}", operand)
    for value in values or [ABSENT]:
        words = OPERATORS[operator](operand, value)
        if words:
            return Finding(FAILED, f"{path}: {words}", operand, None if value is ABSENT else value)
    return OK
