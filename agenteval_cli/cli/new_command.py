"""agenteval new"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import print_json, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Tier, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from agenteval_cli.authoring import Shelf
    from agenteval_cli.composing import Fields
    from agenteval_cli.problems import Problem

_Texts = list[str] | None


class Match(StrEnum):
    """How a reference answer is held against the agent's."""

    EXACT = "exact"
    CONTAINS = "contains"
    SIMILAR = "similar"
    JUDGED = "judged"


def command(
    input_text: Annotated[str | None, typer.Option("--input", metavar="TEXT", help="What the user says.")] = None,
    contains: Annotated[_Texts, typer.Option(metavar="TEXT", help="In the answer; may be repeated.")] = None,
    tool: Annotated[_Texts, typer.Option(metavar="NAME", help="Must be called; may be repeated.")] = None,
    expected: Annotated[str | None, typer.Option(metavar="TEXT", help="A reference answer; see --match.")] = None,
    match: Annotated[Match | None, typer.Option(help="How --expected is compared.")] = None,
    case_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="tc- and 12 signs where absent.")] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="A short name for people.")] = None,
    why: Annotated[str | None, typer.Option(metavar="TEXT", help="One line: what the case protects.")] = None,
    tier: Annotated[Tier | None, typer.Option(help="When it runs.")] = None,
    tag: Annotated[_Texts, typer.Option(metavar="TAG", help="May be repeated.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="NAME", help="Who looks after it: metadata.owner.")] = None,
    file: Annotated[
        str | None, typer.Option(metavar="PATH", help="Another place than <cases>/<id>.yaml, below <cases>/.")
    ] = None,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read a case, or some of its fields, as YAML or JSON.")
    ] = False,
    edit: Annotated[bool, typer.Option("--edit", help="Write it in $VISUAL or $EDITOR.")] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Make a case file, and print its path. A case that would not be valid is not made: its problems are told.

    Example: agenteval new --title "Opening hours in Lyon" --input "When do you open in Lyon?" --contains "10 to 19"
    """
    from agenteval_cli.authoring import shelf_of
    from agenteval_cli.composing import Fields
    from agenteval_cli.repository import open_repository

    if stdin and edit:
        raise UsageError("--stdin and --edit cannot go together; give one of them")
    if not (stdin or edit) and input_text is None:
        raise UsageError("nothing to make a case of; give --input TEXT, --stdin or --edit")
    start = entered(directory)
    fields = Fields(
        title=title,
        why=why,
        tier=tier,
        tags=tuple(tag or ()),
        owner=owner,
        input=input_text,
        expected=expected,
        match=match,
        contains=tuple(contains or ()),
        tools=tuple(tool or ()),
    )
    shelf = shelf_of(open_repository(start))
    place = None if file is None else os.path.relpath(start / file, shelf.repository.root)
    if edit:
        made = _typed(shelf, fields, case_id, place)
    else:
        made = _made(shelf, _read_stdin() if stdin else b"", fields, case_id, place)
    _print(shelf, *made, json=json, quiet=quiet, verbose=verbose)
    return ExitCode.OK


def _read_stdin() -> bytes:
    given = sys.stdin.buffer.read()
    if not given.strip():
        raise UsageError("stdin is empty; nothing was made")
    return given


def _made(
    shelf: Shelf, given: bytes, fields: Fields, case_id: str | None, place: str | None
) -> tuple[str, str, list[Problem]]:
    """Compose, check and write; the ID, the file and the warnings."""
    from agenteval_cli.authoring import fresh_id
    from agenteval_cli.composing import composed

    raw = composed(given, fields, lambda: fresh_id(shelf), case_id)
    return _kept(shelf, raw, place)


def _kept(shelf: Shelf, raw: bytes, place: str | None, told_as: str | None = None) -> tuple[str, str, list[Problem]]:
    """Check and write; problems are told of the file that is to be, or of the one that the user can mend."""
    from agenteval_cli import writing
    from agenteval_cli.authoring import refuse_errors
    from agenteval_cli.composing import id_in, name_of, problems_of, refuse_place

    case_id = id_in(shelf, raw)
    name = name_of(shelf, case_id, place)
    problems = problems_of(shelf, told_as or name, raw)
    refuse_errors(problems)
    refuse_place(shelf, name)
    writing.create(shelf.repository.root / name, raw)
    return str(case_id), name, problems


def _typed(shelf: Shelf, fields: Fields, case_id: str | None, place: str | None) -> tuple[str, str, list[Problem]]:
    """The case as it was saved in the editor. Unless it is made, the file with what was typed stays and is told."""
    from agenteval_cli import text_editor, writing
    from agenteval_cli.authoring import fresh_id
    from agenteval_cli.composing import settled, template

    command = text_editor.editor_of(os.environ)
    start = template(fields, case_id or fresh_id(shelf))
    path = text_editor.draft(start)
    try:
        typed = text_editor.edited(command, path)
        _refuse_nothing(typed, start)
        raw = settled(str(path), typed, lambda: fresh_id(shelf))
        writing.replace(path, raw)  # so that the lines that are told are lines of this file
        made = _kept(shelf, raw, place, str(path))
    except BaseException:
        if _has_work(path, start):
            say(f"what you typed is kept in {path}; mend it and `agenteval new --stdin < {path}`")
        else:
            path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
    return made


def _refuse_nothing(typed: bytes, start: bytes) -> None:
    if typed == start or not typed.strip():
        raise UsageError("nothing was typed; nothing was made")


def _has_work(path: Path, start: bytes) -> bool:
    try:
        return path.read_bytes().strip() not in (b"", start.strip())
    except OSError:
        return False


def _print(
    shelf: Shelf, case_id: str, name: str, warnings: list[Problem], *, json: bool, quiet: bool, verbose: bool
) -> None:
    if json:
        print_json({"format": 1, "id": case_id, "file": name, "problems": warnings})
    else:
        result(safe(name))
    for problem in () if quiet else warnings:
        say(safe(str(problem)))
    if verbose:
        say((shelf.repository.root / name).read_text(encoding="utf-8").rstrip("\n"))
