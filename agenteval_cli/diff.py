"""The difference between two runs, case by case: a pure function of two stored runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.case_changes import CaseChange
from agenteval_cli.conditions import conditions_between
from agenteval_cli.confirming import LEVEL, Fall, Look, Seen, fresh_p, fresh_q
from agenteval_cli.digests import Digests
from agenteval_cli.outcomes import AnyRun
from agenteval_cli.path_diff import PathDiff
from agenteval_cli.records import RunRecord
from agenteval_cli.sides import Counts, Known, Side, counts_without, known_cases, origins
from agenteval_cli.statistics import false_discovery, fisher_drop
from agenteval_cli.summary import FAILED, INCOMPLETE, PASSED
from agenteval_cli.talk_diff import TalkDiff
from agenteval_cli.totals import Overall, Pair, Shift, counts_of, mean_rates, overall_of, shifts_of

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
MOVED = frozenset({"broke", "fixed", "slipped", "improved"})
FELL = frozenset({"broke", "slipped"})
CONFIRMED = "confirmed"
WITHIN_NOISE = "within_noise"
_MEASURED_UP_TO = 1000  # compared cases; of more only those that moved have their measures tested


class Fresh(msgspec.Struct, frozen=True, kw_only=True):
    """What `run --confirm` saw of a case: attempts made after it had moved, which alone are its evidence."""

    base_passed: int
    base_graded: int
    head_passed: int
    head_graded: int
    p: float
    q: float


class CheckChange(msgspec.Struct, frozen=True, kw_only=True):
    """A check or rule whose answers changed: in how many attempts of each side it did not hold, and of how many."""

    name: str
    part: str
    base_failed: int
    base_attempts: int
    head_failed: int
    head_attempts: int
    message: str


class Answers(msgspec.Struct, frozen=True):
    """What the typical attempt of each side answered, as text; None where it gave no answer."""

    base: str | None
    head: str | None


class CaseDiff(msgspec.Struct, frozen=True, kw_only=True):
    """One case of two runs. `p` and `q` are of a change in the direction it moved; None where nothing moved.

    `shared` counts the attempts that both sides have in common, which are evidence of nothing. What needs transcripts
    or files (checks, path, conversation, answers, case_changes) is there once explaining.explained has looked.
    """

    id: str
    file: str
    title: str
    change: str = msgspec.field(name="class")
    reason: str
    quarantined: bool
    base: Side | None
    head: Side | None
    edited: bool = False
    evidence: str | None = None
    p: float | None = None
    q: float | None = None
    shared: int = 0
    fresh: Fresh | None = None
    measures: tuple[Shift, ...] = ()
    checks: tuple[CheckChange, ...] = ()
    path: PathDiff | None = None
    conversation: TalkDiff | None = None
    answers: Answers | None = None
    case_changes: tuple[CaseChange, ...] | None = None

    @property
    def drop(self) -> float:
        """How far the pass rate fell, from 0 to 1; negative where it rose."""
        return self.base.rate - self.head.rate if self.base and self.head else 0.0


class RunDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs compared. Rates are means over the compared cases that gate, each of which counts once."""

    base: str
    head: str
    conditions: tuple[str, ...]
    counts: dict[str, int]
    compared: int
    base_rate: float | None
    head_rate: float | None
    overall: Overall
    cases: tuple[CaseDiff, ...]


class Confirmation(msgspec.Struct, frozen=True):
    """The fresh attempts of the cases that were looked at again, by ID, and when they were looked at."""

    plan: tuple[Look, ...]
    seen: Mapping[str, Sequence[Seen]]


