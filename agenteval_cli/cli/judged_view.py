"""What judges said in a run, with how far they can be trusted beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from agenteval_cli.calibration import FOLDER, read_calibrations
from agenteval_cli.cli.console import result, safe
from agenteval_cli.judged_rates import Rate, rates_of
from agenteval_cli.phrases import count
from agenteval_cli.records import AttemptRecord, RunRecord


def print_judged(record: RunRecord, attempts: Iterable[AttemptRecord], root: Path) -> None:
    """What the judges of a run said; calibrations count that are of the judges as they were in it."""
    calibrations = read_calibrations(root / FOLDER, {judge.name: judge.digest for judge in record.judges})
    judgements = (judgement for attempt in attempts for judgement in attempt.judgements)
    for line in lines_of_rates(rates_of(judgements, calibrations)):
        result(line)


def lines_of_rates(rates: Iterable[Rate]) -> Iterator[str]:
    """A line for each judge: `judged by default: 14 of 20 statements yes; kappa 0.71 (0.52 to 0.90), corrected …`."""
    for rate in rates:
        words = [f"judged by {safe(rate.judge)}: {rate.yes} of {count(rate.total, 'statement')} yes"]
        words += [f"{rate.cannot_tell} cannot tell"] if rate.cannot_tell else []
        words += [f"{rate.none} without a verdict"] if rate.none else []
        words += [f"{rate.unstable} unstable"] if rate.unstable else []
        yield f"{', '.join(words)}; {_trust(rate)}"


def _trust(rate: Rate) -> str:
    if rate.kappa is None or rate.kappa_interval is None:
        return "not calibrated"
    low, high = rate.kappa_interval
    kappa = f"kappa {rate.kappa:.2f} ({low:.2f} to {high:.2f})"
    if rate.corrected is None:
        return f"{kappa}, which says nothing of the true rate"
    true, low, high = rate.corrected
    return f"{kappa}, corrected for its errors {true:.0%} ({low:.0%} to {high:.0%})"
