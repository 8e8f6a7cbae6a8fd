"""From what people call a run to the run: an ID, latest, previous, a folder, or a git ref whose run is known."""

from __future__ import annotations

from pathlib import Path

from agenteval_cli import git
from agenteval_cli.errors import UsageError
from agenteval_cli.records import FINISHED, RunRecord
from agenteval_cli.repository import Repository
from agenteval_cli.store import Run, finished_runs, read_record, read_run, run_ids

LATEST = "latest"
PREVIOUS = "previous"


def find_run(repository: Repository, name: str) -> Run:
    """The run that is called `name`. Raises UsageError, with what there is, where none is."""
    if name in (LATEST, PREVIOUS):
        return _recent(repository, 0 if name == LATEST else 1)
    if name == "baseline":
        raise UsageError("baselines are not supported yet; name a run, `latest`, `previous` or a git ref")
    if Path(name).exists():
        path = Path(name)
        return read_run(path if path.is_dir() else path.parent)
    matches = [run_id for run_id in run_ids(repository.runs) if run_id.startswith(name)]
    if len(matches) == 1:
        return read_run(repository.runs / matches[0])
    if matches:
        raise UsageError(f"'{name}' begins {len(matches)} run IDs; write more of it")
    return _run_of_ref(repository, name)


def previous_to(repository: Repository, head: Run) -> Run:
    """The finished run before `head`. Raises UsageError where there is none."""
    for run_id in reversed(run_ids(repository.runs)):
        if run_id < head.record.id and read_record(repository.runs / run_id).status == FINISHED:
            return read_run(repository.runs / run_id)
    raise UsageError(f"no finished run before {head.record.id}; a diff needs two, so `agenteval run` once more")


def _recent(repository: Repository, back: int) -> Run:
    for index, record in enumerate(finished_runs(repository.runs)):
        if index == back:
            return _open(repository, record)
    count = "no" if back == 0 else "only one"
    raise UsageError(f"there is {count} finished run in {repository.config.runs}; `agenteval run` makes one")


def _run_of_ref(repository: Repository, name: str) -> Run:
    """The newest finished run of the commit that the ref names; a run of its clean tree goes first."""
    commit = git.commit_of(repository.root, name)
    if commit is None:
        raise UsageError(f"'{name}' is no run ID, `latest`, `previous`, folder of a run, or git ref")
    known = [record for record in finished_runs(repository.runs) if record.git.commit == commit]
    clean = [record for record in known if record.git.dirty is False]
    if not known:
        raise UsageError(f"no finished run of {name} ({commit[:12]}); check it out and `agenteval run`")
    return _open(repository, (clean or known)[0])


def _open(repository: Repository, record: RunRecord) -> Run:
    return read_run(repository.runs / record.id)
