"""agenteval retire"""

from __future__ import annotations

from typing import Annotated

import typer

from agenteval_cli.cli.console import print_json, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError


def command(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Its ID; also of a case that vanished.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why it goes: kept for ever.")],
    replaced_by: Annotated[
        str | None, typer.Option("--replaced-by", metavar="ID", help="The case that takes over.")
    ] = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Retire a case: its ID goes into the ledger, so that it is never used again, and its file is removed.

    Example: agenteval retire refund-by-fax --reason "nobody sends a fax any more"
    """
    from agenteval_cli import writing
    from agenteval_cli.authoring import shelf_of, today
    from agenteval_cli.repository import open_repository
    from agenteval_cli.retiring import carry_out, retirement_of

    if not reason.strip():
        raise UsageError("--reason is empty; say why the case goes")
    repository = open_repository(entered(directory))
    with writing.locked(repository.root):
        shelf = shelf_of(repository)
        retirement = retirement_of(shelf, case, reason, today(), replaced_by)
        carry_out(shelf, retirement)
    if json:
        facts = {"format": 1, "id": retirement.id, "ledger": shelf.ledger_file}
        print_json({**facts, "entry": retirement.entry, "removed": retirement.file})
    else:
        result(f"retired {safe(retirement.id)}" + (f"; removed {safe(retirement.file)}" if retirement.file else ""))
    if retirement.entry is None:
        say(f"{shelf.ledger_file} had the ID already and was left as it is")
    elif verbose or not quiet:
        say(f"{shelf.ledger_file} has it now; commit both together")
    return ExitCode.OK
