"""agenteval validate"""

from __future__ import annotations

from typing import Annotated

import typer

from agenteval_cli.cli.console import coloured, count, print_json, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode


def command(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="Case files; all where absent.")
    ] = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Check case files and the configuration; every problem is told with its file, line and column.

    Example: agenteval validate cases/refunds/refund-inside-window.yaml
    """
    from agenteval_cli.repository import open_repository
    from agenteval_cli.validation import validated

    start = entered(directory)
    loaded = validated(open_repository(start), start, files or [])
    errors = len(loaded.errors)
    warnings = len(loaded.problems) - errors
    if json:
        problems = list(loaded.problems)
        print_json({"format": 1, "valid": not errors, "files": loaded.files, "problems": problems})
    else:
        for problem in loaded.problems:
            result(safe(str(problem)))
        if verbose:
            for item in loaded.cases:
                say(f"{item.case.file}: {item.case.id}: {len(item.case.outcome)} outcome checks")
        if errors:
            say(coloured(f"{count(errors, 'error')} in {count(loaded.files, 'file')}", "red"))
        elif not quiet:
            also = f", {count(warnings, 'warning')}" if warnings else ""
            say(f"{count(loaded.files, 'case file')} valid{also}")
    return ExitCode.USAGE if errors else ExitCode.OK
