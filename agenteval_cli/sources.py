"""Where the bytes of case files come from: the working tree, or git's index. Siblings behind one interface."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from agenteval_cli import git
from agenteval_cli.errors import UsageError

Stamp = str


class Source(Protocol):
    """Files by their path from the repository root. A stamp changes whenever the content may have changed."""

    name: str

    def listing(self, folder: str) -> dict[str, Stamp]:
        """Every YAML file below the folder, sorted, with its stamp; none where there is no such folder."""
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

    def listing(self, folder: str) -> dict[str, Stamp]:
        top = os.path.join(self.root, folder)  # noqa: PTH118  # names are compared by the thousand: see docs/performance.md
        found: dict[str, Stamp] = {}
        folders = [(top, folder.rstrip("/"))] if os.path.isdir(top) else []  # noqa: PTH112
        while folders:
            path, shown = folders.pop()
            with os.scandir(path) as entries:
                for entry in entries:
                    name = entry.name
                    if name.endswith((".yaml", ".yml")) and entry.is_file():
                        facts = entry.stat()
                        found[f"{shown}/{name}"] = f"{facts.st_mtime_ns}-{facts.st_size}-{facts.st_ino}"
                    elif not name.startswith(".") and entry.is_dir(follow_symlinks=False):
                        folders.append((entry.path, f"{shown}/{name}"))
        return dict(sorted(found.items()))

    def raw(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def has(self, name: str) -> bool:
        return (self.root / name).is_file()


class _Blobs:
    """Files that git holds: path to blob, and the contents that were read already."""

    def __init__(self, root: Path, blobs: dict[str, str]) -> None:
        self.root = root
        self._blobs = blobs
        self._contents: dict[str, bytes] = {}

    def listing(self, folder: str) -> dict[str, Stamp]:
        inside = f"{folder.rstrip('/')}/"
        found = ((name, blob) for name, blob in self._blobs.items() if name.startswith(inside))
        return dict(sorted((name, blob) for name, blob in found if name.endswith((".yaml", ".yml"))))

    def fetch(self, names: list[str]) -> None:
        """Read many at once: one git process instead of one each."""
        wanted = [self._blobs[name] for name in names if name in self._blobs]
        self._contents.update(git.contents(self.root, [blob for blob in wanted if blob not in self._contents]))

    def raw(self, name: str) -> bytes:
        self.fetch([name])
        blob = self._blobs.get(name, "")
        if blob not in self._contents:
            raise FileNotFoundError(2, "git does not have it", name)
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
    """The files as a commit has them."""

    name = "commit"

    def __init__(self, root: Path, commit: str) -> None:
        super().__init__(root, git.files_at(root, commit, "."))
