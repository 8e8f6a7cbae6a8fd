"""What a run came to, on the console and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from agenteval_cli.cli.console import coloured, count, result, safe, say, table
from agenteval_cli.statistics import wilson
from agenteval_cli.store import Run
from agenteval_cli.summary import CaseSummary, RunSummary

_COLOURS = {"passed": "green", "failed": "red", "incomplete": "yellow"}


def run_facts(run: Run, summary: RunSummary) -> dict[str, Any]:
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
        "cases": summary.cases,
    }


def print_run(run: Run, summary: RunSummary, *, quiet: bool) -> None:
    """The cases that did not pass with the reason of each, then the sums."""
    for case in summary.cases:
        if case.verdict != "passed":
            _print_case(case)
    if quiet and summary.verdict == "passed":
        return
    _print_tiers(summary)
    gating = len(summary.cases) - summary.cases_quarantined
    words = [f"{summary.cases_passed} of {count(gating, 'case')} passed"]
    words += [f"{summary.cases_failed} failed"] if summary.cases_failed else []
    words += [f"{summary.cases_incomplete} incomplete"] if summary.cases_incomplete else []
    words += [f"{summary.cases_quarantined} in quarantine"] if summary.cases_quarantined else []
    statuses = ", ".join(f"{number} {status}" for status, number in summary.statuses.items())
    result(coloured(", ".join(words), _COLOURS[summary.verdict]))
    result(f"attempts: {summary.passed} passed / {summary.graded} graded / {summary.planned} planned ({statuses})")
    failed = next((case.id for case in summary.cases if case.verdict != "passed"), None)
    if not quiet and failed:
        say(f"more: agenteval show {failed} --run {run.record.id}")


def _print_case(case: CaseSummary) -> None:
    mark = " (quarantined: does not gate)" if case.quarantined else ""
    parts = f"outcome {_words(case.outcome)}, trajectory {_words(case.trajectory)}"
    verdict = coloured(case.verdict.upper(), _COLOURS[case.verdict])
    result(f"{verdict} {case.id} {case.passed}/{case.planned}{mark}: {parts}")
    result(f"    {safe(case.reason) or 'attempts are missing'}")


def _words(part: str) -> str:
    return part.replace("_", " ")


def _print_tiers(summary: RunSummary) -> None:
    """Per tier: cases passed, attempts passed, and the interval that so few attempts leave open."""
    rows = []
    for tier in dict.fromkeys(case.tier for case in summary.cases):
        cases = [case for case in summary.cases if case.tier == tier]
        verdicts = Counter(case.verdict for case in cases)
        passed, graded = sum(case.passed for case in cases), sum(case.graded for case in cases)
        low, high = wilson(passed, graded)
        rate = f"{passed / graded:.0%}" if graded else "–"
        interval = f"{low:.0%} to {high:.0%}"
        rows.append((tier, f"{verdicts['passed']}/{len(cases)}", f"{passed}/{graded}", rate, interval))
    table(rows, header=("TIER", "CASES PASSED", "ATTEMPTS PASSED", "RATE", "95 % INTERVAL"))