def diff_of(
    base: AnyRun,
    head: AnyRun,
    *,
    include_edited: bool = False,
    by: Sequence[str] = (),
    confirmation: Confirmation | None = None,
) -> RunDiff:
    """Compare two runs by case ID. `by` are keys of the metadata to take the whole apart by."""
    before, after = known_cases(base), known_cases(head)
    pairs = {case: (before[case], after[case]) for case in after if case in before}
    absent = _NotSelected(base.record, head.record)
    rows = [_classified(known, before.get(case), absent, edits_count=include_edited) for case, known in after.items()]
    rows += [absent.removed(known) for case, known in before.items() if case not in after]
    compared = [row for row in rows if row.change in COMPARED]
    rows = _measured(_with_evidence(rows, pairs), pairs, everything=len(compared) <= _MEASURED_UP_TO)
    if confirmation is not None:
        rows = _confirmed(rows, confirmation)
    rows.sort(key=lambda row: (CLASSES.index(row.change), row.evidence != CONFIRMED, row.id))
    times = Counter(row.change for row in rows)
    gating = [pairs[row.id.casefold()] for row in compared if not row.quarantined]
    rates = mean_rates(counts_of(gating)) if gating else (None, None)
    return RunDiff(
        base=base.record.id,
        head=head.record.id,
        conditions=tuple(conditions_between(base.record, head.record)),
        counts={name: times[name] for name in CLASSES},
        compared=len(compared),
        base_rate=rates[0],
        head_rate=rates[1],
        overall=overall_of(gating, len(compared), len(rows), by),
        cases=tuple(rows),
    )


def gate_failures(diff: RunDiff, on_diff: str, max_slip: float | None = None) -> list[CaseDiff]:
    """The cases that fail the gate: what broke, or with `significant` every confirmed drop; never a quarantined one.

    `max_slip` is how far a rate may fall while the verdict holds: with `broke` any slip may where it is None, and with
    `significant` none that is confirmed.
    """
    significant = on_diff == "significant"
    allowed = max_slip if max_slip is not None else 0.0 if significant else 1.0
    return [
        case
        for case in diff.cases
        if case.change in FELL
        and not case.quarantined
        and (case.change == "broke" or case.drop > allowed + 1e-9)
        and (case.evidence == CONFIRMED or not significant)
    ]


def incomplete_in(diff: RunDiff) -> list[CaseDiff]:
    """The cases that gate and came to no verdict in one of the runs: with one of them no gate is known to hold."""
    return [case for case in diff.cases if case.reason.startswith(INCOMPLETE) and not case.quarantined]


def falls_of(diff: RunDiff) -> list[Fall]:
    """The cases whose pass rate fell and that gate: what `run --confirm` chooses from."""
    return [
        Fall(case.id, case.p, case.change == "broke")
        for case in diff.cases
        if case.change in FELL and case.p is not None and not case.quarantined
    ]


# ---- classes


class _NotSelected:
    """Tells a case that was not asked for from one that was not there."""

    def __init__(self, base: RunRecord, head: RunRecord) -> None:
        self._base = {case.casefold() for case in base.not_selected}
        self._head = {case.casefold() for case in head.not_selected}

    def new(self, known: Known) -> CaseDiff:
        if known.planned.case.casefold() in self._base:
            return _row("not_comparable", "not selected in the base run", None, known)
        return _row("new", "not in the base run", None, known)

    def removed(self, known: Known) -> CaseDiff:
        if known.planned.case.casefold() in self._head:
            return _row("not_comparable", "not selected in the head run", known, None)
        return _row("removed", "no longer there in the head run", known, None)


def _row(change: str, reason: str, base: Known | None, head: Known | None, *, edited: bool = False) -> CaseDiff:
    known = head or base
    assert known is not None  # noqa: S101  # every row comes from one of the two
    return CaseDiff(
        id=known.planned.case,
        file=known.planned.file,
        title=known.planned.title,
        change=change,
        reason=reason,
        quarantined=known.planned.quarantined,
        base=base.side if base else None,
        head=head.side if head else None,
        edited=edited,
    )


