"""What judges said in a run, added up by judge, and what of it is true as far as is known: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from agenteval_cli.calibration import Calibration
from agenteval_cli.judged import STATEMENT
from agenteval_cli.judgement import CANNOT_TELL, NO, NONE, YES, Judgement


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """The statements that one judge said yes or no to, the last vote of each. `corrected` is (rate, low, high).

    Scores of metrics are not among them: people have labelled statements, and only those are corrected.
    """

    judge: str
    yes: int
    no: int
    cannot_tell: int
    none: int
    unstable: int
    kappa: float | None = None
    kappa_interval: tuple[float, float] | None = None
    corrected: tuple[float, float, float] | None = None

    @property
    def total(self) -> int:
        return self.yes + self.no + self.cannot_tell + self.none


def rates_of(judgements: Iterable[Judgement], calibrations: Mapping[str, Calibration]) -> list[Rate]:
    """A rate for each judge that gave all the votes of some statements, in the order of their names."""
    answers: dict[str, Counter[str]] = {}
    unstable: Counter[str] = Counter()
    for judgement in judgements:
        judges = {vote.judge for vote in judgement.votes}
        if judgement.score is not None or len(judges) != 1:
            continue
        (judge,) = judges
        answers.setdefault(judge, Counter())[judgement.answer] += 1
        unstable[judge] += judgement.unstable
    return [_rate(judge, answers[judge], unstable[judge], calibrations.get(judge)) for judge in sorted(answers)]


def _rate(judge: str, answers: Counter[str], unstable: int, calibration: Calibration | None) -> Rate:
    decided = answers[YES] + answers[NO] + answers[CANNOT_TELL]
    corrected = calibration.corrected(answers[YES], decided) if calibration else None
    trust = calibration.trust(STATEMENT) if calibration else None
    return Rate(
        judge=judge,
        yes=answers[YES],
        no=answers[NO],
        cannot_tell=answers[CANNOT_TELL],
        none=answers[NONE],
        unstable=unstable,
        kappa=trust[0] if trust else None,
        kappa_interval=trust[1] if trust else None,
        corrected=(corrected[0], *corrected[1]) if corrected else None,
    )
