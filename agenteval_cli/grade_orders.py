"""From what was asked of `agenteval grade` to the order for regrading: from a run, from cases, from files."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from agenteval_cli import __version__, formats, git
from agenteval_cli.agents import ReadyAgent
from agenteval_cli.config import Agent
from agenteval_cli.courts import court_for
from agenteval_cli.datasets import Answer
from agenteval_cli.digests import digest, digest_of_bytes
from agenteval_cli.errors import UsageError
from agenteval_cli.graded_answers import Given, GradeOrder, Kept
from agenteval_cli.grading import GRADING
from agenteval_cli.judging import Court
from agenteval_cli.planning import plan_for
from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.records import RUNNING, AgentRecord, PlannedCase, Platform, RunRecord
from agenteval_cli.reported import transcript_from
from agenteval_cli.repository import LoadedCase, Repository
from agenteval_cli.store import Run, new_run_id
from agenteval_cli.summary import summary_of
from agenteval_cli.transcript import Transcript
from agenteval_cli.trying import now

RECORDINGS = "recordings"
TRANSCRIPTS = "transcripts"
DATASET = "dataset"
_NEVER_STARTED = "none"  # the protocol of what stands for an agent


class GradeWishes(msgspec.Struct, frozen=True, kw_only=True):
    """How to grade: so many answers at once where judges or programs are asked, and judges again where they were."""

    concurrency: int | None = None
    ask_again: bool = False


class Source(msgspec.Struct, frozen=True):
    """Where given answers come from: recordings, transcripts or dataset, the files, and the digest of them all."""

    kind: str
    files: tuple[str, ...]
    digest: str


# ---- a stored run


def order_of_run(
    repository: Repository,
    chosen: Sequence[LoadedCase],
    earlier: Run,
    wishes: GradeWishes,
    environment: Mapping[str, str],
    everything: Iterable[LoadedCase] = (),
) -> GradeOrder:
    """The attempts of an earlier run on the chosen cases, all of them, to be graded as the cases are now.

    Raises UsageError where the run has none of the cases, and where a judge that they need cannot be asked.
    """
    cases = {item.case.id.casefold(): item for item in chosen}
    before = {item.case.casefold(): item for item in earlier.record.plan if item.case.casefold() in cases}
    if not before:
        raise UsageError(f"nothing to grade: run {earlier.record.id} has none of the {len(chosen)} selected cases")
    items = tuple(
        Kept(attempt, cases[attempt.case.casefold()], earlier)
        for attempt in earlier.attempts
        if attempt.case.casefold() in before
    )
    if not items:
        raise UsageError(f"nothing to grade: run {earlier.record.id} has no attempt of the selected cases")
    court, plan = _planned(repository, [cases[case] for case in before], environment)
    plan = tuple(
        replace(
            planned,
            agent=was.agent,
            attempts=was.attempts,
            digests=replace(planned.digests, input=was.digests.input),
            reason=f"grade: the attempts of {earlier.record.id}",
        )
        for planned, was in zip(plan, before.values(), strict=True)
    )
    agents = {planned.agent for planned in plan}
    record = replace(
        _record(repository, plan, everything),
        agents=tuple(agent for agent in earlier.record.agents if agent.name in agents),
        seed=earlier.record.seed,
        stopped=earlier.record.stopped,
        graded_from=earlier.record.id,
    )
    return replace(_order(repository, record, court, wishes, environment), items=items)


def not_passed(earlier: Run) -> set[str]:
    """The cases of a run, by folded ID, of which an attempt did not pass or never ended."""
    summary = summary_of(earlier.record, earlier.attempts)
    return {case.id.casefold() for case in summary.cases if case.passed < case.planned}


def gone_from(earlier: Run, everything: Iterable[LoadedCase]) -> list[str]:
    """The cases of a run that there are no valid files of any more, so that nobody can say what they expect."""
    there = {item.case.id.casefold() for item in everything}
    return [planned.case for planned in earlier.record.plan if planned.case.casefold() not in there]


# ---- answers that no run has


def order_of_answers(
    repository: Repository,
    source: Source,
    answers: Sequence[Answer],
    wishes: GradeWishes,
    environment: Mapping[str, str],
    everything: Iterable[LoadedCase] = (),
) -> GradeOrder:
    """Answers to cases; several to one case are its attempts. Raises UsageError where a case cannot be graded so."""
    first: dict[str, LoadedCase] = {}
    counts: Counter[str] = Counter()
    numbered = []
    for answer in answers:
        case = answer.loaded.case
        loaded = first.setdefault(case.id.casefold(), answer.loaded)
        counts[loaded.case.id] += 1
        numbered.append((loaded, counts[loaded.case.id], answer.transcript))
    _refuse_scripts(first.values())
    court, plan = _planned(repository, list(first.values()), environment)
    plan = tuple(
        replace(planned, agent=source.kind, attempts=counts[planned.case], reason=f"grade: {source.kind}")
        for planned in plan
    )
    pins = {"files": ", ".join(source.files)} if source.files else {}
    agent = Agent(name=source.kind, command=(), protocol=_NEVER_STARTED, pins=pins)
    record = replace(
        _record(repository, plan, everything),
        agents=(AgentRecord(agent.name, agent.command, agent.protocol, source.digest, agent.pins),),
    )
    ready = ReadyAgent(agent, (), {}, (), source.digest)
    items = tuple(Given(loaded, number, transcript, ready) for loaded, number, transcript in numbered)
    return replace(_order(repository, record, court, wishes, environment), items=items)


def of_recordings(chosen: Sequence[LoadedCase]) -> tuple[Source, list[Answer]]:
    """The recordings of the cases that have one. Raises UsageError where none has."""
    recorded = [item for item in chosen if "recording" in item.case.data]
    if not recorded:
        raise UsageError(f"nothing to grade: none of the {len(chosen)} selected cases has a recording")
    answers = [Answer(item, transcript_from(item.case.data["recording"])) for item in recorded]
    return Source(RECORDINGS, (), digest([item.case.data["recording"] for item in recorded])), answers


def of_transcripts(
    loaded: LoadedCase,
    files: Sequence[str],
    format: str,  # noqa: A002  # the word of agenteval.yaml
) -> tuple[Source, list[Answer]]:
    """Transcripts in files as attempts of one case. Raises UsageError where one cannot be read in the format."""
    if not formats.known(format):
        raise UsageError(f"--format: {formats.unknown_format_words(format)}")
    raws = [read_file("--transcript", file) for file in files]
    answers = [Answer(loaded, _transcript(file, raw, format)) for file, raw in zip(files, raws, strict=True)]
    return Source(TRANSCRIPTS, tuple(files), digest([digest_of_bytes(raw) for raw in raws])), answers


def of_dataset(
    file: str, match: str | None, criteria: Sequence[str | Mapping[str, Any]]
) -> tuple[Source, list[Answer]]:
    """The records of a dataset; what it raises is that of datasets.answers_in."""
    from agenteval_cli.datasets import answers_in

    raw = read_file("--dataset", file)
    return Source(DATASET, (file,), digest_of_bytes(raw)), answers_in(file, raw, match=match, criteria=criteria)


def read_file(option: str, file: str) -> bytes:
    """The bytes of a file that an option names. Raises UsageError."""
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"{option} {file}: {getattr(error, 'strerror', None) or error}") from error


def _transcript(file: str, raw: bytes, format: str) -> Transcript:  # noqa: A002  # the same
    try:
        return formats.transcript_of(raw, format)
    except UnreadableAnswerError as error:
        raise UsageError(f"{file}: {error}") from error


def _refuse_scripts(chosen: Iterable[LoadedCase]) -> None:
    """Raise UsageError: what a single transcript says of several turns does not tell what each was answered."""
    scripts = [item.case.id for item in chosen if len(item.case.turns) > 1]
    if scripts:
        words = "has turns with checks of their own, and one transcript does not tell them apart; run it"
        raise UsageError(f"{scripts[0]} {words}, and grade the run")


# ---- both


def _planned(
    repository: Repository, chosen: Sequence[LoadedCase], environment: Mapping[str, str]
) -> tuple[Court, tuple[PlannedCase, ...]]:
    """The judges, and the plan as it would be of an agent that carries everything and is never started."""
    config = repository.config
    court = court_for(config.judging, repository.root, (item.case for item in chosen), environment)
    nobody = Agent(name=_NEVER_STARTED, command=(), protocol=_NEVER_STARTED)
    without_agents = replace(config, agents={nobody.name: nobody})
    plan = plan_for(chosen, without_agents, agent=nobody.name, attempts=1, calibrations=court.calibrations)
    return court, plan


def _record(repository: Repository, plan: tuple[PlannedCase, ...], everything: Iterable[LoadedCase]) -> RunRecord:
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
        seed=0,
        min_pass_rate=repository.config.min_pass_rate,
        plan=plan,
        not_selected=tuple(item.case.id for item in everything if item.case.id not in ids),
        graded=True,
    )


def _order(
    repository: Repository, record: RunRecord, court: Court, wishes: GradeWishes, environment: Mapping[str, str]
) -> GradeOrder:
    passed = [name for agent in repository.config.agents.values() for name in agent.env_pass]
    return GradeOrder(
        record=record,
        folder=repository.runs / record.id,
        root=repository.root,
        items=(),
        court=court,
        secrets=tuple(environment[name] for name in passed if environment.get(name)),
        redact=repository.config.redact,
        concurrency=wishes.concurrency,
        ask_again=wishes.ask_again,
    )
