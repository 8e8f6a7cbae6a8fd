"""agenteval calibrate"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import print_json, result, safe, say, table
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, IncompleteError, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agenteval_cli.calibrating import Asked
    from agenteval_cli.calibration import Calibration, Scores
    from agenteval_cli.judge_config import JudgeConfig
    from agenteval_cli.judges import ReadyJudge
    from agenteval_cli.labels import Label
    from agenteval_cli.repository import Repository

_MOST_DISPUTED = 10


def command(
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="The judge; else the default one.")] = None,
    again: Annotated[int, typer.Option(min=0, max=20, help="How often each question is asked once more.")] = 1,
    no_probes: Annotated[
        bool, typer.Option("--no-probes", help="Do not look for biases of position and length.")
    ] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Hold a judge against the labels of people in labels/, and keep the result in calibrations/.

    Example: agenteval calibrate --judge default
    """
    from agenteval_cli.judges import made_ready
    from agenteval_cli.repository import open_repository

    repository = open_repository(entered(directory))
    ready = made_ready(_chosen(repository, judge), repository.root, os.environ)
    labels = _labels(repository, quiet=quiet)
    if not quiet:
        forms = 1 + again + (0 if no_probes else 2)
        say(f"asking {ready.config.name} {count(len(labels) * forms, 'question')} about {count(len(labels), 'label')}")
    asked = _asked(repository, ready, labels, again, probes=not no_probes)
    if asked.faults:
        place, why = asked.faults[0]
        raise IncompleteError(
            f"the judge gave no verdict on {count(len(asked.faults), 'label')}, so that nothing is kept; {place}: {why}"
        )
    made = _kept(repository, ready, asked)
    if json:
        print_json({**_facts(made), "min_kappa": repository.config.judging.min_kappa})
    else:
        _print(made, repository.config.judging.min_kappa, verbose=verbose)
        say(f"calibrations/{made.judge}.json has it now; commit it")
    return ExitCode.FAILURES if made.weak(repository.config.judging.min_kappa) else ExitCode.OK


def _chosen(repository: Repository, name: str | None) -> JudgeConfig:
    from agenteval_cli.config import FILE_NAME
    from agenteval_cli.problems import did_you_mean

    judging = repository.config.judging
    wanted = name or judging.default
    if wanted is None:
        several = f"several judges; name one of {', '.join(judging.judges)} with --judge"
        raise UsageError(f"{FILE_NAME} has {several if judging.judges else 'no judges'}")
    if wanted not in judging.judges:
        raise UsageError(f"no judge '{wanted}' in {FILE_NAME}{did_you_mean(wanted, judging.judges)}")
    return judging.judges[wanted]


def _labels(repository: Repository, *, quiet: bool) -> list[Label]:
    """The labels on which people agree, of both kinds. Raises UsageError where that leaves too few."""
    from agenteval_cli.labels import FOLDER, disputed, read_labels

    labels = read_labels(repository.root / FOLDER)
    apart = disputed(labels)
    if apart and not quiet:
        say(f"people do not agree on {count(len(apart), 'item')}, which are left out")
    left = {label.item: label for label in labels if label.item not in apart}
    if {label.label for label in left.values()} != {"yes", "no"}:
        words = f"{FOLDER}/ has {count(len(left), 'label')}; both yes and no are needed to tell a judge from a stamp"
        raise UsageError(f"{words}; `agenteval review --label latest` makes some")
    return list(left.values())


def _asked(repository: Repository, ready: ReadyJudge, labels: Sequence[Label], again: int, *, probes: bool) -> Asked:
    from agenteval_cli.calibrating import asked
    from agenteval_cli.judging import Court, Judges
    from agenteval_cli.orphans import Guardian
    from agenteval_cli.process import Cancel, Processes
    from agenteval_cli.redaction import Redactor

    court = Court(judging=repository.config.judging, judges={ready.config.name: ready})
    guardian = Guardian(f"TRACEPARENT=00-{secrets.token_hex(8)}")
    judges = Judges(court, Processes(guardian, Cancel()), Redactor(court.secrets, repository.config.redact))
    try:
        return asked(judges, ready.config.name, labels, again=again, probes=probes)
    finally:
        judges.close()
        guardian.dismiss()


