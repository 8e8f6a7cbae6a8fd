"""What the page's script shows of a case: its attempts with their conversations, as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.conversation import Answer, Called, End, Event, Said, Silence, Thought, beside_turns, events_of
from agenteval_cli.diff import CaseDiff
from agenteval_cli.finding import CheckResult
from agenteval_cli.phrases import count
from agenteval_cli.records import AttemptRecord, TranscriptRecord
from agenteval_cli.reports.escaping import escaped_in_json
from agenteval_cli.reports.interface import name_of
from agenteval_cli.reports.markdown_diff import evidence_of
from agenteval_cli.reports.words import in_full, lasting
from agenteval_cli.summary import CaseSummary

_MOST = 8000  # characters of one text; `agenteval show` has the rest


def text(value: Any, most: int = _MOST) -> str:
    """A value to be read, with a word on what is left out."""
    whole = in_full(value)
    return whole if len(whole) <= most else f"{whole[:most]}\n… {len(whole) - most:,} more characters"


def case_data(case: CaseSummary, attempts: Sequence[dict[str, Any]], row: CaseDiff | None) -> dict[str, Any]:
    """One case with its attempts, each from attempt_data, and what changed where it is compared."""
    return {
        "id": case.id,
        "title": case.title,
        "file": case.file,
        "verdict": case.verdict,
        "counts": f"{case.passed}/{case.planned}",
        "change": _change(row) if row else None,
        "attempts": attempts,
    }


def as_json(data: dict[str, Any]) -> str:
    """JSON for within a script element: nothing in it can end that, or act on who reads the source of the page."""
    try:
        raw = msgspec.json.encode(data).decode()
    except UnicodeEncodeError:  # a lone surrogate, which only escapes can carry
        raw = json.dumps(data)
    return escaped_in_json(raw)


def attempt_data(attempt: AttemptRecord, record: TranscriptRecord | None, side: str = "") -> dict[str, Any]:
    """One try of an attempt; `side` says which run it is of, where it is not the one that is reported on."""
    measured = [lasting(attempt.duration_ms)]
    measured += [count(attempt.steps, "step")] if attempt.steps is not None else []
    measured += [count(attempt.total_tokens, "token")] if attempt.total_tokens is not None else []
    measured += [f"cost {attempt.cost}"] if attempt.cost is not None else []
    measured += [f"model {attempt.model}"] if attempt.model is not None else []
    measured += [f"kept from run {attempt.reused_from}"] if attempt.reused_from else []
    told = conversation_data(attempt.checks, record)
    return {
        "side": side,
        "number": attempt.attempt,
        "retry": attempt.retry,
        "status": attempt.status,
        "parts": f"outcome {attempt.outcome}, trajectory {attempt.trajectory}".replace("_", " "),
        "measured": ", ".join(measured),
        "reason": text(attempt.reason),
        "checks": [_check(check, name_of(check), _MOST) for check in told.whole],
        "judgements": [text(msgspec.to_builtins(judgement)) for judgement in attempt.judgements],
        "notes": [text(note) for note in attempt.notes],
        "stderr": text(attempt.stderr_tail),
        "events": told.events,
    }


class Told(msgspec.Struct, frozen=True):
    """A conversation: its events, of which the end of a turn has the `checks` of that turn, and all other checks."""

    events: list[dict[str, Any]]
    whole: tuple[CheckResult, ...]


def conversation_data(checks: Sequence[CheckResult], record: TranscriptRecord | None, most: int = _MOST) -> Told:
    """An attempt's conversation with the checks of each turn beside it; texts of at most so many characters."""
    if record is None:
        return Told([{"kind": "note", "text": "its transcript cannot be read"}], tuple(checks))
    events = list(events_of(record))
    beside = beside_turns(checks, events)
    told = [data for event in events for data in _event(event, beside, most)]
    return Told(told, tuple(check for check in checks if check.turn not in beside))


def _check(check: CheckResult, name: str, most: int) -> dict[str, Any]:
    return {
        "name": name,
        "result": check.result,
        "message": text(check.message, most),
        "note": check.note,
        "warning": check.severity == "warning",
        "expected": None if check.expected is None else text(check.expected, most),
        "actual": None if check.actual is None else text(check.actual, most),
    }


def _event(event: Event, beside: Mapping[int, Sequence[CheckResult]], most: int) -> Iterator[dict[str, Any]]:
    match event:
        case Said(role=role, content=content):
            yield {"kind": "said", "who": role + _about(event), "text": text(content, most)}
        case Thought(step=step):
            yield {"kind": "thought", "who": step.type.lower(), "text": text(step.content, most)}
        case Called(number=number, call=call):
            returned = call.error if call.status == "error" else call.result
            yield {
                "kind": "call",
                "who": f"{number}. {call.name}",
                "arguments": "" if call.arguments is None else text(call.arguments, most),
                "status": call.status,
                "result": "" if call.status == "unknown" else text(returned, most),
            }
        case Answer(transcript=transcript, turn=turn, state=state):
            words = "(no answer)" if transcript.output is None else text(transcript.output, most)
            yield _end_of_turn(turn, words, beside, most)
            if state is not msgspec.UNSET:
                yield {"kind": "state", "who": "end state", "text": text(state, most)}
        case Silence(turn=turn, printed=printed):
            nothing = "(no answer)" if turn else "printed nothing that is an answer"
            words = f"printed, which is no answer:\n{text(printed, most)}" if printed else nothing
            yield _end_of_turn(turn, words, beside, most)
        case End(words=sentences):
            yield {"kind": "end", "who": "", "text": text("\n".join(sentences), most)}


def _end_of_turn(
    turn: int | None, words: str, beside: Mapping[int, Sequence[CheckResult]], most: int
) -> dict[str, Any]:
    """What the agent answered, with the checks of that turn."""
    data = {"kind": "answer", "who": "agent" if turn is None else f"agent (turn {turn})", "text": words}
    return (
        data
        if turn is None
        else {**data, "checks": [_check(check, check.name, most) for check in beside.get(turn, ())]}
    )


def _about(said: Said) -> str:
    words = ([f"turn {said.turn}"] if said.turn is not None else []) + ([said.by] if said.by else [])
    return f" ({', '.join(words)})" if words else ""


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
    if row.conversation and row.conversation.turn is not None:
        words += [f"conversation parts at turn {row.conversation.turn}: {row.conversation.words}"]
    words += [f"{change.part}: {change.key}: {change.words}" for change in row.case_changes or ()]
    differ = row.answers is not None and row.answers.base != row.answers.head
    answers = [row.answers.base, row.answers.head] if row.answers and differ else []
    return {"words": words, "answers": ["(no answer)" if answer is None else text(answer) for answer in answers]}
