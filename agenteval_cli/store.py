"""The runs folder, read: one folder a run. run_writer.py writes it.

<runs>/<run-id>/run.json            replaced as a whole
<runs>/<run-id>/attempts.jsonl      one line per attempt, appended and synced before the attempt is shown
<runs>/<run-id>/transcripts.jsonl   one line per attempt, synced before the line that points to it
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from agenteval_cli.errors import IncompleteError, UsageError
from agenteval_cli.git import GitState
from agenteval_cli.records import (
    FINISHED,
    INTERRUPTED,
    READ_FORMATS,
    RUNNING,
    AttemptRecord,
    Confirms,
    RunRecord,
    TranscriptRecord,
)

RUN = "run.json"
ATTEMPTS = "attempts.jsonl"
TRANSCRIPTS = "transcripts.jsonl"
RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}Z-[0-9a-f]{4}")
_STAMP = "%Y%m%dT%H%M%S.%fZ"
_LAST_MOMENT = dt.datetime.max.replace(tzinfo=dt.UTC)


class Run(msgspec.Struct, frozen=True):
    """A stored run: its record, its attempts in the order they ended, and where it is."""

    record: RunRecord
    attempts: tuple[AttemptRecord, ...]
    folder: str
    torn_lines: int = 0


def new_run_id(runs: Path) -> str:
    """An ID that sorts after every run there is, whatever the clock says, and that two runs cannot share."""
    now = dt.datetime.now(dt.UTC)
    newest = max(run_ids(runs), default=None)
    if newest is not None:
        now = max(now, _moment_of(newest) + dt.timedelta(microseconds=1))
    return f"{now.strftime(_STAMP)}-{secrets.token_hex(2)}"


def run_ids(runs: Path) -> list[str]:
    """The IDs of all runs in the folder, oldest first."""
    try:
        names = [entry.name for entry in os.scandir(runs) if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise IncompleteError(f"cannot read the runs folder {runs}: {error.strerror}") from error
    return sorted(name for name in names if _is_run_id(name))


def is_being_written(folder: Path) -> bool:
    """Whether a process writes the run now. One that says it is running and is not was killed."""
    try:
        fd = os.open(folder / ATTEMPTS, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks: nothing tells
        return False
    finally:
        os.close(fd)
    return False


def status_now(record: RunRecord, folder: Path) -> str:
    """The status of a run, where that of one that was killed is interrupted."""
    return INTERRUPTED if record.status == RUNNING and not is_being_written(folder) else record.status


def _is_run_id(name: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(RUN_ID.fullmatch(name)) and _moment_of(name) < _LAST_MOMENT
    return False


def _moment_of(run_id: str) -> dt.datetime:
    """When the run of that ID began, by the clock that made it. Raises ValueError where that is no moment."""
    return dt.datetime.strptime(run_id.rpartition("-")[0], _STAMP).replace(tzinfo=dt.UTC)


def run_records(runs: Path) -> Iterator[RunRecord]:
    """The records of all runs that can be read, newest first."""
    for run_id in reversed(run_ids(runs)):
        with contextlib.suppress(UsageError):
            yield read_record(runs / run_id)


class RunHead(msgspec.Struct, frozen=True):
    """What finds a run among others, without its plan."""

    id: str
    status: str
    git: GitState
    confirms: Confirms | None = None


def finished_runs(runs: Path) -> Iterator[RunHead]:
    """The finished runs, newest first, without their plans.

    Raises UsageError at one that is broken: to go on to an older one would be to answer for another run.
    """
    for run_id in reversed(run_ids(runs)):
        path = runs / run_id / RUN
        try:
            head = msgspec.json.decode(path.read_bytes(), type=RunHead)
        except OSError:
            continue
        except msgspec.DecodeError as error:
            words = "remove its folder, or name the run that you mean by its ID"
            raise UsageError(f"{path} cannot be read: {error}; {words}") from error
        if head.status == FINISHED:
            yield head


class _Numbered(msgspec.Struct, frozen=True):
    """What every format of run.json has."""

    format: Any = None


def read_record(folder: Path) -> RunRecord:
    """The run.json of a run. Raises UsageError where it is missing, broken, or of another format."""
    path = folder / RUN
    try:
        raw = path.read_bytes()
        number = msgspec.json.decode(raw, type=_Numbered).format
        if number not in READ_FORMATS:
            raise UsageError(
                f"{path} has format {number}; this version reads {min(READ_FORMATS)} to {max(READ_FORMATS)}"
            )
        return msgspec.json.decode(raw, type=RunRecord)
    except FileNotFoundError as error:
        raise UsageError(f"no run in {folder}: run.json is missing") from error
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def read_run(folder: Path) -> Run:
    """A run with its attempts. A torn last line, left by a kill, is counted and ignored; any other is an error.

    The status of a run that says it is running, while nobody writes it, is interrupted: it was killed.
    """
    record = read_record(folder)
    record = msgspec.structs.replace(record, status=status_now(record, folder))
    try:
        lines = (folder / ATTEMPTS).read_bytes().split(b"\n")
    except FileNotFoundError:
        lines = [b""]
    torn = lines.pop()
    decode = msgspec.json.Decoder(AttemptRecord).decode
    attempts = []
    for number, line in enumerate(lines, start=1):
        try:
            attempts.append(decode(line))
        except msgspec.DecodeError as error:
            raise UsageError(f"{folder / 'attempts.jsonl'}:{number}: not an attempt record: {error}") from error
    return Run(record, tuple(attempts), str(folder), torn_lines=1 if torn else 0)


def read_transcript(run: Run, attempt: AttemptRecord) -> TranscriptRecord:
    """The transcript of one attempt of a run. Raises UsageError where it cannot be read."""
    with Transcripts(run) as transcripts:
        return transcripts.of(attempt)


class Transcripts:
    """The transcripts of a run while many are read, by any number of threads and forks: the file is opened once."""

    def __init__(self, run: Run) -> None:
        self._path = Path(run.folder, TRANSCRIPTS)
        self._decode = msgspec.json.Decoder(TranscriptRecord).decode
        self._fd: int | None = None
        with contextlib.suppress(OSError):  # what is lost is said of each attempt that it is missed of
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def of(self, attempt: AttemptRecord) -> TranscriptRecord:
        """The transcript of one attempt. Raises UsageError where it cannot be read."""
        place = attempt.transcript
        try:
            return self._decode(os.pread(self._fd, place.length, place.offset) if self._fd is not None else b"")
        except (OSError, OverflowError, ValueError) as error:
            what = f"the transcript of {attempt.case} #{attempt.attempt}"
            raise UsageError(f"{self._path}: {what} cannot be read") from error

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
