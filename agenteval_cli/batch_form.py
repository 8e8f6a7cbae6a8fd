"""A run as a service's API tells of a batch: counts of attempts per case, and of each its job, why, and what was said.

{batchId, agent{name}, status, createdDate, completedDate, totalAttempts, successfulAttempts, failedAttempts,
undecidedAttempts, testCases: [{testCaseId, label, agent, …the counts, attempts: [{jobId, attempt, status, isSuccessful,
remarks, createdDate, conversation: [{role, content, toolCalls}]}]}]}

Total is what was planned, so that nothing leaves it quietly: what neither passed nor failed is undecided, and
`isSuccessful` is null there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from agenteval_cli.compare import same
from agenteval_cli.finding import PASSED
from agenteval_cli.records import INTERRUPTED, RUNNING, AttemptRecord, PlannedCase, RunRecord, TranscriptRecord
from agenteval_cli.statuses import STATUSES
from agenteval_cli.store import Run
from agenteval_cli.summary import NEVER_ENDED, SKIPPED, counts_more
from agenteval_cli.transcript import ToolCall, Transcript
from agenteval_cli.turns import asked_in

Data = dict[str, Any]
Transcripts = Callable[[AttemptRecord], TranscriptRecord | None]

_WORDS = {
    "failed": "a check failed",
    "agent_error": "the agent failed to answer",
    "timeout": "the agent did not answer in time",
    "over_limit": "the agent went over a limit",
    "ungraded": "it could not be graded, through no fault of the agent",
    "harness_error": "the attempt could not be made, through no fault of the agent",
    "cancelled": "it was stopped before it ended",
    "skipped": "it was not begun",
}

# A run that was killed does not know which attempts were on.
_MAY_HAVE_BEGUN = {
    RUNNING: "it has not ended: the run is still on",
    INTERRUPTED: "it did not end, or was not begun: the run was interrupted",
}


def batch_of(run: Run, cases: Collection[str], transcript_of: Transcripts) -> Data:
    """The run with those of its planned cases; `transcript_of` is None where one cannot be read."""
    record = run.record
    counted = _counted(run.attempts)
    chosen = [planned for planned in record.plan if planned.case in cases]
    test_cases = [_test_case(record, planned, counted, transcript_of) for planned in chosen]
    return {
        "batchId": record.id,
        "agent": _agent(record.agents[0].name) if len(record.agents) == 1 else None,
        "status": record.status,
        "createdDate": record.started_at,
        "completedDate": record.finished_at,
        **{key: sum(case[key] for case in test_cases) for key in _COUNTS},
        "testCases": test_cases,
    }


_COUNTS = ("totalAttempts", "successfulAttempts", "failedAttempts", "undecidedAttempts")


def _agent(name: str) -> Data:
    return {"name": name}


def _counted(attempts: Iterable[AttemptRecord]) -> dict[tuple[str, int], AttemptRecord]:
    """Of the tries of each attempt the one that counts."""
    found: dict[tuple[str, int], AttemptRecord] = {}
    for attempt in attempts:
        key = attempt.case, attempt.attempt
        if key not in found or counts_more(attempt, found[key]):
            found[key] = attempt
    return found


def _test_case(
    record: RunRecord,
    planned: PlannedCase,
    counted: dict[tuple[str, int], AttemptRecord],
    transcript_of: Transcripts,
) -> Data:
    attempts = []
    for number in range(1, planned.attempts + 1):
        attempt = counted.get((planned.case, number))
        said = _not_begun(record) if attempt is None else _ended(attempt, transcript_of(attempt))
        attempts.append({"jobId": f"{record.id}:{planned.case}:{number}", "attempt": number, **said})
    decided = [attempt["isSuccessful"] for attempt in attempts]
    counts = (len(decided), decided.count(True), decided.count(False), decided.count(None))
    return {
        "testCaseId": planned.case,
        "label": planned.title or None,
        "agent": _agent(planned.agent),
        **dict(zip(_COUNTS, counts, strict=True)),
        "attempts": attempts,
    }


# ---- one attempt


def _not_begun(record: RunRecord) -> Data:
    why = f"{_WORDS['skipped']}: the run stopped early ({record.stopped})" if record.stopped else ""
    return {
        "status": SKIPPED if record.stopped else NEVER_ENDED,
        "isSuccessful": None,
        "remarks": why or _MAY_HAVE_BEGUN.get(record.status, _WORDS["skipped"]),
        "createdDate": None,
        "conversation": [],
    }


def _ended(attempt: AttemptRecord, transcript: TranscriptRecord | None) -> Data:
    status = STATUSES[attempt.status]
    return {
        "status": attempt.status,
        "isSuccessful": None if status.incomplete else not status.counts,
        "remarks": "; ".join(dict.fromkeys(_remarks(attempt))),
        "createdDate": attempt.started_at,
        "conversation": None if transcript is None else list(conversation_of(transcript)),
    }


def _remarks(attempt: AttemptRecord) -> Iterator[str]:
    """Why it ended as it did, in words: every check that did not hold; of a passed one what judges said of it."""
    gating = [check for check in attempt.checks if check.gates]
    if attempt.status == PASSED:
        yield f"every check held ({len(gating)})"
        yield from (judgement.reason for judgement in attempt.judgements if judgement.reason)
        return
    yield attempt.reason or _WORDS[attempt.status]
    yield from (f"{check.name}: {check.message}" for check in gating if check.result != PASSED and check.message)


def conversation_of(record: TranscriptRecord) -> Iterator[Data]:
    """What was said, in its order: each answer with the calls that were made for it, and words that got no answer."""
    request = record.request
    if request.get("system_prompt"):
        yield {"role": "system", "content": request["system_prompt"]}
    asked = [_asked(message) for message in request["messages"]]
    yield from asked
    later = list(record.talk.said if record.talk else ())
    turns = list(record.turns or ([record.transcript] if record.transcript else []))
    if later and asked and same(asked[-1], {"role": "user", "content": later[0]}):
        del later[0]  # the first words are in the request already
        yield from map(_answer, turns[:1])
        del turns[:1]
    for content in later:
        yield {"role": "user", "content": content}
        if turns:
            yield _answer(turns.pop(0))
    yield from map(_answer, turns)


def _asked(message: Mapping[str, Any]) -> Data:
    said: Data = {"role": message.get("role"), "content": message.get("content")}
    calls = [{"name": name, "arguments": given} for name, given in asked_in(message)]
    return {**said, "toolCalls": calls} if calls else said


def _answer(transcript: Transcript) -> Data:
    calls = {"toolCalls": [_call(call) for call in transcript.tool_calls]} if transcript.tool_calls else {}
    return {"role": "assistant", "content": transcript.output, **calls}


def _call(call: ToolCall) -> Data:
    said: Data = {"name": call.name}
    said |= {} if call.arguments is None else {"arguments": call.arguments}
    if call.status == "ok":
        said["result"] = call.result
    elif call.status == "error":
        said["error"] = call.error
    return said if call.duration_ms is None else {**said, "durationMs": call.duration_ms}
