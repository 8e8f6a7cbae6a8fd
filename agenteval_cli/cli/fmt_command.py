"""agenteval fmt"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import print_json, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.problems import Problem
    from agenteval_cli.repository import Repository


def command(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="Case files; all where absent.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; list the files that would change.")] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Put case files into canonical form, and change nothing else in them.

    Keys in the order of the schema, with the comments above them; no blanks at the ends of lines; one line break at the
    end. What a case says never changes.

    Example: agenteval fmt --check
    """
    from agenteval_cli.repository import open_repository

    start = entered(directory)
    repository = open_repository(start)
    names = _named(repository, start, files or [])
    changed, left, problems = _formatted(repository, names, write=not check)
    if json:
        facts = {"format": 1, "check": check, "files": len(names), "changed": changed}
        print_json({**facts, "left_alone": [{"file": name, "reason": why} for name, why in left], "problems": problems})
    else:
        for name in changed:
            result(safe(name))
        for problem in problems:
            result(safe(str(problem)))
    for name, why in left:
        say(safe(f"{name} was left alone: {why}"))
    if not quiet or problems:
        _say_sums(len(names), len(changed), len(problems), check=check)
    if verbose:
        say("the order of the keys is that of `agenteval schema case`")
    if problems:
        return ExitCode.USAGE
    return ExitCode.FAILURES if check and changed else ExitCode.OK


def _named(repository: Repository, start: Path, files: list[str]) -> list[str]:
    """The files by their path from the root. Raises UsageError where one is not there, or there is none at all."""
    from agenteval_cli.repository import case_files
    from agenteval_cli.sources import WorkingTree

    for name in files:
        if not (start / name).is_file():
            raise UsageError(f"{name} is not a file")
    if files:
        return sorted({os.path.relpath(start / name, repository.root) for name in files})
    return list(case_files(repository, WorkingTree(repository.root)))


def _formatted(
    repository: Repository, names: list[str], *, write: bool
) -> tuple[list[str], list[tuple[str, str]], list[Problem]]:
    """The files that change, those left alone with the reason, and the problems of those that are not YAML."""
    from agenteval_cli import writing, yaml_reader
    from agenteval_cli.authoring import formatted, unreadable
    from agenteval_cli.sources import bytes_of

    changed, left, problems = [], [], []
    for name in names:
        path = repository.root / name
        try:
            before = bytes_of(path)
        except OSError as error:
            problems.append(unreadable(name, error))
            continue
        reading = yaml_reader.read(name, before)
        if reading.document is None:
            problems += (problem for problem in reading.problems if problem.severity == "error")
            continue
        try:
            after = formatted(before)
        except UsageError as error:
            left.append((name, str(error)))
            continue
        if after != before:
            changed.append(name)
            if write:
                writing.replace(path, after)
    return changed, left, problems


def _say_sums(files: int, changed: int, problems: int, *, check: bool) -> None:
    done = f"{changed:,} of {count(files, 'file')} {'would be changed' if check else 'changed'}"
    say(done + (f", {count(problems, 'error')} in files that were not touched" if problems else ""))
