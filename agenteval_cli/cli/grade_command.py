"""agenteval grade"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval_cli.cli.console import print_json, safe, say
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
    refuse_invalid,
    selection_from,
)
from agenteval_cli.cli.run_options import Case, Concurrency
from agenteval_cli.errors import ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.grade_orders import GradeWishes
    from agenteval_cli.graded_answers import GradeOrder
    from agenteval_cli.repository import Loaded, LoadedCase, Repository
    from agenteval_cli.selection import Selection

_CODES = {"passed": ExitCode.OK, "failed": ExitCode.FAILURES, "incomplete": ExitCode.INCOMPLETE}
_MATCHES = ("exact", "contains", "similar", "judged")
_SOURCES = ("--run", "--transcript", "--recordings", "--dataset")


_RunToGrade = Annotated[str | None, typer.Option(metavar="RUN", help="Grade the attempts of that run again.")]
_Transcripts = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="Grade this answer to the --case; each of several is an attempt."),
]
_TranscriptFormat = Annotated[
    str | None, typer.Option(metavar="NAME", help="The format of the transcripts; else it is found out.")
]
_Dataset = Annotated[
    str | None, typer.Option(metavar="FILE", help="Grade records of input and actualOutput: JSON, JSONL or YAML.")
]
_Match = Annotated[
    str | None,
    typer.Option(metavar="HOW", help=f"How a dataset's expectedOutput is compared: {', '.join(_MATCHES)}."),
]
_CriteriaAsked = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Judge each record of a dataset by this; a metric's name, or a sentence."),
]
_FailedOnly = Annotated[
    bool, typer.Option("--failed", help="Only the cases of the run of which an attempt did not pass.")
]
_AskAgain = Annotated[bool, typer.Option("--ask-again", help="Ask judges anew, also where the run has their answer.")]


def command(
    run: _RunToGrade = None,
    transcript: _Transcripts = None,
    format: _TranscriptFormat = None,  # noqa: A002  # the word of agenteval.yaml
    recordings: Annotated[bool, typer.Option("--recordings", help="Grade the recordings of cases.")] = False,
    dataset: _Dataset = None,
    match: _Match = None,
    criterion: _CriteriaAsked = None,
    tier: Tiers = None,
    case: Case = None,
    tag: Tag = None,
    owner: Owner = None,
    where: Where = None,
    changed: Changed = None,
    failed: _FailedOnly = False,
    ask_again: _AskAgain = False,
    concurrency: Concurrency = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Grade answers that are there already, without starting an agent, and keep the verdicts as a run.

    Example: agenteval grade --run latest
    """
    from agenteval_cli.grade_orders import GradeWishes
    from agenteval_cli.repository import open_repository

    given = dict(zip(_SOURCES, (run, transcript, recordings, dataset), strict=True))
    _refuse_other_than_one([name for name, value in given.items() if value])
    picks = {"--tier": tier, "--case": case, "--tag": tag, "--owner": owner, "--where": where, "--changed": changed}
    _refuse_beside("--dataset", dataset is not None, {**picks, "--format": format})
    _refuse_beside("--run or --recordings", bool(run or recordings), {"--format": format})
    _refuse_beside("answers of no run", run is None, {"--failed": failed or None})
    _refuse_beside("cases of the repository", dataset is None, {"--match": match, "--criterion": criterion})
    repository = open_repository(entered(directory))
    wishes = GradeWishes(concurrency=concurrency, ask_again=ask_again)
    if dataset is not None:
        return _graded(_of_dataset(repository, dataset, match, criterion or [], wishes), json, quiet, verbose)
    loaded = _loaded(repository, case or ())
    chosen = Picks(tier=tier, case=case, tag=tag, owner=owner, where=where, changed=changed)
    selection = selection_from(repository, loaded, chosen)
    if run is not None:
        order = _of_run(repository, loaded, selection, run, wishes, failed=failed)
    elif transcript:
        order = _of_transcripts(repository, loaded, selection, transcript, format or "auto", wishes)
    else:
        order = _of_recordings(repository, loaded, selection, wishes)
    return _graded(order, json, quiet, verbose)


# ---- what was asked


def _refuse_other_than_one(given: Sequence[str]) -> None:
    if not given:
        raise UsageError(f"grade what? Name one of {', '.join(_SOURCES)}; see `agenteval grade --help`")
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: each makes a run of its own; give one of them")


def _refuse_beside(what: str, asked: bool, options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if asked and value not in (None, [])]
    if given:
        raise UsageError(f"{', '.join(given)} says nothing about {what}; leave it out")


def _loaded(repository: Repository, wanted: Sequence[str]) -> Loaded:
    """All cases. Raises InvalidFilesError for invalid files, but where valid cases are asked for by their IDs."""
    from agenteval_cli.repository import load

    loaded = load(repository)
    refuse_invalid(loaded, wanted)
    return loaded


