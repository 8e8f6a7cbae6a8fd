"""The fresh attempts that a run was confirmed by, read back as evidence."""

from __future__ import annotations

from pathlib import Path

from agenteval_cli.confirming import Look, Seen, looks
from agenteval_cli.diff import Confirmation
from agenteval_cli.errors import UsageError
from agenteval_cli.outcomes import AnyRun, read_outcomes
from agenteval_cli.sides import Known, known_cases
from agenteval_cli.statuses import GRADED


def confirmation_of(runs: Path, base: AnyRun, head: AnyRun) -> Confirmation | None:
    """What confirmed a comparison of just these two runs; None where nothing did, or its runs are gone."""
    if head.record.confirmed_by is None:
        return None
    try:
        again_base, again_head = (read_outcomes(runs / name) for name in head.record.confirmed_by)
    except UsageError:
        return None
    confirms = again_head.record.confirms
    if confirms is None or (confirms.base, confirms.head) != (base.record.id, head.record.id):
        return None
    return confirmation_from(again_base, again_head, confirms.attempts)


def confirmation_from(base: AnyRun, head: AnyRun, attempts: int) -> Confirmation:
    """The two runs of fresh attempts as they were looked at; a look that was not reached is left out."""
    plan = looks(attempts)
    before, after = known_cases(base), known_cases(head)
    return Confirmation(
        plan, {after[case].planned.case: _seen(before[case], after[case], plan) for case in after if case in before}
    )


def _seen(base: Known, head: Known, plan: tuple[Look, ...]) -> tuple[Seen, ...]:
    reached = min(base.planned.attempts, head.planned.attempts, len(base.attempts), len(head.attempts))
    return tuple(
        Seen(*_counts(base, look.attempts), *_counts(head, look.attempts)) for look in plan if look.attempts <= reached
    )


def _counts(known: Known, attempts: int) -> tuple[int, int]:
    """Passed and graded of the first so many attempts."""
    statuses = [attempt.status for attempt in known.attempts if attempt.attempt <= attempts]
    return statuses.count("passed"), sum(status in GRADED for status in statuses)
