"""A run taken apart: by tier, by tag, and which cases took long or cost much. Pure functions of its summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from statistics import median

import msgspec

from agenteval_cli.statistics import wilson
from agenteval_cli.summary import CaseSummary, RunSummary
from agenteval_cli.units import amount

IN_QUARANTINE = "(in quarantine)"
_MOST = 3
_SLOW = 1.5  # times the median of all cases, and
_SLOWER_BY = 100.0  # milliseconds more than it: less is noise of the machine


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What the cases of one tier or tag came to; `interval` is Wilson's for passed / graded, at 95 %."""

    name: str
    cases: int
    cases_passed: int
    passed: int
    graded: int
    planned: int
    interval: tuple[float, float]


class Slow(msgspec.Struct, frozen=True):
    """A slow case: the mean of its attempts, in milliseconds."""

    case: str
    duration_ms: float


class Dear(msgspec.Struct, frozen=True):
    """What the attempts of a case were reported to have cost together, as decimal text, and their tokens."""

    case: str
    cost: str | None
    tokens: int | None


def by_tier(summary: RunSummary) -> tuple[Share, ...]:
    """A share per tier in the order of the plan; what is in quarantine stands last and apart, so that all adds up."""
    groups: dict[str, list[CaseSummary]] = defaultdict(list)
    for case in summary.cases:
        if not case.quarantined:
            groups[case.tier].append(case)
    apart = [case for case in summary.cases if case.quarantined]
    return tuple(_share(name, cases) for name, cases in [*groups.items(), (IN_QUARANTINE, apart)] if cases)


def by_tag(summary: RunSummary) -> tuple[Share, ...]:
    """A share per tag, without cases in quarantine: the lowest pass rate first, then by name."""
    groups: dict[str, list[CaseSummary]] = defaultdict(list)
    for case in summary.cases:
        for tag in () if case.quarantined else case.tags:
            groups[tag].append(case)
    shares = (_share(name, cases) for name, cases in groups.items())
    return tuple(sorted(shares, key=lambda share: (share.passed / share.graded if share.graded else 0.0, share.name)))


def _share(name: str, cases: Sequence[CaseSummary]) -> Share:
    passed, graded = sum(case.passed for case in cases), sum(case.graded for case in cases)
    return Share(
        name=name,
        cases=len(cases),
        cases_passed=sum(case.verdict == "passed" for case in cases),
        passed=passed,
        graded=graded,
        planned=sum(case.planned for case in cases),
        interval=wilson(passed, graded),
    )


def slowest(summary: RunSummary) -> tuple[Slow, ...]:
    """At most three cases that stand out from the median of all by far more than noise; often none."""
    means = {case.id: case.duration_ms for case in summary.cases if case.duration_ms is not None}
    if len(means) < 2:
        return ()
    usual = median(means.values())
    slow = [Slow(case, ms) for case, ms in means.items() if ms >= usual * _SLOW and ms - usual >= _SLOWER_BY]
    return tuple(sorted(slow, key=lambda item: (-item.duration_ms, item.case))[:_MOST])


def dearest(summary: RunSummary) -> tuple[Dear, ...]:
    """At most three cases, by cost where any is known, else by tokens; none where neither is."""
    costs = {case.id: _cost(case) for case in summary.cases if case.cost is not None}
    spent = costs or {case.id: Decimal(case.tokens) for case in summary.cases if case.tokens is not None}
    dear = sorted((case for case in summary.cases if spent.get(case.id)), key=lambda case: (-spent[case.id], case.id))
    return tuple(Dear(case.id, case.cost, case.tokens) for case in dear[:_MOST])


def _cost(case: CaseSummary) -> Decimal:
    return amount(case.cost or "") or Decimal(0)
