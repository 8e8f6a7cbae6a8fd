"""Which cases differ from those of a git ref: by their digests, not by their files."""

from __future__ import annotations

from collections.abc import Sequence

from agenteval_cli import git
from agenteval_cli.digests import Digests
from agenteval_cli.errors import UsageError
from agenteval_cli.repository import LoadedCase, Repository, load
from agenteval_cli.sources import Commit


def changed_since(repository: Repository, cases: Sequence[LoadedCase], ref: str) -> frozenset[str]:
    """The IDs of cases that are new since the ref, or whose input or grade digest differs from what it was there.

    Raises UsageError where the ref cannot be reached; in a shallow clone with the command that brings it.
    """
    commit = git.commit_of(repository.root, ref)
    if commit is None:
        _, shallow = git.head_of(repository.root)
        hint = "; the clone is shallow: `git fetch --unshallow`" if shallow else ""
        raise UsageError(f"no commit '{ref}' to compare with{hint}")
    source = Commit(repository.root, commit)
    there = load(repository, list(source.listing(repository.config.cases)), source)
    before = {loaded.case.id.casefold(): loaded.digests for loaded in there.cases}
    return frozenset(loaded.case.id for loaded in cases if _differs(loaded, before.get(loaded.case.id.casefold())))


def _differs(loaded: LoadedCase, before: Digests | None) -> bool:
    return before is None or (before.input, before.grade) != (loaded.digests.input, loaded.digests.grade)
