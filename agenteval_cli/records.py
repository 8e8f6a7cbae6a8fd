"""What is stored of a run, each format with its number, read back on purpose: see docs/formats.md."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from agenteval_cli.digests import Digests
from agenteval_cli.endings import Facts
from agenteval_cli.finding import CheckResult
from agenteval_cli.git import GitState
from agenteval_cli.transcript import Transcript

RUN_FORMAT = 1
ATTEMPT_FORMAT = 1
TRANSCRIPT_FORMAT = 1

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


class PlannedCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case of the plan and why it is in it."""

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


class Platform(msgspec.Struct, frozen=True):
    """The machine, as far as it matters to the result."""

    system: str
    machine: str
    python: str


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """run.json. `counts` has every status by name; `not_selected` are the cases that exist but were not asked for."""

    format: int = RUN_FORMAT
    id: str
    tool_version: str
    started_at: str
    finished_at: str | None = None
    status: str
    git: GitState
    agents: tuple[AgentRecord, ...]
    platform: Platform
    seed: int
    min_pass_rate: float
    plan: tuple[PlannedCase, ...]
    not_selected: tuple[str, ...]
    counts: dict[str, int] = {}


class TranscriptPlace(msgspec.Struct, frozen=True):
    """Where in transcripts.jsonl the attempt's transcript stands, in bytes."""

    offset: int
    length: int


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of attempts.jsonl: a fact, written when the attempt ended and never changed."""

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
    reason: str = ""
    checks: tuple[CheckResult, ...] = ()
    notes: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""
    latency_ms: float | None = None
    steps: int | None = None
    tool_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost: str | None = None
    model: str | None = None


class TranscriptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of transcripts.jsonl: what the agent got and gave. Raw output that is not UTF-8 is in base64."""

    format: int
    case: str
    attempt: int
    request: dict[str, Any]
    transcript: Transcript | None = None
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
