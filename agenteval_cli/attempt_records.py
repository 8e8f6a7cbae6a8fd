"""What is written down of an attempt that ended: pure, from the case, the request and the ending."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agenteval_cli.agents import ReadyAgent
from agenteval_cli.checks import NOTHING_TOLD, Told
from agenteval_cli.endings import Answered, Ending, Facts
from agenteval_cli.grading import verdict_on
from agenteval_cli.judgement import Judgement
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    TRANSCRIPT_FORMAT,
    AttemptRecord,
    TranscriptPlace,
    TranscriptRecord,
    raw_output,
)
from agenteval_cli.redaction import Redactor
from agenteval_cli.repository import LoadedCase
from agenteval_cli.spending import cost_of_user
from agenteval_cli.talk import Replay

_STDERR_TAIL = 2000
_NOWHERE = TranscriptPlace(0, 0)
Records = tuple[AttemptRecord, TranscriptRecord]


class Attempted(msgspec.Struct, frozen=True, kw_only=True):
    """One try of one attempt. `retry` counts the tries before it, `started_at` is UTC as RFC 3339.

    `told` is what programs outside said of the answer, `judgements` what judges said, `notes` what a reader should
    know of them.
    """

    loaded: LoadedCase
    agent: ReadyAgent
    number: int
    retry: int
    seed: int
    started_at: str
    request: dict[str, Any]
    ending: Ending
    told: Told = NOTHING_TOLD
    judgements: tuple[Judgement, ...] = ()
    notes: tuple[str, ...] = ()


def records_of(attempted: Attempted, redactor: Redactor) -> Records:
    """The attempt graded, as its line in attempts.jsonl and its transcript, both without secrets.

    What was printed is masked as bytes, before any of it is cut off or put into base64. What the agent said is graded
    as it said it, and masked afterwards: a check that it does not tell a secret must see it.
    """
    facts = _masked(attempted.ending, redactor)
    attempt, transcript = _attempt_record(attempted, facts), _transcript_record(attempted, facts)
    said = redactor.struct(transcript, "request", "transcript", "turns", "talk", numbers=True)
    return masked_attempt(attempt, redactor), said


def masked_attempt(attempt: AttemptRecord, redactor: Redactor) -> AttemptRecord:
    """The record without secrets in what is told of the answer."""
    if not redactor.active:
        return attempt
    checks = tuple(redactor.struct(check, "message", "expected", "actual", excerpts=True) for check in attempt.checks)
    told = ("reason", "notes", "stderr_tail", "model", "judgements", "replay")
    return redactor.struct(msgspec.structs.replace(attempt, checks=checks), *told, excerpts=True)


def _masked(ending: Ending, redactor: Redactor) -> Facts:
    facts = ending.facts
    return msgspec.structs.replace(
        facts,
        stdout=redactor.bytes(facts.stdout, excerpt=facts.stdout_size > len(facts.stdout)),
        stderr=redactor.bytes(facts.stderr, excerpt=facts.stderr_size > len(facts.stderr)),
    )


def _attempt_record(attempted: Attempted, facts: Facts) -> AttemptRecord:
    ending = attempted.ending
    case = attempted.loaded.case
    verdict = verdict_on(case, ending, attempted.told, attempted.judgements)
    return AttemptRecord(
        format=ATTEMPT_FORMAT,
        case=case.id,
        attempt=attempted.number,
        status=verdict.status,
        outcome=verdict.outcome,
        trajectory=verdict.trajectory,
        digests=attempted.loaded.digests,
        seed=attempted.seed,
        started_at=attempted.started_at,
        duration_ms=round(facts.seconds * 1000, 3),
        transcript=_NOWHERE,
        retry=attempted.retry,
        reason=verdict.reason,
        checks=verdict.checks,
        judgements=attempted.judgements,
        notes=(*_notes(ending, attempted.agent), *attempted.notes),
        exit_code=facts.exit_code,
        signal=facts.signal,
        stderr_tail=facts.stderr[-_STDERR_TAIL:].decode("utf-8", "replace"),
        **_conversed(ending),
        **_measured(ending),
    )


def _conversed(ending: Ending) -> dict[str, Any]:
    """How far a conversation came; nothing of an attempt that asked once."""
    if ending.talk is None:
        return {}
    one = 1 if isinstance(ending, Answered) else 0
    return {
        "turns": len(ending.turns) or one or None,
        "stop": ending.talk.stop,
        "replay": ending.talk.replay,
        "user_cost": cost_of_user(ending.talk.calls),
    }


def _measured(ending: Ending) -> dict[str, Any]:
    """What the agent reported of itself; what it did not report stays unknown."""
    if not isinstance(ending, Answered):
        return {}
    transcript = ending.transcript
    usage = transcript.usage
    return {
        "latency_ms": transcript.latency_ms,
        "steps": transcript.steps,
        "tool_calls": None if transcript.tool_calls is None else len(transcript.tool_calls),
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "total_tokens": usage.total if usage else None,
        "cost": transcript.cost,
        "model": transcript.model,
    }


def _notes(ending: Ending, agent: ReadyAgent) -> Iterator[str]:
    """What a reader of the result should know that no check asked about."""
    if ending.talk is not None:
        yield from _notes_on_replay(ending.talk.replay)
    if not isinstance(ending, Answered):
        return
    transcript = ending.transcript
    yield from transcript.notes
    if transcript.bytes_replaced:
        yield "the output has bytes that are not UTF-8; they are shown as U+FFFD and match nothing"
    pinned = agent.agent.pins.get("model")
    if pinned is not None and transcript.model is not None and transcript.model != pinned:
        yield f"the agent reports model '{transcript.model}', but its pin says '{pinned}'"


def _notes_on_replay(replay: Replay | None) -> Iterator[str]:
    if replay is not None and replay.apart_at is not None:
        yield f"from turn {replay.apart_at} on the replayed words may not fit: {replay.why}"


def _transcript_record(attempted: Attempted, facts: Facts) -> TranscriptRecord:
    ending = attempted.ending
    answered = ending if isinstance(ending, Answered) else None
    return TranscriptRecord(
        format=TRANSCRIPT_FORMAT,
        case=attempted.loaded.case.id,
        attempt=attempted.number,
        request=attempted.request,
        transcript=answered.transcript if answered else None,
        turns=ending.turns,
        talk=ending.talk,
        **raw_output(facts),
    )
