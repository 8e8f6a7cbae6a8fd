"""Why cases moved: which checks changed their answer, where the paths part, what was answered, what was edited.

Reads transcripts and case files, and only those of the cases that need them.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from agenteval_cli.case_changes import CaseChange, Files, changes_between
from agenteval_cli.diff import FELL, MOVED, Answers, CaseDiff, CheckChange, RunDiff
from agenteval_cli.finding import PASSED, CheckResult
from agenteval_cli.outcomes import AnyAttempt, AnyRun
from agenteval_cli.path_diff import path_diff, typical
from agenteval_cli.phrases import as_text
from agenteval_cli.sides import Known, known_cases
from agenteval_cli.store import TRANSCRIPTS
from agenteval_cli.talk import Talk
from agenteval_cli.talk_diff import Conversed, TalkDiff, talk_diff
from agenteval_cli.transcript import Transcript

MOST_CASES = 100  # of each kind, the first in the order of the diff
_MOST_ATTEMPTS = 20  # of a side, that are read to find the typical one
_MOST_CHARACTERS = 4000


def explained(diff: RunDiff, base: AnyRun, head: AnyRun, root: Path, most: int = MOST_CASES) -> RunDiff:
    """The diff with what is behind its first `most` moved and its first `most` edited cases."""
    moved = {case.id for case in [case for case in diff.cases if case.change in MOVED][:most]}
    edited = {case.id for case in [case for case in diff.cases if case.edited][:most]}
    wanted = {case.casefold() for case in moved | edited}
    before, after = (known_cases(_part_of(run, wanted)) for run in (base, head))
    names = [side[case.casefold()].planned.file for case in edited for side in (before, after)]
    files = Files(root, names, base.record, head.record)
    cases = []
    with _Transcripts(base) as old, _Transcripts(head) as new:
        for case in diff.cases:
            folded = case.id.casefold()
            if case.id in moved:
                case = _why(case, (before[folded], old), (after[folded], new))  # noqa: PLW2901  # the same case, known better
            if case.id in edited:
                changes = _edits(files, before[folded], after[folded])
                case = msgspec.structs.replace(case, case_changes=changes)  # noqa: PLW2901  # the same case, known better
            cases.append(case)
    return msgspec.structs.replace(diff, cases=tuple(cases))


def _part_of(run: AnyRun, wanted: set[str]) -> AnyRun:
    """The run as if it had only these cases."""
    plan = tuple(planned for planned in run.record.plan if planned.case.casefold() in wanted)
    names = {planned.case for planned in plan}
    attempts = tuple(attempt for attempt in run.attempts if attempt.case in names)
    return msgspec.structs.replace(run, record=msgspec.structs.replace(run.record, plan=plan), attempts=attempts)


def _edits(files: Files, base: Known, head: Known) -> tuple[CaseChange, ...] | None:
    """What changed in the case; None where one of the two files can no longer be found."""
    before, after = files.data_of(base.planned), files.data_of(head.planned)
    return None if before is None or after is None else changes_between(before, after)


# ---- checks


def check_changes(base: Sequence[AnyAttempt], head: Sequence[AnyAttempt]) -> tuple[CheckChange, ...]:
    """The checks that held less or more often than before, the largest change first, then in the order of the case."""
    before, after = _Answers(base), _Answers(head)
    found = []
    for name, check in {**before.last, **after.last}.items():
        change = CheckChange(
            name=name,
            part=check.part,
            base_failed=before.failed[name],
            base_attempts=before.made[name],
            head_failed=after.failed[name],
            head_attempts=after.made[name],
            message=(after.words if after.failed[name] else before.words).get(name, ""),
        )
        if _share(change.base_failed, change.base_attempts) != _share(change.head_failed, change.head_attempts):
            found.append(change)
    return tuple(sorted(found, key=lambda change: -abs(_moved_by(change))))


class _Answers:
    """How often each check was made and did not hold, by name, and the words it first failed with."""

    def __init__(self, attempts: Sequence[AnyAttempt]) -> None:
        self.made: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.words: dict[str, str] = {}
        self.last: dict[str, CheckResult] = {}
        for attempt in attempts:
            for check in attempt.checks:
                self.made[check.name] += 1
                self.last[check.name] = check
                if check.result != PASSED:
                    self.failed[check.name] += 1
                    self.words.setdefault(check.name, check.message)


def _share(failed: int, attempts: int) -> float:
    return failed / attempts if attempts else 0.0


def _moved_by(change: CheckChange) -> float:
    return _share(change.head_failed, change.head_attempts) - _share(change.base_failed, change.base_attempts)


# ---- transcripts


class _Kept(msgspec.Struct, frozen=True):
    """A transcript record without the raw output."""

    transcript: Transcript | None = None
    turns: tuple[Transcript, ...] = ()
    talk: Talk | None = None


class _Told(msgspec.Struct, frozen=True):
    """An attempt, and what is kept of what was said in it."""

    attempt: AnyAttempt
    whole: Transcript
    kept: _Kept


class _Transcripts:
    """The transcripts of one run, read as they are asked for."""

    def __init__(self, run: AnyRun) -> None:
        self._path = Path(run.folder, TRANSCRIPTS)
        self._file: BinaryIO | None = None
        self._decode = msgspec.json.Decoder(_Kept).decode

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def of(self, attempts: Sequence[AnyAttempt]) -> list[_Told]:
        """The attempts that have a transcript, with it. One that cannot be read is as one that is not there."""
        found = []
        for attempt in attempts[:_MOST_ATTEMPTS]:
            with contextlib.suppress(OSError, ValueError, msgspec.DecodeError):
                self._file = self._file or self._path.open("rb")
                self._file.seek(attempt.transcript.offset)
                kept = self._decode(self._file.read(attempt.transcript.length))
                if kept.transcript is not None:
                    found.append(_Told(attempt, kept.transcript, kept))
        return found


def _why(case: CaseDiff, base: tuple[Known, _Transcripts], head: tuple[Known, _Transcripts]) -> CaseDiff:
    """The case with its checks, path, conversation and answers."""
    before, after = base[0].attempts, head[0].attempts
    fell = case.change in FELL
    old = _typical(base[1], before, passed=fell)
    new = _typical(head[1], after, passed=not fell)
    facts: dict[str, Any] = {"checks": check_changes(before, after)}
    if old is not None and new is not None:
        facts["path"] = path_diff(old.whole, new.whole, (old.attempt.attempt, new.attempt.attempt))
        facts["conversation"] = _parting(old, new)
    if old is not None or new is not None:
        facts["answers"] = Answers(_answer(old), _answer(new))
    return msgspec.structs.replace(case, **facts)


def _typical(transcripts: _Transcripts, attempts: Sequence[AnyAttempt], *, passed: bool) -> _Told | None:
    """The typical one of the attempts that show the change: those that passed, or those that did not."""
    showing = [attempt for attempt in attempts if (attempt.status == "passed") is passed]
    told = transcripts.of(showing)
    return told[typical([each.whole for each in told])] if told else None


def _parting(base: _Told, head: _Told) -> TalkDiff | None:
    """Where two conversations part; None where one of them is none."""
    sides = [
        Conversed(each.attempt.attempt, each.kept.talk, each.kept.turns)
        for each in (base, head)
        if each.kept.talk is not None
    ]
    if len(sides) < 2:
        return None
    found = talk_diff(*sides)
    return msgspec.structs.replace(found, base=_cut(found.base), head=_cut(found.head))


def _answer(told: _Told | None) -> str | None:
    return None if told is None or told.whole.output is None else _cut(as_text(told.whole.output))


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
