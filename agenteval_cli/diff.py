"""The difference between two runs, case by case: a pure function of two stored runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from agenteval_cli.digests import Digests
from agenteval_cli.records import AttemptRecord, PlannedCase, RunRecord
from agenteval_cli.statistics import false_discovery, fisher_drop
from agenteval_cli.store import Run
from agenteval_cli.summary import FAILED, INCOMPLETE, PASSED, CaseSummary, Tally, summary_of
from agenteval_cli.units import amount

CLASSES = (
    "broke",
    "fixed",
    "slipped",
    "improved",
    "still_failing",
    "still_passing",
    "edited",
    "not_comparable",
    "new",
    "removed",
)
COMPARED = frozenset({"broke", "fixed", "slipped", "improved", "still_failing", "still_passing"})
CONFIRMED = "confirmed"
WITHIN_NOISE = "within_noise"
MAX_Q = 0.05


class Measures(msgspec.Struct, frozen=True):
    """Means over the attempts of one side; None where an attempt did not report it."""

    latency_ms: float | None
    tokens: float | None
    cost: float | None
    steps: float | None


class Side(Tally, frozen=True, kw_only=True):
    """One case in one run."""

    measures: Measures


class CaseDiff(msgspec.Struct, frozen=True, kw_only=True):
    """One case of two runs. `p` and `q` are of a change in the direction it moved; None where nothing moved."""

    id: str
    file: str
    title: str
    change: str = msgspec.field(name="class")
    reason: str
    quarantined: bool
    base: Side | None
    head: Side | None
    evidence: str | None = None
    p: float | None = None
    q: float | None = None


class RunDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs compared. Rates are mean pass rates over the cases that could be compared."""

    base: str
    head: str
    conditions: tuple[str, ...]
    counts: dict[str, int]
    compared: int
    base_rate: float | None
    head_rate: float | None
    cases: tuple[CaseDiff, ...]


def diff_of(base: Run, head: Run) -> RunDiff:
    """Compare two runs by case ID."""
    before, after = _cases(base), _cases(head)
    ids = [*after, *(case for case in before if case not in after)]
    cases = [_classified(case, before.get(case), after.get(case), base.record, head.record) for case in ids]
    cases = _with_evidence(cases)
    cases.sort(key=lambda case: (CLASSES.index(case.change), case.evidence != CONFIRMED, case.id))
    compared = [case for case in cases if case.change in COMPARED]
    return RunDiff(
        base=base.record.id,
        head=head.record.id,
        conditions=tuple(_conditions(base.record, head.record)),
        counts={name: sum(case.change == name for case in cases) for name in CLASSES},
        compared=len(compared),
        base_rate=_mean([_rate(case.base) for case in compared]),
        head_rate=_mean([_rate(case.head) for case in compared]),
        cases=tuple(cases),
    )


def gate_failures(diff: RunDiff, on_diff: str) -> list[CaseDiff]:
    """The cases that fail the gate: what broke, or with `significant` every confirmed drop; never a quarantined one."""
    if on_diff == "significant":
        return [
            case
            for case in diff.cases
            if case.change in ("broke", "slipped") and case.evidence == CONFIRMED and not case.quarantined
        ]
    return [case for case in diff.cases if case.change == "broke" and not case.quarantined]


class _Known(msgspec.Struct, frozen=True):
    planned: PlannedCase
    summary: CaseSummary
    side: Side


def _cases(run: Run) -> dict[str, _Known]:
    """What a run knows of each of its cases."""
    attempts: dict[str, list[AttemptRecord]] = defaultdict(list)
    for attempt in run.attempts:
        attempts[attempt.case].append(attempt)
    summaries = summary_of(run.record, run.attempts).cases
    return {
        planned.case: _Known(planned, summary, _side(summary, attempts[planned.case]))
        for planned, summary in zip(run.record.plan, summaries, strict=True)
    }


def _side(summary: CaseSummary, attempts: Sequence[AttemptRecord]) -> Side:
    measures = Measures(
        latency_ms=_mean([attempt.latency_ms for attempt in attempts]),
        tokens=_mean([attempt.total_tokens for attempt in attempts]),
        cost=_mean([_cost(attempt) for attempt in attempts]),
        steps=_mean([attempt.steps for attempt in attempts]),
    )
    return Side(**{name: getattr(summary, name) for name in Tally.__struct_fields__}, measures=measures)


def _cost(attempt: AttemptRecord) -> float | None:
    value = None if attempt.cost is None else amount(attempt.cost)
    return None if value is None else float(value)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _rate(side: Side | None) -> float | None:
    return None if side is None else side.passed / side.planned


