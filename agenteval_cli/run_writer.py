"""Writing a run: appended to as attempts end, so that a kill at any moment loses none of them.

Every write is synced before anybody hears of it. One process at a time writes a run: the lock goes with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from agenteval_cli.errors import IncompleteError, UsageError
from agenteval_cli.records import AttemptRecord, RunRecord, TranscriptPlace, TranscriptRecord
from agenteval_cli.store import ATTEMPTS, RUN, TRANSCRIPTS
from agenteval_cli.transcript import without_surrogates
from agenteval_cli.writing import put, sync_folder

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has fsync only
_TAIL = 1024 * 1024
_PATIENCE = 3.0  # seconds


class RunWriter:
    """The folder of a run that is being written. A write that fails is an IncompleteError that says what was kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = 0
        self._attempts = _appended(folder / ATTEMPTS)
        self._transcripts = _appended(folder / TRANSCRIPTS)
        if not _locked(self._attempts):
            self.close()
            raise UsageError(f"run {folder.name} is being written by another process; wait until that has ended")

    @classmethod
    def create(cls, folder: Path, record: RunRecord) -> RunWriter:
        """A new run. Raises IncompleteError where it cannot be written."""
        with _told(folder):
            folder.mkdir(parents=True)
            writer = cls(folder)
            writer.replace(record)
            sync_folder(folder)
            sync_folder(folder.parent)
        return writer

    @classmethod
    def reopen(cls, folder: Path, attempts: int) -> RunWriter:
        """A run that was stopped, of which so many attempts have been read. What a kill left half written goes.

        Raises UsageError where another process writes it or has gone on with it since it was read, IncompleteError
        where it cannot be written.
        """
        with _told(folder):
            writer = cls(folder)
            for fd, name in ((writer._attempts, ATTEMPTS), (writer._transcripts, TRANSCRIPTS)):
                os.ftruncate(fd, _end_of_last_line(folder / name))
            for half_written in folder.glob(f".{RUN}.*.tmp"):
                half_written.unlink(missing_ok=True)
            writer.written = _lines(folder / ATTEMPTS)
            if writer.written != attempts:
                writer.close()
                raise UsageError(f"run {folder.name} has just been gone on with by another process; look at it again")
        return writer

    def replace(self, record: RunRecord) -> None:
        """Write run.json beside the old one and move it into place."""
        with _told(self.folder, self.written):
            put(self.folder / RUN, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")

    def append(self, ended: Iterable[tuple[AttemptRecord, TranscriptRecord]]) -> list[AttemptRecord]:
        """Put attempts on disk: transcripts first, then the lines that point to them. Returns the lines' records."""
        with _told(self.folder, self.written):
            placed: list[AttemptRecord] = []
            offset = os.fstat(self._transcripts).st_size
            lines, transcripts = [], []
            for attempt, transcript in ended:
                _, said = _line(transcript)
                record, line = _line(msgspec.structs.replace(attempt, transcript=TranscriptPlace(offset, len(said))))
                transcripts.append(said)
                lines.append(line)
                placed.append(record)
                offset += len(said)
            if placed:
                _write(self._transcripts, b"".join(transcripts))
                _write(self._attempts, b"".join(lines))
                self.written += len(placed)
            return placed

    def close(self) -> None:
        for fd in (self._transcripts, self._attempts):
            os.close(fd)


_Record = TypeVar("_Record", AttemptRecord, TranscriptRecord)


def _line(record: _Record) -> tuple[_Record, bytes]:
    """The record and its line. Halves of surrogate pairs, which JSON of an answer or a judge can have, are mended."""
    try:
        return record, msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:
        text = json.dumps(without_surrogates(json.loads(json.dumps(msgspec.to_builtins(record)))), ensure_ascii=False)
        return msgspec.json.decode(text, type=type(record)), text.encode() + b"\n"


@contextlib.contextmanager
def _told(folder: Path, written: int = 0) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kept = f"; {written} finished attempts are kept there" if written else ""
        raise IncompleteError(f"cannot write the run to {folder}: {error.strerror}{kept}") from error


def _appended(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _locked(fd: int) -> bool:
    """Take the lock of the run, which ends with this process; False where another one keeps it.

    The guardian of a run that was killed has it for a moment more, until the agents of that run are gone.
    """
    ends = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= ends:
                return False
            time.sleep(_PATIENCE / 100)
        except OSError:  # a file system without locks
            return True
        else:
            return True


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


def _end_of_last_line(path: Path) -> int:
    """The size of the file without what follows its last line break."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _TAIL)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(_TAIL), b""))
