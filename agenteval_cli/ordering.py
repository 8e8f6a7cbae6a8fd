"""From what was asked of `agenteval run` to the order for the runner: a new run, or one that is gone on with."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from agenteval_cli import __version__, git
from agenteval_cli.agents import ReadyAgent, made_ready
from agenteval_cli.attempt_records import Records
from agenteval_cli.case import Case
from agenteval_cli.cast import Cast, cast_for, scripted_cast_for, user_records
from agenteval_cli.courts import court_for, judge_records
from agenteval_cli.errors import UsageError
from agenteval_cli.grading import GRADING
from agenteval_cli.judging import Court
from agenteval_cli.planning import plan_for
from agenteval_cli.records import FINISHED, RUNNING, AgentRecord, PlannedCase, Platform, RunRecord
from agenteval_cli.replays import Recordings, recordings_of
from agenteval_cli.repository import Loaded, LoadedCase, Repository
from agenteval_cli.resuming import refuse_changes, refuse_other_judges, refuse_other_users
from agenteval_cli.reuse import kept_records, reuse_of
from agenteval_cli.runner import Order, begun_again
from agenteval_cli.schedule import Budget, shard_of
from agenteval_cli.store import Run, new_run_id, read_run, run_ids
from agenteval_cli.summary import counted
from agenteval_cli.trying import now


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """How to run what was selected. `shard` is part I of N, `seed` None draws one, `shuffle` uses it for the order."""

    agent: str | None = None
    attempts: int | None = None
    shard: tuple[int, int] | None = None
    seed: int
    shuffle: bool = False
    concurrency: int | None = None
    retries: int = 0
    budget: Budget = Budget()


def new_order(
    repository: Repository,
    loaded: Loaded,
    chosen: Sequence[LoadedCase],
    wishes: Wishes,
    environment: Mapping[str, str],
    earlier: Run | None = None,
    replayed: Run | None = None,
) -> Order:
    """A new run of the chosen cases; with `earlier`, one that keeps what still holds of that run.

    With `replayed`, simulated users say what they said in that run. Raises UsageError where a case, an agent or a user
    cannot run, and where a shard has no case.
    """
    court = court_for(repository.config.judging, repository.root, (item.case for item in chosen), environment)
    cast = _cast(repository, (item.case for item in chosen), environment, replayed)
    plan = plan_for(
        chosen,
        repository.config,
        agent=wishes.agent,
        attempts=wishes.attempts,
        calibrations=court.calibrations,
        users=cast.by_case,
    )
    plan = plan if wishes.shard is None else _part_of(plan, wishes.shard)
    agents = _ready(repository, plan, environment)
    cases = {item.case.id: item for item in chosen}
    kept: Iterable[Records] = ()
    if earlier is not None:
        reuse = reuse_of(
            plan,
            {name: ready.digest for name, ready in agents.items()},
            earlier,
            {judge.digest for judge in judge_records(court)},
            {user.name: user.digest for user in user_records(cast)},
        )
        plan, kept = reuse.plan, kept_records(reuse, cases, earlier)
    if replayed is not None:
        plan = tuple(_replayed(each, replayed) if cases[each.case].case.role else each for each in plan)
    record = msgspec.structs.replace(
        _begun(repository, loaded, plan, wishes),
        agents=tuple(_agent_record(ready) for ready in agents.values()),
        judges=judge_records(court),
        users=user_records(cast),
        since=earlier.record.id if earlier else None,
        replays=replayed.record.id if replayed else None,
    )
    order = _order(repository, record, cases, agents, wishes, court, kept=kept)
    recordings = _recordings(replayed, plan, cases, cast)
    return msgspec.structs.replace(order, cast=cast, recordings=recordings)


def _part_of(plan: tuple[PlannedCase, ...], shard: tuple[int, int]) -> tuple[PlannedCase, ...]:
    """The shard of a plan. Raises UsageError where nothing is in it."""
    part = shard_of(plan, *shard)
    if not part:
        index, parts = shard
        raise UsageError(f"--shard {index}/{parts}: this part is empty; {len(plan)} cases make that many parts at most")
    return part


def _begun(repository: Repository, loaded: Loaded, plan: tuple[PlannedCase, ...], wishes: Wishes) -> RunRecord:
    """The record of a new run, still without who takes part in it."""
    ids = {planned.case for planned in plan}
    return RunRecord(
        id=new_run_id(repository.runs),
        tool_version=__version__,
        grading=GRADING,
        started_at=now(),
        status=RUNNING,
        git=git.state_of(repository.root),
        agents=(),
        platform=Platform(platform.system(), platform.machine(), platform.python_version()),
        seed=wishes.seed,
        min_pass_rate=repository.config.min_pass_rate,
        plan=plan,
        not_selected=tuple(item.case.id for item in loaded.cases if item.case.id not in ids),
        shard=wishes.shard,
    )


def _recordings(
    replayed: Run | None, plan: Sequence[PlannedCase], cases: Mapping[str, LoadedCase], cast: Cast
) -> Recordings:
    if replayed is None:
        return {}
    return recordings_of(replayed, plan, cases, {name: user.digest for name, user in cast.users.items()})


def _replayed(planned: PlannedCase, run: Run) -> PlannedCase:
    """The case with where its user's words come from."""
    return msgspec.structs.replace(planned, reason=f"{planned.reason}; the words of {run.record.id}")


