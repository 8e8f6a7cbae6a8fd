"""Where two attempts part: calls aligned as a text diff aligns lines, between the typical attempts of both sides."""

from __future__ import annotations

from typing import Any

import pytest
from build import call, did, steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.path_diff import PathDiff, aligned, distance, keys_of, path_diff, typical
from agenteval_cli.transcript import ToolCall, Transcript


def paths(text: str) -> list[ToolCall]:
    """A call for each letter."""
    return [call(letter) for letter in text]


def keys(text: str) -> list[Any]:
    return keys_of(paths(text))


def shown(base: str, head: str) -> str:
    """The alignment as two lines of letters."""
    rows = aligned(keys(base), keys(head))
    lines = [(base[i] if i is not None else "-", head[j] if j is not None else "-") for i, j in rows]
    return "\n".join("".join(column) for column in zip(*lines, strict=True))


@pytest.mark.parametrize(
    ("base", "head", "lines"),
    [
        ("abc", "abc", "abc\nabc"),
        ("abc", "ac", "abc\na-c"),
        ("ac", "abc", "a-c\nabc"),
        ("abcd", "bcda", "abcd-\n-bcda"),
        ("aab", "ab", "aab\n-ab"),
        ("", "ab", "--\nab"),
    ],
)
def test_calls_are_aligned_like_lines(base: str, head: str, lines: str) -> None:
    made = shown(base, head)
    assert [line.replace("-", "") for line in made.splitlines()] == [base, head]
    assert made.count("-") == lines.count("-")


letters = st.text("abcd", max_size=12)


@given(letters, letters)
@steady
def test_an_alignment_keeps_every_call_once_and_in_order(base: str, head: str) -> None:
    rows = aligned(keys(base), keys(head))
    assert [i for i, _ in rows if i is not None] == list(range(len(base)))
    assert [j for _, j in rows if j is not None] == list(range(len(head)))
    assert all(base[i] == head[j] for i, j in rows if i is not None and j is not None)


@given(letters, letters)
@steady
def test_the_distance_is_that_of_insertions_and_deletions(base: str, head: str) -> None:
    longest = [[0] * (len(head) + 1) for _ in range(len(base) + 1)]
    for i, one in enumerate(base):
        for j, other in enumerate(head):
            longest[i + 1][j + 1] = longest[i][j] + 1 if one == other else max(longest[i][j + 1], longest[i + 1][j])
    expected = len(base) + len(head) - 2 * longest[-1][-1]
    assert distance(keys(base), keys(head)) == distance(keys(head), keys(base)) == expected


def test_the_same_tool_with_other_arguments_is_one_call_that_changed() -> None:
    base = [call("find", q="kettle"), call("refund", amount=129)]
    head = [call("find", q="kettle"), call("refund", amount=130)]
    assert distance(keys_of(base), keys_of(head)) == 1
    assert distance(keys_of([call("refund", amount=1)]), keys_of([call("refund", amount=1.0)])) == 0


def between(base: list[ToolCall] | None, head: list[ToolCall] | None) -> PathDiff:
    sides = [Transcript(tool_calls=None if calls is None else tuple(calls)) for calls in (base, head)]
    return path_diff(sides[0], sides[1], (2, 5))


@pytest.mark.parametrize(
    ("base", "head", "difference", "words", "steps"),
    [
        (paths("ab"), paths("ab"), "same", "the same tool calls", (None, None)),
        (paths("abc"), paths("ac"), "missing", "head does not call b", (2, None)),
        (paths("ac"), paths("abc"), "added", "head calls b", (None, 2)),
        (
            [call("refund", amount="129", to={"iban": "x"})],
            [call("refund", amount="129", to={"iban": "y"})],
            "arguments",
            'refund: arguments at $.to.iban: "x" → "y"',
            (1, 1),
        ),
        ([call("refund", a=1)], [call("refund")], "arguments", "refund: arguments at $.a: 1 → absent", (1, 1)),
        ([call("refund")], [call("refund", "error")], "status", "refund: ok → error", (1, 1)),
        (None, paths("a"), "unknown", "a side does not report its tool calls", (None, None)),
        (paths("a"), [], "missing", "head does not call a", (1, None)),
    ],
)
def test_the_first_place_where_paths_part(
    base: list[ToolCall] | None,
    head: list[ToolCall] | None,
    difference: str,
    words: str,
    steps: tuple[int | None, int | None],
) -> None:
    found = between(base, head)
    assert (found.difference, found.words) == (difference, words)
    assert (found.base and found.base.number, found.head and found.head.number) == steps
    assert (found.base_attempt, found.head_attempt) == (2, 5)
    assert (found.base_calls, found.head_calls) == (
        None if base is None else len(base),
        None if head is None else len(head),
    )


@pytest.mark.parametrize(
    ("attempts", "index"),
    [
        (["ab"], 0),
        (["x", "ab", "ab"], 1),
        (["abcd", "abc", "abce"], 1),  # all differ: the one in the middle
        (["ab", "cd"], 0),
        (["", "abc", "abc", "abd"], 1),
    ],
)
def test_the_typical_attempt_is_the_one_nearest_to_all_others(attempts: list[str], index: int) -> None:
    assert typical([did(*paths(text)) for text in attempts]) == index


def test_long_paths_are_compared_in_moderate_time() -> None:
    base = [call("step", number=number % 7) for number in range(3000)]
    head = [call("step", number=number % 5) for number in range(2900)]
    found = between(base, head)
    assert (found.difference, found.base and found.base.number) == ("arguments", 6)
    many = [did(*base[start : start + 300]) for start in range(30)]
    assert 0 <= typical(many) < 30
