"""Pairing: what was wanted with what came, one to one, and as many pairs as can be."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest
from build import steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.pairing import paired

Fits = list[list[bool]]


def matched(fits: Fits) -> list[int | None]:
    gots = len(fits[0]) if fits else 0
    return paired(range(len(fits)), range(gots), lambda want, got: fits[want][got])


def tables(most: int) -> st.SearchStrategy[Fits]:
    return st.integers(0, most).flatmap(
        lambda gots: st.lists(st.lists(st.booleans(), min_size=gots, max_size=gots), min_size=1, max_size=most)
    )


def by_hand(fits: Fits) -> int:
    """The most pairs, trying every partner of each want in turn."""

    @cache
    def best(want: int, used: frozenset[int]) -> int:
        if want == len(fits):
            return 0
        free = [got for got, fit in enumerate(fits[want]) if fit and got not in used]
        return max([best(want + 1, used), *(1 + best(want + 1, used | {got}) for got in free)])

    return best(0, frozenset())


@given(tables(7))
@steady
def test_there_are_as_many_pairs_as_can_be(fits: Fits) -> None:
    pairs = matched(fits)
    assert sum(got is not None for got in pairs) == by_hand(fits)


@given(tables(4))
@steady
def test_trying_every_permutation_finds_no_more_pairs(fits: Fits) -> None:
    wants, gots = len(fits), len(fits[0])
    wide = [[*row, *[False] * wants] for row in fits]  # a want may stay alone
    most = max(
        sum(wide[want][got] for want, got in enumerate(order)) for order in permutations(range(gots + wants), wants)
    )
    assert sum(got is not None for got in matched(fits)) == most


@given(tables(6))
@steady
def test_each_got_is_used_once_and_only_where_it_fits(fits: Fits) -> None:
    pairs = [(want, got) for want, got in enumerate(matched(fits)) if got is not None]
    assert len({got for _, got in pairs}) == len(pairs)
    assert all(fits[want][got] for want, got in pairs)


@given(tables(6))
@steady
def test_an_earlier_want_never_gives_way_to_a_later_one(fits: Fits) -> None:
    pairs = matched(fits)
    for count in range(1, len(fits) + 1):
        assert sum(got is not None for got in pairs[:count]) == by_hand(fits[:count])


@pytest.mark.parametrize(
    ("fits", "pairs"),
    [
        ([], []),
        ([[]], [None]),
        ([[True]], [0]),
        ([[True], [True]], [0, None]),
        ([[True, True], [True, False]], [1, 0]),
        ([[True, True, False], [True, False, True], [True, False, False]], [1, 2, 0]),
        ([[False, False], [True, True]], [None, 0]),
    ],
)
def test_a_want_moves_over_where_that_helps_another(fits: Fits, pairs: list[int | None]) -> None:
    assert matched(fits) == pairs


def test_a_long_chain_of_moves_needs_no_deep_recursion() -> None:
    count = 1500
    fits = {(want, got) for want in range(count - 1) for got in (want, want + 1)} | {(count - 1, 0)}
    pairs = paired(range(count), range(count), lambda want, got: (want, got) in fits)
    assert pairs == [*range(1, count), 0]
