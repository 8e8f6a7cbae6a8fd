"""A commit checked out beside the checkout, in a folder of its own, so that nothing of the user's is touched."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from agenteval_cli import git
from agenteval_cli.errors import IncompleteError, UsageError

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")


@contextlib.contextmanager
def checked_out(root: Path, commit: str, folder: Path) -> Iterator[Path]:
    """What `root`, a folder of a work tree, is in that commit; gone again at the end.

    `folder` is where it is put, and must not exist. Raises UsageError outside git, IncompleteError where git fails.
    """
    top = git.top_of(root)
    if top is None:
        raise UsageError(f"{root} is not in a git repository, so no other commit of it can be had")
    folder.parent.mkdir(parents=True, exist_ok=True)
    _git(top, "worktree", "add", "--detach", "--force", os.fspath(folder), commit)
    try:
        yield folder / root.resolve().relative_to(top.resolve())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _git(top, "worktree", "prune")


def _git(top: Path, *arguments: str) -> None:
    """Run git there, without the variables of a hook and without running hooks."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", "-C", top, *_NO_HOOKS, *arguments], env=env, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise IncompleteError(f"git {' '.join(arguments[:2])} failed: {said[-1] if said else 'it did not say why'}")
