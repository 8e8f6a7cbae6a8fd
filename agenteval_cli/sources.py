"""Where the bytes of case files come from: the working tree, or git's index. Siblings behind one interface."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from agenteval_cli import git
from agenteval_cli.errors import IncompleteError, UsageError

Stamp = int | str
UNSETTLED: Stamp = 0  # the stamp of a file that may change again without its times telling
_AT_ONCE = 500  # files of a commit
_NEARLY_YAML = r"\.(ya?ml|yam|ymal|jsonl?)(\W|_|$)"  # not compiled before there is a file that is no YAML
_SETTLED = 2_000_000_000  # nanoseconds; the coarsest file systems keep times to two seconds


def is_yaml(name: str) -> bool:
    """Whether a file is YAML by its ending, in whatever case."""
    return name.endswith((".yaml", ".yml")) or name.lower().endswith((".yaml", ".yml"))


def looks_like_a_case(name: str) -> bool:
    """Whether a file that is not read was probably meant as a case: `a.json`, `a.yam`, `a.yaml.txt`; no hidden one."""
    return not name.startswith(".") and re.search(_NEARLY_YAML, name, re.IGNORECASE) is not None


def _stamp(entry: os.DirEntry[str], settled_before: int) -> Stamp:
    """Told from times, size and number of a file; the time of the last change of any of them cannot be set back."""
    try:
        facts = entry.stat()
    except OSError:  # a link that leads nowhere: reading it will tell
        return UNSETTLED
    if not stat.S_ISREG(facts.st_mode):
        return UNSETTLED
    changed, written = facts.st_ctime_ns, facts.st_mtime_ns
    if changed >= settled_before or written >= settled_before:
        return UNSETTLED
    return hash((changed, written, facts.st_size, facts.st_ino))


def _is_endless(entry: os.DirEntry[str]) -> bool:
    """Whether it is, or leads to, a pipe, a socket or a device."""
    try:
        mode = entry.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def bytes_of(path: Path) -> bytes:
    """What is in a file. Raises OSError where it is none: a pipe or a device would never end."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file")
    return path.read_bytes()


def _leads_to_a_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


class Source(Protocol):
    """Files by their path from the repository root. A stamp changes whenever the content may have changed."""

    name: str
    look_alikes: set[str]  # files that were not listed and look like cases

    def listing(self, folder: str) -> dict[str, Stamp]:
        """Every YAML file below the folder, sorted, with its stamp; none where there is no such folder.

        UNSETTLED is no stamp: such a file is to be read every time.
        """
        ...

    def raw(self, name: str) -> bytes:
        """The content. Raises OSError."""
        ...

    def has(self, name: str) -> bool: ...


class WorkingTree:
    """The files as they are on disk."""

    name = "tree"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.left_out: set[str] = set()  # links to folders, which are not followed
        self.empty_folders: set[str] = set()
        self.look_alikes: set[str] = set()
        self._endless: set[str] = set()  # pipes and devices: reading them could wait for ever

    def listing(self, folder: str) -> dict[str, Stamp]:
        top = os.path.join(self.root, folder)  # noqa: PTH118  # names by the thousand: see docs/performance.md
        found: dict[str, Stamp] = {}
        settled_before = time.time_ns() - _SETTLED
        folders = [(top, folder.rstrip("/"))] if os.path.isdir(top) else []  # noqa: PTH112  # as above
        while folders:
            path, shown = folders.pop()
            try:
                entries = list(os.scandir(path))
            except OSError as error:
                raise IncompleteError(f"the folder {shown}/ cannot be read: {error.strerror}") from error
            if not entries:
                self.empty_folders.add(shown)
            for entry in entries:
                name = f"{shown}/{entry.name}"
                if is_yaml(entry.name) and not entry.is_dir(follow_symlinks=False):
                    found[name] = _stamp(entry, settled_before)
                    if found[name] == UNSETTLED and _is_endless(entry):
                        self._endless.add(name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, name))
                elif entry.is_symlink() and _leads_to_a_folder(entry):
                    self.left_out.add(name)
                elif looks_like_a_case(entry.name):
                    self.look_alikes.add(name)
        return {name: found[name] for name in sorted(found)}

    def raw(self, name: str) -> bytes:
        if name in self._endless:
            raise OSError(errno.EINVAL, "it is no regular file")
        with open(f"{self.root}/{name}", "rb", buffering=0) as file:  # noqa: PTH123  # twice as quick as read_bytes
            return file.read()

    def has(self, name: str) -> bool:
        return name in self._endless or (self.root / name).is_file()


class _Blobs:
    """Files that git holds: path to blob, and the contents that were read already."""

    def __init__(self, root: Path, blobs: dict[str, str]) -> None:
        self.root = root
        self.look_alikes: set[str] = set()
        self._blobs = blobs
        self._contents: dict[str, bytes] = {}

    def listing(self, folder: str) -> dict[str, Stamp]:
        inside = f"{folder.rstrip('/')}/"
        found = [(name, blob) for name, blob in self._blobs.items() if name.startswith(inside)]
        self.look_alikes.update(name for name, _ in found if not is_yaml(name) and looks_like_a_case(Path(name).name))
        return dict(sorted((name, blob) for name, blob in found if is_yaml(name)))

    def fetch(self, names: Iterable[str]) -> None:
        """Read many at once: one git process instead of one each."""
        wanted = [blob for blob in map(self._blobs.get, names) if blob]
        self._contents.update(git.contents(self.root, [blob for blob in wanted if blob not in self._contents]))

    def raw(self, name: str) -> bytes:
        blob = self._blobs.get(name)
        if not blob:
            why = "it is not in git" if blob is None else "it is in conflict; resolve it and `git add` it"
            raise FileNotFoundError(2, why, name)
        self.fetch([name])
        return self._contents[blob]

    def has(self, name: str) -> bool:
        return name in self._blobs


class Index(_Blobs):
    """The files as they are staged: what the next commit will hold. Raises UsageError outside git."""

    name = "index"

    def __init__(self, root: Path) -> None:
        staged = git.staged_files(root, ".")
        if staged is None:
            raise UsageError(f"{root} is not in a git repository; --staged reads git's index")
        super().__init__(root, staged)


class Commit(_Blobs):
    """The files as a commit has them. Who reads one of them reads those after it too: git is asked for many at once."""

    name = "commit"

    def __init__(self, root: Path, commit: str) -> None:
        super().__init__(root, git.files_at(root, commit, "."))
        self._listed: list[str] = []

    def listing(self, folder: str) -> dict[str, Stamp]:
        found = super().listing(folder)
        self._listed = list(found)
        return found

    def raw(self, name: str) -> bytes:
        if self._blobs.get(name) not in self._contents:
            at = bisect_left(self._listed, name)
            self.fetch(self._listed[at : at + _AT_ONCE])
        return super().raw(name)
