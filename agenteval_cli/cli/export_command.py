"""agenteval export"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval_cli.cli.console import print_json, say
from agenteval_cli.cli.import_command import FormName
from agenteval_cli.cli.options import (
    Changed,
    Directory,
    Json,
    Owner,
    Picks,
    Quiet,
    Tag,
    Tiers,
    Verbose,
    Where,
    entered,
    refuse_invalid,
    selection_from,
)
from agenteval_cli.cli.run_options import Case
from agenteval_cli.errors import ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.exporting import Export
    from agenteval_cli.repository import Repository


def command(
    cases: Annotated[list[str] | None, typer.Argument(metavar="[CASE]…", help="IDs, or globs as 'refund-*'.")] = None,
    form: Annotated[
        FormName | None, typer.Option(help="Give all cases so; else each in the form that fits it.")
    ] = None,
    run: Annotated[str | None, typer.Option(metavar="RUN", help="Give what the cases came to in this run.")] = None,
    tier: Tiers = None,
    case: Case = None,
    tag: Tag = None,
    owner: Owner = None,
    where: Where = None,
    changed: Changed = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Print cases as JSON in a form that other tools know, or a run with its attempts and what was said in them.

    Without --json it is a list of documents, which `agenteval import` reads.

    Example: agenteval export 'refund-*' --form record > refunds.json
    """
    from agenteval_cli.repository import open_repository

    wanted = [*(cases or ()), *(case or ())]
    picks = Picks(tier=tier, case=wanted, tag=tag, owner=owner, where=where, changed=changed)
    repository = open_repository(entered(directory))
    if run is not None:
        _refuse_beside_a_run(form, picks)
        print_json(_batch(repository, run, wanted, json=json, quiet=quiet))
        return ExitCode.OK
    exports = _exports(repository, picks, form)
    documents = [each.document for each in exports]
    print_json(_facts(exports) if json else documents)
    if not quiet:
        _tell(exports, verbose=verbose)
    return ExitCode.OK


# ---- cases


def _exports(repository: Repository, picks: Picks, form: str | None) -> list[Export]:
    from agenteval_cli.exporting import export_of
    from agenteval_cli.repository import load
    from agenteval_cli.selection import selected

    loaded = load(repository)
    refuse_invalid(loaded, picks.get("case") or ())
    return export_of(repository, selected(loaded.cases, selection_from(repository, loaded, picks)), form)


def _facts(exports: list[Export]) -> dict[str, Any]:
    return {"format": 1, "cases": exports}


def _tell(exports: list[Export], *, verbose: bool) -> None:
    carrying = [each for each in exports if each.carries]
    if carrying:
        say(f"{count(len(carrying), 'case')} with more than the form has a place for; it is in metadata.agenteval_case")
    if verbose:
        say(count(len(exports), "case"))


# ---- a run


def _refuse_beside_a_run(form: str | None, picks: Picks) -> None:
    given = {"--form": form, **{f"--{name}": value for name, value in picks.items() if name != "case"}}
    idle = [name for name, value in given.items() if value not in (None, [])]
    if idle:
        raise UsageError(f"{', '.join(idle)} says nothing about a run; name its cases by their IDs")


def _batch(repository: Repository, name: str, wanted: list[str], *, json: bool, quiet: bool) -> dict[str, Any]:
    from agenteval_cli.baselines import BASELINE
    from agenteval_cli.exporting import batch
    from agenteval_cli.lookup import find_run

    if name == BASELINE:
        raise UsageError("a baseline keeps no conversations; name a run")
    made = batch(find_run(repository, name), wanted)
    lost = sum(attempt["conversation"] is None for case in made["testCases"] for attempt in case["attempts"])
    if lost and not quiet:
        say(f"the conversation of {count(lost, 'attempt')} cannot be read, and is null")
    return {"format": 1, "batch": made} if json else made
