"""How far a judge can be trusted, held against labels of people: pure, and small enough to be committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from agenteval_cli.agreement import Table, cohens_kappa, corrected_rate, kappa_interval, true_rate
from agenteval_cli.errors import UsageError
from agenteval_cli.judgement import CANNOT_TELL, NO, YES
from agenteval_cli.material import Material
from agenteval_cli.statistics import wilson

FORMAT = 1
FOLDER = "calibrations"
MOST_DISPUTED = 50  # items that are listed; the file is committed


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """One labelled item and what the judge said of it, in the first asking and in the others.

    `turned` is its answer with the evidence in reverse order, `longer` with the answer said twice; None where they were
    not asked.
    """

    place: str
    criterion: str
    label: str
    answers: tuple[str, ...]
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


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """calibrations/<judge>.json: `digest` is that of the judge as it was; another judge is not calibrated by it.

    `table` is label → answer → how often. `again` is [the same answer, of how many asked again]; `turned` and `longer`
    are [answers that changed, of how many], `to_yes` how many of the longer ones changed from no to yes.
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

    def corrected(self, yes: int, total: int) -> tuple[float, tuple[float, float]] | None:
        """The true rate behind `yes` of `total` answers, and its interval; None where the judge tells nothing."""
        right_yes, right_no = self._right(YES), self._right(NO)
        if not (total and right_yes[1] and right_no[1]):
            return None
        rate = corrected_rate(yes / total, right_yes[0] / right_yes[1], right_no[0] / right_no[1])
        interval = true_rate(yes, total, right_yes=right_yes, right_no=right_no)
        return None if rate is None or interval is None else (rate, interval)

    def _right(self, label: str) -> tuple[int, int]:
        """How often the judge said what people say, of how many; cannot_tell is not a yes, and so it is right on no."""
        row = self.table.get(label, {})
        wrong = row.get(YES, 0) if label == NO else sum(row.values()) - row.get(YES, 0)
        return sum(row.values()) - wrong, sum(row.values())


def calibration_of(judge: str, digest: str, at: str, items: Sequence[Answered]) -> Calibration:
    """The calibration that the answers make. There must be one item at least."""
    table: Counter[tuple[str, str]] = Counter((item.label, item.answers[0]) for item in items)
    agreed = sum(count for (label, answer), count in table.items() if label == answer)
    turned = _flips(items, [item.turned for item in items])
    longer = _flips(items, [item.longer for item in items])
    again = [(item.answers[0], other) for item in items for other in item.answers[1:]]
    parted = [item for item in items if item.answers[0] != item.label]
    return Calibration(
        judge=judge,
        digest=digest,
        calibrated_at=at,
        labels=len(items),
        agreement=agreed / len(items),
        agreement_interval=wilson(agreed, len(items)),
        kappa=cohens_kappa(table),
        kappa_interval=kappa_interval(table),
        table=_rows(table),
        again=(sum(one == other for one, other in again), len(again)),
        turned=(len(turned[0]), turned[1]),
        longer=(len(longer[0]), longer[1]),
        to_yes=sum(one == NO and other == YES for one, other in longer[0]),
        disputed=tuple(
            Disputed(item.place, item.criterion, item.label, item.answers[0], item.reason)
            for item in parted[:MOST_DISPUTED]
        ),
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
        if made.digest == digest and made.format == FORMAT:
            found[name] = made
    return found


def _flips(items: Sequence[Answered], others: Iterable[str | None]) -> tuple[list[tuple[str, str]], int]:
    pairs = [(item.answers[0], other) for item, other in zip(items, others, strict=True) if other is not None]
    return [pair for pair in pairs if pair[0] != pair[1]], len(pairs)


def _rows(table: Table) -> dict[str, dict[str, int]]:
    return {label: {answer: table.get((label, answer), 0) for answer in (YES, NO, CANNOT_TELL)} for label in (YES, NO)}
