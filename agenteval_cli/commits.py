"""The commits between two: which of them may have broken a case, and where the middle is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

from agenteval_cli.errors import IncompleteError
from agenteval_cli.git import LogEntry


def commits_between(root: Path, good: str, bad: str) -> list[LogEntry] | None:
    """The commits that `bad` has in its history and `good` has not, oldest first, with `bad` the last.

    None where git does not know both, or `good` is no ancestor of `bad`.
    """
    if _git(root, "merge-base", "--is-ancestor", good, bad) is None:
        return None
    form = ("--topo-order", "--reverse", "-z", "--format=%H%x01%cs%x01%s")
    raw = _git(root, "log", *form, "--end-of-options", bad, f"^{good}")
    if raw is None:
        return None
    lines = (part.decode("utf-8", "replace").split("\x01", 2) for part in raw.split(b"\0") if part.strip())
    return [LogEntry(*line) for line in lines if len(line) == 3]


def middles(root: Path, good: Sequence[str], bad: str, skipped: Collection[str]) -> tuple[list[str], str | None]:
    """The commits that are in the history of `bad` and of no `good` one, and the one to try next.

    That is the one that parts them most evenly and is not skipped; None where nothing is left to try. Of what is left
    then, one is the first bad one. Raises IncompleteError where git cannot tell.
    """
    raw = _git(root, "rev-list", "--bisect-all", bad, *(f"^{commit}" for commit in good))
    if raw is None:
        raise IncompleteError(f"git cannot list the commits before {bad[:12]}")
    listed = [line.split(" ", 1)[0] for line in raw.decode().splitlines()]
    return listed, next((commit for commit in listed if commit != bad and commit not in skipped), None)


def _git(root: Path, *arguments: str) -> bytes | None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", os.fspath(root), "-c", "log.showSignature=false", *arguments]
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
