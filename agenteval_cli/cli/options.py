"""Options that commands share, declared once."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from agenteval_cli.cli.console import say
from agenteval_cli.errors import InvalidFilesError, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.repository import Loaded, Repository
    from agenteval_cli.selection import Selection


class Tier(StrEnum):
    """The tiers, as the command line offers them."""

    SMOKE = "smoke"
    REGRESSION = "regression"
    REPRESENTATIVE = "representative"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Directory = Annotated[str, typer.Option("-C", metavar="DIR", help="Work as if started in DIR.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.")]
Prepare = Annotated[
    str | None,
    typer.Option(metavar="COMMAND", help="Make a commit that is checked out for it runnable, as 'npm ci'."),
]
Tiers = Annotated[list[Tier] | None, typer.Option("--tier", help="Only cases of this tier; may be repeated.")]

Tag = Annotated[
    str | None,
    typer.Option("--tag", metavar="EXPR", help="""Only cases so tagged: 'billing and not (slow or "two words")'."""),
]
Owner = Annotated[str | None, typer.Option("--owner", metavar="NAME", help="Only cases of this owner.")]
Where = Annotated[
    list[str] | None, typer.Option("--where", metavar="KEY=VALUE", help="As metadata.intent=refund; may be repeated.")
]
Changed = Annotated[
    str | None, typer.Option("--changed", metavar="REF", help="Only cases whose digests differ from that git ref.")
]


def entered(directory: str) -> Path:
    """The folder the command works in, made the current one. Raises UsageError where there is none."""
    try:
        _settle_the_index(directory)
        os.chdir(directory)
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"-C {directory}: {error.strerror}") from error


def _settle_the_index(directory: str) -> None:
    """A hook's GIT_INDEX_FILE is relative to where git started us, and is not the index of another repository."""
    index = os.environ.get("GIT_INDEX_FILE")
    if index is None:
        return
    from agenteval_cli import git

    if git.top_of(Path.cwd()) != git.top_of(Path(directory).absolute()):
        del os.environ["GIT_INDEX_FILE"]
    else:
        os.environ["GIT_INDEX_FILE"] = str(Path(index).absolute())


class Picks(TypedDict, total=False):
    """The options that pick cases, by their parameter's name."""

    tier: list[Tier] | None
    case: list[str] | None
    tag: str | None
    owner: str | None
    where: list[str] | None
    failed: str | None
    changed: str | None


def selection_from(repository: Repository, loaded: Loaded, picks: Picks) -> Selection:
    """What the options ask for."""
    from agenteval_cli.selection import Selection

    changed = picks.get("changed")
    return Selection(
        tiers=tuple(picks.get("tier") or ()),
        cases=tuple(picks.get("case") or ()),
        tag=picks.get("tag"),
        owner=picks.get("owner"),
        where=tuple(picks.get("where") or ()),
        changed_since=changed,
        changed=changed_ids(repository, loaded, changed),
        failed_in=picks.get("failed"),
        failed=_failed_ids(repository, picks.get("failed")),
    )


def changed_ids(repository: Repository, loaded: Loaded, ref: str | None) -> frozenset[str] | None:
    """The cases that --changed asks for; None where it was not given."""
    if ref is None:
        return None
    from agenteval_cli.changed import changed_since

    return changed_since(repository, loaded.cases, ref)


def _failed_ids(repository: Repository, name: str | None) -> frozenset[str] | None:
    """The folded IDs of the cases that did not pass in the run; None where none was named."""
    if name is None:
        return None
    from agenteval_cli.lookup import find_run
    from agenteval_cli.summary import summary_of

    run = find_run(repository, name)
    cases = summary_of(run.record, run.attempts).cases
    return frozenset(case.id.casefold() for case in cases if case.verdict != "passed")


def a_number(value: float | None) -> float | None:
    """The value of an option, unless it is `nan`: that is in no range, and typer lets it through every one."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number")
    return value


def refuse_invalid(loaded: Loaded, wanted: Sequence[str]) -> None:
    """Raise InvalidFilesError: no case may be left out because its file is broken.

    Where cases are asked for by ID the others' files may be broken: that is said, and does not matter.
    """
    errors = loaded.errors
    if not errors:
        return
    valid = {item.case.id.casefold() for item in loaded.cases}
    by_id = bool(wanted) and all(name.casefold() in valid for name in wanted)
    if not by_id or any(problem.rule == "duplicate-id" for problem in errors):
        raise InvalidFilesError(errors)
    say(f"{count(len(errors), 'error')} in the files of other cases; see `agenteval validate`")
