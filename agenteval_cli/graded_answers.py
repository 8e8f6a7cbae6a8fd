"""One answer graded without an agent: from an attempt of an earlier run, or from a transcript that no run has."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agenteval_cli.agents import ReadyAgent
from agenteval_cli.attempt_records import Attempted, Records, masked_attempt, records_of
from agenteval_cli.bars import notes as notes_on_judges
from agenteval_cli.case import Case
from agenteval_cli.checks import NOTHING_TOLD, Told
from agenteval_cli.digests import Digests
from agenteval_cli.endings import AgentFault, Answered, Ending, Facts
from agenteval_cli.errors import UsageError
from agenteval_cli.grading import NOT_CHECKED
from agenteval_cli.judgement import Judgement
from agenteval_cli.judging import Court
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    TRANSCRIPT_FORMAT,
    AttemptRecord,
    RunRecord,
    TranscriptRecord,
    raw_output,
)
from agenteval_cli.redaction import MASK, Redactor
from agenteval_cli.reported import says_nothing
from agenteval_cli.repository import LoadedCase
from agenteval_cli.requests import request_for
from agenteval_cli.reuse import UNGRADED, answer_in, graded_again, without_evidence
from agenteval_cli.store import Run, Transcripts
from agenteval_cli.transcript import Transcript

_SAYS_NOTHING = "there is neither an answer nor a call in the transcript"
_NO_TIME = "the transcript does not tell how long it took"


class Kept(msgspec.Struct, frozen=True):
    """An attempt of an earlier run, to be graded as the case is now."""

    attempt: AttemptRecord
    loaded: LoadedCase
    run: Run

    @property
    def number(self) -> int:
        return self.attempt.attempt

    @property
    def digests(self) -> Digests:
        """What the agent got is what it got then."""
        return replace(self.loaded.digests, input=self.attempt.digests.input)

    @property
    def answers_the_case(self) -> bool:
        return self.attempt.digests.input == self.loaded.digests.input


class Given(msgspec.Struct, frozen=True):
    """An answer that no run has: from a file, a recording or a dataset. `number` counts those to the same case.

    It is recorded as that of `agent`, which is never started.
    """

    loaded: LoadedCase
    number: int
    transcript: Transcript
    agent: ReadyAgent


class Asked(msgspec.Struct, frozen=True):
    """What programs and judges outside say of an answer, and what a reader should know of the judges."""

    told: Told = NOTHING_TOLD
    judgements: tuple[Judgement, ...] = ()
    notes: tuple[str, ...] = ()


Ask = Callable[[Case, Answered, Sequence[Judgement]], Asked]


class GradeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to grade: a run's record with its plan, and the answers to it.

    `secrets` are masked in all that is written, as is what matches `redact`. With `ask_again`, judges are asked also
    where a kept attempt has their answer to the same criterion.
    """

    record: RunRecord
    folder: Path
    root: Path
    items: tuple[Kept | Given, ...]
    court: Court = Court()
    secrets: tuple[str, ...] = ()
    redact: tuple[str, ...] = ()
    concurrency: int | None = None
    ask_again: bool = False


class Hands(msgspec.Struct, frozen=True):
    """What grading has at hand: what masks secrets, who is asked, and the transcripts of the run that is graded."""

    redactor: Redactor
    ask: Ask
    transcripts: Transcripts | None

    def transcript(self, attempt: AttemptRecord) -> TranscriptRecord:
        """Raises UsageError where it cannot be read."""
        if self.transcripts is None:
            raise UsageError("there is no run that the attempt is of")
        return self.transcripts.of(attempt)


def graded_records(order: GradeOrder, hands: Hands, item: Kept | Given) -> Records:
    """The answer as an attempt of the run, with its verdict."""
    if isinstance(item, Given):
        return _of_given(order, hands.redactor, hands.ask, item)
    try:
        transcript = hands.transcript(item.attempt)
    except UsageError:
        nothing = TranscriptRecord(format=TRANSCRIPT_FORMAT, case=item.loaded.case.id, attempt=item.number, request={})
        return _undecided(_as_of_this_run(item), "its transcript cannot be read"), nothing
    attempt = _of_kept(order, hands.ask, item, transcript)
    return _masked(attempt, transcript, item.loaded.case.id, hands.redactor)


