"""agenteval diff"""

from __future__ import annotations

import gc
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.comparing import Gate, compared, exit_code_of
from agenteval_cli.cli.console import coloured, print_json, result, safe, say, width_of_results
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, a_number, entered
from agenteval_cli.errors import ExitCode
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.diff import CaseDiff, RunDiff
    from agenteval_cli.repository import Repository

_NAMED = 20


class Class(StrEnum):
    """The classes of a case, as the command line offers them."""

    BROKE = "broke"
    FIXED = "fixed"
    SLIPPED = "slipped"
    IMPROVED = "improved"
    STILL_FAILING = "still_failing"
    STILL_PASSING = "still_passing"
    EDITED = "edited"
    NOT_COMPARABLE = "not_comparable"
    NEW = "new"
    REMOVED = "removed"


def command(
    base: Annotated[
        str | None,
        typer.Argument(metavar="[BASE]", help="A run ID, latest, previous, baseline, a folder, or a git ref."),
    ] = None,
    head: Annotated[str | None, typer.Argument(metavar="[HEAD]", help="The same; the latest run where absent.")] = None,
    gate: Annotated[
        Gate | None, typer.Option(help="Fail on what broke, or on confirmed drops; else as agenteval.yaml says.")
    ] = None,
    max_slip: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="RATE",
            callback=a_number,
            help="How far a pass rate may fall while its verdict holds.",
        ),
    ] = None,
    include_edited: Annotated[
        bool, typer.Option("--include-edited", help="Judge edited cases as if they were the same.")
    ] = False,
    by: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="Rates by a key of the metadata, as owner; may be repeated.")
    ] = None,
    only: Annotated[list[Class] | None, typer.Option(help="Show only this class of cases; may be repeated.")] = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Compare two runs case by case; without arguments the last finished run with the baseline, or the one before it.

    Exit code 1 where the gate fails, 3 where a case could not be compared.

    Example: agenteval diff main latest --gate significant
    """
    from agenteval_cli.diff import gate_failures
    from agenteval_cli.repository import open_repository

    gc.disable()  # a hundred thousand attempts are read, and nothing of them is garbage before the end
    repository = open_repository(entered(directory))
    diff = _diff(repository, base, head, include_edited=include_edited, by=tuple(by or ()))
    rule = gate or Gate(repository.config.on_diff)
    failures = gate_failures(diff, rule, max_slip)
    code = exit_code_of(diff, failures)
    if json:
        _print_json(diff, only or (), rule, max_slip, failures, code)
    else:
        _print(diff, only or (), by or (), quiet=quiet, verbose=verbose)
        _say_keys_of_no_case(diff, by or ())
        _say_gate(diff, failures, rule if max_slip is None else f"{rule}, slips up to {max_slip:.0%}")
    return code


def _diff(
    repository: Repository, base: str | None, head: str | None, *, include_edited: bool, by: tuple[str, ...]
) -> RunDiff:
    """The diff of the two runs, which are let go with the return: they are far larger than it."""
    from agenteval_cli.lookup import LATEST, find
    from agenteval_cli.outcomes import read_outcomes

    after = find(repository, head or LATEST, read_outcomes)
    return compared(repository, base, after, read_outcomes, include_edited=include_edited, by=by)[1]


def _print_json(
    diff: RunDiff,
    only: list[Class] | tuple[()],
    rule: str,
    max_slip: float | None,
    failures: list[CaseDiff],
    code: ExitCode,
) -> None:
    from msgspec.structs import replace

    shown = replace(diff, cases=tuple(case for case in diff.cases if case.change in only)) if only else diff
    facts = {"rule": rule, "max_slip": max_slip, "failed": [case.id for case in failures]}
    print_json({"format": 1, "gate": facts, "exit_code": int(code), "diff": shown})


def _print(
    diff: RunDiff, only: list[Class] | tuple[()], by: list[str] | tuple[()], *, quiet: bool, verbose: bool
) -> None:
    from agenteval_cli.cli.diff_view import cases_shown, lines_of_cases, lines_of_whole
    from agenteval_cli.cli.values_view import Frame

    result(f"base {diff.base}")
    result(f"head {diff.head}")
    for words in diff.conditions:
        result(coloured(f"  differs: {safe(words)}", "yellow"))
    shown = cases_shown(diff, only, quiet=quiet, verbose=verbose)
    for line in lines_of_cases(shown, Frame(width_of_results()), verbose=verbose):
        result(line)
    result()
    for line in lines_of_whole(diff, by, verbose=verbose):
        result(line)


def _say_keys_of_no_case(diff: RunDiff, by: list[str] | tuple[()]) -> None:
    from agenteval_cli.totals import NO_VALUE

    for key in dict.fromkeys(by):
        if all(part.value == NO_VALUE for part in diff.overall.slices if part.by == key):
            say(f"no compared case has '{key}' in its metadata, so there is nothing to take apart")


def _say_gate(diff: RunDiff, failures: list[CaseDiff], rule: str) -> None:
    from agenteval_cli.diff import incomplete_in

    if failures:
        more = "" if len(failures) <= _NAMED else f" and {len(failures) - _NAMED:,} more"
        names = ", ".join(case.id for case in failures[:_NAMED])
        say(coloured(f"gate ({rule}) failed: {names}{more}", "red"))
        say(f"more: agenteval show {failures[0].id} --run {diff.head}")
    elif not diff.compared:
        say("no case could be compared, so nothing is shown to be unbroken")
    elif missing := incomplete_in(diff):
        say(f"the gate ({rule}) is not known to hold: {count(len(missing), 'case')} came to no verdict")
    moved = [case for case in diff.cases if case.p is not None]
    if moved and not any(case.evidence == "confirmed" for case in moved):
        _say_how_many_would_do(diff)


def _say_how_many_would_do(diff: RunDiff) -> None:
    """What this diff could not have seen."""
    from agenteval_cli.statistics import attempts_to_confirm

    attempts = attempts_to_confirm(diff.compared)
    among = f"among {count(diff.compared, 'compared case')}"
    words = f"{among} a fall from all to none is confirmed from {attempts} attempts on"
    say(f"no change is confirmed: {words} (`agenteval run --attempts {attempts}`)")
