"""The comparison of values: exact, typed, and with the first difference named."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from build import json_values, steady
from hypothesis import given

from agenteval_cli.compare import ABSENT, first_difference, kind_of, same, shown

NAN = math.nan


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (0, -0.0),
        (10**20, 1e20),
        ([1, {"a": 2}], [1.0, {"a": 2.0}]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (None, None),
        ("", ""),
        ([], []),
        ({}, {}),
        (True, True),
    ],
)
def test_these_are_the_same(one: Any, other: Any) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (1.0, True),
        (1, "1"),
        (None, False),
        (None, 0),
        (None, ""),
        (None, []),
        (None, {}),
        (None, ABSENT),
        ("", ABSENT),
        ([], ABSENT),
        ("", []),
        ([], {}),
        (0, ""),
        (2**53 + 1, float(2**53)),
        (10**20 + 1, 1e20),
        ("é", "e\u0301"),
        ("a", "A"),
        ([1, 2], [2, 1]),
        ([[1]], [[True]]),
        ({"a": None}, {}),
        ({"a": [{"b": 1}]}, {"a": [{"b": True}]}),
        (NAN, NAN),
        ([NAN], [NAN]),
        ({"a": NAN}, {"a": NAN}),
    ],
)
def test_these_are_not_the_same(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same(other, one)


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        (1, 2, "expected 1, got 2"),
        ("a", "b", 'expected "a", got "b"'),
        (1, "1", 'expected the number 1, got the string "1"'),
        (True, 1, "expected the boolean true, got the number 1"),
        (None, 0, "expected null, got 0"),
        (1, ABSENT, "expected 1, got nothing"),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "at $.a.b[1]: expected 2, got 3"),
        ({"a": 1}, {}, "at $.a: expected 1, got nothing"),
        ({"a": 1}, {"a": 1, "b": 2}, "at $.b: expected nothing, got 2"),
        ([1], [1, 2], "at $[1]: expected nothing, got 2"),
        ([1, 2], [1], "at $[1]: expected 2, got nothing"),
        ({"two words": 1}, {"two words": 2}, 'at $["two words"]: expected 1, got 2'),
        ({"5678": 1}, {"5678": 2}, 'at $["5678"]: expected 1, got 2'),
        ({"b": 1, "a": 1}, {"a": 2, "b": 2}, "at $.b: expected 1, got 2"),
    ],
)
def test_the_first_difference_is_told_with_its_place(expected: Any, actual: Any, words: str) -> None:
    assert str(first_difference(expected, actual)) == words


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "boolean"),
        (0, "number"),
        (0.5, "number"),
        ("", "string"),
        ([], "array"),
        ({}, "object"),
        (ABSENT, "absent"),
    ],
)
def test_every_value_has_a_kind(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


def test_a_long_value_is_shown_by_its_beginning() -> None:
    assert shown("x" * 200) == '"' + "x" * 118 + "…"
    assert shown({"ключ": 1}) == '{"ключ": 1}'


@given(json_values)
@steady
def test_a_value_is_the_same_as_its_copy(value: Any) -> None:
    assert same(value, copy.deepcopy(value))


@given(json_values, json_values)
@steady
def test_which_side_is_expected_makes_no_difference_to_whether_they_differ(one: Any, other: Any) -> None:
    assert same(one, other) == same(other, one)


@given(json_values, json_values)
@steady
def test_values_that_are_the_same_are_equal_to_python_too(one: Any, other: Any) -> None:
    assert not same(one, other) or one == other
