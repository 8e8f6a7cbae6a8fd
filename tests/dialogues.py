"""Conversations of several turns, written by hand, as a run leaves them on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from build import Tried, tried
from build import run as run_of
from msgspec.structs import replace

from agenteval_cli.finding import CheckResult
from agenteval_cli.records import TRANSCRIPT_FORMAT, AttemptRecord, TranscriptRecord
from agenteval_cli.run_writer import RunWriter
from agenteval_cli.talk import USER_DONE, Replay, Talk, UserCall
from agenteval_cli.transcript import ToolCall, Transcript

CASE = "return-kettle"
ORDER = ToolCall(name="get_order", arguments={"order_id": "5678"}, result={"paid": True})
ANSWERS = (
    Transcript(output="Which order?", tool_calls=()),
    Transcript(output="It was paid.", tool_calls=(ORDER,)),
    Transcript(output="Done, goodbye.", tool_calls=()),
)
SAID = ("I want to return a kettle.", "It is 5678.", "Yes, please.")
CHECKS = (
    CheckResult("outcome[0].contains", "outcome", "passed"),
    CheckResult("turns[0].outcome[0].contains", "outcome", "passed", turn=1),
    CheckResult("turns[1].outcome[0].contains", "outcome", "failed", 'no "refund" in it', "refund", turn=2),
)


def simulated(**changes: Any) -> Talk:
    return Talk(**{"said": SAID, "user": "shopper", "stop": USER_DONE, **changes})


def script(said: tuple[Any, ...] = SAID) -> Talk:
    return Talk(said=said)


def replayed(replay: Replay) -> Talk:
    return simulated(replay=replay, calls=(UserCall(turn=1, reply="…"),))


def record_of(talk: Talk | None, turns: tuple[Transcript, ...] = ANSWERS, **changes: Any) -> TranscriptRecord:
    """What was said: the request has the first words of the user."""
    first = [{"role": "user", "content": talk.said[0] if talk and talk.said else SAID[0]}]
    whole = turns[-1] if turns and (talk is None or len(talk.said) == len(turns)) else None
    fields: dict[str, Any] = {"request": {"messages": first}, "transcript": whole, "turns": turns, "talk": talk}
    return TranscriptRecord(**{"format": TRANSCRIPT_FORMAT, "case": CASE, "attempt": 1, **fields, **changes})


def conversed(status: str = "failed", checks: tuple[CheckResult, ...] = CHECKS, **changes: Any) -> Tried:
    """A case with one attempt of that status, and these checks."""
    plan, (attempt,) = tried(CASE, "P" if status == "passed" else "F")
    reason = next((f"{check.name}: {check.message}" for check in checks if check.result == "failed"), "")
    return plan, (replace(attempt, **{"status": status, "checks": checks, "reason": reason, **changes}),)


def write_run(runs: Path, case: Tried, record: TranscriptRecord) -> None:
    """A finished run of that one attempt."""
    run = run_of(case)
    writer = RunWriter.create(runs / run.record.id, run.record)
    writer.append([(attempt, record) for attempt in case[1]])
    writer.close()


def told_by(record: TranscriptRecord) -> Any:
    """What reads the transcript of every attempt: this one."""

    def read(_: AttemptRecord) -> TranscriptRecord:
        return record

    return read
