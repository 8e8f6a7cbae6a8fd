"""agenteval report"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.comparing import Gate, compared, exit_code_of
from agenteval_cli.cli.console import document, result, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from agenteval_cli.reports import Material
    from agenteval_cli.reports.interface import Compared, FindLine, ReadTranscript
    from agenteval_cli.repository import Repository
    from agenteval_cli.run_history import RunRate
    from agenteval_cli.store import Run

_LATEST = "latest"
_RANGE = re.compile(r"(?:(.*[^./])\.\.(?!\.)|\.\.(?![./]))(.*)")
_PART_OF_A_PATH = re.compile(r"[^.\[\]]+")
_SUMMARY = "GITHUB_STEP_SUMMARY"
_EVERY_SECONDS = 1.0
_EARLIER_RUNS = 29  # with this one a point each


@dataclass(frozen=True)
class Asked:
    """The run to report on, by its name, and what it is compared with, if it is; no base is the one of `diff`."""

    head: str = _LATEST
    base: str | None = None
    compares: bool = False


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
    rule: Annotated[
        Gate | None,
        typer.Option(help="The rule of that gate where two runs are compared; else as agenteval.yaml says."),
    ] = None,
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
    asked = _asked(runs or [])
    if rule is not None and not asked.compares:
        raise UsageError("--rule is for what changed between two runs; name both, or leave it out")
    by = rule or Gate(repository.config.on_diff)
    material = _material(repository, asked, chosen, by, watch=watch)
    while watch and material.run.record.status == "running":
        began = time.monotonic()
        _write(_text(material, chosen, verbose=verbose), target)
        time.sleep(max(0.0, _EVERY_SECONDS - (time.monotonic() - began)))
        asked = replace(asked, head=material.run.folder)
        material = _material(repository, asked, chosen, by, watch=watch)
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


def _asked(runs: list[str]) -> Asked:
    """One run, or a base and a head; what a range leaves out is what `agenteval diff` takes where it is not told."""
    if len(runs) > 2:
        raise UsageError(f"a report is on one run or on two, not on {len(runs)}")
    if len(runs) == 2:
        return Asked(runs[1], runs[0], compares=True)
    if not runs:
        return Asked()
    if os.path.exists(runs[0]):  # noqa: PTH110  # Path.exists fails where a name is longer than a path may be
        return Asked(runs[0])
    pair = _RANGE.fullmatch(runs[0])
    return Asked(pair[2] or _LATEST, pair[1], compares=True) if pair else Asked(runs[0])


# ---- reading


def _material(repository: Repository, asked: Asked, form: Format, rule: Gate, *, watch: bool) -> Material:
    """Everything that is read, so that what comes after is pure."""
    from agenteval_cli import git
    from agenteval_cli.lookup import find_run, find_run_to_resume
    from agenteval_cli.reports import Material
    from agenteval_cli.summary import summary_of

    run = (find_run_to_resume if watch else find_run)(repository, asked.head)
    top = git.top_of(repository.root) if form is Format.GITHUB else None
    prefix = repository.root.resolve().relative_to(top.resolve()).as_posix() if top else "."
    return Material(
        run=run,
        summary=summary_of(run.record, run.attempts),
        compared=_compared(repository, asked.base, run, rule) if asked.compares else None,
        line=_lines_in(repository.root),
        prefix="" if prefix == "." else f"{prefix}/",
        transcript=_transcripts_of(run),
        refresh=2 if run.record.status == "running" else None,
        earlier=_earlier(repository, run) if form is Format.HTML else (),
    )


def _earlier(repository: Repository, run: Run) -> tuple[RunRate, ...]:
    """The newest runs before this one that it can be held against."""
    from agenteval_cli.run_index import open_index

    with open_index(repository.root, repository.runs) as index:
        return index.rates_before(run.record, _EARLIER_RUNS)


def _compared(repository: Repository, base: str | None, head: Run, rule: Gate) -> Compared:
    from agenteval_cli.diff import gate_failures
    from agenteval_cli.reports.interface import Compared
    from agenteval_cli.store import read_run

    before, diff = compared(repository, base, head, read_run)
    failed = tuple(case.id for case in gate_failures(diff, rule))
    return Compared(diff, before, rule, failed, _transcripts_of(before))


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
            document(text.removesuffix("\n"))
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
    if material.compared is not None:
        return exit_code_of(material.compared.diff, material.compared.failed)
    codes = {"passed": ExitCode.OK, "failed": ExitCode.FAILURES, "incomplete": ExitCode.INCOMPLETE}
    return codes[material.summary.verdict]
