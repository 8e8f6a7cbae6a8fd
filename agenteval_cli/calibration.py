"""How far a judge can be trusted, held against labels of people: pure, and small enough to be committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from agenteval_cli.agreement import (
    Interval,
    Table,
    cohens_kappa,
    corrected_rate,
    kappa_interval,
    kendall,
    kendall_interval,
    spearman,
    spearman_interval,
    true_rate,
)
from agenteval_cli.errors import UsageError
from agenteval_cli.judged import STATEMENT
from agenteval_cli.judgement import CANNOT_TELL, NO, YES
from agenteval_cli.material import Material
from agenteval_cli.statistics import wilson

FORMAT = 2
READ_FORMATS = (1, FORMAT)
FOLDER = "calibrations"
MOST_DISPUTED = 50  # items that are listed; the file is committed


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled item and what the judge said of it, in the first asking and in the others.

    `turned` is its answer with the evidence in reverse order, `longer` with the answer said twice; None where they were
    not asked. `kind` is that of the criterion, as judged.kind_of tells it. `score` is what the person gave, `scored`
    what the judge gave, both from 0 to 1, None where there is none.
    """

    place: str
    criterion: str
    label: str
    answers: tuple[str, ...]
    kind: str = STATEMENT
    score: float | None = None
    scored: float | None = None
    reason: str = ""
    turned: str | None = None
    longer: str | None = None


