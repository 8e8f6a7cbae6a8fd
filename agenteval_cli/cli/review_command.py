"""agenteval review"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import coloured, indented, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from agenteval_cli.labelling import Item
    from agenteval_cli.repository import Repository

_KEYS = {"y": "yes", "n": "no"}
_CTRL_C, _CTRL_D = "\x03", "\x04"


def command(
    label: Annotated[
        str | None, typer.Option("--label", metavar="RUN", help="Say yes or no to the criteria of this run.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="A case always passed from so many runs on.")] = 20,
    days: Annotated[int, typer.Option(min=0, metavar="N", help="And over so many days.")] = 30,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Tell what the runs suggest to look at: flaky cases, cases that catch nothing, thin slices, slow and dear ones.

    With --label: read what a run's agents answered and say yes or no to each criterion, one keypress each. What the
    judge said is not shown before: it would be easier to agree. Labels are kept as they are made.

    Example: agenteval review
    """
    if label is None:
        from agenteval_cli.cli.suggestions import show_suggestions

        return show_suggestions(directory, runs=runs, days=days, json=json, quiet=quiet, verbose=verbose)
    if json:
        raise UsageError("--label asks at a terminal; --json is for the suggestions")
    return _label(label, directory)


def _label(label: str, directory: str) -> int:
    from agenteval_cli.labelling import items_of
    from agenteval_cli.lookup import find_run
    from agenteval_cli.repository import load, open_repository

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("labels are made at a terminal, one keypress each; or write labels/*.yaml by hand")
    repository = open_repository(entered(directory))
    run = find_run(repository, label)
    cases = {item.case.id: item.case for item in load(repository).cases}
    items = items_of(run, cases)
    if not items:
        raise UsageError(f"run {run.record.id} has no attempt with a criterion to say yes or no to")
    with _keypresses():
        made = _review(repository, run.record.id, items)
    say(f"{count(made, 'label')} in labels/{run.record.id}.yaml; `agenteval calibrate` holds a judge against them")
    return ExitCode.OK


def _review(repository: Repository, run_id: str, items: list[Item]) -> int:
    """Show one item after the other and keep each label at once. Returns how many labels there are."""
    from agenteval_cli.labelling import entry_of, key_of

    path = repository.root / "labels" / f"{run_id}.yaml"
    entries = _entries(path)
    by = os.environ.get("USER", "")
    done = {key_of(entry) for entry in entries}
    left = [item for item in items if key_of(entry_of(item, "", run_id, by)) not in done]
    for number, item in enumerate(left, start=1):
        _show(item, f"{number} of {len(left)}")
        pressed = _pressed()
        if pressed == "q":
            break
        if pressed in _KEYS:
            entries.append(entry_of(item, _KEYS[pressed], run_id, by))
            _keep(path, entries)
            result(f"  {_KEYS[pressed]}")
    return len(entries)


def _entries(path: Path) -> list[dict[str, Any]]:
    """The labels that are there already, made sure that they can be read."""
    from agenteval_cli import yaml_reader
    from agenteval_cli.labels import read_labels

    if not path.exists():
        return []
    read_labels(path.parent)
    document = yaml_reader.read(path.name, path.read_bytes()).document
    return list(document.data["labels"]) if document else []


def _keep(path: Path, entries: list[dict[str, Any]]) -> None:
    from agenteval_cli import writing
    from agenteval_cli.labels import FORMAT
    from agenteval_cli.yaml_writer import document

    path.parent.mkdir(exist_ok=True)
    writing.replace(path, document({"schema": FORMAT, "labels": entries}).encode())


def _show(item: Item, place: str) -> None:
    from agenteval_cli.labelling import words_of
    from agenteval_cli.material import blocks_of_whole, cut

    result()
    result(coloured(f"{safe(item.case)} #{item.attempt}  ({place})", "dim"))
    for name, text in blocks_of_whole(item.material):
        result(f"  {coloured(f'{name}:', 'bold')}")
        result(indented(cut(text, 4000)))
    result(coloured(f"  {safe(words_of(item.criterion))}", "bold"))
    result("  y yes   n no   s skip   q stop")


@contextlib.contextmanager
def _keypresses() -> Iterator[None]:
    """The terminal gives each key at once and does not show it. What was typed before is not thrown away."""
    import termios
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _pressed() -> str:
    """One key of those that are offered; the end of input and Ctrl-C stop."""
    sys.stdout.flush()
    while True:
        key = os.read(sys.stdin.fileno(), 1).decode("latin-1").lower()
        if key in ("", _CTRL_C, _CTRL_D):
            return "q"
        if key in ("y", "n", "s", "q"):
            return key
