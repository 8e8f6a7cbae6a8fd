"""CSV (RFC 4180) for spreadsheets: a line per attempt, those that never ended too, so that all adds up."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from agenteval_cli.records import AttemptRecord, PlannedCase
from agenteval_cli.reports.escaping import for_csv
from agenteval_cli.reports.interface import Material, by_case
from agenteval_cli.store import Run
from agenteval_cli.summary import NEVER_ENDED, SKIPPED

_OF_CASE = ("case", "title", "file", "tier", "tags", "agent", "quarantined")
_OF_ATTEMPT = (
    "attempt",
    "retry",
    "status",
    "outcome",
    "trajectory",
    "reason",
    "started_at",
    "duration_ms",
    "latency_ms",
    "steps",
    "tool_calls",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cost",
    "model",
    "exit_code",
    "reused_from",
)
COLUMNS = ("run", *_OF_CASE, *_OF_ATTEMPT)


def render(material: Material) -> str:
    """The attempts of the run; of a diff those of its base before them."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for run in (material.compared.base, material.run) if material.compared else (material.run,):
        writer.writerows(_rows(run))
    return text.getvalue()


def _rows(run: Run) -> Iterator[list[Any]]:
    attempts = by_case(run)
    never = SKIPPED if run.record.stopped else NEVER_ENDED
    for planned in run.record.plan:
        ended = attempts.get(planned.case, [])
        known = _of_case(planned)
        for attempt in ended:
            yield [run.record.id, *known, *_of_attempt(attempt)]
        for number in sorted(set(range(1, planned.attempts + 1)) - {attempt.attempt for attempt in ended}):
            missing = {"attempt": number, "status": never}
            yield [run.record.id, *known, *(missing.get(name) for name in _OF_ATTEMPT)]


def _of_case(planned: PlannedCase) -> list[Any]:
    return [_cell(" ".join(planned.tags) if name == "tags" else getattr(planned, name)) for name in _OF_CASE]


def _of_attempt(attempt: AttemptRecord) -> list[Any]:
    return [_cell(getattr(attempt, name)) for name in _OF_ATTEMPT]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return for_csv(value) if isinstance(value, str) else value