def _cast(repository: Repository, cases: Iterable[Case], environment: Mapping[str, str], replayed: Run | None) -> Cast:
    """Who simulates the users; where their words are replayed only rules are held against them."""
    users = repository.config.users
    if replayed:
        return scripted_cast_for(users, repository.root, cases)
    return cast_for(users, repository.root, cases, environment)


def resumed_order(
    repository: Repository, loaded: Loaded, run: Run, wishes: Wishes, environment: Mapping[str, str]
) -> Order:
    """The rest of a run that was stopped. Raises UsageError, naming them, where cases or agents have changed."""
    record = run.record
    home = repository.runs / record.id
    if Path(run.folder).resolve() != home.resolve():
        raise UsageError(f"run {record.id} is in {run.folder}; to go on with it, move that folder to {home}")
    if record.graded:
        raise UsageError(f"run {record.id} was graded without an agent; `agenteval grade` again")
    if record.status == FINISHED and not _is_incomplete(run):
        raise UsageError(f"run {record.id} is finished; there is nothing to go on with")
    known = [planned for planned in record.plan if planned.agent in repository.config.agents]
    agents = _ready(repository, known, environment)
    cases = {item.case.id: item for item in loaded.cases}
    refuse_changes(record, cases, agents)
    court = court_for(
        repository.config.judging, repository.root, (cases[planned.case].case for planned in record.plan), environment
    )
    refuse_other_judges(record, judge_records(court))
    replayed = None if record.replays is None else _run_of(repository, record.replays)
    cast = _cast(repository, (cases[planned.case].case for planned in record.plan), environment, replayed)
    refuse_other_users(record, user_records(cast))
    kept = _still_to_keep(repository, run, cases)
    order = _order(repository, begun_again(record), cases, agents, wishes, court, kept=kept)
    recordings = _recordings(replayed, record.plan, cases, cast)
    return msgspec.structs.replace(order, earlier=run.attempts, cast=cast, recordings=recordings)


def _run_of(repository: Repository, run_id: str) -> Run:
    if run_id not in run_ids(repository.runs):
        raise UsageError(f"run {run_id}, whose users' words are replayed, is not there any more")
    return read_run(repository.runs / run_id)


def _still_to_keep(repository: Repository, run: Run, cases: Mapping[str, LoadedCase]) -> Iterator[Records]:
    """What a run with --since was stopped before it had written; run again where the earlier run is gone."""
    record = run.record
    if record.since not in run_ids(repository.runs):
        return
    digests = {agent.name: agent.digest for agent in record.agents}
    earlier = read_run(repository.runs / record.since)
    done = counted(run.attempts)
    users = {user.name: user.digest for user in record.users}
    reuse = reuse_of(record.plan, digests, earlier, {judge.digest for judge in record.judges}, users)
    for records in kept_records(reuse, cases, earlier):
        if (records[0].case, records[0].attempt) not in done:
            yield records


def _is_incomplete(run: Run) -> bool:
    from agenteval_cli.summary import summary_of

    summary = summary_of(run.record, run.attempts)
    return summary.graded < summary.planned


def _order(
    repository: Repository,
    record: RunRecord,
    cases: Mapping[str, LoadedCase],
    agents: Mapping[str, ReadyAgent],
    wishes: Wishes,
    court: Court,
    kept: Iterable[Records] = (),
) -> Order:
    return Order(
        record=record,
        folder=repository.runs / record.id,
        cases={planned.case: cases[planned.case] for planned in record.plan},
        agents=agents,
        root=repository.root,
        kept=kept,
        concurrency=wishes.concurrency,
        retries=wishes.retries,
        budget=wishes.budget,
        shuffle=record.seed if wishes.shuffle else None,
        redact=repository.config.redact,
        court=court,
    )


def _ready(
    repository: Repository, plan: Sequence[PlannedCase], environment: Mapping[str, str]
) -> dict[str, ReadyAgent]:
    names = dict.fromkeys(planned.agent for planned in plan)
    return {name: made_ready(repository.config.agent(name), repository.root, environment) for name in names}


def _agent_record(ready: ReadyAgent) -> AgentRecord:
    agent = ready.agent
    return AgentRecord(agent.name, agent.command, agent.protocol, ready.digest, agent.pins)
