"""agenteval schema"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval_cli.cli.console import print_json, result, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode

if TYPE_CHECKING:
    from pathlib import Path


class Name(StrEnum):
    """The schemas that there are."""

    CASE = "case"
    CONFIG = "config"
    FIXTURE = "fixture"
    RETIRED = "retired"
    RESPONSE = "response"
    RUN = "run"
    ATTEMPT = "attempt"
    TRANSCRIPT = "transcript"
    OUTPUT = "output"
    BASELINE = "baseline"
    LABELS = "labels"


def command(
    name: Annotated[Name, typer.Argument(metavar="[NAME]", help="Which schema.")] = Name.CASE,
    install: Annotated[
        bool, typer.Option("--install", help="Set up editors to use the schemas, in this folder.")
    ] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Print a JSON Schema, or have editors check and complete case files as they are typed.

    --install copies the schemas to .agenteval/schemas and tells the YAML language server of them in
    .vscode/settings.json, which other editors read too.

    Example: agenteval schema case > case.schema.json
    """
    from agenteval_cli import schemas

    start = entered(directory)
    if not install:
        print_json(schemas.load(name.value))
        return ExitCode.OK
    from agenteval_cli.editors import installed
    from agenteval_cli.repository import open_repository

    repository = open_repository(start)
    done = installed(repository.root, repository.config)
    _print(done.made, done.settings, done.left_alone, repository.root, json=json, quiet=quiet, verbose=verbose)
    return ExitCode.OK


def _print(
    made: list[str],
    settings: dict[str, Any],
    left_alone: str | None,
    root: Path,
    *,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    if json:
        print_json({"format": 1, "made": made, "settings": settings, "left_alone": left_alone})
        return
    for name in made:
        result(f"wrote {name}")
    if left_alone and not quiet:
        say(f"{left_alone} has comments or is not plain JSON, so it was left alone; add these settings to it:")
        print_json(settings)
    if verbose:
        say(f"in {root}")
