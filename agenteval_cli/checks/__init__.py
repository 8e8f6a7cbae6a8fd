"""Checks of the outcome: siblings behind one interface, in a registry you can read.

A check takes what the case expects and the transcript, and answers with a Finding. It does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.contains import contains, not_contains
from agenteval_cli.checks.equals import equals
from agenteval_cli.checks.field import field
from agenteval_cli.checks.json_schema import json_schema
from agenteval_cli.checks.regex import regex
from agenteval_cli.checks.state import state
from agenteval_cli.finding import CheckResult, Finding
from agenteval_cli.patterns import PatternTimeoutError
from agenteval_cli.transcript import Transcript

Check = Callable[[OutcomeCheck, Transcript], Finding]

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "contains": contains,
        "not_contains": not_contains,
        "equals": equals,
        "regex": regex,
        "json_schema": json_schema,
        "field": field,
        "state": state,
    }
)


def checked(check: OutcomeCheck, transcript: Transcript) -> CheckResult:
    """One outcome check decided on one transcript."""
    try:
        finding = CHECKS[check.kind](check, transcript)
    except PatternTimeoutError as error:
        finding = Finding("error", str(error))
    return finding.named(check.name, "outcome", severity=check.severity, note=check.note)
