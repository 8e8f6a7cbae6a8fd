"""agenteval validate"""

from __future__ import annotations

import gc
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import coloured, document, print_json, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, InvalidFilesError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.mutants import Mutation
    from agenteval_cli.validation import Report


class Format(StrEnum):
    """How problems are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def command(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="Case files; all where absent.")
    ] = None,
    staged: Annotated[
        bool, typer.Option("--staged", help="Check what git's index holds, not the working tree.")
    ] = False,
    select: Annotated[list[str] | None, typer.Option(metavar="RULE", help="Only this rule; may be repeated.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(metavar="RULE", help="Not this rule; may be repeated.")] = None,
    explain: Annotated[str | None, typer.Option(metavar="RULE", help="Say what a rule is for, or `all`.")] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Also grade a do-nothing agent, and changed recordings.")
    ] = False,
    output: Annotated[Format, typer.Option("--format", help="How problems are printed.")] = Format.TEXT,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Check case files and the configuration; every problem is told with its file, line and column.

    Example: agenteval validate cases/refunds/refund-inside-window.yaml
    """
    if explain is not None:
        return _explain(explain, json=json)
    from agenteval_cli.repository import open_repository
    from agenteval_cli.validation import Choice, Report, validated

    gc.disable()  # bulk work makes no cycles, and each collection would walk all that was made
    start = entered(directory)
    choice = Choice(staged=staged, prove=prove, select=tuple(select or ()), ignore=tuple(ignore or ()))
    form = Format.JSON if json else output
    try:
        # Files may be named from above the repository that holds them, as a hook at git's root does.
        repository = open_repository((start / files[0]).parent if files else start)
    except InvalidFilesError as error:
        if form not in (Format.GITHUB, Format.SARIF):
            raise
        report = Report(1, error.problems)
    else:
        report = validated(repository, start, files or [], choice)
    _print(report, form, quiet=quiet, verbose=verbose)
    return ExitCode.USAGE if report.errors else ExitCode.OK


def _print(report: Report, output: Format, *, quiet: bool, verbose: bool) -> None:
    if output is Format.JSON:
        facts = {"format": 1, "valid": not report.errors, "files": report.files}
        proof = {} if report.mutations is None else {"mutation": list(map(_told, report.mutations))}
        print_json({**facts, "problems": report.problems, "notes": report.notes, **proof})
    elif output is Format.SARIF:
        from agenteval_cli.cli.problem_reports import sarif

        print_json(sarif(report.problems))
    elif output is Format.GITHUB:
        from agenteval_cli.cli.problem_reports import github

        for line in github(report.problems):
            document(line)
    else:
        for problem in report.problems:
            result(safe(str(problem)))
    _say_sums(report, quiet=quiet, verbose=verbose)


def _told(mutation: Mutation) -> dict[str, object]:
    counts = {"killed": mutation.killed, "mutants": mutation.mutants}
    return {"case": mutation.case, **counts, "survivors": mutation.survivors}


def _say_sums(report: Report, *, quiet: bool, verbose: bool) -> None:
    errors = len(report.errors)
    warnings = len(report.problems) - errors
    for note in () if quiet else report.notes:
        say(note)
    if verbose:
        _say_reasons(report)
    if errors:
        say(coloured(f"{count(errors, 'error')} in {count(report.files, 'file')}", "red"))
    elif not quiet:
        also = f", {count(warnings, 'warning')}" if warnings else ""
        say(f"{count(report.files, 'case file')} valid{also}")


def _say_reasons(report: Report) -> None:
    """The reason of each rule that found something, once."""
    from agenteval_cli.rules import RULES

    for name in dict.fromkeys(problem.rule for problem in report.problems):
        if name in RULES:
            say(f"{name}: {RULES[name].why}")


def _explain(name: str, *, json: bool) -> int:
    """One rule, or all of them."""
    from agenteval_cli.rules import RULES, known_rules

    rules = list(RULES.values()) if name == "all" else [RULES[rule] for rule in known_rules([name])]
    if json:
        keys = ("name", "severity", "summary", "why")
        print_json({"format": 1, "rules": [{key: getattr(rule, key) for key in keys} for rule in rules]})
        return ExitCode.OK
    for rule in rules:
        result(f"{coloured(rule.name, 'bold')} ({rule.severity}): {rule.summary}")
        result(f"    {rule.why}")
    return ExitCode.OK
