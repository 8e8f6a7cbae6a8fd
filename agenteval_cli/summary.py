"""What a run came to: per case and as a whole, so that all outcomes add up to what was planned."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from agenteval_cli.records import AttemptRecord, PlannedCase, RunRecord
from agenteval_cli.statistics import wilson
from agenteval_cli.statuses import GRADED, STATUSES

PASSED = "passed"
FAILED = "failed"
INCOMPLETE = "incomplete"
NEVER_ENDED = "cancelled"


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The attempts of one case added up. `verdict` is passed, failed or incomplete."""

    verdict: str
    passed: int
    graded: int
    planned: int
    interval: tuple[float, float]
    statuses: dict[str, int]
    outcome: str
    trajectory: str
    reason: str


class CaseSummary(Tally, frozen=True, kw_only=True):
    """One case of a run and what its attempts came to."""

    id: str
    file: str
    title: str
    tier: str
    quarantined: bool


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run. `verdict` is passed, failed or incomplete; counts of attempts include those that never began."""

    verdict: str
    passed: int
    graded: int
    planned: int
    statuses: dict[str, int]
    cases: tuple[CaseSummary, ...]
    cases_passed: int
    cases_failed: int
    cases_incomplete: int
    cases_quarantined: int


def summary_of(record: RunRecord, attempts: Iterable[AttemptRecord]) -> RunSummary:
    """Add up a run. The last record of a planned attempt that was graded counts; one that never ended is missing."""
    by_case: dict[str, dict[int, AttemptRecord]] = defaultdict(dict)
    for attempt in attempts:
        before = by_case[attempt.case].get(attempt.attempt)
        if before is None or before.status not in GRADED:
            by_case[attempt.case][attempt.attempt] = attempt
    cases = tuple(_case_summary(planned, by_case[planned.case]) for planned in record.plan)
    return _run_summary(cases, record.min_pass_rate)


def _case_summary(planned: PlannedCase, attempts: dict[int, AttemptRecord]) -> CaseSummary:
    ended = [attempts[number] for number in sorted(attempts) if number <= planned.attempts]
    statuses = Counter(attempt.status for attempt in ended)
    statuses[NEVER_ENDED] += planned.attempts - len(ended)
    passed, graded = statuses["passed"], sum(statuses[status] for status in GRADED)
    first = next((attempt for attempt in ended if attempt.status != "passed"), None)
    return CaseSummary(
        id=planned.case,
        file=planned.file,
        title=planned.title,
        tier=planned.tier,
        quarantined=planned.quarantined,
        verdict=_verdict(passed, graded, planned.attempts, planned.min_pass_rate),
        passed=passed,
        graded=graded,
        planned=planned.attempts,
        interval=wilson(passed, graded),
        statuses=_named(statuses),
        outcome=_part(attempt.outcome for attempt in ended),
        trajectory=_part(attempt.trajectory for attempt in ended),
        reason=first.reason if first else "",
    )


def _verdict(passed: int, graded: int, planned: int, needed: float) -> str:
    """Decided as soon as the attempts that could not be graded no longer matter."""
    if enough(passed, planned, needed):
        return PASSED
    return INCOMPLETE if enough(passed + planned - graded, planned, needed) else FAILED


def enough(passed: int, planned: int, needed: float) -> bool:
    """Whether passed / planned reaches the rate, without the dust of binary fractions (3 of 10 reaches 0.3)."""
    return planned > 0 and passed >= needed * planned - 1e-9


def _part(results: Iterable[str]) -> str:
    found = set(results)
    return FAILED if FAILED in found else PASSED if found == {PASSED} else "not_checked"


def _named(statuses: Counter[str]) -> dict[str, int]:
    return {status: statuses[status] for status in STATUSES if statuses[status]}


def _run_summary(cases: tuple[CaseSummary, ...], needed: float) -> RunSummary:
    gating = [case for case in cases if not case.quarantined]
    verdicts = Counter(case.verdict for case in gating)
    statuses: Counter[str] = Counter()
    for case in cases:
        statuses.update(case.statuses)
    return RunSummary(
        verdict=_run_verdict(verdicts, len(gating), needed),
        passed=sum(case.passed for case in cases),
        graded=sum(case.graded for case in cases),
        planned=sum(case.planned for case in cases),
        statuses=_named(statuses),
        cases=cases,
        cases_passed=verdicts[PASSED],
        cases_failed=verdicts[FAILED],
        cases_incomplete=verdicts[INCOMPLETE],
        cases_quarantined=len(cases) - len(gating),
    )


def _run_verdict(verdicts: Counter[str], gating: int, needed: float) -> str:
    """A failure is a failure however incomplete the rest; a gate that looked at nothing is not passed."""
    if gating and not enough(verdicts[PASSED] + verdicts[INCOMPLETE], gating, needed):
        return FAILED
    return INCOMPLETE if verdicts[INCOMPLETE] or not gating else PASSED
