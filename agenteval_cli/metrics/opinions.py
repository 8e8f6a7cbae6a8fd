"""What share of an answer's opinions is of some bad kind; an answer without opinions has none."""

from __future__ import annotations

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import AGAINST, Means, Measured, NotMeasurableError, listed, share
from agenteval_cli.metrics.words import OPINIONS, OPINIONS_TASK


def share_of_opinions(material: Material, means: Means, question: str, kind: str) -> Measured:
    """The share of opinions for which the judge answers the question with yes, or cannot tell."""
    try:
        opinions = listed(means, OPINIONS_TASK, [("answer", material.output)], OPINIONS)
    except NotMeasurableError:
        return Measured(0.0, "the answer holds no opinion")
    return share(means, question, opinions, (), noun=f"opinions are {kind}, or nobody can tell", counts=AGAINST)
