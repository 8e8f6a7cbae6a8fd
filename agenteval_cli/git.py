"""What git knows of the repository. git itself is asked, through NUL-separated output, never through a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from agenteval_cli.records import GitState

_OWN_VARIABLES = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")


def top_of(folder: Path) -> Path | None:
    """The work tree that holds the folder, or None outside git."""
    raw = _git(folder, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(raw.rstrip(b"\n"))) if raw else None


def state_of(root: Path) -> GitState:
    """Commit, branch and whether the tree differs from it; all None outside git or where git is missing."""
    raw = _git(root, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal")
    if raw is None:
        return GitState()
    facts = [os.fsdecode(part) for part in raw.split(b"\0") if part]
    headers = dict(fact[2:].split(" ", 1) for fact in facts if fact.startswith("# "))
    commit, branch = headers.get("branch.oid"), headers.get("branch.head")
    return GitState(
        commit=None if commit in (None, "(initial)") else commit,
        branch=None if branch in (None, "(detached)") else branch,
        dirty=any(not fact.startswith("# ") for fact in facts),
    )


def commit_of(root: Path, ref: str) -> str | None:
    """The commit that a ref names, or None."""
    raw = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    return raw.decode().strip() if raw else None


def _git(folder: Path, *arguments: str) -> bytes | None:
    """What git prints, or None where it fails or is not there. Hooks' variables do not lead it elsewhere."""
    env = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
    env["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", "-C", os.fspath(folder), *arguments],
            env=env,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
