"""agenteval list"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenteval_cli.cli.console import print_json, safe, say, table
from agenteval_cli.cli.options import (
    Changed,
    Directory,
    Json,
    Owner,
    Picks,
    Quiet,
    Tag,
    Tiers,
    Verbose,
    Where,
    entered,
    selection_from,
)
from agenteval_cli.errors import ExitCode
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.case import Case


def command(
    tier: Tiers = None,
    tag: Tag = None,
    owner: Owner = None,
    where: Where = None,
    changed: Changed = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """List the cases: ID, tier, tags and title.

    Example: agenteval list --tag 'billing and not slow'
    """
    from agenteval_cli.repository import load, open_repository
    from agenteval_cli.selection import selected_of

    repository = open_repository(entered(directory))
    loaded = load(repository)
    picks = Picks(tier=tier, tag=tag, owner=owner, where=where, changed=changed)
    selection = selection_from(repository, loaded, picks)
    chosen = selected_of(loaded, selection)
    if json:
        cases = [
            {
                "id": item.case.id,
                "file": item.case.file,
                "title": item.case.title,
                "tier": item.case.tier,
                "tags": item.case.tags,
                "quarantined": item.case.quarantined,
                "metadata": item.case.data.get("metadata", {}),
                "digests": item.digests,
            }
            for item in chosen
        ]
        print_json({"format": 1, "cases": cases, "invalid": len({problem.file for problem in loaded.errors})})
    else:
        rows = [_row(item.case, verbose=verbose) for item in chosen]
        table(rows, header=("ID", "TIER", "TAGS", "TITLE", *(("FILE",) if verbose else ())))
        if not quiet:
            say(count(len(chosen), "case"))
    if loaded.errors:
        say(f"{count(len(loaded.errors), 'error')} in case files that are not listed; see `agenteval validate`")
        return ExitCode.USAGE
    return ExitCode.OK


def _row(case: Case, *, verbose: bool) -> tuple[str, ...]:
    mark = " (quarantined)" if case.quarantined else ""
    row = (case.id, case.tier, ",".join(case.tags), safe(case.title) + mark)
    return (*row, safe(case.file)) if verbose else row
