"""One try of one attempt, from the plan to its records: request, tools, execution, evidence, verdict."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from agenteval_cli.agents import PASSED_TO_EVERY_AGENT, ReadyAgent
from agenteval_cli.attempt import deadline_in, execute
from agenteval_cli.attempt_records import Attempted, Records, records_of
from agenteval_cli.case import Case
from agenteval_cli.checks import NOTHING_TOLD, Told
from agenteval_cli.endings import Answered, Ending, HarnessFault
from agenteval_cli.grading import asked_of, looks_at_files
from agenteval_cli.judging import Judges
from agenteval_cli.outside import answers_to
from agenteval_cli.recordings import are_replayed
from agenteval_cli.redaction import Redactor
from agenteval_cli.replays import Recordings
from agenteval_cli.repository import LoadedCase
from agenteval_cli.requests import request_for
from agenteval_cli.schedule import Job
from agenteval_cli.sessions import Means
from agenteval_cli.task import Task
from agenteval_cli.tool_endpoint import told_in_environment, told_in_request
from agenteval_cli.tool_evidence import observed_in
from agenteval_cli.turns import opened
from agenteval_cli.users.interface import User
from agenteval_cli.watching import Watcher


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What the threads share: the cases and agents by name, and the means to run them.

    `concurrency` is how many attempts may run at once in all, and for an agent that says nothing itself; `retries` is
    how often an attempt that ended in an error is tried again. `users` play those that cases simulate, by name, except
    in attempts whose words are among the `recordings`.
    """

    cases: Mapping[str, LoadedCase]
    agents: Mapping[str, ReadyAgent]
    root: Path
    seed: int
    mark: str
    concurrency: int | None
    retries: int
    means: Means
    redactor: Redactor
    watcher: Watcher
    judges: Judges
    users: Mapping[str, User] = MappingProxyType({})
    recordings: Recordings = MappingProxyType({})


def tried(work: Work, job: Job, retry: int) -> Records:
    """Execute and grade one try of one attempt."""
    planned, number = job
    loaded, agent = work.cases[planned.case], work.agents[planned.agent]
    case = loaded.case
    seed = attempt_seed(work.seed, case.id, number)
    seconds = agent.agent.timeout if case.limits.timeout is None else case.limits.timeout
    request = request_for(case, work.mark + secrets.token_hex(8), seed, deadline_in(seconds))
    started_at = now()
    work.watcher.began(case.id, number, agent.agent.name)
    ending = _executed(work, job, agent, request, seconds)
    work.means.processes.has_ended(request["attempt"])
    answered = ending if isinstance(ending, Answered) else None
    attempted = Attempted(
        loaded=loaded,
        agent=agent,
        number=number,
        retry=retry,
        seed=seed,
        started_at=started_at,
        request=_as_asked(request, ending),
        ending=ending,
        told=_told(work, case, answered) if answered else NOTHING_TOLD,
        judgements=work.judges.judge(case, answered) if answered else (),
        notes=work.judges.notes(case) if answered else (),
    )
    return records_of(attempted, work.redactor)


def attempt_seed(run_seed: int, case: str, number: int) -> int:
    """The seed an attempt is told: the same for the same run seed, case and number, 31 bits."""
    raw = hashlib.sha256(f"{run_seed}:{case}:{number}".encode()).digest()
    return int.from_bytes(raw[:4], "big") >> 1


def now() -> str:
    """This moment, UTC as RFC 3339 to the millisecond."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _as_asked(request: dict[str, Any], ending: Ending) -> dict[str, Any]:
    """The request of the first turn, with the words that a simulated user found for it."""
    talk = ending.talk
    return opened(request, talk.said[0]) if talk is not None and talk.user and talk.said else request


def _executed(work: Work, job: Job, agent: ReadyAgent, request: dict[str, Any], seconds: float) -> Ending:
    """Run the agent, with the tools of the case where they are recorded; what the tools saw is evidence."""
    case = work.cases[job[0].case].case
    tools = case.data.get("tools", ())
    server = work.means.tools if are_replayed(tools) else None
    if server is None:
        return execute(_task(work, job, agent, request, seconds), work.means, work.users)
    state = case.data.get("state", msgspec.UNSET)
    try:
        endpoint = server.open(request["attempt"], tools, state, limits=case.limits)
    except OSError as error:
        return HarnessFault(f"no place for the tools of the attempt: {error.strerror}")
    request["tool_server"] = told_in_request(endpoint)
    task = _task(work, job, agent, request, seconds, told_in_environment(endpoint))
    ending = execute(task, work.means, work.users)
    return observed_in(ending, server.close(request["attempt"]))


def _task(
    work: Work,
    job: Job,
    agent: ReadyAgent,
    request: dict[str, Any],
    seconds: float,
    own_env: Mapping[str, str] | None = None,
) -> Task:
    planned, number = job
    case = work.cases[planned.case].case
    return Task(
        request=request,
        later=tuple(turn.user for turn in case.turns[1:]),
        user=planned.user,
        role=case.role,
        recorded=work.recordings.get((planned.case, number)),
        argv=agent.argv,
        env=agent.env,
        own_env=dict(own_env or {}),
        protocol=agent.agent.protocol,
        transcript_from=agent.agent.transcript_from,
        transcript_format=agent.agent.transcript_format,
        seconds=seconds,
        limits=case.limits,
        files={name: str(work.root / name) for name in case.files},
        look=looks_at_files(case),
    )


def _told(work: Work, case: Case, answered: Answered) -> Told:
    """What programs and the embeddings' endpoint say of an answer, asked before it is graded."""
    env = {name: os.environ[name] for name in PASSED_TO_EVERY_AGENT if name in os.environ}
    answers = answers_to(case, answered, work.means.processes.run, work.root, env)
    return Told(answers, work.judges.scores(asked_of(case, answered)))
