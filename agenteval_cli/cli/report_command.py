"""agenteval report"""

from __future__ import annotations

import os
import re
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import result, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from agenteval_cli.reports import Material
    from agenteval_cli.reports.interface import Compared, FindLine, ReadTranscript
    from agenteval_cli.repository import Repository
    from agenteval_cli.store import Run

_RANGE = re.compile(r"(.*[^./])\.\.([^.].*)")
_PART_OF_A_PATH = re.compile(r"[^.\[\]]+")
_SUMMARY = "GITHUB_STEP_SUMMARY"
_EVERY_SECONDS = 1.0


class Format(StrEnum):
    """The formats, as the command line offers them."""

    CONSOLE = "console"
    MARKDOWN = "markdown"
    GITHUB = "github"
    JUNIT = "junit"
    JSON = "json"
    CSV = "csv"
    HTML = "html"


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN | BASE..HEAD | BASE HEAD]", help="As `agenteval diff` names them; else latest."),
    ] = None,
    form: Annotated[Format | None, typer.Option("--format", help="What to make.", show_default="console")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of printing it.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Write it anew every second while the run is on.")] = False,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 or 3 as the run or the diff would have.")] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Report on a run, or on what changed between two, for people and for CI.

    Example: agenteval report main..latest --format html -o report.html
    """
    from agenteval_cli.repository import open_repository

    chosen = _format(form, json=json)
    if watch and output is None:
        raise UsageError("--watch writes the same file again and again; name it with -o FILE")
    target = None if output is None else Path(output).absolute()
    repository = open_repository(entered(directory))
    names = _names(runs or ["latest"])
    material = _material(repository, names, chosen, watch=watch)
    while watch and material.run.record.status == "running":
        began = time.monotonic()
        _write(_text(material, chosen, verbose=verbose), target)
        time.sleep(max(0.0, _EVERY_SECONDS - (time.monotonic() - began)))
        material = _material(repository, [*names[:-1], material.run.folder], chosen, watch=watch)
    _write(_text(material, chosen, verbose=verbose), target)
    if chosen is Format.GITHUB:
        _write_job_summary(material)
    if target is not None and not quiet:
        say(f"{material.run.record.id}: {chosen} in {output}")
    return _exit_code(material) if gate else ExitCode.OK


def _format(form: Format | None, *, json: bool) -> Format:
    if json and form not in (None, Format.JSON):
        raise UsageError(f"--json and --format {form} ask for two things; leave one out")
    return Format.JSON if json else form or Format.CONSOLE


def _names(runs: list[str]) -> list[str]:
    """One run, or a base and a head."""
    if len(runs) > 2:
        raise UsageError(f"a report is on one run or on two, not on {len(runs)}")
    if len(runs) == 2 or Path(runs[0]).exists():
        return runs
    pair = _RANGE.fullmatch(runs[0])
    return list(pair.groups()) if pair else runs


# ---- reading


def _material(repository: Repository, names: list[str], form: Format, *, watch: bool) -> Material:
    """Everything that is read, so that what comes after is pure."""
    from agenteval_cli import git
    from agenteval_cli.lookup import find_base, find_run, find_run_to_resume
    from agenteval_cli.reports import Material
    from agenteval_cli.store import read_run
    from agenteval_cli.summary import summary_of

    run = (find_run_to_resume if watch else find_run)(repository, names[-1])
    base = find_base(repository, names[0], run.record, read_run) if len(names) == 2 else None
    top = git.top_of(repository.root) if form is Format.GITHUB else None
    prefix = repository.root.resolve().relative_to(top.resolve()).as_posix() if top else "."
    return Material(
        run=run,
        summary=summary_of(run.record, run.attempts),
        compared=None if base is None else _compared(repository, base, run),
        line=_lines_in(repository.root),
        prefix="" if prefix == "." else f"{prefix}/",
        transcript=_transcripts_of(run),
        refresh=2 if run.record.status == "running" else None,
    )


def _compared(repository: Repository, base: Run, head: Run) -> Compared:
    from agenteval_cli.confirmation import confirmation_of
    from agenteval_cli.diff import diff_of, gate_failures
    from agenteval_cli.explaining import explained
    from agenteval_cli.reports.interface import Compared

    diff = diff_of(base, head, confirmation=confirmation_of(repository.runs, base, head))
    diff = explained(diff, base, head, repository.root)
    rule = repository.config.on_diff
    return Compared(diff, base, rule, tuple(case.id for case in gate_failures(diff, rule)))


def _transcripts_of(run: Run) -> ReadTranscript:
    """None for what cannot be read: the attempt's own record still tells how it ended."""
    from agenteval_cli.records import AttemptRecord, TranscriptRecord
    from agenteval_cli.store import read_transcript

    def read(attempt: AttemptRecord) -> TranscriptRecord | None:
        try:
            return read_transcript(run, attempt)
        except UsageError:
            return None

    return read


