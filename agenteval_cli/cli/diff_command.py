"""agenteval diff"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import coloured, count, print_json, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode

if TYPE_CHECKING:
    from agenteval_cli.diff import CaseDiff, RunDiff, Side

_COLOURS = {"broke": "red", "fixed": "green", "slipped": "yellow", "improved": "green", "not_comparable": "yellow"}
_QUIET_CLASSES = ("still_passing",)


def command(
    base: Annotated[
        str | None, typer.Argument(metavar="[BASE]", help="A run ID, latest, previous, a folder, or a git ref.")
    ] = None,
    head: Annotated[str | None, typer.Argument(metavar="[HEAD]", help="The same; the latest run where absent.")] = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Compare two runs case by case; without arguments the last finished run with the one before it.

    Exit code 1 where the gate of agenteval.yaml fails, 3 where a case could not be compared.

    Example: agenteval diff main latest
    """
    from agenteval_cli.diff import diff_of, gate_failures
    from agenteval_cli.lookup import LATEST, find_run, previous_to
    from agenteval_cli.repository import open_repository

    repository = open_repository(entered(directory))
    after = find_run(repository, head or LATEST)
    before = find_run(repository, base) if base else previous_to(repository, after)
    diff = diff_of(before, after)
    failures = gate_failures(diff, repository.config.on_diff)
    code = _exit_code(diff, failures)
    if json:
        gate = {"rule": repository.config.on_diff, "failed": [case.id for case in failures]}
        print_json({"format": 1, "gate": gate, "exit_code": int(code), "diff": diff})
    else:
        _print(diff, quiet=quiet, verbose=verbose)
        _say_gate(diff, failures, repository.config.on_diff)
    return code


def _exit_code(diff: RunDiff, failures: list[CaseDiff]) -> ExitCode:
    """A gate that fails is 1; a diff that compared nothing, or met an incomplete case, is no evidence and no pass."""
    if failures:
        return ExitCode.FAILURES
    incomplete = any(case.reason.startswith("incomplete") and not case.quarantined for case in diff.cases)
    return ExitCode.INCOMPLETE if incomplete or not diff.compared else ExitCode.OK


def _print(diff: RunDiff, *, quiet: bool, verbose: bool) -> None:
    result(f"base {diff.base}")
    result(f"head {diff.head}")
    for words in diff.conditions:
        result(coloured(f"  differs: {safe(words)}", "yellow"))
    for case in diff.cases:
        if verbose or (case.change not in _QUIET_CLASSES and not (quiet and case.change != "broke")):
            _print_case(case, verbose=verbose)
    result()
    result(", ".join(f"{number} {name}" for name, number in diff.counts.items() if number) or "no cases")
    if diff.base_rate is not None and diff.head_rate is not None:
        cases = count(diff.compared, "compared case")
        result(f"pass rate over {cases}: {diff.base_rate:.1%} → {diff.head_rate:.1%}")


def _print_case(case: CaseDiff, *, verbose: bool) -> None:
    name = coloured(case.change, _COLOURS.get(case.change, "dim"))
    mark = " (quarantined: does not gate)" if case.quarantined else ""
    result(f"{name} {case.id}{mark}{_counts(case)}")
    if (
        case.base
        and case.head
        and (case.base.outcome, case.base.trajectory) != (case.head.outcome, case.head.trajectory)
    ):
        result(f"    outcome {_arrow(case, 'outcome')}, trajectory {_arrow(case, 'trajectory')}")
    if case.reason:
        result(f"    {safe(case.reason)}")
    if verbose and case.base and case.head:
        result(f"    {_measures(case.base, case.head)}")


def _counts(case: CaseDiff) -> str:
    """`3/3 → 0/3, p 0.050, q 0.35: within noise`"""
    if case.base is None or case.head is None:
        return ""
    counts = f" {case.base.passed}/{case.base.planned} → {case.head.passed}/{case.head.planned}"
    if case.p is None or case.q is None or case.evidence is None:
        return counts
    return f"{counts}, p {case.p:.3f}, q {case.q:.3f}: {case.evidence.replace('_', ' ')}"


def _arrow(case: CaseDiff, part: str) -> str:
    words = [str(getattr(side, part)).replace("_", " ") for side in (case.base, case.head)]
    return words[0] if words[0] == words[1] else " → ".join(words)


def _measures(base: Side, head: Side) -> str:
    parts = []
    for name in ("latency_ms", "tokens", "cost", "steps"):
        before, after = getattr(base.measures, name), getattr(head.measures, name)
        shown = [f"{value:.4g}" if value is not None else "unknown" for value in (before, after)]
        parts.append(f"{name} {' → '.join(shown)}")
    return ", ".join(parts)


def _say_gate(diff: RunDiff, failures: list[CaseDiff], rule: str) -> None:
    if failures:
        say(coloured(f"gate ({rule}) failed: {', '.join(case.id for case in failures)}", "red"))
        say(f"more: agenteval show {failures[0].id} --run {diff.head}")
    elif not diff.compared:
        say("no case could be compared, so nothing is shown to be unbroken")
    moved = [case for case in diff.cases if case.p is not None]
    if moved and not any(case.evidence == "confirmed" for case in moved):
        _say_how_many_would_do(diff.compared)


def _say_how_many_would_do(compared: int) -> None:
    """What this diff could not have seen."""
    from agenteval_cli.statistics import attempts_to_confirm

    attempts = attempts_to_confirm(compared)
    words = f"among {count(compared, 'compared case')} a fall from all to none is confirmed from {attempts} attempts on"
    say(f"no change is confirmed: {words} (`agenteval run --attempts {attempts}`)")