class Disputed(msgspec.Struct, frozen=True):
    """An item on which judge and person part."""

    place: str
    criterion: str
    label: str
    answer: str
    reason: str


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Scores of a judge held against those of people, all from 0 to 1, over the items that both have scored.

    `error` is how far they are apart on average, `bias` how much higher the judge is. A correlation is None where one
    of the two gave all items the same.
    """

    items: int
    spearman: float | None
    spearman_interval: Interval
    kendall: float | None
    kendall_interval: Interval
    error: float
    bias: float


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """The labels of one kind: `table` is label → answer → how often, `scores` None where people gave none."""

    labels: int
    agreement: float
    agreement_interval: Interval
    kappa: float
    kappa_interval: Interval
    table: dict[str, dict[str, int]]
    scores: Scores | None = None

    @property
    def tells(self) -> bool:
        """Whether people said both yes and no."""
        return all(sum(self.table.get(label, {}).values()) for label in (YES, NO))


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """calibrations/<judge>.json: `digest` is that of the judge as it was; another judge is not calibrated by it.

    `table` is label → answer → how often. `again` is [the same answer, of how many asked again]; `turned` and `longer`
    are [answers that changed, of how many], `to_yes` how many of the longer ones changed from no to yes. `kinds` parts
    the labels by kinds of criteria, as judged.kind_of tells them; format 1 had statements only and does not have it.
    """

    format: int = FORMAT
    judge: str
    digest: str
    calibrated_at: str
    labels: int
    agreement: float
    agreement_interval: tuple[float, float]
    kappa: float
    kappa_interval: tuple[float, float]
    table: dict[str, dict[str, int]]
    again: tuple[int, int] = (0, 0)
    turned: tuple[int, int] = (0, 0)
    longer: tuple[int, int] = (0, 0)
    to_yes: int = 0
    disputed: tuple[Disputed, ...] = ()
    kinds: dict[str, Kind] = {}

    def weak(self, least: float) -> list[str]:
        """The kinds of criteria on which the judge may not gate, since its kappa is below the least."""
        return [kind for kind in self.kinds if self.trust(kind)[0] < least]

    def trust(self, kind: str) -> tuple[float, Interval]:
        """Kappa and its interval on criteria of that kind; over all kinds where people said no yes and no of it."""
        found = self.kinds.get(kind)
        return (found.kappa, found.kappa_interval) if found and found.tells else (self.kappa, self.kappa_interval)

    def corrected(self, yes: int, total: int) -> tuple[float, Interval] | None:
        """The true rate behind `yes` of `total` answers to statements, and its interval.

        None where the judge tells nothing.
        """
        right_yes, right_no = self._right(YES), self._right(NO)
        if not (total and right_yes[1] and right_no[1]):
            return None
        rate = corrected_rate(yes / total, right_yes[0] / right_yes[1], right_no[0] / right_no[1])
        interval = true_rate(yes, total, right_yes=right_yes, right_no=right_no)
        return None if rate is None or interval is None else (rate, interval)

    def _right(self, label: str) -> tuple[int, int]:
        """How often the judge said what people say, of how many; cannot_tell is not a yes, and so it is right on no."""
        statements = self.kinds.get(STATEMENT)
        row = (statements.table if statements else {} if self.kinds else self.table).get(label, {})
        wrong = row.get(YES, 0) if label == NO else sum(row.values()) - row.get(YES, 0)
        return sum(row.values()) - wrong, sum(row.values())


def calibration_of(judge: str, digest: str, at: str, items: Sequence[Answered]) -> Calibration:
    """The calibration that the answers make. There must be one item at least."""
    whole = _kind(items)
    turned = _flips(items, [item.turned for item in items])
    longer = _flips(items, [item.longer for item in items])
    again = [(item.answers[0], other) for item in items for other in item.answers[1:]]
    parted = [item for item in items if item.answers[0] != item.label]
    return Calibration(
        judge=judge,
        digest=digest,
        calibrated_at=at,
        labels=whole.labels,
        agreement=whole.agreement,
        agreement_interval=whole.agreement_interval,
        kappa=whole.kappa,
        kappa_interval=whole.kappa_interval,
        table=whole.table,
        again=(sum(one == other for one, other in again), len(again)),
        turned=(len(turned[0]), turned[1]),
        longer=(len(longer[0]), longer[1]),
        to_yes=sum(one == NO and other == YES for one, other in longer[0]),
        disputed=tuple(
            Disputed(item.place, item.criterion, item.label, item.answers[0], item.reason)
            for item in parted[:MOST_DISPUTED]
        ),
        kinds={
            kind: _kind([item for item in items if item.kind == kind]) for kind in sorted({item.kind for item in items})
        },
    )


def longer(material: Material) -> Material:
    """The same evidence with an answer that says everything twice, and nothing more."""
    return msgspec.structs.replace(material, output=f"{material.output}\n\nIn other words: {material.output}")


def read_calibrations(folder: Path, digests: Mapping[str, str]) -> dict[str, Calibration]:
    """The calibrations of those judges that are still what they were, by name. Raises UsageError for a broken file."""
    found = {}
    for name, digest in digests.items():
        path = folder / f"{name}.json"
        try:
            made = msgspec.json.decode(path.read_bytes(), type=Calibration)
        except FileNotFoundError:
            continue
        except (OSError, msgspec.DecodeError) as error:
            raise UsageError(f"{folder.name}/{name}.json cannot be read: {error}") from error
        if made.digest == digest and made.format in READ_FORMATS:
            found[name] = made
    return found


def _kind(items: Sequence[Answered]) -> Kind:
    table: Counter[tuple[str, str]] = Counter((item.label, item.answers[0]) for item in items)
    agreed = sum(count for (label, answer), count in table.items() if label == answer)
    return Kind(
        labels=len(items),
        agreement=agreed / len(items),
        agreement_interval=wilson(agreed, len(items)),
        kappa=cohens_kappa(table),
        kappa_interval=kappa_interval(table),
        table=_rows(table),
        scores=_scores([(item.score, item.scored) for item in items if item.score is not None]),
    )


def _scores(pairs: Sequence[tuple[float, float | None]]) -> Scores | None:
    """Of (person's, judge's); where the judge could not tell there is nothing to compare."""
    both = [(one, other) for one, other in pairs if other is not None]
    if not both:
        return None
    people, judge = ([pair[side] for pair in both] for side in (0, 1))
    rank, tau = spearman(people, judge), kendall(people, judge)
    apart = [other - one for one, other in both]
    return Scores(
        items=len(both),
        spearman=rank,
        spearman_interval=(-1.0, 1.0) if rank is None else spearman_interval(rank, len(both)),
        kendall=tau,
        kendall_interval=(-1.0, 1.0) if tau is None else kendall_interval(tau, len(both)),
        error=sum(map(abs, apart)) / len(both),
        bias=sum(apart) / len(both),
    )


def _flips(items: Sequence[Answered], others: Iterable[str | None]) -> tuple[list[tuple[str, str]], int]:
    pairs = [(item.answers[0], other) for item, other in zip(items, others, strict=True) if other is not None]
    return [pair for pair in pairs if pair[0] != pair[1]], len(pairs)


def _rows(table: Table) -> dict[str, dict[str, int]]:
    return {label: {answer: table.get((label, answer), 0) for answer in (YES, NO, CANNOT_TELL)} for label in (YES, NO)}