def _lines_in(root: Path) -> FindLine:
    """The line of the check that decided, in the case's file as it is now; 1 where that has none."""
    from agenteval_cli import yaml_reader
    from agenteval_cli.summary import CaseSummary

    def line(case: CaseSummary) -> int:
        try:
            document = yaml_reader.read(case.file, (root / case.file).read_bytes()).document
        except (OSError, ValueError):
            return 1
        parts = _PART_OF_A_PATH.findall(case.first_failed.name) if case.first_failed else []
        path = tuple(int(part) if part.isdecimal() else part for part in parts)
        return yaml_reader.position_of(document, path)[0] if document else 1

    return line


# ---- writing


def _text(material: Material, form: Format, *, verbose: bool) -> str:
    if form is Format.CONSOLE:
        return _console(material, verbose=verbose)
    from agenteval_cli.reports import render_of

    return render_of(form)(material)


def _console(material: Material, *, verbose: bool) -> str:
    """What `agenteval run` and `agenteval diff` print."""
    import io
    from contextlib import redirect_stderr, redirect_stdout

    from agenteval_cli.cli.diff_view import cases_shown, lines_of_cases, lines_of_whole
    from agenteval_cli.cli.run_report import print_run
    from agenteval_cli.cli.values_view import Frame

    text = io.StringIO()
    with redirect_stdout(text), redirect_stderr(text):
        print_run(material.run, material.summary, quiet=False, verbose=verbose)
        if material.compared is not None:
            diff = material.compared.diff
            result(f"\nbase {diff.base}\nhead {diff.head}")
            shown = cases_shown(diff, (), quiet=False, verbose=verbose)
            for line in (*lines_of_cases(shown, Frame(), verbose=verbose), *lines_of_whole(diff, (), verbose=verbose)):
                result(line)
    return text.getvalue()


def _write(text: str, target: Path | None) -> None:
    """All or nothing; a report that cannot be written is an error of the command."""
    if target is None:
        if text:
            result(text.removesuffix("\n"))
        return
    from agenteval_cli import writing

    writing.replace(target, text.encode())


def _write_job_summary(material: Material) -> None:
    """Where GitHub wants the summary of the step, after what other commands of the step wrote there."""
    name = os.environ.get(_SUMMARY)
    if not name:
        return
    from agenteval_cli.errors import IncompleteError
    from agenteval_cli.reports.github import job_summary

    try:
        with Path(name).open("ab") as file:
            text = job_summary(material, file.tell())
            file.write((text or "").encode())
    except OSError as error:
        raise IncompleteError(f"{_SUMMARY}: {name} cannot be written: {error.strerror}") from error
    if text is None:
        say(f"{_SUMMARY} is full; no summary was written")


def _exit_code(material: Material) -> ExitCode:
    """That of the run; of a diff, 1 where its gate fails and 3 where it is no evidence."""
    compared = material.compared
    if compared is None:
        codes = {"passed": ExitCode.OK, "failed": ExitCode.FAILURES, "incomplete": ExitCode.INCOMPLETE}
        return codes[material.summary.verdict]
    if compared.failed:
        return ExitCode.FAILURES
    rows = compared.diff.cases
    incomplete = any(case.reason.startswith("incomplete") and not case.quarantined for case in rows)
    return ExitCode.INCOMPLETE if incomplete or not compared.diff.compared else ExitCode.OK
