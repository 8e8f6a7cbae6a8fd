"""The best order-keeping pairing of expected calls with those that came.

Expected are stages, one after the other; the members of a stage may come in any order. What came are blocks, one after
the other: a call alone, or calls of one group, none of which came before another. Best is what pairs most required
members, and after that most members.

A table finds the best of all pairings in which a stage has a stretch of blocks to itself, or a block a run of stages.
These are all there are, unless both have several. Then more are tried (`spans`), which decide what can be paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from agenteval_cli.constraints import ExpectedCall, Stage
from agenteval_cli.pairing import augmented, paired
from agenteval_cli.trajectory.evidence import Calls
from agenteval_cli.trajectory.matching import fits, together
from agenteval_cli.trajectory.spans import Course, Partners, pairings_across

Score = tuple[int, int]  # paired members that are required, all paired members
_NOTHING: Score = (0, 0)


class _Step(NamedTuple):
    """What the next `stages` make of the blocks up to `end`: which call each of their members gets, what that is worth.

    `partners` None is to be found when it is needed: what the block before `end` gives to several stages.
    """

    stages: int
    end: int
    score: Score
    partners: Partners | None


def free_pairing(members: Sequence[ExpectedCall], calls: Calls) -> Partners:
    """For each member the index of its call, whatever the order. Required members go before optional ones."""
    precedence = sorted(range(len(members)), key=lambda index: members[index].optional)
    found = paired([members[index] for index in precedence], calls, lambda member, call: fits(member.pattern, call))
    partner = dict(zip(precedence, found, strict=True))
    return [partner[index] for index in range(len(members))]


def ordered_pairing(stages: Sequence[Stage], calls: Calls) -> Partners:
    """For each member of each stage, in reading order, the index of its call."""
    members = [member for stage in stages for member in stage.members]
    course = Course(
        stages=[stage.members for stage in stages],
        blocks=_blocks(calls),
        fitting=[tuple(at for at, member in enumerate(members) if fits(member.pattern, call)) for call in calls],
    )
    best = _Table(course).partners()
    if not course.has_several_on_both_sides:
        return best
    return max([best, *pairings_across(course)], key=lambda partners: _worth(members, partners))


def _blocks(calls: Calls) -> list[list[int]]:
    """The indices of calls that follow each other in one group, and of each other call by itself."""
    blocks = [[0]] if calls else []
    for before, (one, other) in enumerate(pairwise(calls)):
        if together(one, other):
            blocks[-1].append(before + 1)
        else:
            blocks.append([before + 1])
    return blocks


class _Table:
    """From the last stage to the first: what the stages from each on can make of the blocks from each place on."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._places = range(len(course.blocks) + 1)
        self._shared = cache(self._worth_of_sharing)
        # Of a block that stages share: where it is, and its calls that they can use, which stand for their kind.
        self._usable = {place: course.usable(block) for place, block in enumerate(course.blocks) if len(block) > 1}

    def partners(self) -> Partners:
        rows: list[list[_Step]] = []  # the last stage first
        best: list[list[Score]] = [[_NOTHING for _ in self._places]]
        for stage in reversed(range(len(self._course.stages))):
            rows.append(self._row(stage, best))
            best.append([_sum(step.score, best[-step.stages][step.end]) for step in rows[-1]])
        found: Partners = []
        stage = place = 0
        while stage < len(self._course.stages):
            step = rows[-1 - stage][place]
            found += self._sharing(stage, step.stages, step.end - 1) if step.partners is None else step.partners
            stage, place = stage + step.stages, step.end
        return found

    def _row(self, stage: int, best: list[list[Score]]) -> list[_Step]:
        """The best step of a stage that begins at each place; `best` is the worth of what comes after it.

        Of calls that fit the same members a stretch never needs more than there are such members: the next few of each
        kind are all that is looked at, so that thousands of calls stay cheap.
        """
        first, members = self._course.starts[stage], self._course.stages[stage]
        nothing = _Step(1, len(self._course.blocks), _NOTHING, [None] * len(members))
        row = [nothing]
        upcoming: dict[tuple[int, ...], list[tuple[int, int]]] = {}  # by kind, the place and the call
        stretches: list[_Step] = []
        for place in reversed(self._places[:-1]):
            came = False
            for call in reversed(self._course.blocks[place]):
                kind = tuple(at - first for at in self._course.fitting[call] if first <= at < first + len(members))
                if kind:
                    upcoming[kind] = [(place, call), *upcoming.get(kind, [])[: len(kind) - 1]]
                    came = True
            stretches = _stretches(members, upcoming) if came else stretches
            options = [*stretches, nothing._replace(end=place), *self._runs(stage, place), row[-1]]
            row.append(max(options, key=lambda option: _sum(option.score, best[-option.stages][option.end])))
        row.reverse()
        return row

    def _runs(self, stage: int, place: int) -> Iterator[_Step]:
        """The block at a place shared by this stage and the next ones, where one more makes more of it."""
        usable = self._usable.get(place)
        if usable:
            kinds = tuple(self._course.fitting[call] for call in usable)
            for stages, score in self._shared(stage, kinds):
                yield _Step(stages, place + 1, score, None)

    def _worth_of_sharing(self, stage: int, kinds: tuple[tuple[int, ...], ...]) -> list[tuple[int, Score]]:
        """Of calls of such kinds, what they are worth to so many stages from this one on, where one more adds to it."""
        edges = _edges(kinds)
        required: dict[int, int] = {}
        everyone: dict[int, int] = {}
        found: list[tuple[int, Score]] = []
        last = _NOTHING
        for stages, members in enumerate(self._course.stages[stage:], 1):
            begin = self._course.starts[stage + stages - 1]
            for at, member in enumerate(members, begin):
                if at in edges:
                    augmented(at, edges, everyone)
                    if not member.optional:
                        augmented(at, edges, required)
            score = (len(required), len(everyone))
            if score != last and stages > 1:
                found.append((stages, score))
            last = score
            if len(required) == len(kinds):
                break
        return found

    def _sharing(self, stage: int, stages: int, place: int) -> Partners:
        return self._course.pairing_of(range(stage, stage + stages), lambda _: (place, place))


def _stretches(members: Sequence[ExpectedCall], upcoming: dict[tuple[int, ...], list[tuple[int, int]]]) -> list[_Step]:
    """A stretch up to the block of each of the upcoming calls, the shortest first."""
    kinds = {index: kind for kind, indices in upcoming.items() for index in indices}
    precedence = sorted(range(len(members)), key=lambda index: members[index].optional)
    found = []
    for last in sorted({place for place, _ in kinds}):
        inside = [index for index in sorted(kinds) if index[0] <= last]
        pairs = paired(precedence, inside, lambda member, index: member in kinds[index])
        partners: Partners = [None] * len(members)
        for member, pair in zip(precedence, pairs, strict=True):
            partners[member] = None if pair is None else inside[pair][1]
        found.append(_Step(1, last + 1, _worth(members, partners), partners))
    return found


def _edges(kinds: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    edges: dict[int, list[int]] = {}
    for call, kind in enumerate(kinds):
        for member in kind:
            edges.setdefault(member, []).append(call)
    return edges


def _worth(members: Sequence[ExpectedCall], partners: Partners) -> Score:
    matched = [member for member, partner in zip(members, partners, strict=True) if partner is not None]
    return sum(not member.optional for member in matched), len(matched)


def _sum(one: Score, other: Score) -> Score:
    return one[0] + other[0], one[1] + other[1]
