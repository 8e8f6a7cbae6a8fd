"""The attempts of a stored run as a comparison needs them: how each ended, and where the rest of it stands.

Reading whole attempt records of two large runs takes five times as long, and most of their fields are never looked at.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from agenteval_cli.errors import UsageError
from agenteval_cli.finding import CheckResult
from agenteval_cli.records import AttemptRecord, RunRecord, TranscriptPlace
from agenteval_cli.store import ATTEMPTS, Run, read_record, read_run, status_now

_NO_CHECKS = msgspec.Raw(b"[]")


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """Some fields of an AttemptRecord, by the same names. The checks are decoded when they are asked for."""

    case: str
    attempt: int
    status: str
    outcome: str
    trajectory: str
    transcript: TranscriptPlace
    reason: str = ""
    retry: int = 0
    reused_from: str | None = None
    regraded: bool = False
    latency_ms: float | None = None
    steps: int | None = None
    total_tokens: int | None = None
    cost: str | None = None
    raw_checks: msgspec.Raw = msgspec.field(name="checks", default=_NO_CHECKS)

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        return msgspec.json.decode(self.raw_checks, type=tuple[CheckResult, ...])


class Outcomes(msgspec.Struct, frozen=True):
    """A stored run with its attempts in the order they ended, like Run."""

    record: RunRecord
    attempts: tuple[Outcome, ...]
    folder: str


AnyAttempt = AttemptRecord | Outcome
AnyRun = Run | Outcomes


def read_outcomes(folder: Path) -> Outcomes:
    """A run as read_run gives it, with the same errors, and a torn last line ignored."""
    record = read_record(folder)
    record = msgspec.structs.replace(record, status=status_now(record, folder))
    try:
        raw = (folder / ATTEMPTS).read_bytes()
    except FileNotFoundError:
        return Outcomes(record, (), str(folder))
    whole = memoryview(raw)[: raw.rfind(b"\n") + 1]
    try:
        return Outcomes(record, tuple(msgspec.json.Decoder(Outcome).decode_lines(whole)), str(folder))
    except msgspec.DecodeError as error:
        read_run(folder)  # names the line
        raise UsageError(f"{folder / ATTEMPTS}: not attempt records: {error}") from error
