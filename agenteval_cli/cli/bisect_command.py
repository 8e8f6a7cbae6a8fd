"""agenteval bisect"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import coloured, print_json, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Prepare, Quiet, Verbose, a_number, entered
from agenteval_cli.errors import ExitCode, InvalidFilesError, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.bisection import Bisection, Trial
    from agenteval_cli.git import LogEntry
    from agenteval_cli.repository import Loaded, LoadedCase, Repository


def command(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Its ID.")],
    good: Annotated[str, typer.Option(metavar="REF", help="A commit at which it passed.")],
    bad: Annotated[str, typer.Option(metavar="REF", help="A later one at which it fails.")] = "HEAD",
    attempts: Annotated[int, typer.Option(min=3, metavar="N", help="At most so many attempts a commit.")] = 30,
    confidence: Annotated[
        float,
        typer.Option(
            min=0.5, max=0.999, metavar="P", callback=a_number, help="How sure to be of the commit that is found."
        ),
    ] = 0.95,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="With this agent.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, metavar="N", help="So many attempts at once.")] = None,
    prepare: Prepare = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Find the commit that broke a case: its agent is tried at commits between, each checked out beside the checkout.

    The case is that of the working tree. Exit code 0 where the commit is found, 3 where it could not be told.

    Example: agenteval bisect refund-inside-window --good v1.2 --bad HEAD --prepare 'npm ci'
    """
    from agenteval_cli.bisection import Asked, bisect
    from agenteval_cli.cli.progress import Progress
    from agenteval_cli.repository import load, open_repository

    repository = open_repository(entered(directory))
    loaded = load(repository)
    asked = Asked(
        case=_case(loaded, case),
        good=_commit(repository, good),
        bad=_commit(repository, bad),
        attempts=attempts,
        confidence=confidence,
        agent=agent,
        concurrency=concurrency,
        prepare=prepare,
    )
    found = bisect(
        repository,
        loaded,
        asked,
        os.environ,
        lambda: Progress(sys.stderr, quiet=quiet or not verbose, verbose=verbose),
        lambda trial: None if quiet else say(_trial_words(trial)),
    )
    code = ExitCode.OK if len(found.suspects) == 1 else ExitCode.INCOMPLETE
    if json:
        print_json({"format": 1, "case": asked.case.case.id, "exit_code": int(code), "bisection": found})
    else:
        _print(asked.case.case.id, found)
    return code


def _case(loaded: Loaded, name: str) -> LoadedCase:
    from agenteval_cli.problems import did_you_mean

    for item in loaded.cases:
        if item.case.id.casefold() == name.casefold():
            return item
    if loaded.errors:
        raise InvalidFilesError(loaded.errors)
    raise UsageError(f"no case '{name}'{did_you_mean(name, [item.case.id for item in loaded.cases])}")


def _commit(repository: Repository, ref: str) -> str:
    from agenteval_cli import git

    commit = git.commit_of(repository.root, ref)
    if commit is None:
        raise UsageError(f"'{ref}' names no commit")
    return commit


def _trial_words(trial: Trial) -> str:
    colour = {"good": "green", "bad": "red"}.get(trial.said, "yellow")
    counts = f" {trial.passed}/{trial.graded}" if trial.run else ""
    return f"{_named(trial.commit)}: {coloured(safe(trial.said), colour, sys.stderr)}{counts}"


def _named(entry: LogEntry) -> str:
    return " ".join(filter(None, [entry.commit[:12], entry.day, safe(entry.subject)]))


def _print(case: str, found: Bisection) -> None:
    if len(found.suspects) == 1:
        made = sum(trial.graded for trial in found.trials)
        result(f"{_named(found.suspects[0])}")
        say(f"this commit broke {case}, with a confidence of {found.confidence:.1%} ({count(made, 'attempt')})")
        return
    say(f"one of {count(len(found.suspects), 'commit')} broke {case}; the others could not be tried:")
    for entry in found.suspects:
        result(_named(entry))
