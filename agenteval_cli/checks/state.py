"""state: the end state that the agent or its tools left behind."""

from __future__ import annotations

from msgspec import UNSET

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.compare import ABSENT
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, Finding
from agenteval_cli.matchers import mismatch
from agenteval_cli.transcript import Transcript


def state(check: OutcomeCheck, transcript: Transcript) -> Finding:
    """The end state matches as a subset. Without a reported end state there is no evidence."""
    if transcript.state is UNSET:
        return Finding(NO_EVIDENCE, "the agent did not report its end state", check.expected)
    difference = mismatch(check.expected, transcript.state)
    if difference is None:
        return OK
    actual = None if difference.actual is ABSENT else difference.actual
    return Finding(FAILED, f"end state {difference}", difference.expected, actual)
