"""agenteval baseline accept|show|diff"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import coloured, print_json, result, safe, say, table
from agenteval_cli.cli.options import Directory, Json, Quiet, Tiers, Verbose, entered
from agenteval_cli.errors import ExitCode, IncompleteError, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.baselines import Acceptance
    from agenteval_cli.records import RunRecord
    from agenteval_cli.store import Run

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)
_NAMED = 20


@app.callback()
def _baseline() -> None:
    """What the team has accepted: committed files in baselines/, which later runs are compared with.

    Each command takes --json, -C DIR, --quiet and --verbose.

    Example: agenteval baseline accept latest
    """


@app.command("accept")
def accept_run(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="A run ID, a folder, or a git ref; the latest run where absent.")
    ] = "latest",
    tier: Tiers = None,
    case: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this case; may be repeated.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept what is complete of a run that is not, and say what is left out.")
    ] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Accept what a run came to, passed and failed alike, as what later runs are compared with. Commit the files.

    Example: agenteval baseline accept --tier smoke
    """
    from agenteval_cli.baselines import accept, read_baselines, write_baselines
    from agenteval_cli.lookup import find_run
    from agenteval_cli.repository import open_repository

    repository = open_repository(entered(directory))
    found = find_run(repository, run)
    _refuse_what_is_no_run(found)
    _refuse_unknown(found.record, case or ())
    before = read_baselines(repository.root)
    done = accept(before, found, tiers=[str(each) for each in tier or ()], cases=case or ())
    _refuse_incomplete(found.record, done, partial=partial)
    write_baselines(repository.root, before, done.book)
    if json:
        print_json({"format": 1, "run": found.record.id, "files": done.files, "left_out": done.left_out})
        return ExitCode.OK
    _print(found.record, done, quiet=quiet, verbose=verbose)
    return ExitCode.OK


def _refuse_what_is_no_run(run: Run) -> None:
    from agenteval_cli.baselines import BASELINE

    if run.record.id == BASELINE:
        raise UsageError("the baseline is accepted already; name a run")
    if run.record.confirms is not None:
        words = f"only fresh attempts of what fell in {run.record.confirms.head}"
        raise UsageError(f"run {run.record.id} is {words}; accept that one")


def _refuse_unknown(record: RunRecord, cases: list[str] | tuple[()]) -> None:
    from agenteval_cli.problems import did_you_mean

    known = {planned.case.casefold(): planned.case for planned in record.plan}
    for case in cases:
        if case.casefold() not in known:
            raise UsageError(f"no case '{case}' in run {record.id}{did_you_mean(case, known.values())}")


def _refuse_incomplete(record: RunRecord, done: Acceptance, *, partial: bool) -> None:
    from agenteval_cli.records import FINISHED

    if not any(changed.added or changed.changed or changed.unchanged for changed in done.files):
        raise UsageError(f"run {record.id} has nothing to accept: no case with a verdict is selected")
    if partial or (record.status == FINISHED and not done.left_out):
        return
    what = f"{count(len(done.left_out), 'case')} without a verdict" if done.left_out else f"been {record.status}"
    raise IncompleteError(
        f"run {record.id} has {what}; `agenteval run --resume {record.id}` completes it, --partial accepts the rest"
    )


def _print(record: RunRecord, done: Acceptance, *, quiet: bool, verbose: bool) -> None:
    for changed in done.files:
        touched = (("new", changed.added), ("changed", changed.changed), ("removed", changed.removed))
        words = [f"{len(cases)} {name}" for name, cases in touched if cases]
        words += [f"{len(changed.unchanged)} as before"] if changed.unchanged else []
        if not quiet and words:
            result(f"{safe(changed.file)}: {', '.join(words)}")
    if done.left_out:
        most = len(done.left_out) if verbose else _NAMED
        names = ", ".join(safe(left.id) for left in done.left_out[:most])
        more = f" and {len(done.left_out) - most:,} more" if len(done.left_out) > most else ""
        say(coloured(f"not accepted, for want of a verdict: {names}{more}", "yellow"))
    if record.git.dirty:
        say(f"run {record.id} was made with uncommitted changes; commit them with the baseline")
    if not quiet:
        say("commit baselines/; later: agenteval baseline diff")


@app.command("show")
def show(
    tier: Tiers = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this agent.")] = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Show what is accepted.

    Example: agenteval baseline show --tier smoke
    """
    from agenteval_cli.baselines import read_baselines
    from agenteval_cli.repository import open_repository
    from agenteval_cli.statistics import wilson
    from agenteval_cli.summary import enough

    book = read_baselines(open_repository(entered(directory)).root)
    chosen = [
        (place, line)
        for place in sorted(book)
        for line in book[place]
        if (not tier or place[1] in tier) and agent in (None, place[0])
    ]
    verdicts = ["passed" if enough(line.passed, line.planned, line.min_pass_rate) else "failed" for _, line in chosen]
    if json:
        facts = [
            {
                "case": line.case,
                "agent": place[0],
                "tier": place[1],
                "verdict": verdict,
                "passed": line.passed,
                "graded": line.graded,
                "planned": line.planned,
                "interval": wilson(line.passed, line.graded),
                "run": line.run,
            }
            for (place, line), verdict in zip(chosen, verdicts, strict=True)
        ]
        print_json({"format": 1, "cases": facts})
        return ExitCode.OK
    rows = []
    for (place, line), verdict in zip(chosen, verdicts, strict=True):
        low, high = wilson(line.passed, line.graded)
        counts = f"{line.passed}/{line.graded}"
        names = (safe(line.case), safe(place[0]), place[1])
        digests = (line.input[:14], line.grade[:14]) if verbose else ()
        rows.append((*names, verdict, counts, f"{low:.0%} to {high:.0%}", safe(line.run), *digests))
    if rows:
        digests = ("INPUT", "GRADE") if verbose else ()
        table(rows, header=("CASE", "AGENT", "TIER", "VERDICT", "PASSED", "95 %", "RUN", *digests))
    elif not quiet:
        say("nothing is accepted" if not book else "no accepted case is selected")
    return ExitCode.OK


@app.command("diff")
def diff(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="A run ID, latest, previous, a folder, or a git ref.")
    ] = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Compare a run, the latest where absent, with what is accepted: `agenteval diff baseline RUN`.

    Example: agenteval baseline diff
    """
    from agenteval_cli.cli.diff_command import command

    return command(base="baseline", head=run, json=json, directory=directory, quiet=quiet, verbose=verbose)
