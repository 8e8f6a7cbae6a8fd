"""state: the end state that the agent or its tools left behind."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from msgspec import UNSET

from agenteval_cli import matchers
from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.compare import ABSENT
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, Finding

_SHOWN = 5


def state(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The end state matches as a subset, or exactly. Without a reported end state there is no evidence."""
    actual = evidence.transcript.state
    if actual is UNSET:
        return Finding(NO_EVIDENCE, "the agent did not report its end state", check.expected)
    found = list(islice(matchers.mismatches(check.expected, actual, exact=check.exact), _SHOWN + 1))
    if not found:
        return OK
    first = found[0]
    more = "; and more" if len(found) > _SHOWN else ""
    words = "; ".join(map(str, found[:_SHOWN]))
    return Finding(FAILED, f"end state {words}{more}", _shown(first.expected), _shown(first.actual))


def _shown(value: Any) -> Any:
    return None if value is ABSENT else value


def _faults(item: Mapping[str, Any]) -> Faults:
    return matchers.faults(item["state"], ("state",))


KINDS = {
    "state": Kind(
        state,
        "the end state matches as a subset; with `exact: true`, has nothing else",
        frozenset({"exact"}),
        _faults,
        "bad-matcher",
    )
}
