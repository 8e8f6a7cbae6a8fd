"""What git knows of the repository. git itself is asked, through NUL-separated output, never through a shell."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

_OWN_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
SUBMODULE = "160000"


class GitState(msgspec.Struct, frozen=True):
    """Where the repository stood: None where there is no commit or branch; `dirty` counts untracked files too."""

    commit: str | None = None
    branch: str | None = None
    dirty: bool | None = None


class Change(msgspec.Struct, frozen=True):
    """One file of one commit: its blob before and after, None where it was not there."""

    commit: str
    file: str
    before: str | None
    after: str | None


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


def head_of(root: Path) -> tuple[str | None, bool | None]:
    """The commit of HEAD, None before the first, and whether history is cut off; None for that outside git."""
    raw = _git(root, "rev-parse", "--is-shallow-repository", "HEAD", failing_is_fine=True)
    lines = raw.decode().split() if raw else []
    if not lines:
        return None, None
    commit = lines[1] if len(lines) > 1 and lines[1] != "HEAD" else None
    return commit, lines[0] == "true"


def is_ancestor(root: Path, old: str, new: str) -> bool:
    """Whether everything that `old` has in its history is also in that of `new`."""
    return _git(root, "merge-base", "--is-ancestor", old, new) is not None


def staged_files(root: Path, folder: str) -> dict[str, str] | None:
    """Path and blob of every file in the index below the folder; None outside git. Conflicted entries have no blob."""
    raw = _git(root, "ls-files", "--stage", "-z", "--", folder)
    if raw is None:
        return None
    entries = [
        (facts.split(b" "), name) for facts, _, name in (part.partition(b"\t") for part in raw.split(b"\0") if part)
    ]
    return {os.fsdecode(name): blob.decode() for (mode, blob, _), name in entries if mode.decode() != SUBMODULE}


def submodules(root: Path, folder: str) -> list[str]:
    """The submodules below the folder."""
    raw = _git(root, "ls-files", "--stage", "-z", "--", folder) or b""
    entries = (part.partition(b"\t") for part in raw.split(b"\0") if part)
    return [os.fsdecode(name) for facts, _, name in entries if facts.startswith(SUBMODULE.encode())]


def files_at(root: Path, commit: str, folder: str) -> dict[str, str]:
    """Path and blob of every file below the folder in a commit."""
    raw = _git(root, "ls-tree", "-r", "-z", commit, "--", folder) or b""
    entries = (part.partition(b"\t") for part in raw.split(b"\0") if part)
    return {os.fsdecode(name): facts.split(b" ")[2].decode() for facts, _, name in entries if b" blob " in facts}


def contents(root: Path, blobs: Iterable[str]) -> dict[str, bytes]:
    """What the blobs hold, read by one git process."""
    wanted = list(dict.fromkeys(blobs))
    if not wanted:
        return {}
    raw = _git(root, "cat-file", "--batch", "--buffer", stdin="\n".join(wanted).encode() + b"\n") or b""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(raw):
        line = raw.index(b"\n", at)
        name, *facts = raw[at:line].decode().split(" ")
        at = line + 1
        if len(facts) == 2:
            size = int(facts[1])
            found[name] = raw[at : at + size]
            at += size + 1
    return found


class LogEntry(msgspec.Struct, frozen=True):
    """One commit that touched a file: its short name, its day, its first line."""

    commit: str
    day: str
    subject: str


def log_of(root: Path, file: str, most: int) -> list[LogEntry]:
    """The newest commits that touched the file, across renames, newest first; none outside git."""
    form = ["--follow", f"--max-count={most}", "-z", "--format=%h%x01%cs%x01%s"]
    raw = _git(root, "log", *form, "--", file) or b""
    lines = (part.decode("utf-8", "replace").split("\x01", 2) for part in raw.split(b"\0") if part.strip())
    return [LogEntry(*line) for line in lines if len(line) == 3]


def changes(root: Path, folder: str, since: str | None, until: str) -> Iterator[Change]:
    """Every change of a file below the folder in the commits of `until` that `since` does not have, oldest first.

    A merge counts with what it has unlike each of its parents.
    """
    span = [until] if since is None else [until, f"^{since}"]
    form = [
        "--topo-order",
        "--reverse",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        "-z",
        "--format=%x01%H",
        "-c",
        "--relative",
    ]
    raw = _git(root, "log", *form, *span, "--", folder)
    commit = ""
    parts = iter((raw or b"").split(b"\0"))
    for part in parts:
        text = part.lstrip(b"\n")
        if text.startswith(b"\x01"):
            commit = text[1:].decode()
        elif text.startswith(b":"):
            parents = len(text) - len(text.lstrip(b":"))
            blobs = text.lstrip(b":").split(b" ")[parents + 1 :]
            before = next((blob for blob in blobs[:parents] if blob.strip(b"0")), None)
            after = blobs[parents] if blobs[parents].strip(b"0") else None
            name = os.fsdecode(next(parts))
            yield Change(commit, name, before.decode() if before else None, after.decode() if after else None)


def _git(folder: Path, *arguments: str, stdin: bytes = b"", failing_is_fine: bool = False) -> bytes | None:
    """What git prints, or None where it fails or is not there.

    A hook's GIT_DIR does not lead it to another repository; its GIT_INDEX_FILE holds: a partial commit is staged there.
    """
    env = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
    env["GIT_OPTIONAL_LOCKS"] = "0"
    command = ["git", "-C", os.fspath(folder), "-c", "core.quotePath=false", *arguments]
    try:
        done = subprocess.run(command, env=env, input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 or failing_is_fine else None
