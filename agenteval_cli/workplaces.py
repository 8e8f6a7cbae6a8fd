"""The folders that agents work in: new and empty, and gone afterwards whatever an agent made of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator

from agenteval_cli.escape import as_text
from agenteval_cli.file_facts import FileFact

MAX_FILES = 1000  # of one attempt that are told of
MAX_TEXT = 256 * 1024  # bytes of a file's text that are kept


def unused_workplace() -> str:
    """The name of a folder for a run's workplaces, which nobody can guess and which is not there yet."""
    return os.path.join(tempfile.gettempdir(), f"agenteval-{secrets.token_hex(8)}")  # noqa: PTH118  # names are text


def new_workplace(parent: str) -> str:
    """A new, empty folder that only this user may enter; its name tells nothing. Raises OSError."""
    os.makedirs(parent, mode=0o700, exist_ok=True)  # noqa: PTH103  # an agent may have removed it
    return tempfile.mkdtemp(prefix="", dir=parent)


def remove(folder: str) -> bool:
    """Remove a folder that an agent worked in; whether it is gone. Links are removed, never followed. Never raises."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # noqa: PTH106  # most are empty, and this is done for each of thousands
        return True
    with contextlib.suppress(OSError):
        os.unlink(folder)  # noqa: PTH108  # something else was put in its place
        return True
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        _remove_by_force(folder)
    return not os.path.lexists(folder)


def files_left(folder: str) -> tuple[FileFact, ...]:
    """Every regular file in the folder, by its path, MAX_FILES at most; links are not followed. Raises OSError."""
    facts = []
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(path, name)  # noqa: PTH118  # as everything here
            fact = _fact(full, os.path.relpath(full, folder))
            if fact is not None:
                facts.append(fact)
            if len(facts) == MAX_FILES:
                return tuple(facts)
    return tuple(facts)


def _fact(full: str, shown: str) -> FileFact | None:
    """One file; None where it is none, or cannot be read."""
    try:
        fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(fd, "rb") as file:  # noqa: PTH123  # a descriptor, not a path
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
        text = None
        if size <= MAX_TEXT:
            file.seek(0)
            with contextlib.suppress(UnicodeDecodeError):
                text = file.read().decode()
    return FileFact(as_text(shown).replace(os.sep, "/"), size, digest, text)


def _remove_by_force(folder: str) -> None:
    """For trees without permissions, or nested deeper than rmtree recurses or a path may be long.

    What is in a folder is moved to the top before that folder is removed, so that no path ever has more than two names.
    """
    os.chmod(folder, 0o700)  # noqa: PTH101  # it is no link: rmdir and unlink would have removed that
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    names = _unused_names(top)
    try:
        while inner := _without_files(top):
            for name in inner:
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                try:
                    for deeper in _without_files(below):
                        os.rename(deeper, next(names), src_dir_fd=below, dst_dir_fd=top)
                finally:
                    os.close(below)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(folder)  # noqa: PTH106  # as above


def _without_files(fd: int) -> list[str]:
    """Remove all but the folders from an open folder; their names, each made accessible."""
    folders = []
    for name in os.listdir(fd):
        if stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            os.chmod(name, 0o700, dir_fd=fd)
            folders.append(name)
        else:
            os.unlink(name, dir_fd=fd)
    return folders


def _unused_names(fd: int) -> Iterator[str]:
    taken = set(os.listdir(fd))
    number = 0
    while True:
        number += 1
        if str(number) not in taken:
            yield str(number)
