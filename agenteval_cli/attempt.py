"""One attempt, executed: a loop over the user's turns. Plain values in, an Ending out."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from typing import Any

from agenteval_cli.endings import Answered, Ending, Facts, HarnessFault, TimedOut
from agenteval_cli.sessions import Means, Session, session_for
from agenteval_cli.task import Task
from agenteval_cli.turns import joined, next_request


def deadline_in(seconds: float) -> str:
    """The moment so many seconds from now, UTC as RFC 3339."""
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def execute(task: Task, means: Means) -> Ending:
    """Run the agent through the turns of one attempt. Never raises for what an agent or this machine does."""
    try:
        session = session_for(task, means)
        try:
            return _talked(task, session, means)
        finally:
            session.close()
    except OSError as error:
        return HarnessFault(f"{error.strerror}: {error.filename}" if error.filename else str(error))


def _talked(task: Task, session: Session, means: Means) -> Ending:
    """Every turn in order, until one is not answered or the time of the attempt is over."""
    ends = time.monotonic() + task.seconds
    request: Mapping[str, Any] = task.request
    answers: list[Answered] = []
    for said in (None, *task.later):
        if said is not None:
            request = next_request(request, answers[-1].transcript, said)
        ending = session.ask(request, max(0.0, ends - time.monotonic()))
        if means.tools is not None and "tool_server" in task.request:
            means.tools.next_turn(task.request["attempt"])
        if isinstance(ending, TimedOut):
            return TimedOut(ending.facts, task.seconds)
        if not isinstance(ending, Answered):
            return ending
        answers.append(ending)
    return answers[0] if len(answers) == 1 else _joined(answers)


def _joined(answers: Sequence[Answered]) -> Answered:
    """The turns as one: times and sizes added up, the raw output of each in order, exit code of the last."""
    facts = [answer.facts for answer in answers]
    turns = tuple(answer.transcript for answer in answers)
    whole = Facts(
        seconds=sum(each.seconds for each in facts),
        exit_code=facts[-1].exit_code,
        stdout=b"".join(each.stdout for each in facts),
        stderr=b"".join(each.stderr for each in facts),
        stdout_size=sum(each.stdout_size for each in facts),
        stderr_size=sum(each.stderr_size for each in facts),
    )
    return Answered(whole, joined(turns), turns)
