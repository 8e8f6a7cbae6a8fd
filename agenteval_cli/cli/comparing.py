"""What `diff` and `report` have in common: the two runs, the rule they are judged by, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Sized
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agenteval_cli.errors import ExitCode

if TYPE_CHECKING:
    from agenteval_cli.diff import RunDiff
    from agenteval_cli.outcomes import AnyRun
    from agenteval_cli.repository import Repository
    from agenteval_cli.store import Run

    Read = TypeVar("Read", bound=AnyRun)


class Gate(StrEnum):
    """The rules of the gate, as the command line offers them."""

    BROKE = "broke"
    SIGNIFICANT = "significant"


def compared(
    repository: Repository,
    base: str | None,
    head: Run | Read,
    read: Callable[[Path], Read],
    *,
    include_edited: bool = False,
    by: tuple[str, ...] = (),
) -> tuple[Run | Read, RunDiff]:
    """The base, as lookup.find_base finds it and `read` reads it, and what changed from it to the head.

    `by` are keys of the metadata to take the whole apart by. Raises UsageError where there is no such base.
    """
    from agenteval_cli.confirmation import confirmation_of
    from agenteval_cli.diff import diff_of
    from agenteval_cli.explaining import explained
    from agenteval_cli.lookup import find_base

    before = find_base(repository, base, head.record, read)
    fresh = confirmation_of(repository.runs, before, head)
    diff = diff_of(before, head, include_edited=include_edited, by=by, confirmation=fresh)
    return before, explained(diff, before, head, repository.root)


def exit_code_of(diff: RunDiff, failures: Sized) -> ExitCode:
    """A gate that fails is 1; a diff that compared nothing, or met an incomplete case, is no evidence and no pass."""
    if failures:
        return ExitCode.FAILURES
    from agenteval_cli.diff import incomplete_in

    return ExitCode.INCOMPLETE if incomplete_in(diff) or not diff.compared else ExitCode.OK
