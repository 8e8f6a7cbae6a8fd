"""The court of a run: the judges that its cases need, made ready, and what is known of how well they judge."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from agenteval_cli.bars import judges_of, needs_embeddings
from agenteval_cli.calibration import FOLDER, read_calibrations
from agenteval_cli.case import Case, OutcomeCheck
from agenteval_cli.checks.similarity import EMBEDDING
from agenteval_cli.judge_config import CommandSettings, Endpoint, Judging
from agenteval_cli.judges import embeddings_key, made_ready
from agenteval_cli.judging import Court
from agenteval_cli.records import JudgeRecord


def court_for(judging: Judging, root: Path, cases: Iterable[Case], environment: Mapping[str, str]) -> Court:
    """Who judges these cases. Raises UsageError where a judge that they need cannot be asked."""
    cases = tuple(cases)
    data = [case.data for case in cases if _has_criteria(case)]
    names = sorted({name for item in data for name in judges_of(item, judging)})
    embeds = any(map(needs_embeddings, data)) or any(map(_has_embedding_check, cases))
    embeddings = judging.embeddings if embeds else None
    judges = {name: made_ready(judging.judges[name], root, environment) for name in names}
    return Court(
        judging=judging,
        judges=judges,
        embeddings=embeddings,
        embeddings_key=embeddings_key(embeddings, environment) if embeddings else None,
        calibrations=read_calibrations(root / FOLDER, {name: judge.digest for name, judge in judges.items()}),
        root=root,
    )


def judge_records(court: Court) -> tuple[JudgeRecord, ...]:
    """The judges as the run's record has them."""
    return tuple(JudgeRecord(name, _asked(judge.config.asked), judge.digest) for name, judge in court.judges.items())


def _asked(asked: CommandSettings | Endpoint) -> str:
    return asked.model if isinstance(asked, Endpoint) else shlex.join(asked.command)


def _has_criteria(case: Case) -> bool:
    return (
        "criteria" in case.data
        or "criteria" in case.data.get("simulation", ())
        or case.data.get("match") == "judged"
        or any("criteria" in turn for turn in case.data.get("turns", ()))
    )


def _has_embedding_check(case: Case) -> bool:
    checks = [*case.outcome, *(check for turn in case.turns for check in turn.outcome)]
    return any(map(_embeds, checks))


def _embeds(check: OutcomeCheck) -> bool:
    of_itself = check.kind == "similarity" and check.expected["measure"] == EMBEDDING
    return of_itself or any(map(_embeds, check.parts))
