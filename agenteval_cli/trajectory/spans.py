"""Pairings in which a stage and a group of calls that both have several share some of theirs.

A pairing keeps the order exactly if each stage has a span of blocks, and a span begins no earlier than the one before
it ends: within a block calls can be thought of in the order of their stages. With the spans fixed, what is left is a
maximum matching. Which spans are best seems to be as hard as satisfying clauses. But for what decides a verdict few
need a look: whether all required members can be paired the earliest spans tell, and whether all calls can, which must
then be as many as the members that came, the spans that such counts leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, islice

from agenteval_cli.constraints import ExpectedCall
from agenteval_cli.pairing import augmented

Partners = list[int | None]
Span = tuple[int, int]  # its first and its last block
_TRIED = 1000  # ways to leave out optional members


class Course:
    """Expected stages, blocks of calls, and for each call the members that it fits; all by their indices."""

    def __init__(
        self,
        stages: Sequence[Sequence[ExpectedCall]],
        blocks: Sequence[Sequence[int]],
        fitting: Sequence[tuple[int, ...]],
    ) -> None:
        self.stages = stages
        self.blocks = blocks
        self.fitting = fitting
        self.starts = [0, *accumulate(map(len, stages))]  # the first member of each stage

    @property
    def has_several_on_both_sides(self) -> bool:
        return any(len(stage) > 1 for stage in self.stages) and any(len(block) > 1 for block in self.blocks)

    def usable(self, block: Sequence[int]) -> list[int]:
        """The calls of a block that can be of use: of those that fit the same members, as many as these are.

        In the order of what they fit, so that it makes no difference which came first.
        """
        kinds: dict[tuple[int, ...], list[int]] = {}
        for call in block:
            alike = kinds.setdefault(self.fitting[call], [])
            if len(alike) < len(self.fitting[call]):
                alike.append(call)
        return [call for kind in sorted(kinds) for call in kinds[kind]]

    @cached_property
    def partners_in(self) -> list[dict[int, list[int]]]:
        """For each block the usable calls of each member that has any."""
        found: list[dict[int, list[int]]] = []
        for block in self.blocks:
            calls: dict[int, list[int]] = {}
            for call in self.usable(block):
                for member in self.fitting[call]:
                    calls.setdefault(member, []).append(call)
            found.append(calls)
        return found

    def members(self, stage: int) -> Iterator[tuple[int, ExpectedCall]]:
        return enumerate(self.stages[stage], self.starts[stage])

    def is_full(self, partners: Partners) -> bool:
        """Whether every call and every required member has a partner."""
        matched = {partner for partner in partners if partner is not None}
        members = (member for stage in self.stages for member in stage)
        lacks = any(partner is None and not each.optional for each, partner in zip(members, partners, strict=True))
        return len(matched) == len(self.fitting) and not lacks

    def pairing_of(self, stages: range, span_of: Callable[[int], Span]) -> Partners:
        """The best partners of the members of some stages in a row, each within its span."""
        edges: dict[int, list[int]] = {}
        precedence = []
        for stage in stages:
            first, last = span_of(stage)
            for at, member in self.members(stage):
                edges[at] = [call for calls in self.partners_in[first : last + 1] for call in calls.get(at, ())]
                precedence.append((member.optional, at))
        owner: dict[int, int] = {}
        for _, at in sorted(precedence):
            augmented(at, edges, owner)
        partner = {at: call for call, at in owner.items()}
        return [partner.get(at) for at in edges]


def pairings_across(course: Course) -> Iterator[Partners]:
    """What to try besides: all required members as early as can be, and each way in which no call is left over."""
    every = range(len(course.stages))
    earliest = _earliest(course)
    if earliest is not None:
        yield course.pairing_of(every, earliest.__getitem__)
    for counts in islice(_counts(course), _TRIED):
        partners = course.pairing_of(every, _spans(course, counts).__getitem__)
        yield partners
        if course.is_full(partners):
            return


def _earliest(course: Course) -> list[Span] | None:
    """The spans that end as early as they can with all required members paired; None where these cannot be.

    No later end ever helps: what came before it can be exchanged for the earlier one, and that leaves more to the rest.
    """
    edges: dict[int, list[int]] = {}
    owner: dict[int, int] = {}
    spans: list[Span] = []
    place = 0
    for stage in range(len(course.stages)):
        alone = [at for at, member in course.members(stage) if not member.optional]
        required, begin = list(alone), place
        edges.update({at: [] for at in required})
        while alone:
            if place == len(course.blocks):
                return None
            if _opened(course.partners_in[place], required, edges):
                alone = [at for at in alone if not augmented(at, edges, owner)]
            place += bool(alone)
        spans.append((begin, place))
    return spans


def _opened(partners: dict[int, list[int]], required: Sequence[int], edges: dict[int, list[int]]) -> bool:
    """Whether a block has calls for any of these members, which can have them from now on."""
    for at in required:
        edges[at] += partners.get(at, ())
    return any(at in partners for at in required)


def _counts(course: Course) -> Iterator[list[int]]:
    """How many members of each stage came, where all required ones did and no call is another one."""
    bounds = [(sum(not member.optional for member in stage), len(stage)) for stage in course.stages]
    least = [0, *accumulate(low for low, _ in reversed(bounds))][::-1]
    most = [0, *accumulate(high for _, high in reversed(bounds))][::-1]
    waiting: list[tuple[list[int], int]] = [([], len(course.fitting))]
    while waiting:
        counts, left = waiting.pop()
        stage = len(counts)
        if stage == len(bounds):
            yield counts
        else:
            low, high = bounds[stage]
            low, high = max(low, left - most[stage + 1]), min(high, left - least[stage + 1])
            waiting += [([*counts, count], left - count) for count in range(low, high + 1)]


def _spans(course: Course, counts: Sequence[int]) -> list[Span]:
    """The blocks of as many calls as each stage has, one after the other."""
    place_of = [place for place, block in enumerate(course.blocks) for _ in block]
    spans, begin = [], 0
    for count in counts:
        first = place_of[begin] if begin < len(place_of) else len(course.blocks)
        spans.append((first, place_of[begin + count - 1] if count else first - 1))
        begin += count
    return spans
