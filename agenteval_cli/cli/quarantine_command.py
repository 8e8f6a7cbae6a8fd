"""agenteval quarantine"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval_cli.cli.console import print_json, result, safe, say, table
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.authoring import Shelf
    from agenteval_cli.checking import Facts

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_Case = Annotated[str, typer.Argument(metavar="CASE", help="Its ID.")]


@app.callback()
def _quarantine() -> None:
    """Have cases run and be shown without gating, until somebody has looked at them.

    Each command takes --json, -C DIR, --quiet and --verbose.

    Example: agenteval quarantine add refund-by-post --reason "the stub is flaky" --until 2026-12-01
    """


@app.command("add")
def add(
    case: _Case,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why it must not gate.")],
    until: Annotated[str | None, typer.Option(metavar="DAY", help="When somebody looks again, as 2026-12-01.")] = None,
    issue: Annotated[str | None, typer.Option(metavar="TEXT", help="Where it is followed up.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="NAME", help="Who follows it up.")] = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Put a case into quarantine. One that is there keeps its first day, and what is not said anew.

    Example: agenteval quarantine add refund-by-post --reason "the stub is flaky" --issue "#88"
    """
    from agenteval_cli.authoring import day, quarantined, today

    if not reason.strip():
        raise UsageError("--reason is empty; say why the case must not gate")
    said = {"reason": reason, "since": today(), "until": until and day(until), "issue": issue, "owner": owner}
    given = {key: text for key, text in said.items() if text is not None}
    shelf, facts = _case(directory, case)
    after = _changed(shelf, facts, quarantined(shelf.source.raw(facts.file), given))
    _print(facts, after, f"{facts.id} is in quarantine", json=json, quiet=quiet, verbose=verbose)
    return ExitCode.OK


@app.command("remove")
def remove(
    case: _Case, json: Json = False, directory: Directory = ".", quiet: Quiet = False, verbose: Verbose = False
) -> int:
    """Let a case gate again.

    Example: agenteval quarantine remove refund-by-post
    """
    from agenteval_cli import edits, yaml_reader

    shelf, facts = _case(directory, case)
    raw = shelf.source.raw(facts.file)
    document = yaml_reader.read(facts.file, raw).document
    if document is not None and "quarantine" not in document.data:
        raise UsageError(f"'{facts.id}' is not in quarantine")
    after = _changed(shelf, facts, edits.without_key(raw, "quarantine"))
    _print(facts, after, f"{facts.id} gates again", json=json, quiet=quiet, verbose=verbose)
    return ExitCode.OK


@app.command("list")
def list_(json: Json = False, directory: Directory = ".", quiet: Quiet = False, verbose: Verbose = False) -> int:
    """List the cases in quarantine; a date that is past is marked.

    Example: agenteval quarantine list
    """
    from agenteval_cli.authoring import today
    from agenteval_cli.repository import load, open_repository

    loaded = load(open_repository(entered(directory)))
    now = today()
    cases = [
        _facts(item.case.id, item.case.file, item.case.data["quarantine"], now)
        for item in loaded.cases
        if "quarantine" in item.case.data
    ]
    if json:
        print_json({"format": 1, "cases": cases, "invalid": len({problem.file for problem in loaded.errors})})
    elif cases:
        header = ("ID", "SINCE", "UNTIL", "OWNER", "REASON", *(("ISSUE", "FILE") if verbose else ()))
        table([_row(facts, verbose=verbose) for facts in cases], header=header)
    if not quiet:
        past = sum(facts["past"] for facts in cases)
        say(f"{count(len(cases), 'case')} in quarantine" + (f", {past:,} past the date" if past else ""))
    if loaded.errors:
        say(f"{count(len(loaded.errors), 'error')} in case files that are not listed; see `agenteval validate`")
        return ExitCode.USAGE
    return ExitCode.OK


def _case(directory: str, case_id: str) -> tuple[Shelf, Facts]:
    from agenteval_cli.authoring import found, shelf_of, unknown
    from agenteval_cli.repository import open_repository

    shelf = shelf_of(open_repository(entered(directory)))
    facts = found(shelf, case_id)
    if facts is None:
        raise unknown(shelf, case_id)
    return shelf, facts


def _changed(shelf: Shelf, facts: Facts, raw: bytes) -> dict[str, Any]:
    """Write the case's file, unless that would not be valid; its data."""
    from agenteval_cli import writing, yaml_reader
    from agenteval_cli.authoring import refuse_errors
    from agenteval_cli.checking import check

    refuse_errors(check(shelf.context, facts.file, raw)[0].problems)
    writing.replace(shelf.repository.root / facts.file, raw)
    document = yaml_reader.read(facts.file, raw).document
    return document.data if document else {}


def _print(facts: Facts, data: dict[str, Any], words: str, *, json: bool, quiet: bool, verbose: bool) -> None:
    if json:
        print_json({"format": 1, "id": facts.id, "file": facts.file, "quarantine": data.get("quarantine")})
    else:
        result(safe(words))
    if verbose and not quiet:
        say(safe(f"changed {facts.file}"))


def _facts(case_id: str, file: str, quarantine: dict[str, str], now: str) -> dict[str, Any]:
    until = quarantine.get("until")
    said = {key: quarantine.get(key) for key in ("reason", "since", "until", "issue", "owner")}
    return {"id": case_id, "file": file, **said, "past": until is not None and until < now}


def _row(facts: dict[str, Any], *, verbose: bool) -> tuple[str, ...]:
    until = f"{facts['until']} (past)" if facts["past"] else facts["until"] or ""
    row = (facts["id"], facts["since"] or "", until, safe(facts["owner"] or ""), safe(facts["reason"]))
    return (*row, safe(facts["issue"] or ""), safe(facts["file"])) if verbose else row
