"""Files written so that an interruption leaves the old one or the new one, never half of one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from agenteval_cli.errors import IncompleteError, UsageError


def replace(path: Path, raw: bytes) -> None:
    """Write the file, new or in place of the old one, whose mode it keeps. A link goes on pointing to it."""
    with _told(path, "written"):
        put(path, raw)


def put(path: Path, raw: bytes) -> None:
    """The same for a caller with words of its own for what goes wrong. Raises OSError."""
    target = path.resolve()
    with _beside(target, raw) as beside:
        with contextlib.suppress(FileNotFoundError):
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    sync_folder(target.parent)


def create(path: Path, raw: bytes) -> None:
    """Write a file that must not be there yet; its folders are made."""
    with _told(path, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _beside(path, raw) as beside:
            if not _linked(beside, path):
                raise UsageError(f"{path} is there already; nothing was written")
        sync_folder(path.parent)


def remove(path: Path) -> None:
    """Delete the file; one that is gone already is fine."""
    with _told(path, "removed"):
        path.unlink(missing_ok=True)
        sync_folder(path.parent)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Alone in the folder, among those who ask: two commands at once wait for each other."""
    with _told(folder, "locked"):
        fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def _beside(path: Path, raw: bytes) -> Iterator[Path]:
    """A synced file with the bytes in the same folder, gone afterwards unless it was moved."""
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        yield beside
    finally:
        beside.unlink(missing_ok=True)


def _linked(beside: Path, path: Path) -> bool:
    """Give the file its name, which unlike a rename never replaces another; False where the name is taken."""
    try:
        os.link(beside, path, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            return False
        beside.replace(path)
    return True


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def _told(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IncompleteError(f"{path} cannot be {done}: {error.strerror}") from error