def _kept(repository: Repository, ready: ReadyJudge, asked: Asked) -> Calibration:
    import msgspec

    from agenteval_cli import writing
    from agenteval_cli.calibration import FOLDER, calibration_of
    from agenteval_cli.trying import now

    made = calibration_of(ready.config.name, ready.digest, now(), asked.items)
    folder = repository.root / FOLDER
    folder.mkdir(exist_ok=True)
    writing.replace(folder / f"{made.judge}.json", msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    return made


def _facts(made: Calibration) -> dict[str, object]:
    import msgspec

    return {**msgspec.to_builtins(made), "format": 1}


def _print(made: Calibration, least: float, *, verbose: bool) -> None:
    low, high = made.agreement_interval
    result(f"judge {safe(made.judge)} against {count(made.labels, 'label')}")
    result(f"agreement  {made.agreement:.0%}, 95 % interval {low:.0%} to {high:.0%}")
    low, high = made.kappa_interval
    may = "may gate" if made.kappa >= least else f"below {least:g}: may not gate"
    result(f"kappa      {made.kappa:.2f}, 95 % interval {low:.2f} to {high:.2f}; {may}")
    rows = [(f"people say {label}", *map(str, row.values())) for label, row in made.table.items()]
    table(rows, header=("", "JUDGE YES", "NO", "CANNOT TELL"))
    for words in _kinds(made, least):
        result(words)
    for words, (changed, total) in _probes(made):
        if total:
            result(f"{words} {changed} of {total}")
    shown = made.disputed if verbose else made.disputed[:_MOST_DISPUTED]
    for item in shown:
        said = item.answer.replace("_", " ")
        result(f"{safe(item.place)}: people say {item.label}, the judge {said}: {safe(item.reason)}")
    if len(shown) < len(made.disputed):
        result(f"and {len(made.disputed) - len(shown)} more (--verbose shows all)")


def _kinds(made: Calibration, least: float) -> Iterator[str]:
    """A line for each kind of criterion where there are several, and one for the scores that people gave."""
    for name, kind in made.kinds.items():
        low, high = kind.kappa_interval
        if len(made.kinds) > 1:
            kappa = f"kappa {kind.kappa:.2f}, {low:.2f} to {high:.2f}" if kind.tells else "all of them one answer"
            barred = "; may not gate" if name in made.weak(least) else ""
            yield f"{safe(name)}: {count(kind.labels, 'label')}, agreement {kind.agreement:.0%}, {kappa}{barred}"
        if kind.scores is not None:
            yield f"{safe(name)}, {count(kind.scores.items, 'score')}: {_scores(kind.scores)}"


def _scores(scores: Scores) -> str:
    both = (
        ("Spearman", scores.spearman, scores.spearman_interval),
        ("Kendall", scores.kendall, scores.kendall_interval),
    )
    words = [
        f"{name} {value:.2f}, {low:.2f} to {high:.2f}" for name, value, (low, high) in both if value is not None
    ] or ["no correlation, since one gave all the same"]
    side = f", {abs(scores.bias):.2f} too {'high' if scores.bias > 0 else 'low'}" if abs(scores.bias) >= 0.005 else ""
    return f"{'; '.join(words)}; off by {scores.error:.2f} of 1{side}"


def _probes(made: Calibration) -> list[tuple[str, tuple[int, int]]]:
    return [
        ("asked again, the same answer:", made.again),
        ("evidence turned round, another answer:", made.turned),
        (f"answer said twice ({made.to_yes} now yes), another answer:", made.longer),
    ]
