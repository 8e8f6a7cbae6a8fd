"""code, command: what a program outside says of the transcript. It is run before grading; here its answer is taken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.finding import NO_EVIDENCE, Finding

_NAME = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def from_outside(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The finding of the check's own program."""
    found = evidence.told.answers.get(check.name)
    return found or Finding(NO_EVIDENCE, "its program was not run on this transcript", check.expected)


def called(expected: Any) -> str:
    """The `module:function` of a code check."""
    name: str = expected["call"] if isinstance(expected, Mapping) else expected
    return name


def _faults(item: Mapping[str, Any]) -> Faults:
    name = called(item["code"])
    if not _NAME.fullmatch(name):
        yield ("code",), f"'{name}' is not a function; write module:function, as checks.refunds:is_polite"


KINDS = {
    "code": Kind(
        from_outside, "this function of the repository says so (it runs in a process of its own)", faults=_faults
    ),
    "command": Kind(from_outside, "this program says so, by its exit code or a JSON verdict"),
}