def _classified(
    case: str, base: _Known | None, head: _Known | None, base_run: RunRecord, head_run: RunRecord
) -> CaseDiff:
    known = head or base
    assert known is not None  # noqa: S101  # every ID comes from one of the two
    change, reason = _class_of(case, base, head, base_run, head_run)
    return CaseDiff(
        id=case,
        file=known.planned.file,
        title=known.planned.title,
        change=change,
        reason=reason,
        quarantined=known.planned.quarantined,
        base=base.side if base else None,
        head=head.side if head else None,
    )


def _class_of(
    case: str, base: _Known | None, head: _Known | None, base_run: RunRecord, head_run: RunRecord
) -> tuple[str, str]:
    """The class of a case and the reason in words."""
    if base is None:
        if case in base_run.not_selected:
            return "not_comparable", "not selected in the base run"
        return "new", "not in the base run"
    if head is None:
        if case in head_run.not_selected:
            return "not_comparable", "not selected in the head run"
        return "removed", "no longer there in the head run"
    return _class_of_both(base, head)


def _class_of_both(base: _Known, head: _Known) -> tuple[str, str]:
    edits = _edits(base.planned.digests, head.planned.digests)
    if edits:
        return "edited", f"the case changed: {' and '.join(edits)}; its verdicts are not compared"
    for name, known in (("base", base), ("head", head)):
        if known.side.verdict == INCOMPLETE:
            return "not_comparable", f"incomplete in the {name} run: {known.side.reason or 'attempts are missing'}"
    return _moved(base.side, head.side)


def _edits(base: Digests, head: Digests) -> list[str]:
    parts = []
    if base.input != head.input:
        parts.append("what the agent gets")
    if base.grade != head.grade:
        parts.append("what is expected")
    return parts


def _moved(base: Side, head: Side) -> tuple[str, str]:
    if base.verdict != head.verdict:
        return ("broke", head.reason) if head.verdict == FAILED else ("fixed", f"before: {base.reason}")
    # Cross-multiplied, since 1/3 and 2/6 must be the same rate.
    before, after = base.passed * head.planned, head.passed * base.planned
    if before != after:
        name = "slipped" if after < before else "improved"
        return name, head.reason or base.reason
    return ("still_passing", head.reason) if head.verdict == PASSED else ("still_failing", head.reason)


def _with_evidence(cases: Iterable[CaseDiff]) -> list[CaseDiff]:
    """Exact one-sided tests, each direction adjusted for all the cases that could be compared."""
    cases = list(cases)
    compared = [case for case in cases if case.change in COMPARED]
    drops = _tested(compared, lambda base, head: fisher_drop(base.passed, base.planned, head.passed, head.planned))
    rises = _tested(compared, lambda base, head: fisher_drop(head.passed, head.planned, base.passed, base.planned))
    direction = {"broke": drops, "slipped": drops, "fixed": rises, "improved": rises}
    return [_judged(case, *direction[case.change][case.id]) if case.change in direction else case for case in cases]


def _tested(cases: Sequence[CaseDiff], test: Callable[[Side, Side], float]) -> dict[str, tuple[float, float]]:
    p_values = [test(case.base, case.head) for case in cases if case.base and case.head]
    q_values = false_discovery(p_values)
    return {case.id: (p, q) for case, p, q in zip(cases, p_values, q_values, strict=True)}


def _judged(case: CaseDiff, p: float, q: float) -> CaseDiff:
    return msgspec.structs.replace(case, p=p, q=q, evidence=CONFIRMED if q <= MAX_Q else WITHIN_NOISE)


def _conditions(base: RunRecord, head: RunRecord) -> Iterator[str]:
    """What else differs between the runs, for the top of the report."""
    if base.tool_version != head.tool_version:
        yield f"agenteval {base.tool_version} → {head.tool_version}"
    before = {agent.name: agent for agent in base.agents}
    after = {agent.name: agent for agent in head.agents}
    if before.keys() != after.keys():
        yield f"agent {', '.join(before)} → {', '.join(after)}"
    for name in sorted(before.keys() & after.keys()):
        if before[name].digest != after[name].digest:
            yield f"agent {name} changed"
    if base.git.commit != head.git.commit:
        yield f"commit {(base.git.commit or 'none')[:12]} → {(head.git.commit or 'none')[:12]}"
    dirty = [name for name, record in (("base", base), ("head", head)) if record.git.dirty]
    if dirty:
        yield f"uncommitted changes in {' and '.join(dirty)}"
