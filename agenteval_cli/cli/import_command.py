"""agenteval import"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval_cli.cli.console import print_json, result, safe, say
from agenteval_cli.cli.new_command import Match
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.authoring import Shelf
    from agenteval_cli.document_files import Placed
    from agenteval_cli.forms import Wishes
    from agenteval_cli.importing import Import
    from agenteval_cli.repository import Repository


class FormName(StrEnum):
    """The forms of documents."""

    RECORD = "record"
    CONVERSATION = "conversation"
    SIMULATION = "simulation"


def command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="JSON, JSON lines or YAML; one document or many.")
    ],
    form: Annotated[FormName | None, typer.Option(help="What the documents are; else told by their keys.")] = None,
    into: Annotated[str | None, typer.Option(metavar="FOLDER", help="A folder below the cases, for the files.")] = None,
    match: Annotated[Match | None, typer.Option(help="How an expectedOutput is compared.")] = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A gating criterion for each case; a metric's name, or a sentence."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything and write nothing.")] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Make case files of records, conversations and simulation cases that other tools keep.

    All are checked first; where one is wrong nothing is written. A case that is there already is left as it is.

    Example: agenteval import answers.jsonl --match contains
    """
    from agenteval_cli import writing
    from agenteval_cli.authoring import shelf_of
    from agenteval_cli.importing import carry_out, import_of
    from agenteval_cli.repository import open_repository

    start = entered(directory)
    documents = _documents(files)
    _refuse_idle_match(match, form, documents)
    repository = open_repository(start)
    folder = _folder(repository, start, into)
    with writing.locked(repository.root):
        shelf = shelf_of(repository)
        order = import_of(shelf, documents, _wishes(shelf, match, criterion or []), form, folder)
        if not dry_run:
            carry_out(shelf, order)
    if json:
        print_json(_facts(order, dry_run))
    else:
        _print(order, dry_run=dry_run, quiet=quiet, verbose=verbose)
    return ExitCode.OK


def _documents(files: list[str]) -> list[Placed]:
    from agenteval_cli.document_files import documents_in

    found = []
    for file in files:
        try:
            raw = Path(file).read_bytes()
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}") from error
        found += documents_in(file, raw)
    if not found:
        raise UsageError(f"no documents in {', '.join(files)}; nothing was imported")
    return found


def _refuse_idle_match(match: str | None, form: str | None, documents: list[Placed]) -> None:
    simulated = [form == "simulation" or (isinstance(each, dict) and "userPrompt" in each) for _, each in documents]
    if match is not None and all(simulated):
        raise UsageError("--match says nothing about simulation cases, which expect no output; leave it out")


def _folder(repository: Repository, start: Path, into: str | None) -> str:
    return repository.config.cases.rstrip("/") if into is None else os.path.relpath(start / into, repository.root)


def _wishes(shelf: Shelf, match: str | None, criteria: list[str]) -> Wishes:
    from agenteval_cli.forms import Wishes
    from agenteval_cli.metrics.registry import METRICS

    asked: list[Any] = [{"metric": text, "gate": True} if text in METRICS else text for text in criteria]
    return Wishes(match=match and str(match), criteria=tuple(asked), fixtures=tuple(shelf.context.fixtures))


# ---- what came of it


def _facts(order: Import, dry_run: bool) -> dict[str, Any]:
    made = [{"id": each.id, "file": each.file, "form": each.form, "from": each.place} for each in order.made]
    there = [{"id": each.id, "file": each.file, "from": each.place, "differs": each.differs} for each in order.there]
    repeated = [{"id": each.id, "from": each.place, "first": each.first} for each in order.repeated]
    lists = {"made": made, "there": there, "repeated": repeated, "problems": order.warnings}
    return {"format": 1, "dry_run": dry_run, **lists}


def _print(order: Import, *, dry_run: bool, quiet: bool, verbose: bool) -> None:
    """The paths of the new files; on stderr what else became of the documents, and verbosely where each came from."""
    for made in order.made:
        result(safe(made.file))
        if verbose:
            say(f"{safe(made.file)} is the {made.form} at {safe(made.place)}")
    if quiet:
        return
    for there in order.there:
        more = " and says something else; it was left as it is" if there.differs else ""
        say(f"{safe(there.place)}: {safe(there.file)} is there already{more}")
    for repeated in order.repeated:
        say(f"{safe(repeated.place)} is the case {repeated.id} of {safe(repeated.first)} once more; left out")
    for problem in order.warnings:
        say(safe(str(problem)))
    would = " would be" if dry_run else ""
    there_already = f", {len(order.there):,} there already" if order.there else ""
    say(f"{count(len(order.made), 'case')}{would} made{there_already}")
