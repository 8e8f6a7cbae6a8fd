"""agenteval run"""

from __future__ import annotations

import os
import secrets
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import count, print_json, safe, say
from agenteval_cli.cli.options import (
    Changed,
    Directory,
    Json,
    Quiet,
    Tag,
    Tiers,
    Verbose,
    changed_ids,
    entered,
)
from agenteval_cli.errors import ExitCode, InvalidFilesError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agenteval_cli.records import PlannedCase
    from agenteval_cli.repository import Loaded, LoadedCase, Repository
    from agenteval_cli.runner import Order
    from agenteval_cli.selection import Selection


def command(
    tier: Tiers = None,
    case: Annotated[
        list[str] | None, typer.Option("--case", metavar="ID", help="Only this case; may be repeated.")
    ] = None,
    tag: Tag = None,
    changed: Changed = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Run this agent, whatever the cases name.")] = None,
    attempts: Annotated[int | None, typer.Option(min=1, max=1000, help="Attempts of every case.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and run nothing.")] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Run cases through an agent, keep every attempt, and say which cases passed.

    Example: agenteval run --tier smoke
    """
    from agenteval_cli.planning import plan_for
    from agenteval_cli.repository import load, open_repository
    from agenteval_cli.selection import Selection, selected

    repository = open_repository(entered(directory))
    loaded = load(repository)
    selection = Selection(
        tiers=tuple(tier or ()),
        cases=tuple(case or ()),
        tag=tag,
        changed_since=changed,
        changed=changed_ids(repository, loaded, changed),
    )
    _refuse_invalid(loaded, selection)
    chosen = selected(loaded.cases, selection)
    plan = plan_for(chosen, repository.config, agent=agent, attempts=attempts)
    order = _order(repository, loaded, chosen, plan)
    if dry_run:
        return _show_plan(plan, json=json)
    return _run(order, json=json, quiet=quiet, verbose=verbose)


def _refuse_invalid(loaded: Loaded, selection: Selection) -> None:
    """Raise InvalidFilesError: a run must not leave out a case because its file is broken.

    Where cases are asked for by ID the others' files may be broken: that is said, and does not matter.
    """
    errors = loaded.errors
    if not errors:
        return
    valid = {item.case.id.casefold() for item in loaded.cases}
    by_id = bool(selection.cases) and all(wanted.casefold() in valid for wanted in selection.cases)
    if not by_id or any(problem.rule == "duplicate-id" for problem in errors):
        raise InvalidFilesError(errors)
    say(f"{count(len(errors), 'error')} in the files of other cases; see `agenteval validate`")


def _order(
    repository: Repository, loaded: Loaded, chosen: Sequence[LoadedCase], plan: tuple[PlannedCase, ...]
) -> Order:
    from agenteval_cli import git
    from agenteval_cli.agents import made_ready
    from agenteval_cli.runner import Order

    config = repository.config
    names = dict.fromkeys(planned.agent for planned in plan)
    ids = {item.case.id for item in chosen}
    return Order(
        plan=plan,
        not_selected=tuple(item.case.id for item in loaded.cases if item.case.id not in ids),
        cases={item.case.id: item for item in chosen},
        agents={name: made_ready(config.agents[name], repository.root, os.environ) for name in names},
        root=repository.root,
        runs=repository.runs,
        git=git.state_of(repository.root),
        seed=secrets.randbits(31),
        min_pass_rate=config.min_pass_rate,
        redact=config.redact,
    )


def _show_plan(plan: tuple[PlannedCase, ...], *, json: bool) -> int:
    from agenteval_cli.cli.console import table

    if json:
        print_json({"format": 1, "dry_run": True, "plan": plan, "attempts": sum(planned.attempts for planned in plan)})
        return ExitCode.OK
    rows = [(planned.case, planned.tier, planned.agent, str(planned.attempts), planned.reason) for planned in plan]
    table(rows, header=("ID", "TIER", "AGENT", "ATTEMPTS", "REASON"))
    say(f"{count(len(plan), 'case')}, {count(sum(planned.attempts for planned in plan), 'attempt')}; nothing was run")
    return ExitCode.OK


def _run(order: Order, *, json: bool, quiet: bool, verbose: bool) -> int:
    from agenteval_cli.cli.progress import Progress
    from agenteval_cli.cli.run_report import print_run, run_facts
    from agenteval_cli.records import INTERRUPTED
    from agenteval_cli.runner import run
    from agenteval_cli.summary import summary_of

    progress = Progress(sys.stderr, quiet=quiet, verbose=verbose)
    ended = run(order, progress.start, progress.attempt)
    progress.close()
    summary = summary_of(ended.record, ended.attempts)
    if json:
        print_json(run_facts(ended, summary))
    else:
        print_run(ended, summary, quiet=quiet)
    _tell_of_files_that_changed(order)
    if ended.record.status == INTERRUPTED:
        say(f"interrupted; the {count(summary.graded, 'finished attempt')} are kept in run {ended.record.id}")
        return ExitCode.INTERRUPTED
    return {"passed": ExitCode.OK, "failed": ExitCode.FAILURES, "incomplete": ExitCode.INCOMPLETE}[summary.verdict]


def _tell_of_files_that_changed(order: Order) -> None:
    """The verdicts are those of the files as they were when the run began."""
    from agenteval_cli.digests import digest_of_bytes

    for item in order.cases.values():
        path = order.root / item.case.file
        try:
            same = digest_of_bytes(path.read_bytes()) == item.digests.file
        except OSError:
            say(f"{safe(item.case.file)} went away during the run; its verdict is of the file as it was at the start")
            continue
        if not same:
            say(f"{safe(item.case.file)} changed during the run; its verdict is of the file as it was at the start")
