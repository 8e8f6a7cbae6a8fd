"""The runs folder: one folder a run, appended to as attempts end, so that a kill at any moment loses none of them.

<runs>/<run-id>/run.json            replaced as a whole
<runs>/<run-id>/attempts.jsonl      one line per attempt, appended and synced before the attempt is shown
<runs>/<run-id>/transcripts.jsonl   one line per attempt, synced before the line that points to it
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from agenteval_cli.errors import IncompleteError, UsageError
from agenteval_cli.records import FINISHED, RUN_FORMAT, AttemptRecord, RunRecord, TranscriptPlace, TranscriptRecord
from agenteval_cli.writing import put

RUN_ID = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}Z-[0-9a-f]{4}")
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has fsync only
_STAMP = "%Y%m%dT%H%M%S.%fZ"


class Run(msgspec.Struct, frozen=True):
    """A stored run: its record, its attempts in the order they ended, and where it is."""

    record: RunRecord
    attempts: tuple[AttemptRecord, ...]
    folder: str
    torn_lines: int = 0


class RunWriter:
    """The folder of a run that is on. Every write that fails is an IncompleteError that says what was kept."""

    def __init__(self, folder: Path, record: RunRecord) -> None:
        self.folder = folder
        self.written = 0
        with self._told():
            folder.mkdir(parents=True)
            self._transcripts = _appended(folder / "transcripts.jsonl")
            self._attempts = _appended(folder / "attempts.jsonl")
            self.replace(record)
            _sync_folder(folder.parent)

    def replace(self, record: RunRecord) -> None:
        """Write run.json beside the old one and move it into place."""
        with self._told():
            put(self.folder / "run.json", msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")

    def append(self, ended: Iterable[tuple[AttemptRecord, TranscriptRecord]]) -> list[AttemptRecord]:
        """Put attempts on disk: transcripts first, then the lines that point to them. Returns the lines' records."""
        with self._told():
            placed = []
            offset = os.fstat(self._transcripts).st_size
            lines = []
            for attempt, transcript in ended:
                line = msgspec.json.encode(transcript) + b"\n"
                lines.append(line)
                placed.append(msgspec.structs.replace(attempt, transcript=TranscriptPlace(offset, len(line))))
                offset += len(line)
            _write(self._transcripts, b"".join(lines))
            _write(self._attempts, b"".join(msgspec.json.encode(record) + b"\n" for record in placed))
            self.written += len(placed)
            return placed

    def close(self) -> None:
        os.close(self._transcripts)
        os.close(self._attempts)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            kept = f"; {self.written} finished attempts are kept there" if self.written else ""
            words = f"cannot write the run to {self.folder}: {error.strerror}{kept}"
            raise IncompleteError(words) from error


def _appended(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _write(fd: int, raw: bytes) -> None:
    """All of the bytes, synced; where they do not fit, none of them is left behind."""
    before = os.fstat(fd).st_size
    view = memoryview(raw)
    try:
        while view:
            view = view[os.write(fd, view) :]
        _sync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, before)
        raise


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def new_run_id(runs: Path) -> str:
    """An ID that sorts after every run there is, whatever the clock says, and that two runs cannot share."""
    now = dt.datetime.now(dt.UTC)
    newest = max(run_ids(runs), default=None)
    if newest is not None:
        stamp = dt.datetime.strptime(newest.rpartition("-")[0], _STAMP).replace(tzinfo=dt.UTC)
        now = max(now, stamp + dt.timedelta(microseconds=1))
    return f"{now.strftime(_STAMP)}-{secrets.token_hex(2)}"


def run_ids(runs: Path) -> list[str]:
    """The IDs of all runs in the folder, oldest first."""
    try:
        names = [entry.name for entry in os.scandir(runs) if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise IncompleteError(f"cannot read the runs folder {runs}: {error.strerror}") from error
    return sorted(name for name in names if RUN_ID.fullmatch(name))


def finished_runs(runs: Path) -> Iterator[RunRecord]:
    """The records of finished runs, newest first."""
    for run_id in reversed(run_ids(runs)):
        with contextlib.suppress(UsageError):
            record = read_record(runs / run_id)
            if record.status == FINISHED:
                yield record


def read_record(folder: Path) -> RunRecord:
    """The run.json of a run. Raises UsageError where it is missing, broken, or of another format."""
    path = folder / "run.json"
    try:
        raw = path.read_bytes()
        number = msgspec.json.decode(raw).get("format")
        if number != RUN_FORMAT:
            raise UsageError(f"{path} has format {number}; this version reads {RUN_FORMAT}")
        return msgspec.json.decode(raw, type=RunRecord)
    except FileNotFoundError as error:
        raise UsageError(f"no run in {folder}: run.json is missing") from error
    except (OSError, AttributeError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def read_run(folder: Path) -> Run:
    """A run with its attempts. A torn last line, left by a kill, is counted and ignored; any other is an error."""
    record = read_record(folder)
    try:
        lines = (folder / "attempts.jsonl").read_bytes().split(b"\n")
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
    """The transcript of one attempt of a run."""
    path = Path(run.folder, "transcripts.jsonl")
    try:
        with path.open("rb") as file:
            file.seek(attempt.transcript.offset)
            return msgspec.json.decode(file.read(attempt.transcript.length), type=TranscriptRecord)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{path}: the transcript of {attempt.case} #{attempt.attempt} cannot be read") from error
