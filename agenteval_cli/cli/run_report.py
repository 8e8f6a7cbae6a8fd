"""What a run came to, on the console and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from agenteval_cli.breakdown import Dear, Share, by_tag, by_tier, dearest, slowest
from agenteval_cli.cli.console import coloured, result, safe, say, table, width_of_results
from agenteval_cli.cli.values_view import brief
from agenteval_cli.phrases import count, lasting
from agenteval_cli.records import RunRecord
from agenteval_cli.summary import CaseSummary, RunSummary

_COLOURS = {"passed": "green", "failed": "red", "incomplete": "yellow"}
_MOST_CASES = 20
_MOST_TAGS = 20
_WIDEST_VALUE, _NARROWEST_VALUE = 200, 20


class Kept(Protocol):
    """A run as it is on disk, its attempts read or not."""

    @property
    def record(self) -> RunRecord: ...

    @property
    def folder(self) -> str: ...


def run_facts(run: Kept, summary: RunSummary) -> dict[str, Any]:
    """The --json document of `agenteval run`."""
    return {
        "format": 1,
        "run": run.record.id,
        "folder": run.folder,
        "status": run.record.status,
        "verdict": summary.verdict,
        "agents": run.record.agents,
        "git": run.record.git,
        "attempts": {
            "passed": summary.passed,
            "graded": summary.graded,
            "planned": summary.planned,
            "by_status": summary.statuses,
        },
        "cases_passed": summary.cases_passed,
        "cases_failed": summary.cases_failed,
        "cases_incomplete": summary.cases_incomplete,
        "cases_quarantined": summary.cases_quarantined,
        "tiers": by_tier(summary),
        "tags": by_tag(summary),
        "slowest": slowest(summary),
        "dearest": dearest(summary),
        "cases": summary.cases,
    }


def print_run(run: Kept, summary: RunSummary, *, quiet: bool, verbose: bool = False) -> None:
    """The cases that did not pass, each with the check that decided it, then the run by tier and tag, then the sums."""
    for apart in (False, True):
        cases = [case for case in summary.cases if case.verdict != "passed" and case.quarantined is apart]
        _print_cases(cases, run.record.id, quiet=quiet, verbose=verbose)
    if quiet and summary.verdict == "passed":
        return
    if not quiet:
        _print_shares("TIER", by_tier(summary))
        result()
        _print_tags(by_tag(summary), verbose=verbose)
        _print_slow_and_dear(summary)
    _print_sums(run.record, summary)


def _print_cases(cases: Sequence[CaseSummary], run_id: str, *, quiet: bool, verbose: bool) -> None:
    shown = cases if verbose else cases[:_MOST_CASES]
    for case in shown:
        _print_case(case)
        if not quiet:
            say(f"    more: agenteval show {case.id} --run {run_id}")
    if len(shown) < len(cases):
        kind = "quarantined cases" if cases[0].quarantined else "cases"
        result(f"and {len(cases) - len(shown):,} more {kind} that did not pass")
        say(f"    all of them: agenteval show --run {run_id} --verbose")
    if cases and not quiet:
        result()


def _print_case(case: CaseSummary) -> None:
    mark = " (quarantined: does not gate)" if case.quarantined else ""
    parts = f"outcome {_words(case.outcome)}, trajectory {_words(case.trajectory)}"
    verdict = coloured(case.verdict.upper(), _COLOURS[case.verdict])
    result(f"{verdict} {case.id} {case.passed}/{case.planned}{mark}: {parts}")
    result(f"    {safe(case.reason) or 'attempts are missing'}")
    check = case.first_failed
    if check is None or not case.reason.startswith(f"{check.name}:"):
        return
    limit = max(_NARROWEST_VALUE, min(_WIDEST_VALUE, (width_of_results() or _WIDEST_VALUE) - 15))
    for name, value in (("expected", check.expected), ("actual", check.actual)):
        if value is not None:
            result(f"    {name:8}  {brief(value, limit)}")


def _words(part: str) -> str:
    return part.replace("_", " ")


def _print_tags(shares: Sequence[Share], *, verbose: bool) -> None:
    shown = shares if verbose else shares[:_MOST_TAGS]
    _print_shares("TAG", shown)
    if len(shown) < len(shares):
        result(f"and {len(shares) - len(shown):,} more tags with higher pass rates (--verbose shows all)")
    if shares:
        result()


def _print_shares(kind: str, shares: Iterable[Share]) -> None:
    """Cases and attempts, their rate, and the interval that so few attempts leave open."""
    rows = []
    for share in shares:
        low, high = share.interval
        rate = f"{share.passed / share.graded:.0%}" if share.graded else "–"
        attempts = f"{share.passed} / {share.graded} / {share.planned}"
        cases = f"{share.cases_passed}/{share.cases}"
        rows.append((safe(share.name), cases, attempts, rate, f"{low:.0%} to {high:.0%}"))
    if rows:
        table(rows, header=(kind, "CASES PASSED", "PASSED / GRADED / PLANNED", "RATE", "95 % INTERVAL"))


def _print_slow_and_dear(summary: RunSummary) -> None:
    slow, dear = slowest(summary), dearest(summary)
    if slow:
        result("slowest: " + ", ".join(f"{safe(item.case)} {lasting(item.duration_ms / 1000)}" for item in slow))
    if dear:
        result("dearest: " + ", ".join(map(_dear, dear)))


def _dear(item: Dear) -> str:
    spent = f"cost {safe(item.cost)}" if item.cost is not None else f"{item.tokens:,} tokens"
    return f"{safe(item.case)} {spent}"


def _print_sums(record: RunRecord, summary: RunSummary) -> None:
    gating = len(summary.cases) - summary.cases_quarantined
    words = [f"{summary.cases_passed} of {count(gating, 'case')} passed"]
    words += [f"{summary.cases_failed} failed"] if summary.cases_failed else []
    words += [f"{summary.cases_incomplete} incomplete"] if summary.cases_incomplete else []
    words += [f"{summary.cases_quarantined} in quarantine"] if summary.cases_quarantined else []
    statuses = ", ".join(f"{number} {status}" for status, number in summary.statuses.items())
    result(coloured(", ".join(words), _COLOURS[summary.verdict]))
    result(f"attempts: {summary.passed} passed / {summary.graded} graded / {summary.planned} planned ({statuses})")
    kept, retried = sum(case.reused for case in summary.cases), sum(case.retried for case in summary.cases)
    if kept and not record.graded_from:
        result(f"{count(kept, 'attempt')} kept from run {record.since}" if record.since else f"{kept} attempts kept")
    if retried:
        result(f"{count(retried, 'attempt')} tried again after an error")
