"""Checks of the outcome: siblings behind one interface, in a registry you can read.

A check takes what the case expects and the evidence, and answers with a Finding. It does no I/O.
"""

from __future__ import annotations

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.interface import NOTHING_TOLD, Evidence, Kind, Told
from agenteval_cli.checks.registry import CHECKS, decided, faults, kind
from agenteval_cli.finding import CheckResult
from agenteval_cli.transcript import Transcript

__all__ = ["CHECKS", "NOTHING_TOLD", "Evidence", "Kind", "Told", "checked", "decided", "faults", "kind", "result_of"]


def checked(check: OutcomeCheck, transcript: Transcript) -> CheckResult:
    """One outcome check decided on one transcript and nothing else."""
    return result_of(check, Evidence(transcript))


def result_of(check: OutcomeCheck, evidence: Evidence) -> CheckResult:
    """One outcome check decided on all the evidence there is."""
    return decided(check, evidence).named(check.name, "outcome", severity=check.severity, note=check.note)
