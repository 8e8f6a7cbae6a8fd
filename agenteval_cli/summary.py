"""What a run came to: per case and as a whole, so that all outcomes add up to what was planned."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Protocol

import msgspec

from agenteval_cli.finding import CheckResult
from agenteval_cli.records import AttemptRecord, PlannedCase, RunRecord
from agenteval_cli.statistics import wilson
from agenteval_cli.statuses import GRADED, STATUSES
from agenteval_cli.units import amount

PASSED = "passed"
FAILED = "failed"
INCOMPLETE = "incomplete"
NEVER_ENDED = "cancelled"
SKIPPED = "skipped"
UNKNOWN = "unknown"


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
    """One case of a run and what its attempts came to.

    `first_failed` is the check that decided the first attempt that did not pass. `duration_ms` is the mean of its
    attempts; `cost` and `tokens` are sums, None where an attempt did not report them. `reused` attempts were kept from
    an earlier run, `retried` ones ended in an error before.
    """

    id: str
    file: str
    title: str
    tier: str
    tags: tuple[str, ...]
    quarantined: bool
    first_failed: CheckResult | None
    duration_ms: float | None
    cost: str | None
    tokens: int | None
    reused: int
    retried: int


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


class Tried(Protocol):
    """What tells which of two tries counts."""

    @property
    def status(self) -> str: ...
    @property
    def retry(self) -> int: ...


class _Brief(msgspec.Struct, frozen=True, gc=False):
    """What the sums need of an attempt: tens of thousands are held while a run is on."""

    status: str
    retry: int
    outcome: str
    trajectory: str
    reason: str
    first_failed: CheckResult | None
    duration_ms: float
    cost: str | None
    tokens: int | None
    reused: bool


class Sums:
    """The attempts of a run as they come, kept only as far as the sums need them."""

    def __init__(self) -> None:
        self._by_case: dict[str, dict[int, _Brief]] = defaultdict(dict)

    def add(self, attempt: AttemptRecord) -> None:
        """Take in an attempt. The last try that was graded counts; one that never ended is missing."""
        before = self._by_case[attempt.case].get(attempt.attempt)
        if before is None or counts_more(attempt, before):
            self._by_case[attempt.case][attempt.attempt] = _brief(attempt)

    def summary(self, record: RunRecord) -> RunSummary:
        """What the plan came to so far."""
        never_began = SKIPPED if record.stopped else NEVER_ENDED
        cases = tuple(
            _case_summary(planned, self._by_case.get(planned.case, {}), never_began) for planned in record.plan
        )
        return _run_summary(cases, record.min_pass_rate)


def summary_of(record: RunRecord, attempts: Iterable[AttemptRecord]) -> RunSummary:
    """Add up a run."""
    sums = Sums()
    for attempt in attempts:
        sums.add(attempt)
    return sums.summary(record)


def counted(attempts: Iterable[AttemptRecord]) -> dict[tuple[str, int], AttemptRecord]:
    """The attempt that counts of each case and number that was graded: the last try that was."""
    last: dict[tuple[str, int], AttemptRecord] = {}
    for attempt in attempts:
        key = attempt.case, attempt.attempt
        if attempt.status in GRADED and (key not in last or counts_more(attempt, last[key])):
            last[key] = attempt
    return last


def counts_more(attempt: Tried, before: Tried) -> bool:
    """A try that was graded counts more than one that was not, and a later try more than an earlier one."""
    if before.status not in GRADED:
        return True
    return attempt.status in GRADED and attempt.retry > before.retry


def _brief(attempt: AttemptRecord) -> _Brief:
    open_ones = [check for check in attempt.checks if check.gates and check.result != PASSED]
    decisive = [check for check in open_ones if attempt.reason == f"{check.name}: {check.message}"]
    return _Brief(
        status=attempt.status,
        retry=attempt.retry,
        outcome=attempt.outcome,
        trajectory=attempt.trajectory,
        reason=attempt.reason,
        first_failed=next(iter(decisive or open_ones), None),
        duration_ms=attempt.duration_ms,
        cost=attempt.cost,
        tokens=attempt.total_tokens,
        reused=attempt.reused_from is not None,
    )


def _case_summary(planned: PlannedCase, attempts: Mapping[int, _Brief], never_began: str) -> CaseSummary:
    ended = [attempts[number] for number in sorted(attempts) if number <= planned.attempts]
    statuses = Counter(attempt.status for attempt in ended)
    statuses[never_began] += planned.attempts - len(ended)
    passed, graded = statuses["passed"], sum(statuses[status] for status in GRADED)
    first = next((attempt for attempt in ended if attempt.status != "passed"), None)
    return CaseSummary(
        id=planned.case,
        file=planned.file,
        title=planned.title,
        tier=planned.tier,
        tags=planned.tags,
        quarantined=planned.quarantined,
        verdict=verdict_of(passed, graded, planned.attempts, planned.min_pass_rate),
        passed=passed,
        graded=graded,
        planned=planned.attempts,
        interval=wilson(passed, graded),
        statuses=named(statuses),
        outcome=part_of(attempt.outcome for attempt in ended),
        trajectory=part_of(attempt.trajectory for attempt in ended),
        reason=first.reason if first else "",
        first_failed=first.first_failed if first else None,
        duration_ms=_mean([attempt.duration_ms for attempt in ended]),
        cost=_sum_of_costs([attempt.cost for attempt in ended]),
        tokens=_sum_of_tokens([attempt.tokens for attempt in ended]),
        reused=sum(attempt.reused for attempt in ended),
        retried=sum(attempt.retry > 0 for attempt in ended),
    )


def _mean(durations: Sequence[float]) -> float | None:
    return round(sum(durations) / len(durations), 3) if durations else None


def _sum_of_costs(costs: Sequence[str | None]) -> str | None:
    amounts = [None if cost is None else amount(cost) for cost in costs]
    known = [each for each in amounts if each is not None]
    return str(sum(known, Decimal(0))) if known and len(known) == len(costs) else None


def _sum_of_tokens(tokens: Sequence[int | None]) -> int | None:
    known = [each for each in tokens if each is not None]
    return sum(known) if known and len(known) == len(tokens) else None


def verdict_of(passed: int, graded: int, planned: int, needed: float) -> str:
    """Decided as soon as the attempts that could not be graded no longer matter."""
    if enough(passed, planned, needed):
        return PASSED
    return INCOMPLETE if enough(passed + planned - graded, planned, needed) else FAILED


def enough(passed: int, planned: int, needed: float) -> bool:
    """Whether passed / planned reaches the rate, without the dust of binary fractions (3 of 10 reaches 0.3)."""
    return planned > 0 and passed >= needed * planned - 1e-9


def part_of(results: Iterable[str]) -> str:
    """What a part comes to over all attempts; unknown where there are only counts, as of a baseline."""
    found = set(results)
    if found == {UNKNOWN}:
        return UNKNOWN
    return FAILED if FAILED in found else PASSED if found == {PASSED} else "not_checked"


def named(statuses: Counter[str]) -> dict[str, int]:
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
        statuses=named(statuses),
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
