"""From run to run, one case: where its verdict turned, and whether it is flaky; and the rate of all of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import msgspec

from agenteval_cli.records import RunRecord
from agenteval_cli.statistics import fisher_drop, wilson
from agenteval_cli.summary import FAILED, INCOMPLETE, RunSummary

BROKE = "broke"
FIXED = "fixed"
_BARS = "▁▂▃▄▅▆▇█"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A case in one run. `version` is its input and grade digest.

    `passed` of `graded` are all attempts that counted; `own_passed` of `own_graded` those that were made in this run
    and not kept from an earlier one: only they are new evidence.
    """

    run: str
    started_at: str
    commit: str | None
    dirty: bool | None
    agent: str
    agent_digest: str
    version: str
    verdict: str
    passed: int
    graded: int
    planned: int
    own_passed: int
    own_graded: int

    @property
    def rate(self) -> float:
        return self.passed / self.graded if self.graded else 0.0


class RunRate(msgspec.Struct, frozen=True, kw_only=True):
    """What the cases of a run that gate came to together: `passed` of `graded` attempts of so many `cases`."""

    run: str
    started_at: str
    commit: str | None
    dirty: bool | None
    cases: int
    passed: int
    graded: int

    @property
    def rate(self) -> float:
        return self.passed / self.graded if self.graded else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, at 95 %."""
        return wilson(self.passed, self.graded)


def rate_of(record: RunRecord, summary: RunSummary) -> RunRate:
    """A run as one of the rates that others are held against."""
    gating = [case for case in summary.cases if not case.quarantined]
    return RunRate(
        run=record.id,
        started_at=record.started_at,
        commit=record.git.commit,
        dirty=record.git.dirty,
        cases=len(gating),
        passed=sum(case.passed for case in gating),
        graded=sum(case.graded for case in gating),
    )


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Between two runs the verdict turned: `kind` is broke or fixed.

    `before` and `after` are passed and graded of the whole stretches of that verdict, `p` the chance of a move as large
    if nothing had changed. It does not make up for the place having been chosen because the verdict turned there.
    """

    kind: str
    last: Point
    first: Point
    edited: bool
    agent_changed: bool
    before: tuple[int, int]
    after: tuple[int, int]
    p: float


class Flaky(msgspec.Struct, frozen=True):
    """A case that both passed and failed with one content under one digest of its agent.

    That was so in `mixed` of the `pairs` of content and digest in which it passed at all, as `passed` of `graded`
    attempts did. Where it never passed it may be broken.
    """

    mixed: int
    pairs: int
    passed: int
    graded: int
    interval: tuple[float, float]


class CaseHistory(msgspec.Struct, frozen=True):
    """A case with one agent over all runs, the oldest first."""

    case: str
    agent: str
    points: tuple[Point, ...]
    turns: tuple[Turn, ...]
    flaky: Flaky | None


def history_of(case: str, points: Sequence[Point], agent: str | None = None) -> CaseHistory:
    """What the runs say of a case with one agent: the named one, else that of the newest run. `points` is not empty."""
    name = agent or points[-1].agent
    own = tuple(point for point in points if point.agent == name)
    return CaseHistory(case, name, own, tuple(turns_of(own)), flaky_of(own))


def turns_of(points: Sequence[Point]) -> Iterator[Turn]:
    """Where the verdict turned, the oldest first. Runs that came to no verdict are passed over."""
    decided = [point for point in points if point.verdict != INCOMPLETE]
    stretches = [list(stretch) for _, stretch in groupby(decided, key=lambda point: point.verdict)]
    for good, bad in pairwise(stretches):
        last, first = good[-1], bad[0]
        before = _counts([point for point in good if point.version == last.version])
        after = _counts([point for point in bad if point.version == first.version])
        kind = BROKE if first.verdict == FAILED else FIXED
        p = fisher_drop(*before, *after) if kind == BROKE else fisher_drop(*after, *before)
        yield Turn(
            kind=kind,
            last=last,
            first=first,
            edited=last.version != first.version,
            agent_changed=last.agent_digest != first.agent_digest,
            before=before,
            after=after,
            p=p if before[1] and after[1] else 1.0,
        )


def _counts(points: Sequence[Point]) -> tuple[int, int]:
    return sum(point.own_passed for point in points), sum(point.own_graded for point in points)


def flaky_of(points: Sequence[Point]) -> Flaky | None:
    """Whether the case fails at random: both outcomes under one agent and one content. None where that was not seen."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for point in points:
        key = point.version, point.agent_digest
        passed, graded = counts.get(key, (0, 0))
        counts[key] = passed + point.own_passed, graded + point.own_graded
    alive = [(passed, graded) for passed, graded in counts.values() if passed]
    mixed = sum(passed < graded for passed, graded in alive)
    if not mixed:
        return None
    passed, graded = (sum(column) for column in zip(*alive, strict=True))
    return Flaky(mixed, len(alive), passed, graded, wilson(passed, graded))


def sparkline(points: Sequence[Point]) -> str:
    """A bar for each run, as high as its pass rate; a dot where nothing was graded."""
    return "".join(_BARS[round(point.rate * (len(_BARS) - 1))] if point.graded else "·" for point in points)
