"""Going on with a run that was stopped: only what is missing, and only where nothing has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agenteval_cli.agents import ReadyAgent
from agenteval_cli.config import FILE_NAME
from agenteval_cli.errors import UsageError
from agenteval_cli.grading import GRADING
from agenteval_cli.records import JudgeRecord, PlannedCase, RunRecord, UserRecord
from agenteval_cli.repository import LoadedCase


def refuse_changes(record: RunRecord, cases: Mapping[str, LoadedCase], agents: Mapping[str, ReadyAgent]) -> None:
    """Raise UsageError, naming each, where a case or an agent of the run is not what it was when the run began.

    `cases` are the valid cases that there are now, by ID, `agents` those of the run's agents that there are, by name.
    """
    _refuse(record, [*_changed_agents(record, agents), *_changed_cases(record.plan, cases)])


def refuse_other_judges(record: RunRecord, judges: Iterable[JudgeRecord]) -> None:
    """The same where a judge is not what it was: some attempts would be judged otherwise than the rest."""
    now = {judge.name: judge.digest for judge in judges}
    changed = [judge.name for judge in record.judges if now.get(judge.name) != judge.digest]
    _refuse(
        record, [f"judge '{name}' has changed: its command, its model, its settings or its files" for name in changed]
    )


def refuse_other_users(record: RunRecord, users: Iterable[UserRecord]) -> None:
    """The same where one who simulates users is not what it was."""
    now = {user.name: user.digest for user in users}
    changed = [user.name for user in record.users if now.get(user.name) != user.digest]
    _refuse(record, [f"user '{name}' has changed: its command, its model, its rules or its files" for name in changed])


def _refuse(record: RunRecord, changes: list[str]) -> None:
    if record.grading != GRADING:
        changes.append("the checks of this version of agenteval do not mean what those of the run meant")
    if changes:
        lines = "\n  ".join(changes)
        words = f"run {record.id} cannot be gone on with; its attempts would not be of one kind:\n  {lines}"
        raise UsageError(f"{words}\nstart a new run; with --since {record.id} it keeps what still holds")


def _changed_agents(record: RunRecord, agents: Mapping[str, ReadyAgent]) -> Iterator[str]:
    for before in record.agents:
        if before.name not in agents:
            yield f"agent '{before.name}' is not in {FILE_NAME} any more"
        elif agents[before.name].digest != before.digest:
            yield f"agent '{before.name}' has changed: its command, its settings, its pins or its files"


def _changed_cases(plan: tuple[PlannedCase, ...], cases: Mapping[str, LoadedCase]) -> Iterator[str]:
    for planned in plan:
        loaded = cases.get(planned.case)
        if loaded is None:
            yield f"{planned.case} is not there any more, or its file is not valid"
        elif loaded.digests.input != planned.digests.input:
            yield f"{planned.case}: what the agent gets has changed"
        elif loaded.digests.grade != planned.digests.grade:
            yield f"{planned.case}: what is checked has changed"
