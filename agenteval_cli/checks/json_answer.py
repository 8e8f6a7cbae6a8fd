"""The answer as JSON data, and the failure of a check that finds none."""

from __future__ import annotations

from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, excerpt
from agenteval_cli.checks.interface import Evidence
from agenteval_cli.extraction import extracted
from agenteval_cli.finding import FAILED, Finding
from agenteval_cli.transcript import without_escapes


def answer_json(check: OutcomeCheck, evidence: Evidence) -> Any:
    """The answer as JSON data. Raises ValueError with the reason where it is none, or where it could be several."""
    output = evidence.transcript.output
    return extracted(without_escapes(output), check.json) if isinstance(output, str) else output


def not_json(check: OutcomeCheck, evidence: Evidence, error: ValueError) -> Finding:
    """The failure of a check of JSON data that got none."""
    text = answer_text(evidence.transcript) or ""
    return Finding(FAILED, f"the answer is not JSON: {error}", check.expected, excerpt(text), missing=True)
