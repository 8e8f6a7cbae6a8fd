"""Pairing of what is expected with what came: one to one, and as many pairs as can be, never greedily."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Want = TypeVar("Want")
Got = TypeVar("Got")
Edges = Mapping[int, Sequence[int]]


def paired(wants: Sequence[Want], gots: Sequence[Got], fits: Callable[[Want, Got], bool]) -> list[int | None]:
    """For each want the index of the got it is paired with, or None; each got is used once.

    A maximum matching of the bipartite graph by augmenting paths (H. W. Kuhn, "The Hungarian method for the assignment
    problem", 1955). Earlier wants keep a partner where that costs nobody else one.
    """
    edges = {at: [index for index, got in enumerate(gots) if fits(want, got)] for at, want in enumerate(wants)}
    owner: dict[int, int] = {}
    for want in range(len(wants)):
        augmented(want, edges, owner)
    partner = {want: got for got, want in owner.items()}
    return [partner.get(want) for want in range(len(wants))]


def augmented(want: int, edges: Edges, owner: dict[int, int]) -> bool:
    """Whether `want` could be given a partner in `owner` (got → want), others moving along an augmenting path.

    `edges` has the gots that fit each want. Who has a partner keeps one, and where there is no path nothing changes.
    """
    tried: set[int] = set()
    stack = [(want, iter(edges[want]))]
    taken: list[int] = []
    while stack:
        _, choices = stack[-1]
        got = next((choice for choice in choices if choice not in tried), None)
        if got is None:
            stack.pop()
            if taken:
                taken.pop()
            continue
        tried.add(got)
        taken.append(got)
        if got not in owner:
            for (seeker, _), choice in zip(stack, taken, strict=True):
                owner[choice] = seeker
            return True
        stack.append((owner[got], iter(edges[owner[got]])))
    return False
