"""What git knows of the repository. git itself is asked, through NUL-separated output, never through a shell."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from agenteval_cli.errors import IncompleteError, UsageError

_OWN_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
_AS_WE_SAY = (  # whatever the user has configured for reading logs
    *("-c", "log.diffMerges=separate", "-c", "log.showRoot=true", "-c", "log.showSignature=false"),
    *("-c", "log.follow=false"),
)
_NEXT = "; `git fsck` tells whether it is damaged, and a partial clone needs its remote"
_EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
SUBMODULE = "160000"
LINK = "120000"


class GitState(msgspec.Struct, frozen=True):
    """Where the repository stood: None where there is no commit or branch; `dirty` counts untracked files too."""

    commit: str | None = None
    branch: str | None = None
    dirty: bool | None = None


class HistoryError(IncompleteError):
    """git could not tell what history holds: a partial clone away from its remote, a damaged repository."""


class Change(msgspec.Struct, frozen=True):
    """One file of one commit beside one parent: its blob before and after, None where it was not there."""

    file: str
    before: str | None
    after: str | None


class CommitChanges(msgspec.Struct, frozen=True):
    """What a commit changed beside each of its parents that it differs from; `parents` counts all of them."""

    commit: str
    parents: int
    beside: list[list[Change]]


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
    """The commit that a ref names, or None. Raises HistoryError for one that git has a name for and cannot read."""
    ask = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    raw = _git(root, *ask, f"{ref}^{{commit}}")
    if raw:
        return raw.decode().strip()
    named = (_git(root, *ask, ref) or b"").decode().strip()
    if named and named != ref and _git(root, "cat-file", "-t", named) is None:
        raise HistoryError(f"git cannot read the commit {named[:12]}{_NEXT}")
    return None


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
    """Path and blob of every file in the index below the folder; None outside git.

    A file in conflict has the blob "". Links, submodules and what `git add --intent-to-add` only announced are left
    out. Raises HistoryError for a broken index.
    """
    raw = _git(root, "ls-files", "--stage", "-z", "--", folder)
    if raw is None:
        if top_of(root) is not None:
            raise HistoryError(f"git cannot read its index{_NEXT}")
        return None
    found: dict[str, str] = {}
    for facts, _, name in (part.partition(b"\t") for part in raw.split(b"\0") if part):
        mode, blob, stage = facts.decode().split(" ")
        if mode not in (SUBMODULE, LINK):
            found[os.fsdecode(name)] = blob if stage == "0" else ""
    if any(blob in _EMPTY_BLOBS for blob in found.values()):
        added = _git(root, "diff", "--name-only", "--diff-filter=A", "--no-ext-diff", "--relative", "-z", "--", folder)
        for name in (added or b"").split(b"\0"):
            found.pop(os.fsdecode(name), None)
    return found


def newly_staged(root: Path, folder: str) -> dict[str, str]:
    """Path and blob of every file below the folder that the index has otherwise than HEAD.

    Raises HistoryError where git cannot tell.
    """
    form = ["--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--relative", "-z"]
    raw = _git(root, "diff", "--cached", *form, "--", folder)
    if raw is None:
        raise HistoryError(f"git cannot read its index{_NEXT}")
    found = ((os.fsdecode(part[5]), _blob(part[4])) for part in _LOG.finditer(raw))
    return {file: blob for file, blob in found if blob is not None}


def no_files(root: Path, folder: str) -> dict[str, str]:
    """The submodules and links below the folder in the index, with their modes."""
    raw = _git(root, "ls-files", "--stage", "-z", "--", folder) or b""
    entries = (part.partition(b"\t") for part in raw.split(b"\0") if part)
    modes = ((os.fsdecode(name), facts[:6].decode()) for facts, _, name in entries)
    return {name: mode for name, mode in modes if mode in (SUBMODULE, LINK)}


def submodules(root: Path, folder: str) -> list[str]:
    """The submodules below the folder."""
    return [name for name, mode in no_files(root, folder).items() if mode == SUBMODULE]


def not_checked_out(root: Path, folder: str) -> set[str]:
    """The files below the folder that a sparse checkout leaves out of the working tree."""
    raw = _git(root, "ls-files", "-t", "-z", "--", folder) or b""
    return {os.fsdecode(part[2:]) for part in raw.split(b"\0") if part.startswith(b"S ")}


def has_file(root: Path, commit: str, file: str) -> bool:
    """Whether a commit has the file, by its path from the root. Raises HistoryError where git cannot tell."""
    raw = _git(root, "ls-tree", "-z", "--name-only", commit, "--", file)
    if raw is None:
        raise HistoryError(f"git cannot read the commit {commit[:12]}{_NEXT}")
    return bool(raw)


def files_at(root: Path, commit: str, *folders: str) -> dict[str, str]:
    """Path and blob of every file below the folders in a commit. Raises HistoryError where git cannot tell."""
    raw = _git(root, "ls-tree", "-r", "-z", commit, "--", *folders)
    if raw is None:
        raise HistoryError(f"git cannot read the commit {commit[:12]}{_NEXT}")
    entries = (part.partition(b"\t") for part in raw.split(b"\0") if part)
    return {os.fsdecode(name): facts.split(b" ")[2].decode() for facts, _, name in entries if b" blob " in facts}


def contents(root: Path, blobs: Iterable[str]) -> dict[str, bytes]:
    """What the blobs hold, read by one git process. Raises HistoryError where git cannot read them."""
    wanted = list(dict.fromkeys(blobs))
    if not wanted:
        return {}
    raw = _git(root, "cat-file", "--batch", "--buffer", stdin="\n".join(wanted).encode() + b"\n")
    if raw is None:
        raise HistoryError(f"git cannot read its objects{_NEXT}")
    found: dict[str, bytes] = {}
    at = 0
    while at < len(raw):
        line = raw.index(b"\n", at)
        name, *facts = raw[at:line].decode().split(" ")
        at = line + 1
        if len(facts) != 2:
            raise HistoryError(f"git does not have all its objects{_NEXT}")
        if facts:
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


class Changes:
    """What the commits of `until` that `since` does not have changed below the folders, oldest first.

    A merge is compared with each of its parents. git is asked at once; its answer is taken apart at each iteration, a
    commit at a time, since histories are long. Raises HistoryError where git cannot tell.
    """

    def __init__(self, root: Path, folders: Iterable[str], since: str | None, until: str) -> None:
        span = [until] if since is None else [until, f"^{since}"]
        form = ["--topo-order", "--reverse", "--raw", "--no-renames", "--no-abbrev", "-z", "--format=%x01%H %P"]
        raw = _git(root, *_AS_WE_SAY, "log", *form, "--full-history", "-m", "--relative", *span, "--", *folders)
        if raw is None:
            raise HistoryError(f"git cannot read the history{_NEXT}")
        self._raw = raw

    def __iter__(self) -> Iterator[CommitChanges]:
        found: CommitChanges | None = None
        for part in _LOG.finditer(self._raw):
            commit, parents, before, after, file = part.groups()
            if commit is None and found is not None:
                found.beside[-1].append(Change(os.fsdecode(file), _blob(before), _blob(after)))
            elif commit is not None:
                if found is None or found.commit != commit.decode():
                    if found is not None:
                        yield found
                    found = CommitChanges(commit.decode(), len(parents.split()), [])
                found.beside.append([])
        if found is not None:
            yield found


# Either a commit with its parents, or one file with its modes, its blobs before and after, and its name.
_LOG = re.compile(rb"\x01([0-9a-f]+)([0-9a-f ]*)|:[0-7]+ [0-7]+ ([0-9a-f]+) ([0-9a-f]+) [A-Z][0-9]*\0([^\0]+)")


def _blob(name: bytes) -> str | None:
    return name.decode() if name.strip(b"0") else None


def _git(folder: Path, *arguments: str, stdin: bytes = b"", failing_is_fine: bool = False) -> bytes | None:
    """What git prints, or None where it fails or is not there.

    A hook's GIT_DIR does not lead it to another repository; its GIT_INDEX_FILE holds: a partial commit is staged there.
    """
    env = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
    env["GIT_OPTIONAL_LOCKS"] = "0"
    env["GIT_LITERAL_PATHSPECS"] = "1"  # a folder may be called "[a]"
    env["LC_ALL"] = "C"
    done = _ran(folder, arguments, env, stdin)
    if (
        done is not None
        and done.returncode == 128
        and "GIT_DIR" in os.environ
        and b"not a git repository" in done.stderr
    ):
        # A repository that only git was told of, as in `git --git-dir=… --work-tree=… commit`.
        told = {name: os.environ[name] for name in ("GIT_DIR", "GIT_WORK_TREE") if name in os.environ}
        done = _ran(folder, arguments, {**env, **told}, stdin)
    if done is None:
        return None
    if b"dubious ownership" in done.stderr:
        raise UsageError(f"git will not read {folder}: {done.stderr.decode(errors='replace').splitlines()[0]}")
    return done.stdout if done.returncode == 0 or failing_is_fine else None


def _ran(
    folder: Path, arguments: tuple[str, ...], env: dict[str, str], stdin: bytes
) -> subprocess.CompletedProcess[bytes] | None:
    command = ["git", "-C", os.fspath(folder), "-c", "core.quotePath=false", *arguments]
    try:
        return subprocess.run(command, env=env, input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        return None
