"""What of the criteria of a case bars it from running, and what a reader of its result should know: pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agenteval_cli.calibration import Calibration
from agenteval_cli.config import FILE_NAME
from agenteval_cli.criteria import Criterion, criteria_of
from agenteval_cli.judge_config import Judging
from agenteval_cli.judged import kind_of, metric_of
from agenteval_cli.metrics.interface import EMBEDDINGS, JUDGE
from agenteval_cli.problems import did_you_mean

Calibrations = Mapping[str, Calibration]


def judges_of(data: Mapping[str, Any], judging: Judging) -> set[str]:
    """The configured judges that a case needs."""
    return {name for criterion in criteria_of(data) for name in _judges(criterion, judging) if name in judging.judges}


def needs_embeddings(data: Mapping[str, Any]) -> bool:
    """Whether one of its criteria is a metric of embeddings."""
    return any(_by(criterion) == EMBEDDINGS for criterion in criteria_of(data))


def bars(data: Mapping[str, Any], judging: Judging, calibrations: Calibrations) -> Iterator[str]:
    """Sentences that say why the case cannot run. One that only reports may go without a judge: it is not judged."""
    for criterion in criteria_of(data):
        yield from (f"{criterion.name}: {words}" for words in _bars(criterion, judging, calibrations))


def notes(data: Mapping[str, Any], judging: Judging, calibrations: Calibrations) -> Iterator[str]:
    """What is to be said of gates whose judge nobody has held against people."""
    for criterion in criteria_of(data):
        for name in _judges(criterion, judging) if criterion.gate else ():
            if name in judging.judges and name not in calibrations:
                words = f"judge '{name}' is not calibrated as it is now; see `agenteval calibrate`"
                yield f"{criterion.name} gates, and {words}"


def _bars(criterion: Criterion, judging: Judging, calibrations: Calibrations) -> Iterator[str]:
    by = _by(criterion)
    if by == EMBEDDINGS and judging.embeddings is None and criterion.gate:
        yield f"{FILE_NAME} names no embeddings to measure it with"
    if by != JUDGE:
        return
    if not criterion.judges and judging.default is None and (criterion.gate or judging.judges):
        which = "no default judge among several; name one" if judging.judges else "no judge"
        yield f"{FILE_NAME} has {which}"
    for name in criterion.judges:
        if name not in judging.judges and (criterion.gate or judging.judges):
            yield f"no judge '{name}' in {FILE_NAME}{did_you_mean(name, judging.judges)}"
    for name in _judges(criterion, judging) if criterion.gate else ():
        found = calibrations.get(name)
        kappa = found.trust(kind_of(criterion))[0] if found is not None else judging.min_kappa
        if kappa < judging.min_kappa:
            words = f"agrees with people at kappa {kappa:.2f}, below {judging.min_kappa:g}, and may not gate"
            yield f"judge '{name}' {words}; improve it and calibrate it again, or leave out gate"


def _judges(criterion: Criterion, judging: Judging) -> tuple[str, ...]:
    if _by(criterion) != JUDGE:
        return ()
    return criterion.judges or ((judging.default,) if judging.default else ())


def _by(criterion: Criterion) -> str:
    metric = metric_of(criterion)
    return metric.by if metric else JUDGE
