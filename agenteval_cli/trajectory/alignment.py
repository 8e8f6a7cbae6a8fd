"""The best order-keeping pairing of expected calls with those that came.

Expected are stages, one after the other; the members of a stage may come in any order. Each stage gets a stretch of the
calls, and within it a maximum matching. Best is what pairs most required members, and after that most members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agenteval_cli.constraints import ExpectedCall, Stage
from agenteval_cli.pairing import paired
from agenteval_cli.trajectory.evidence import Calls
from agenteval_cli.trajectory.matching import fits

Partners = list[int | None]
Score = tuple[int, int]  # paired members that are required, all paired members


class _Stretch(NamedTuple):
    """What a stage makes of the calls up to `end`: which call each member gets, and what that is worth."""

    end: int
    partners: Partners
    score: Score


def free_pairing(members: Sequence[ExpectedCall], calls: Calls) -> Partners:
    """For each member the index of its call, whatever the order. Required members go before optional ones."""
    precedence = sorted(range(len(members)), key=lambda index: members[index].optional)
    found = paired([members[index] for index in precedence], calls, lambda member, call: fits(member.pattern, call))
    partner = dict(zip(precedence, found, strict=True))
    return [partner[index] for index in range(len(members))]


def ordered_pairing(stages: Sequence[Stage], calls: Calls) -> Partners:
    """For each member of each stage, in reading order, the index of its call.

    A table from the last stage to the first: what the stages from here on can make of the calls from each place on.
    """
    best: list[Score] = [(0, 0)] * (len(calls) + 1)
    table: list[list[_Stretch]] = []
    for stage in reversed(stages):
        row = _row(stage.members, calls, best)
        best = [_sum(stretch.score, best[stretch.end]) for stretch in row]
        table.append(row)
    partners: Partners = []
    place = 0
    for row in reversed(table):
        partners += row[place].partners
        place = row[place].end
    return partners


def _row(members: Sequence[ExpectedCall], calls: Calls, following: Sequence[Score]) -> list[_Stretch]:
    """The best stretch of one stage that begins at each place; `following` is the worth of what comes after it.

    Of calls that fit the same members a stretch never needs more than there are such members: the next few of each kind
    are all that is looked at, so that thousands of calls stay cheap.
    """
    nothing: Partners = [None] * len(members)
    row = [_Stretch(len(calls), nothing, (0, 0))]
    upcoming: dict[tuple[int, ...], list[int]] = {}
    stretches: list[_Stretch] = []
    for place in range(len(calls) - 1, -1, -1):
        kind = tuple(index for index, member in enumerate(members) if fits(member.pattern, calls[place]))
        if kind:
            upcoming[kind] = [place, *upcoming.get(kind, [])[: len(kind) - 1]]
            stretches = _stretches(members, upcoming)
        options = [*stretches, _Stretch(place, nothing, (0, 0))]
        row.append(max(options, key=lambda option: _sum(option.score, following[option.end])))
    row.reverse()
    return row


def _stretches(members: Sequence[ExpectedCall], upcoming: dict[tuple[int, ...], list[int]]) -> list[_Stretch]:
    """A stretch up to each of the upcoming calls, the shortest first."""
    kinds = {index: kind for kind, indices in upcoming.items() for index in indices}
    precedence = sorted(range(len(members)), key=lambda index: members[index].optional)
    found = []
    for last in sorted(kinds):
        inside = [index for index in sorted(kinds) if index <= last]
        pairs = paired(precedence, inside, lambda member, index: member in kinds[index])
        partners: Partners = [None] * len(members)
        for member, pair in zip(precedence, pairs, strict=True):
            partners[member] = None if pair is None else inside[pair]
        matched = [member for member, partner in zip(members, partners, strict=True) if partner is not None]
        score = (sum(not member.optional for member in matched), len(matched))
        found.append(_Stretch(last + 1, partners, score))
    return found


def _sum(one: Score, other: Score) -> Score:
    return one[0] + other[0], one[1] + other[1]
