"""json_schema: the answer, read as JSON, satisfies a JSON Schema."""

from __future__ import annotations

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_json, answer_text
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.matchers import OPERATORS
from agenteval_cli.transcript import Transcript


def json_schema(check: OutcomeCheck, transcript: Transcript) -> Finding:
    """The whole answer is one JSON value that the schema accepts."""
    try:
        actual = answer_json(transcript)
    except ValueError as error:
        return Finding(FAILED, f"the answer is not JSON: {error}", check.expected, answer_text(transcript))
    words = OPERATORS["schema"](check.expected, actual)
    return Finding(FAILED, words, check.expected, actual) if words else OK
