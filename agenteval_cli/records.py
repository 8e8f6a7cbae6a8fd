"""What is stored of a run, each format with its number, read back on purpose: see docs/formats.md."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from agenteval_cli.digests import Digests
from agenteval_cli.endings import Facts
from agenteval_cli.finding import CheckResult
from agenteval_cli.git import GitState
from agenteval_cli.judgement import Judgement
from agenteval_cli.talk import Replay, Talk
from agenteval_cli.transcript import Transcript

RUN_FORMAT = 2
ATTEMPT_FORMAT = 2
TRANSCRIPT_FORMAT = 2
READ_FORMATS = frozenset({1, RUN_FORMAT})  # 1 lacked only keys that have a default now

RUNNING = "running"
FINISHED = "finished"
INTERRUPTED = "interrupted"


class AgentRecord(msgspec.Struct, frozen=True):
    """The agent as configured: the command is the template that was written, never the values filled in."""

    name: str
    command: tuple[str, ...]
    protocol: str
    digest: str
    pins: dict[str, Any]


class JudgeRecord(msgspec.Struct, frozen=True):
    """A judge that the run's cases needed: its command, or the model at an endpoint, and the digest of all of it."""

    name: str
    asked: str
    digest: str


class UserRecord(msgspec.Struct, frozen=True):
    """Who simulated users: its command, the model at an endpoint or `scripted`, and the digest of all of it."""

    name: str
    asked: str
    digest: str


class PlannedCase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One case of the plan and why it is in it.

    `user` is who of `users` plays its simulated user, empty where it has none. `metadata` has its plain values, for
    taking results apart by them.
    """

    case: str
    file: str
    title: str
    tier: str
    tags: tuple[str, ...]
    agent: str
    attempts: int
    min_pass_rate: float
    quarantined: bool
    digests: Digests
    reason: str
    user: str = ""
    metadata: dict[str, str | int | float | bool] = {}


class Platform(msgspec.Struct, frozen=True):
    """The machine, as far as it matters to the result."""

    system: str
    machine: str
    python: str


class Confirms(msgspec.Struct, frozen=True):
    """The two runs whose moved cases a run tried again, and up to how many fresh attempts of each it was to make."""

    base: str
    head: str
    attempts: int


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """run.json. `counts` has every status by name; `not_selected` are the cases that exist but were not asked for.

    `shard` is which part of how many this run is, `merged` the runs it was put together from, `since` the run whose
    attempts it kept where nothing had changed, `replays` the one whose users' words it said again, `stopped` why it
    skipped the rest, `resumed_at` when it was gone on with. `confirms` is there in a run of fresh attempts only;
    `confirmed_by` are those that the run was confirmed by, the one with the agent of the base and the one with its own.

    A `graded` run has started no agent: its answers were there already. They are those of the run `graded_from`, whose
    agents are the run's; where that is None its one agent is called recordings, transcripts or dataset, has no command
    and the protocol none, its digest is that of the answers, and its pins name the files they came from.
    """

    format: int = RUN_FORMAT
    id: str
    tool_version: str
    grading: int = 1
    started_at: str
    finished_at: str | None = None
    status: str
    git: GitState
    agents: tuple[AgentRecord, ...]
    judges: tuple[JudgeRecord, ...] = ()
    users: tuple[UserRecord, ...] = ()
    platform: Platform
    seed: int
    min_pass_rate: float
    plan: tuple[PlannedCase, ...]
    not_selected: tuple[str, ...]
    counts: dict[str, int] = {}
    shard: tuple[int, int] | None = None
    merged: tuple[str, ...] = ()
    since: str | None = None
    replays: str | None = None
    stopped: str | None = None
    resumed_at: tuple[str, ...] = ()
    confirms: Confirms | None = None
    confirmed_by: tuple[str, str] | None = None
    graded: bool = False
    graded_from: str | None = None


class TranscriptPlace(msgspec.Struct, frozen=True):
    """Where in transcripts.jsonl the attempt's transcript stands, in bytes."""

    offset: int
    length: int


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of attempts.jsonl: a fact, written when the attempt ended and never changed.

    `retry` counts the tries before this one that ended in an error. `reused_from` is the run whose attempt this is;
    `regraded` says that only its transcript was kept and the checks were made anew. `turns` counts the answered turns
    of a conversation, None where there is only one; `stop` is why one with a simulated user stopped, `replay` whose
    words it was replayed with. `cost` is what the agent told, `user_cost` the simulated user, both as decimal text.
    """

    format: int
    case: str
    attempt: int
    status: str
    outcome: str
    trajectory: str
    digests: Digests
    seed: int
    started_at: str
    duration_ms: float
    transcript: TranscriptPlace
    retry: int = 0
    reused_from: str | None = None
    regraded: bool = False
    reason: str = ""
    checks: tuple[CheckResult, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    notes: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""
    turns: int | None = None
    stop: str | None = None
    replay: Replay | None = None
    latency_ms: float | None = None
    steps: int | None = None
    tool_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost: str | None = None
    user_cost: str | None = None
    model: str | None = None


class TranscriptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of transcripts.jsonl: what the agent got and gave. Raw output that is not UTF-8 is in base64.

    `turns` has the transcript of each answered turn where there are several; they are there without a `transcript` of
    the whole where a later turn got no answer. `talk` is the user's side of them.
    """

    format: int
    case: str
    attempt: int
    request: dict[str, Any]
    transcript: Transcript | None = None
    turns: tuple[Transcript, ...] = ()
    talk: Talk | None = None
    stdout: str | None = None
    stdout_base64: str | None = None
    stdout_size: int = 0
    stderr: str | None = None
    stderr_base64: str | None = None
    stderr_size: int = 0


def raw_output(facts: Facts) -> dict[str, Any]:
    """The raw bytes of both pipes as keys of a transcript record."""
    return {
        **_raw("stdout", facts.stdout),
        **_raw("stderr", facts.stderr),
        "stdout_size": facts.stdout_size,
        "stderr_size": facts.stderr_size,
    }


def _raw(name: str, raw: bytes) -> dict[str, str]:
    try:
        return {name: raw.decode()} if raw else {}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(raw).decode()}