def _classified(head: Known, base: Known | None, absent: _NotSelected, *, edits_count: bool) -> CaseDiff:
    if base is None:
        return absent.new(head)
    edits = _edits(base.planned.digests, head.planned.digests)
    if edits and not edits_count:
        words = f"the case changed: {' and '.join(edits)}; its verdicts are not compared"
        return _row("edited", words, base, head, edited=True)
    for name, known in (("base", base), ("head", head)):
        if known.side.verdict == INCOMPLETE or not known.side.graded:
            words = f"incomplete in the {name} run: {known.side.reason or 'attempts are missing'}"
            return _row("not_comparable", words, base, head, edited=bool(edits))
    change, reason = _moved(base.side, head.side)
    if edits:
        reason = "; ".join(filter(None, [reason, f"the case changed: {' and '.join(edits)}"]))
    return _row(change, reason, base, head, edited=bool(edits))


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
    before, after = base.passed * head.graded, head.passed * base.graded
    if before != after:
        name = "slipped" if after < before else "improved"
        return name, head.reason or base.reason
    return ("still_passing", head.reason) if head.verdict == PASSED else ("still_failing", head.reason)


# ---- evidence


def _with_evidence(rows: Sequence[CaseDiff], pairs: Mapping[str, Pair]) -> list[CaseDiff]:
    """Exact one-sided tests, each direction adjusted for all the cases that could be compared."""
    shared = {
        row.id: origins(base) & origins(head)
        for row in rows
        if row.change in COMPARED
        for base, head in [pairs[row.id.casefold()]]
        if head.side.reused or base.side.reused
    }
    counts = {
        row.id: _both_counts(pairs[row.id.casefold()], shared.get(row.id, ())) for row in rows if row.change in COMPARED
    }
    drops = _tested(counts, lambda base, head: fisher_drop(*base, *head))
    rises = _tested(counts, lambda base, head: fisher_drop(*head, *base))
    direction = {"broke": drops, "slipped": drops, "fixed": rises, "improved": rises}
    found = []
    for row in rows:
        if row.change in direction:
            p, q = direction[row.change][row.id]
            evidence = CONFIRMED if q <= LEVEL else WITHIN_NOISE
            row = msgspec.structs.replace(row, p=p, q=q, evidence=evidence)  # noqa: PLW2901  # the same case, known better
        if shared.get(row.id):
            row = msgspec.structs.replace(row, shared=len(shared[row.id]))  # noqa: PLW2901  # the same case, known better
        found.append(row)
    return found


def _both_counts(pair: Pair, shared: Collection[Any]) -> tuple[Counts, Counts]:
    return counts_without(pair[0], shared), counts_without(pair[1], shared)


def _tested(
    counts: Mapping[str, tuple[Counts, Counts]], test: Callable[[Counts, Counts], float]
) -> dict[str, tuple[float, float]]:
    p_values = [test(base, head) for base, head in counts.values()]
    return dict(zip(counts, zip(p_values, false_discovery(p_values), strict=True), strict=True))


def _measured(rows: Sequence[CaseDiff], pairs: Mapping[str, Pair], *, everything: bool) -> list[CaseDiff]:
    meant = [row for row in rows if row.change in (COMPARED if everything else MOVED)]
    shifts = shifts_of([pairs[row.id.casefold()] for row in meant])
    by_id = {row.id: found for row, found in zip(meant, shifts, strict=True) if found}
    return [msgspec.structs.replace(row, measures=by_id[row.id]) if row.id in by_id else row for row in rows]


def _confirmed(rows: Sequence[CaseDiff], confirmation: Confirmation) -> list[CaseDiff]:
    """The rows, where a case that got fresh attempts is judged by those alone."""
    seen = {case: looks for case, looks in confirmation.seen.items() if looks}
    p_values = [fresh_p(looks, confirmation.plan) for looks in seen.values()]
    tested = dict(zip(seen, zip(p_values, fresh_q(p_values), strict=True), strict=True))
    found = []
    for row in rows:
        if row.id in tested and row.change in FELL:
            p, q = tested[row.id]
            fresh = Fresh(**_last(seen[row.id]), p=p, q=q)
            evidence = CONFIRMED if q <= LEVEL else WITHIN_NOISE
            row = msgspec.structs.replace(row, fresh=fresh, evidence=evidence)  # noqa: PLW2901  # the same case, known better
        found.append(row)
    return found


def _last(looks: Sequence[Seen]) -> dict[str, int]:
    last = looks[-1]
    return {
        "base_passed": last.base_passed,
        "base_graded": last.base_total,
        "head_passed": last.head_passed,
        "head_graded": last.head_total,
    }
