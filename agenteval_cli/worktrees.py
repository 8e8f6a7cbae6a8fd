"""A commit checked out beside the checkout, in a folder of its own, so that nothing of the user's is touched."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from agenteval_cli import git
from agenteval_cli.errors import IncompleteError, UsageError

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
_LOCK = ".lock"


class PrepareError(IncompleteError):
    """The command that makes a commit runnable failed there."""


@contextlib.contextmanager
def checked_out(root: Path, commit: str, folder: Path, prepare: str | None = None) -> Iterator[Path]:
    """What `root`, a folder of a work tree, is in that commit; gone again at the end.

    `folder` is where it is put, and must not exist. `prepare` is a command for sh that makes it runnable, in what
    `root` is there; what it says goes to stderr. Raises UsageError outside git, IncompleteError where git fails,
    PrepareError where `prepare` does.
    """
    top = git.top_of(root)
    if top is None:
        raise UsageError(f"{root} is not in a git repository, so no other commit of it can be had")
    folder.parent.mkdir(parents=True, exist_ok=True)
    _remove_what_is_left_over(folder.parent)
    with _held(folder), _added(top, commit, folder):
        tree = folder / root.resolve().relative_to(top.resolve())
        if prepare is not None:
            _prepare(prepare, tree if tree.is_dir() else folder, commit)
        yield tree


@contextlib.contextmanager
def _added(top: Path, commit: str, folder: Path) -> Iterator[None]:
    _git(top, "worktree", "add", "--detach", "--force", str(folder), commit)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _git(top, "worktree", "prune")


# ---- a process that is killed leaves its folder: it has a lock beside it, which nobody holds then


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    lock = folder.with_name(f"{folder.name}{_LOCK}")
    fd = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(fd)


def _remove_what_is_left_over(parent: Path) -> None:
    """Folders of processes that are gone. Git forgets them when the next one is removed."""
    for lock in parent.glob(f"*{_LOCK}"):
        with contextlib.suppress(OSError):  # another process holds it, or has just removed it
            fd = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(parent / lock.name.removesuffix(_LOCK), ignore_errors=True)
                lock.unlink()
            finally:
                os.close(fd)


def _prepare(command: str, tree: Path, commit: str) -> None:
    done = subprocess.run(["/bin/sh", "-c", command], cwd=tree, stdin=subprocess.DEVNULL, stdout=2, check=False)
    if done.returncode != 0:
        how = f"a signal ({-done.returncode})" if done.returncode < 0 else str(done.returncode)
        raise PrepareError(f"--prepare ended with {how} at {commit[:12]}, so its agent was not run")


def _git(top: Path, *arguments: str) -> None:
    """Run git there, without the variables of a hook and without running hooks."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", "-C", top, *_NO_HOOKS, *arguments], env=env, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise IncompleteError(f"git {' '.join(arguments[:2])} failed: {said[-1] if said else 'it did not say why'}")
