"""Asks a judge about what people have labelled, in several forms."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agenteval_cli.calibration import Answered, longer
from agenteval_cli.judgement import NONE
from agenteval_cli.judging import Ballot, Judges
from agenteval_cli.labels import Label


class Asked(msgspec.Struct, frozen=True):
    """What the judge said of the labelled items, and of which it gave no verdict: (place, why)."""

    items: tuple[Answered, ...]
    faults: tuple[tuple[str, str], ...]


def asked(judges: Judges, judge: str, labels: Sequence[Label], *, again: int, probes: bool) -> Asked:
    """Ask the judge about every label, `again` times more, and with `probes` once turned round and once made longer."""
    forms = 1 + again + (2 if probes else 0)
    votes = judges.votes(judge, [ballot for label in labels for ballot in _forms(label, again, probes=probes)])
    items, faults = [], []
    for index, label in enumerate(labels):
        mine = votes[index * forms : (index + 1) * forms]
        missing = next((vote for vote in mine if vote.answer == NONE), None)
        if missing is not None:
            faults.append((label.place, missing.reason))
            continue
        answers = [vote.answer for vote in mine]
        items.append(
            Answered(
                place=label.place,
                criterion=label.criterion.text or label.kind,
                kind=label.kind,
                label=label.label,
                answers=tuple(answers[: 1 + again]),
                reason=mine[0].reason,
                turned=answers[-2] if probes else None,
                longer=answers[-1] if probes else None,
                score=label.score,
                scored=mine[0].score,
            )
        )
    return Asked(tuple(items), tuple(faults))


def _forms(label: Label, again: int, *, probes: bool) -> list[Ballot]:
    forms = [Ballot(label.criterion, label.material, number) for number in range(1 + again)]
    if probes:
        forms.append(Ballot(label.criterion, label.material, turned=True))
        forms.append(Ballot(label.criterion, longer(label.material)))
    return forms