def _of_kept(order: GradeOrder, ask: Ask, item: Kept, transcript: TranscriptRecord) -> AttemptRecord:
    """The attempt as this run's. An answer to what the case is not any more decides nothing."""
    case = item.loaded.case
    attempt = _as_of_this_run(item)
    if not item.answers_the_case:
        return _undecided(attempt, f"what the agent gets has changed since {attempt.reused_from}; run it again")
    answered = answer_in(attempt, transcript)
    if answered is None:
        return graded_again(attempt, item.loaded, transcript)
    known = () if order.ask_again else attempt.judgements
    asked = ask(case, answered, known)
    stale = set(notes_on_judges(case.data, order.court.judging, {}))
    kept_notes = tuple(note for note in attempt.notes if note not in stale)
    again = replace(attempt, notes=(*kept_notes, *asked.notes))
    return graded_again(again, item.loaded, transcript, told=asked.told, judgements=asked.judgements)


def _as_of_this_run(item: Kept) -> AttemptRecord:
    return replace(
        item.attempt,
        format=ATTEMPT_FORMAT,
        case=item.loaded.case.id,
        digests=item.digests,
        reused_from=item.attempt.reused_from or item.run.record.id,
    )


def _undecided(attempt: AttemptRecord, reason: str) -> AttemptRecord:
    return replace(
        attempt,
        status=UNGRADED,
        outcome=NOT_CHECKED,
        trajectory=NOT_CHECKED,
        reason=reason,
        checks=(),
        judgements=(),
        regraded=True,
    )


def _masked(attempt: AttemptRecord, transcript: TranscriptRecord, case: str, redactor: Redactor) -> Records:
    """Both without what is a secret now: patterns may have come since, and judges and programs may have said one."""
    transcript = replace(transcript, format=TRANSCRIPT_FORMAT, case=case)
    if not redactor.active:
        return attempt, transcript
    said = redactor.struct(transcript, "request", "transcript", "turns", "talk", "stdout", "stderr", numbers=True)
    return masked_attempt(attempt, redactor), _with_raw_bytes_masked(said, redactor)


def _with_raw_bytes_masked(record: TranscriptRecord, redactor: Redactor) -> TranscriptRecord:
    """Output that is not UTF-8 stands there in base64, in which no pattern finds anything; it is masked as bytes."""
    if record.stdout_base64 is None and record.stderr_base64 is None:
        return record
    facts = Facts(
        stdout=_masked_bytes(record.stdout, record.stdout_base64, record.stdout_size, redactor),
        stderr=_masked_bytes(record.stderr, record.stderr_base64, record.stderr_size, redactor),
        stdout_size=record.stdout_size,
        stderr_size=record.stderr_size,
    )
    nothing = {"stdout": None, "stdout_base64": None, "stderr": None, "stderr_base64": None}
    return replace(record, **{**nothing, **raw_output(facts)})


def _masked_bytes(text: str | None, encoded: str | None, size: int, redactor: Redactor) -> bytes:
    if encoded is None:
        return (text or "").encode()
    try:
        raw = base64.b64decode(encoded)
    except ValueError:  # somebody wrote to the file; what cannot be looked through is not kept
        return MASK.encode()
    return redactor.bytes(raw, excerpt=size > len(raw))


def _of_given(order: GradeOrder, redactor: Redactor, ask: Ask, item: Given) -> Records:
    """An answer recorded as an attempt would be that an agent was started for."""
    case, transcript = item.loaded.case, item.transcript
    ending = _ending(transcript)
    asked = ask(case, ending, ()) if isinstance(ending, Answered) else Asked()
    attempted = Attempted(
        loaded=item.loaded,
        agent=item.agent,
        number=item.number,
        retry=0,
        seed=order.record.seed,
        started_at=order.record.started_at,
        request=request_for(case, "", order.record.seed, ""),
        ending=ending,
        told=asked.told,
        judgements=asked.judgements,
        notes=asked.notes,
    )
    attempt, record = records_of(attempted, redactor)
    unmeasured = {} if transcript.latency_ms is not None else {"limits.timeout": _NO_TIME}
    return without_evidence(attempt, unmeasured), record


def _ending(transcript: Transcript) -> Ending:
    facts = Facts(seconds=(transcript.latency_ms or 0.0) / 1000)
    return AgentFault(facts, _SAYS_NOTHING) if says_nothing(transcript) else Answered(facts, transcript)