def _of_run(
    repository: Repository, loaded: Loaded, selection: Selection, name: str, wishes: GradeWishes, *, failed: bool
) -> GradeOrder:
    from agenteval_cli.grade_orders import gone_from, not_passed, order_of_run
    from agenteval_cli.lookup import find_run
    from agenteval_cli.selection import selected

    earlier = find_run(repository, name)
    chosen = selected(loaded.cases, selection)
    _refuse_what_the_run_has_not(selection.cases, chosen, {planned.case for planned in earlier.record.plan}, name)
    gone = gone_from(earlier, loaded.cases) if chosen == list(loaded.cases) else []
    if gone:
        names = ", ".join([*map(safe, gone[:5]), *["…"] * (len(gone) > 5)])
        say(f"{count(len(gone), 'case')} of the run left out, since no case file has the ID any more: {names}")
    if failed:
        open_ones = not_passed(earlier)
        chosen = [item for item in chosen if item.case.id.casefold() in open_ones]
        if not chosen:
            raise UsageError(f"nothing to grade: every attempt of run {earlier.record.id} on the selected cases passed")
    return order_of_run(repository, chosen, earlier, wishes, os.environ, loaded.cases)


def _refuse_what_the_run_has_not(
    wanted: Sequence[str], chosen: Sequence[LoadedCase], there: set[str], name: str
) -> None:
    known = {case.casefold() for case in there}
    by_id = {text.casefold() for text in wanted}
    for item in chosen:
        if item.case.id.casefold() in by_id - known:
            raise UsageError(f"run {name} has no case '{item.case.id}'")


def _of_transcripts(
    repository: Repository,
    loaded: Loaded,
    selection: Selection,
    files: Sequence[str],
    format: str,  # noqa: A002  # the same
    wishes: GradeWishes,
) -> GradeOrder:
    from agenteval_cli.grade_orders import of_transcripts, order_of_answers
    from agenteval_cli.selection import selected

    if not selection.cases:
        raise UsageError("--transcript answers which case? Name it with --case")
    chosen = selected(loaded.cases, selection)
    if len(chosen) > 1:
        raise UsageError(f"--transcript answers one case; {count(len(chosen), 'case')} are selected")
    source, answers = of_transcripts(chosen[0], files, format)
    return order_of_answers(repository, source, answers, wishes, os.environ, loaded.cases)


def _of_recordings(repository: Repository, loaded: Loaded, selection: Selection, wishes: GradeWishes) -> GradeOrder:
    from agenteval_cli.grade_orders import of_recordings, order_of_answers
    from agenteval_cli.selection import is_glob, selected

    chosen = selected(loaded.cases, selection)
    without = [item.case.id for item in chosen if "recording" not in item.case.data]
    named = {text.casefold() for text in selection.cases if not is_glob(text)}
    asked_for = next((case for case in without if case.casefold() in named), None)
    if asked_for is not None:
        raise UsageError(f"'{asked_for}' has no recording; there is nothing to grade")
    source, answers = of_recordings(chosen)
    if without:
        say(f"{count(len(without), 'selected case')} without a recording left out")
    return order_of_answers(repository, source, answers, wishes, os.environ, loaded.cases)


def _of_dataset(
    repository: Repository, file: str, match: str | None, criteria: Sequence[str], wishes: GradeWishes
) -> GradeOrder:
    from agenteval_cli.grade_orders import of_dataset, order_of_answers
    from agenteval_cli.metrics.registry import METRICS
    from agenteval_cli.problems import did_you_mean

    if match not in (None, *_MATCHES):
        raise UsageError(f"--match {match}: write one of {', '.join(_MATCHES)}{did_you_mean(str(match), _MATCHES)}")
    for text in criteria:
        near = "" if text in METRICS or " " in text else did_you_mean(text, METRICS)
        if near:
            raise UsageError(f"--criterion {text}: no metric has this name{near}")
    asked: list[str | dict[str, Any]] = [
        {"metric": text, "gate": True} if text in METRICS else text for text in criteria
    ]
    source, answers = of_dataset(file, match, asked)
    return order_of_answers(repository, source, answers, wishes, os.environ)


# ---- grading, and what came of it


def _graded(order: GradeOrder, json: bool, quiet: bool, verbose: bool) -> int:
    from agenteval_cli.cli.grade_report import grade_facts, print_graded
    from agenteval_cli.cli.progress import Progress
    from agenteval_cli.records import INTERRUPTED
    from agenteval_cli.regrading import grade

    ended = grade(order, Progress(sys.stderr, quiet=quiet, verbose=verbose))
    if json:
        print_json(grade_facts(ended))
    else:
        print_graded(ended, quiet=quiet, verbose=verbose)
    if ended.record.status == INTERRUPTED:
        say("interrupted; what was graded is kept; grade again for the rest")
        return ExitCode.INTERRUPTED
    return _CODES[ended.summary.verdict]
