"""The base of a change: which commit that is, and that commit checked out beside the checkout, which is not touched."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workflow import INCOMPLETE, StopError

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")
_NOTHING = "0" * 40  # what a push of a new branch calls the commit before


def top_of(folder: Path) -> Path:
    """The work tree that holds the folder. Raises StopError outside of one."""
    done = _git(folder, "rev-parse", "--show-toplevel")
    if done.returncode != 0:
        raise StopError(f"{folder} is in no git repository: {_last_line(done.stderr)}; actions/checkout comes first")
    return Path(done.stdout.removesuffix("\n"))


def base_commit(top: Path, asked: str, event: Mapping[str, Any]) -> str | None:
    """The commit to compare HEAD with; None where HEAD is the first. Raises StopError where it cannot be had."""
    head = _commit(top, "HEAD")
    if head is None:
        raise StopError("the repository has no commit")
    base = _named(top, asked) if asked else _base_of_event(top, event)
    if base == head:
        raise StopError(
            f"the checkout is the base itself ({head[:12]}), so there is nothing to compare; "
            "check out the change, or name another `base`"
        )
    return base


def _base_of_event(top: Path, event: Mapping[str, Any]) -> str | None:
    parents = _parents(top)
    request = event.get("pull_request")
    if request:
        if len(parents) == 2 and parents[1] == request["head"]["sha"]:
            return _had(top, parents[0])  # GitHub's own merge: into the branch as it is by now
        tip = _had(top, request["base"]["sha"])
        return _fork_point(top, tip) or tip
    before = event.get("merge_group", {}).get("base_sha") or event.get("before")
    if before and before != _NOTHING:
        return _had(top, before)
    return _had(top, parents[0]) if parents else None


def _parents(top: Path) -> list[str]:
    """The parents of HEAD, also where a shallow clone does not have them."""
    head, _, _ = _git(top, "cat-file", "commit", "HEAD").stdout.partition("\n\n")
    return [line.removeprefix("parent ") for line in head.splitlines() if line.startswith("parent ")]


def _fork_point(top: Path, tip: str) -> str | None:
    """Where the change began; None where history does not go back so far."""
    done = _git(top, "merge-base", "HEAD", tip)
    return done.stdout.strip() if done.returncode == 0 else None


def _named(top: Path, name: str) -> str:
    if name.startswith("-"):
        raise StopError(f"base: '{name}' is no branch, tag or commit")
    return _commit(top, name) or _commit(top, f"origin/{name}") or _fetched(top, name)


def _had(top: Path, commit: str) -> str:
    return _commit(top, commit) or _fetched(top, commit)


def _fetched(top: Path, name: str) -> str:
    """The commit of that name at the origin. A shallow clone stays shallow, a whole one whole."""
    shallow = _git(top, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    depth = ["--depth=1"] if shallow else []
    done = _git(top, "fetch", "--quiet", "--no-tags", *depth, "origin", name)
    commit = _commit(top, "FETCH_HEAD") if done.returncode == 0 else None
    if commit is None:
        raise StopError(
            f"the base {name} is not in this clone and could not be fetched ({_last_line(done.stderr)}); "
            "give actions/checkout `fetch-depth: 0`"
        )
    return commit


def _commit(top: Path, name: str) -> str | None:
    done = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return done.stdout.strip() if done.returncode == 0 else None


@contextlib.contextmanager
def checked_out(top: Path, commit: str, temp: Path) -> Iterator[Path]:
    """The commit in a folder of its own, gone again at the end. Raises StopError where git fails."""
    folder = Path(tempfile.mkdtemp(prefix="agenteval-base-", dir=temp))
    try:
        done = _git(top, "worktree", "add", "--detach", str(folder / "base"), commit)
        if done.returncode != 0:
            words = f"the base {commit[:12]} cannot be checked out: {_last_line(done.stderr)}"
            raise StopError(words, INCOMPLETE)
        yield folder / "base"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _git(top, "worktree", "prune")


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(folder), *_NO_HOOKS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def _last_line(said: str) -> str:
    lines = said.strip().splitlines()
    return lines[-1] if lines else "git did not say why"
