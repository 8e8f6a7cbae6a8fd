"""When a commit is as good as the good end of a bisection, or as bad as the bad one. Pure decisions, no run.

Both ends are measured first, and must be apart. Each step then makes attempts until they are far likelier under one
end's pass rate than under the other's: the sequential test of A. Wald (1945). The error that the whole may make is
shared out evenly between the ends and the steps, so that the commit found is the right one with the confidence asked
for, as far as the case has the rate of one of the ends at every commit. The ends' rates are taken to be nearer to each
other than they were seen to be, since they were tried until they looked apart.
"""

from __future__ import annotations

import math

import msgspec

from agenteval_cli.statistics import fisher_drop, wilson

GOOD = "good"
BAD = "bad"
AT_ONCE = 3  # attempts, before it is looked at again
Counts = tuple[int, int]  # passed, graded


class Ends(msgspec.Struct, frozen=True):
    """What the attempts at both ends came to, and the error that each decision may make."""

    good: Counts
    bad: Counts
    error: float


def steps_for(commits: int) -> int:
    """The most commits to try between the ends, where so many may have broken it."""
    return max(0, math.ceil(math.log2(commits))) if commits else 0


def error_of(confidence: float, commits: int) -> float:
    """The share of the error of each decision: one for the ends, one for each step."""
    return (1 - confidence) / (steps_for(commits) + 1)


def are_apart(ends: Ends, most: int) -> bool:
    """Whether the case surely passes less often at the bad end than at the good one.

    They are looked at each time after a few of at most `most` attempts, and each look has its part of the error.
    """
    if not ends.good[1] or not ends.bad[1] or _likely(ends.good)[0] <= _likely(ends.bad)[1]:
        return False
    return fisher_drop(*ends.good, *ends.bad) * math.ceil(most / AT_ONCE) <= ends.error


def side_of(counts: Counts, ends: Ends) -> str | None:
    """Which end a commit is like, once the ends are apart; None where more attempts are needed."""
    passed, graded = counts
    good, bad = _likely(ends.good)[0], _likely(ends.bad)[1]
    evidence = passed * math.log(good / bad) + (graded - passed) * math.log((1 - good) / (1 - bad))
    enough = math.log((1 - ends.error) / ends.error)
    return GOOD if evidence >= enough else BAD if evidence <= -enough else None


def _likely(counts: Counts) -> tuple[float, float]:
    """Where the pass rate is likely to be, by one standard error; never 0 or 1, which no number of attempts shows."""
    low, high = wilson(*counts, z=1.0)
    least = 0.5 / (counts[1] + 1)
    return max(low, least), min(high, 1 - least)
