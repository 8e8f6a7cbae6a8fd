"""agenteval show"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import coloured, print_json, result, safe, width_of_results
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError

_MOST_COMMITS = 10

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agenteval_cli.records import AttemptRecord, TranscriptRecord
    from agenteval_cli.repository import LoadedCase, Repository
    from agenteval_cli.store import Run


def command(
    case: Annotated[str | None, typer.Argument(metavar="[CASE]", help="The ID of a case.", show_default=False)] = None,
    run: Annotated[str | None, typer.Option(metavar="RUN", help="Show its attempts in this run.")] = None,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="Read this attempt of it; else the first that did not pass.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Show what the agent printed, not what was made of it.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Cut nothing, however long.")] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Show one case as the tool understands it, or what the agent said and did with it in a run.

    With a run and no case: what the run came to.

    Example: agenteval show refund-inside-window --run latest
    """
    from agenteval_cli.repository import open_repository

    if run is None and case is None:
        raise UsageError("show what? Name a case, a run with --run, or both")
    if (run is None or case is None) and (attempt is not None or raw):
        raise UsageError("--attempt and --raw are for the attempts of a case in a run; name both")
    repository = open_repository(entered(directory))
    if run is None:
        _show_case(repository, str(case), json=json, full=full)
        return ExitCode.OK
    from agenteval_cli.lookup import find_run

    found = find_run(repository, run)
    if case is None:
        _show_run(found, repository.root, json=json, quiet=quiet, verbose=verbose)
    elif json:
        _print_records(found, _attempts_of(found, case, attempt))
    else:
        _show_attempts(found, case, attempt, raw=raw, full=full, quiet=quiet, verbose=verbose)
    return ExitCode.OK


# ---- a case


def _show_case(repository: Repository, case: str, *, json: bool, full: bool) -> None:
    from agenteval_cli import git

    loaded = _loaded(repository, case)
    history = git.log_of(repository.root, loaded.case.file, _MOST_COMMITS)
    if json:
        facts = {"file": loaded.case.file, "digests": loaded.digests, "case": loaded.case.data, "history": history}
        print_json({"format": 1, **facts})
        return
    from agenteval_cli.cli.case_view import lines_of_case
    from agenteval_cli.cli.values_view import Frame

    for line in lines_of_case(loaded, _fixtures_of(repository, loaded), history, Frame(full=full)):
        result(line)


def _loaded(repository: Repository, case: str) -> LoadedCase:
    from agenteval_cli.repository import load
    from agenteval_cli.selection import Selection, selected_of

    return selected_of(load(repository), Selection(cases=(case,)))[0]


def _fixtures_of(repository: Repository, loaded: LoadedCase) -> list[str]:
    """The fixtures that the case's file names, which are resolved in the case itself."""
    from agenteval_cli import yaml_reader

    document = yaml_reader.read(loaded.case.file, (repository.root / loaded.case.file).read_bytes()).document
    tools = document.data.get("tools", ()) if document else ()
    return list(dict.fromkeys(tool["use"] for tool in tools if "use" in tool))


# ---- a run


def _show_run(run: Run, root: Path, *, json: bool, quiet: bool, verbose: bool) -> None:
    from agenteval_cli.cli.run_report import print_run, run_facts
    from agenteval_cli.summary import summary_of

    summary = summary_of(run.record, run.attempts)
    if json:
        print_json(run_facts(run, summary))
    else:
        result(_about(run))
        print_run(run, summary, quiet=quiet, verbose=verbose)
        if run.record.judges:
            from agenteval_cli.cli.judged_view import print_judged

            print_judged(run.record, run.attempts, root)


def _about(run: Run) -> str:
    """`run 2026… with support, commit c0ffee12 with changes, interrupted`"""
    record = run.record
    words = [f"run {record.id} with {', '.join(safe(agent.name) for agent in record.agents)}"]
    if record.git.commit:
        words.append(f"commit {record.git.commit[:12]}{' with changes' if record.git.dirty else ''}")
    if record.graded:
        words.append(f"graded from {record.graded_from}" if record.graded_from else "graded without an agent")
    words += [record.status] if record.status != "finished" else []
    words += [f"stopped early by {safe(record.stopped)}"] if record.stopped else []
    return ", ".join(words)


# ---- attempts


def _attempts_of(run: Run, case: str, attempt: int | None) -> list[AttemptRecord]:
    """The records of the case, or of one attempt of it, in order. Raises UsageError where there is none."""
    mine = (item for item in run.attempts if item.case.casefold() == case.casefold())
    found = [item for item in mine if attempt in (None, item.attempt)]
    if not found:
        raise UsageError(_why_nothing(run, case, attempt))
    return sorted(found, key=lambda item: item.attempt)  # tries of one in the order in which they ended


def _why_nothing(run: Run, case: str, attempt: int | None) -> str:
    from agenteval_cli.problems import did_you_mean

    planned = [item.case for item in run.record.plan]
    if case.casefold() not in {item.casefold() for item in planned}:
        return f"no case '{case}' in run {run.record.id}{did_you_mean(case, planned)}"
    which = f"attempt {attempt}" if attempt else "attempt"
    return f"no {which} of '{case}' has ended in run {run.record.id}"


def _print_records(run: Run, attempts: Sequence[AttemptRecord]) -> None:
    from agenteval_cli.store import read_transcript

    facts = [{"attempt": attempt, "transcript": read_transcript(run, attempt)} for attempt in attempts]
    print_json({"format": 1, "run": run.record.id, "attempts": facts})


def _show_attempts(
    run: Run, case: str, attempt: int | None, *, raw: bool, full: bool, quiet: bool, verbose: bool
) -> None:
    """The list of all attempts where there are several, and one of them to be read."""
    from agenteval_cli.cli.attempt_view import lines_of_attempt, print_list
    from agenteval_cli.cli.values_view import Frame

    frame = Frame(width_of_results(), full=full)
    attempts = _attempts_of(run, case, None)
    chosen = _chosen(_attempts_of(run, case, attempt), attempt)
    result(f"{_title(run, chosen)}\nrun {run.record.id}")
    if len(attempts) > 1:
        print_list(attempts, chosen, frame, every=verbose or full)
    result()
    for line in lines_of_attempt(chosen, _transcript(run, chosen), frame, raw=raw, brief=quiet, verbose=verbose):
        result(line)


def _chosen(attempts: Sequence[AttemptRecord], number: int | None) -> AttemptRecord:
    """What was asked for, else the first attempt that did not pass, or the first; of its tries the one that counts."""
    from agenteval_cli.summary import counted

    last = {(item.case, item.attempt): item for item in attempts}
    tries = tuple((last | counted(attempts)).values())
    return next((item for item in tries if number or item.status != "passed"), tries[0])


def _title(run: Run, attempt: AttemptRecord) -> str:
    title = next((item.title for item in run.record.plan if item.case == attempt.case), "")
    return coloured(safe(attempt.case), "bold") + (f"  {safe(title)}" if title else "")


def _transcript(run: Run, attempt: AttemptRecord) -> TranscriptRecord | None:
    """None where it cannot be read: the attempt's own record still tells how it ended."""
    from agenteval_cli.store import read_transcript

    try:
        return read_transcript(run, attempt)
    except UsageError:
        return None
