"""Cases, transcripts and runs from few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from agenteval_cli import yaml_reader
from agenteval_cli.case import Case, OutcomeCheck, case_from
from agenteval_cli.digests import Digests
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.git import GitState
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    FINISHED,
    AgentRecord,
    AttemptRecord,
    PlannedCase,
    Platform,
    RunRecord,
    TranscriptPlace,
)
from agenteval_cli.store import Run
from agenteval_cli.transcript import ToolCall, Transcript
from agenteval_cli.yaml_reader import Document

# How quick the machine is just now is no property of the code.
steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)

LETTERS = {
    "P": "passed",
    "F": "failed",
    "E": "agent_error",
    "T": "timeout",
    "L": "over_limit",
    "U": "ungraded",
    "H": "harness_error",
    "C": "cancelled",
}

Tried = tuple[PlannedCase, tuple[AttemptRecord, ...]]


def document(text: str, file: str = "cases/greet.yaml") -> Document:
    """The document of a text that has no errors."""
    reading = yaml_reader.read(file, text.encode())
    assert reading.document is not None, reading.problems
    return reading.document


def case(**keys: Any) -> Case:
    """A case that says Hello, with more keys as in a case file."""
    return case_from("cases/greet.yaml", {"schema": 1, "id": "greet", "input": "Hello", **keys})


def check(kind: str, expected: Any, **options: Any) -> OutcomeCheck:
    return OutcomeCheck(f"outcome[0].{kind}", kind, expected, **options)


def call(name: str, _status: str = "ok", **arguments: Any) -> ToolCall:
    """`call("get_order", order_id="5678")`, or `call("get_order", "error")`."""
    if _status == "error":
        return ToolCall(name=name, arguments=arguments, error="it broke")
    return ToolCall(name=name, arguments=arguments, result="done")


def did(*calls: ToolCall, output: Any = "Done.") -> Transcript:
    """A transcript that reports exactly these calls."""
    return Transcript(output=output, tool_calls=calls)


def answered(transcript: Transcript, seconds: float = 1.0) -> Answered:
    return Answered(Facts(seconds=seconds, exit_code=0), transcript)


def tried(
    name: str,
    ended: str,
    *,
    planned: int | None = None,
    needs: float = 1.0,
    quarantined: bool = False,
    gets: str = "in",
    expects: str = "out",
    file: str = "",
) -> Tried:
    """A case of a run and how its attempts ended, a letter each: `tried("greet", "PPF")`."""
    digests = Digests(f"1:{gets}", f"1:{expects}", f"1:{name}")
    plan = PlannedCase(
        case=name,
        file=file or f"cases/{name}.yaml",
        title=f"The case {name}",
        tier="regression",
        tags=(),
        agent="support",
        attempts=len(ended) if planned is None else planned,
        min_pass_rate=needs,
        quarantined=quarantined,
        digests=digests,
        reason="run: asked for",
    )
    return plan, tuple(attempt(name, number, LETTERS[letter], digests) for number, letter in enumerate(ended, start=1))


def attempt(name: str, number: int, status: str, digests: Digests | None = None) -> AttemptRecord:
    part = status if status in ("passed", "failed") else "not_checked"
    return AttemptRecord(
        format=ATTEMPT_FORMAT,
        case=name,
        attempt=number,
        status=status,
        outcome=part,
        trajectory="not_checked",
        digests=digests or Digests("1:in", "1:out", f"1:{name}"),
        seed=7,
        started_at="2026-11-02T09:00:00Z",
        duration_ms=5.0,
        transcript=TranscriptPlace(0, 0),
        reason="" if status == "passed" else f"{name} {status}",
    )


def agent(name: str = "support", digest: str = "1:agent") -> AgentRecord:
    return AgentRecord(name, ("python", "-m", name), "json", digest, {})


def run(*cases: Tried, agents: Sequence[AgentRecord] | None = None, **changes: Any) -> Run:
    """A finished run of these cases; `changes` are fields of its record."""
    fields: dict[str, Any] = {
        "id": "20261102T090000.000000Z-0001",
        "tool_version": "0.1.0",
        "started_at": "2026-11-02T09:00:00Z",
        "finished_at": "2026-11-02T09:01:00Z",
        "status": FINISHED,
        "git": GitState("c0ffee", "main", dirty=False),
        "agents": tuple(agents or [agent()]),
        "platform": Platform("Linux", "x86_64", "3.11"),
        "seed": 7,
        "min_pass_rate": 1.0,
        "plan": tuple(plan for plan, _ in cases),
        "not_selected": (),
    }
    record = RunRecord(**{**fields, **changes})
    return Run(record, tuple(attempt for _, attempts in cases for attempt in attempts), "runs/one")
