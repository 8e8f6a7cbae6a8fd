"""What a check answers."""

from __future__ import annotations

from typing import Any

import msgspec

PASSED = "passed"
FAILED = "failed"
NO_EVIDENCE = "no_evidence"
ERROR = "error"


class CheckResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """One decided assertion of one attempt.

    `result` is passed, failed, no_evidence (what it needs was not reported) or error (it could not be decided).
    `scores` are ratios from 0 to 1 that are told beside the result, and decide nothing. `turn` is that of the
    conversation, from 1; None where it is about the whole.
    """

    name: str
    part: str
    result: str
    message: str = ""
    expected: Any = None
    actual: Any = None
    severity: str = "error"
    note: str = ""
    scores: dict[str, float] | None = None
    turn: int | None = None

    @property
    def gates(self) -> bool:
        return self.severity == "error"


class Finding(msgspec.Struct, frozen=True):
    """A result with its words; it becomes a CheckResult once it is told which check it answers.

    `missing` marks a failure for want of what the check is about, which a `not` around it must not turn into a pass.
    """

    result: str
    message: str = ""
    expected: Any = None
    actual: Any = None
    missing: bool = False
    scores: dict[str, float] | None = None

    def named(self, name: str, part: str, *, severity: str = "error", note: str = "") -> CheckResult:
        return CheckResult(
            name, part, self.result, self.message, self.expected, self.actual, severity, note, self.scores
        )


OK = Finding(PASSED)
