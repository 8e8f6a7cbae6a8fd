"""From what people call a run to the run: an ID, latest, previous, baseline, a folder, or a git ref of a known run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from agenteval_cli import git
from agenteval_cli.baselines import BASELINE, Book, baseline_run, read_baselines
from agenteval_cli.errors import UsageError
from agenteval_cli.records import RunRecord
from agenteval_cli.repository import Repository
from agenteval_cli.store import RUN, Run, RunHead, finished_runs, read_run, run_ids, run_records

LATEST = "latest"
PREVIOUS = "previous"
Read = TypeVar("Read")


def find_run(repository: Repository, name: str) -> Run:
    """The run that is called `name`, read in full: see find."""
    return find(repository, name, read_run)


def find(repository: Repository, name: str, read: Callable[[Path], Read]) -> Run | Read:
    """What `read` makes of the folder of the run `name`. Raises UsageError, with what there is, where none is.

    `baseline` is a run made of what was accepted, without transcripts: see baselines.baseline_run.
    """
    if name in (LATEST, PREVIOUS):
        return read(_recent(repository, 0 if name == LATEST else 1))
    if name == BASELINE:
        return _baseline(repository, _accepted(repository), None)
    folder = _folder_called(repository, name)
    if folder is not None:
        return read(folder)
    matches = [run_id for run_id in run_ids(repository.runs) if run_id.startswith(name)]
    if len(matches) == 1:
        return read(repository.runs / matches[0])
    if matches:
        raise UsageError(f"'{name}' begins {len(matches)} run IDs; write more of it")
    return read(_run_of_ref(repository, name))


def find_base(repository: Repository, name: str | None, head: RunRecord, read: Callable[[Path], Read]) -> Run | Read:
    """What `head` is compared with. Not named, it is the baseline if there is one of the head's agents, else the run
    before; of cases that several agents have a baseline for, it is that of the head's agent.
    """
    if name == BASELINE:
        return _baseline(repository, _accepted(repository), head)
    if name is not None:
        return find(repository, name, read)
    agents = {agent.name for agent in head.agents}
    book = {place: lines for place, lines in read_baselines(repository.root).items() if place[0] in agents and lines}
    return _baseline(repository, book, head) if book else read(_previous_to(repository, head.id))


def find_run_to_resume(repository: Repository, name: str) -> Run:
    """The same for a run that may have been stopped: `latest` is the newest of all."""
    if name == BASELINE:
        raise UsageError("a baseline is no run to go on with; name a run, or `latest`")
    if name != LATEST:
        return find_run(repository, name)
    newest = next(run_records(repository.runs), None)
    if newest is None:
        raise UsageError(f"there is no run in {repository.config.runs}; `agenteval run` makes one")
    return read_run(repository.runs / newest.id)


def _folder_called(repository: Repository, name: str) -> Path | None:
    """The folder that a path names, or that the file it names is in; None where there is none, and where there is no
    run in it and a branch is called the same.
    """
    if not os.path.exists(name):  # noqa: PTH110  # Path.exists fails where a name is longer than a path may be
        return None
    folder = Path(name) if Path(name).is_dir() else Path(name).parent
    hides = not (folder / RUN).exists() and git.commit_of(repository.root, name) is not None
    return None if hides else folder


def _previous_to(repository: Repository, head: str) -> Path:
    for known in _whole_runs(repository):
        if known.id < head:
            return repository.runs / known.id
    raise UsageError(f"no finished run before {head}; a diff needs two, so `agenteval run` once more")


def _recent(repository: Repository, back: int) -> Path:
    for index, known in enumerate(_whole_runs(repository)):
        if index == back:
            return repository.runs / known.id
    count = "no" if back == 0 else "only one"
    raise UsageError(f"there is {count} finished run in {repository.config.runs}; `agenteval run` makes one")


def _run_of_ref(repository: Repository, name: str) -> Path:
    """The newest finished run of the commit that the ref names; a run of its clean tree goes first."""
    commit = git.commit_of(repository.root, name)
    if commit is None:
        raise UsageError(f"'{name}' is no run ID, `latest`, `previous`, folder of a run, or git ref")
    known = [record for record in _whole_runs(repository) if record.git.commit == commit]
    clean = [record for record in known if record.git.dirty is False]
    if not known:
        raise UsageError(f"no finished run of {name} ({commit[:12]}); check it out and `agenteval run`")
    return repository.runs / (clean or known)[0].id


def _whole_runs(repository: Repository) -> Iterator[RunHead]:
    """Finished runs, newest first, without those that are only fresh attempts of the cases that fell in another."""
    return (record for record in finished_runs(repository.runs) if record.confirms is None)


def _accepted(repository: Repository) -> Book:
    book = read_baselines(repository.root)
    if not any(book.values()):
        raise UsageError("there is no baseline yet; `agenteval baseline accept` makes one of the latest run")
    return book


def _baseline(repository: Repository, book: Book, head: RunRecord | None) -> Run:
    agents = {planned.case.casefold(): planned.agent for planned in head.plan} if head else {}
    return baseline_run(book, agents, repository.config.default_agent)
