"""What the page's script shows of a case: its attempts with their conversations, as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agenteval_cli.conversation import Answer, Called, Said, Thought, events_of
from agenteval_cli.diff import CaseDiff
from agenteval_cli.records import AttemptRecord, TranscriptRecord
from agenteval_cli.reports.escaping import escaped_in_json
from agenteval_cli.reports.interface import ReadTranscript
from agenteval_cli.reports.markdown_diff import evidence_of
from agenteval_cli.reports.words import count, in_full, lasting
from agenteval_cli.summary import CaseSummary

_MOST = 8000  # characters of one text; `agenteval show` has the rest


def text(value: Any, most: int = _MOST) -> str:
    """A value to be read, with a word on what is left out."""
    whole = in_full(value)
    return whole if len(whole) <= most else f"{whole[:most]}\n… {len(whole) - most:,} more characters"


def case_data(
    case: CaseSummary, attempts: Sequence[AttemptRecord], transcript: ReadTranscript, row: CaseDiff | None
) -> dict[str, Any]:
    """One case with all its attempts, and what changed where it is compared."""
    return {
        "id": case.id,
        "title": case.title,
        "file": case.file,
        "verdict": case.verdict,
        "counts": f"{case.passed}/{case.planned}",
        "change": _change(row) if row else None,
        "attempts": [_attempt(attempt, transcript(attempt)) for attempt in attempts],
    }


def as_json(data: dict[str, Any]) -> str:
    """JSON for within a script element: nothing in it can end that, or act on who reads the source of the page."""
    try:
        raw = msgspec.json.encode(data).decode()
    except UnicodeEncodeError:  # a lone surrogate, which only escapes can carry
        raw = json.dumps(data)
    return escaped_in_json(raw)


def _attempt(attempt: AttemptRecord, record: TranscriptRecord | None) -> dict[str, Any]:
    measured = [lasting(attempt.duration_ms)]
    measured += [count(attempt.steps, "step")] if attempt.steps is not None else []
    measured += [count(attempt.total_tokens, "token")] if attempt.total_tokens is not None else []
    measured += [f"cost {attempt.cost}"] if attempt.cost is not None else []
    measured += [f"model {attempt.model}"] if attempt.model is not None else []
    measured += [f"kept from run {attempt.reused_from}"] if attempt.reused_from else []
    return {
        "number": attempt.attempt,
        "retry": attempt.retry,
        "status": attempt.status,
        "parts": f"outcome {attempt.outcome}, trajectory {attempt.trajectory}".replace("_", " "),
        "measured": ", ".join(measured),
        "reason": text(attempt.reason),
        "checks": [
            {
                "name": check.name,
                "result": check.result,
                "message": text(check.message),
                "note": check.note,
                "warning": check.severity == "warning",
                "expected": None if check.expected is None else text(check.expected),
                "actual": None if check.actual is None else text(check.actual),
            }
            for check in attempt.checks
        ],
        "judgements": [text(msgspec.to_builtins(judgement)) for judgement in attempt.judgements],
        "notes": list(attempt.notes),
        "stderr": attempt.stderr_tail,
        "events": list(_events(record)) if record else [{"kind": "note", "text": "its transcript cannot be read"}],
    }


def _events(record: TranscriptRecord) -> Iterator[dict[str, Any]]:
    for event in events_of(record):
        match event:
            case Said(role=role, content=content):
                yield {"kind": "said", "who": role, "text": text(content)}
            case Thought(step=step):
                yield {"kind": "thought", "who": step.type.lower(), "text": text(step.content)}
            case Called(number=number, call=call):
                returned = call.error if call.status == "error" else call.result
                yield {
                    "kind": "call",
                    "who": f"{number}. {call.name}",
                    "arguments": "" if call.arguments is None else text(call.arguments),
                    "status": call.status,
                    "result": "" if call.status == "unknown" else text(returned),
                }
            case Answer(transcript=transcript, turn=turn):
                who = "agent" if turn is None else f"agent (turn {turn})"
                words = "(no answer)" if transcript.output is None else text(transcript.output)
                yield {"kind": "answer", "who": who, "text": words}
                if transcript.state is not msgspec.UNSET:
                    yield {"kind": "state", "who": "end state", "text": text(transcript.state)}
    if record.transcript is None:
        printed = record.stdout or ""
        words = f"printed, which is no answer:\n{text(printed)}" if printed else "printed nothing that is an answer"
        yield {"kind": "answer", "who": "agent", "text": words}


def _change(row: CaseDiff) -> dict[str, Any]:
    before = f", before {row.base.passed}/{row.base.planned}" if row.base else ""
    evidence = evidence_of(row)
    words = [f"{row.change.replace('_', ' ')}{before}" + (f" ({evidence})" if evidence else "")]
    words += [row.reason] if row.reason else []
    words += [
        f"{check.name} did not hold in {check.base_failed}/{check.base_attempts} → "
        f"{check.head_failed}/{check.head_attempts}"
        for check in row.checks
    ]
    words += [f"path: {row.path.words}"] if row.path else []
    words += [f"{change.part}: {change.key}: {change.words}" for change in row.case_changes or ()]
    differ = row.answers is not None and row.answers.base != row.answers.head
    answers = [row.answers.base, row.answers.head] if row.answers and differ else []
    return {"words": words, "answers": ["(no answer)" if answer is None else text(answer) for answer in answers]}
