"""agenteval init"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agenteval_cli.cli.console import print_json, result, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, IncompleteError, UsageError

IGNORED = ".agenteval/"


def command(
    folder: Annotated[str, typer.Argument(metavar="[FOLDER]", help="Where to start; made where it is missing.")] = ".",
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Start a repository of cases that runs at once: a configuration, a small agent and three cases.

    No file that is there is changed, but for a line in .gitignore.

    Example: agenteval init && agenteval run
    """
    root = entered(directory) / folder
    try:
        made, kept = _laid_out(root)
    except OSError as error:
        raise IncompleteError(f"cannot write to {root}: {error.strerror}") from error
    if json:
        print_json({"format": 1, "folder": str(root), "made": made, "kept": kept})
        return ExitCode.OK
    for name in made:
        result(f"made {name}")
    for name in kept:
        result(f"kept {name}, which was there")
    if not quiet:
        _say_what_next(root, folder)
    if verbose:
        say(f"runs go to {root / '.agenteval/runs'}, which git ignores")
    return ExitCode.OK


def _laid_out(root: Path) -> tuple[list[str], list[str]]:
    """Write the starter files that are not there; the names of those made and those kept."""
    from agenteval_cli import starter
    from agenteval_cli.config import FILE_NAME

    if (root / FILE_NAME).exists():
        raise UsageError(f"{root / FILE_NAME} is there already; nothing was changed")
    made, kept = [], []
    for name in starter.FILES:
        path = root / name
        if path.exists():
            kept.append(name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(starter.content(name), encoding="utf-8")
        made.append(name)
    if _ignored(root / ".gitignore"):
        made.append(".gitignore")
    return made, kept


def _ignored(path: Path) -> bool:
    """Have git ignore the runs; False where it did already."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if IGNORED in before.splitlines():
        return False
    gap = "" if not before or before.endswith("\n") else "\n"
    path.write_text(f"{before}{gap}{IGNORED}\n", encoding="utf-8")
    return True


def _say_what_next(root: Path, folder: str) -> None:
    from agenteval_cli import git

    steps = ["agenteval validate", "agenteval run"]
    if folder != ".":
        steps.insert(0, f"cd {folder}")
    if git.top_of(root) is None:
        steps.insert(-2, "git init")
    say(f"next: {' && '.join(steps)}")
