"""Matchers: a plain value means equals, a mapping with one operator key means the operator."""

from __future__ import annotations

import math
from typing import Any

import pytest
from build import json_values, steady
from hypothesis import assume, given
from hypothesis import strategies as st

from agenteval_cli.compare import ABSENT, same
from agenteval_cli.matchers import OPERATORS, faults, mismatch, mismatches
from agenteval_cli.patterns import PatternTimeoutError

NAN = math.nan
HUGE = 10**400


def words(expected: Any, actual: Any, *, exact: bool = False) -> str | None:
    difference = mismatch(expected, actual, exact=exact)
    return None if difference is None else str(difference)


@pytest.mark.parametrize(
    ("matcher", "actual"),
    [
        (5, 5.0),
        ({"equals": None}, None),
        ({"equals": {"type": "object"}}, {"type": "object"}),
        ({"not": 5}, 6),
        ({"not": 1}, True),
        ({"not": {"gt": 5}}, 5),
        ({"not": {"regex": "secret"}}, "fine"),
        ({"any_of": ["a", {"gt": 5}]}, "a"),
        ({"any_of": ["a", {"gt": 5}]}, 6),
        ({"any_of": [None, {"absent": True}]}, ABSENT),
        ({"gt": 129}, 129.01),
        ({"gt": 2**53}, 2**53 + 1),
        ({"gte": 5}, 5.0),
        ({"lt": 0}, -0.1),
        ({"lte": 5}, 5),
        ({"between": [1, 2]}, 1),
        ({"between": [1, 2]}, 2.0),
        ({"approx": {"value": 0.3, "within": 1e-9}}, 0.1 + 0.2),
        ({"approx": {"value": 5, "within": 0}}, 5.0),
        ({"approx": {"value": 100, "within": 1}}, 101),
        ({"regex": "^R-[0-9]+$"}, "R-9"),
        ({"regex": "b"}, "abc"),
        ({"contains": "b"}, "abc"),
        ({"contains": 2}, [1, 2.0]),
        ({"contains": {"sku": "k1"}}, [{"sku": "k1", "count": 2}]),
        ({"contains": {"gt": 5}}, [1, 6]),
        ({"type": "null"}, None),
        ({"type": "boolean"}, False),
        ({"type": "number"}, 1.5),
        ({"type": "number"}, 1),
        ({"type": "integer"}, 1),
        ({"type": "integer"}, 1.0),
        ({"type": "string"}, ""),
        ({"type": ["array", "object"]}, {}),
        ({"length": 2}, [1, 2]),
        ({"length": 0}, ""),
        ({"length": {"lte": 1}}, {"a": 1}),
        ({"present": True}, None),
        ({"present": True}, ""),
        ({"any": True}, False),
        ({"absent": True}, ABSENT),
        ({"schema": {"type": "object", "required": ["id"]}}, {"id": 1}),
        ({"schema": {"type": "integer"}}, 5.0),
        ({"schema": True}, None),
        ({"money": "129.00"}, 129),
        ({"money": "129.00"}, "€129,00"),
        ({"money": "129.00 EUR"}, "129,00 €"),
        ({"money": {"amount": "1", "within": "0.01"}}, 1.01),
        ({"date": "2026-11-02"}, "2026-11-02"),
        ({"date": "2026-11-02"}, "2 November 2026"),
        ({"date": {"from": "2026-11-01", "to": "2026-11-30"}}, "2026-11-30T10:00:00Z"),
    ],
)
def test_these_match(matcher: Any, actual: Any) -> None:
    assert words(matcher, actual) is None


@pytest.mark.parametrize(
    ("matcher", "actual", "why"),
    [
        (1, True, "expected the number 1, got the boolean true"),
        ({"money": "129.00"}, True, "expected 129.00, but there is no amount; got true"),
        ({"money": "129.00 EUR"}, "129", "expected 129.00 EUR; there is '129' (129 of no currency); got \"129\""),
        (
            {"money": "0.30"},
            0.1 + 0.2,
            "expected 0.30; there is '0.30000000000000004' (0.30000000000000004 of no currency); got 0.30000000000000004",
        ),
        (
            {"date": "2026-11-02"},
            "03.11.2026",
            'expected 2026-11-02; there is 03.11.2026 (2026-11-03); got "03.11.2026"',
        ),
        ({"date": "2026-11-02"}, 20261102, "expected 2026-11-02, but there is no date; got 20261102"),
        (NAN, NAN, "expected NaN, got NaN"),
        ({"equals": 1}, True, "expected the number 1, got the boolean true"),
        ({"equals": {"type": "object"}}, {}, 'at $.type: expected "object", got nothing'),
        ({"equals": {"gt": 5}}, 6, 'expected the object {"gt": 5}, got the number 6'),
        ({"not": 5}, 5.0, "expected anything but 5, got 5.0"),
        ({"not": {"gt": 5}}, 6, 'expected anything but {"gt": 5}, got 6'),
        ({"any_of": ["a", {"gt": 5}]}, 5, 'expected one of ["a", {"gt": 5}], got 5'),
        ({"gt": 129}, 129, "expected a number over 129, got 129"),
        ({"gt": 0}, True, "expected a number over 0, got true"),
        ({"gt": 0}, "1", 'expected a number over 0, got "1"'),
        ({"gt": 0}, ABSENT, "expected a number over 0, got nothing"),
        ({"gt": 0}, NAN, "expected a number over 0, got NaN"),
        ({"gt": 2**53 + 1}, float(2**53), "expected a number over 9007199254740993, got 9007199254740992.0"),
        ({"gte": 5}, 4.9, "expected a number of at least 5, got 4.9"),
        ({"lt": 5}, 5, "expected a number under 5, got 5"),
        ({"lt": 5}, None, "expected a number under 5, got null"),
        ({"lte": 5}, 5.1, "expected a number of at most 5, got 5.1"),
        ({"lte": 5}, NAN, "expected a number of at most 5, got NaN"),
        ({"between": [1, 2]}, 2.1, "expected a number from 1 to 2, got 2.1"),
        ({"between": [0, 1]}, True, "expected a number from 0 to 1, got true"),
        ({"approx": {"value": 5, "within": 0.5}}, 5.6, "expected 5 ± 0.5, got 5.6"),
        ({"approx": {"value": 1, "within": 1}}, True, "expected 1 ± 1, got true"),
        ({"approx": {"value": 1, "within": 1}}, NAN, "expected 1 ± 1, got NaN"),
        ({"regex": "^b"}, "abc", 'expected text matching /^b/, got "abc"'),
        ({"regex": "5"}, 5, "expected text matching /5/, got 5"),
        ({"contains": "b"}, "ac", 'expected something that contains "b", got "ac"'),
        ({"contains": 1}, [True, "1"], 'expected something that contains 1, got [true, "1"]'),
        ({"contains": "a"}, {"a": 1}, 'expected something that contains "a", got {"a": 1}'),
        ({"contains": "a"}, ABSENT, 'expected something that contains "a", got nothing'),
        ({"type": "integer"}, 1.5, "expected integer, got number 1.5"),
        ({"type": "integer"}, NAN, "expected integer, got number NaN"),
        ({"type": "number"}, True, "expected number, got boolean true"),
        ({"type": ["array", "null"]}, {}, "expected array or null, got object {}"),
        ({"type": "null"}, ABSENT, "expected null, got absent nothing"),
        ({"length": 2}, [1], "length: expected 2, got 1"),
        ({"length": {"gt": 3}}, "abc", "length: expected a number over 3, got 3"),
        ({"length": 0}, None, "expected something with a length, got null"),
        ({"length": 0}, ABSENT, "expected something with a length, got nothing"),
        ({"present": True}, ABSENT, "expected a value, got nothing"),
        ({"any": True}, ABSENT, "expected a value, got nothing"),
        ({"absent": True}, None, "expected nothing, got null"),
        ({"absent": True}, "", 'expected nothing, got ""'),
        ({"schema": {}}, ABSENT, "expected a value, got nothing"),
    ],
)
def test_these_do_not_match_and_say_why(matcher: Any, actual: Any, why: str) -> None:
    assert words(matcher, actual) == why


def test_a_schema_says_where_the_value_departs_from_it() -> None:
    schema = {"properties": {"items": {"items": {"required": ["sku"]}}}}
    assert words({"schema": schema}, {"items": [{"sku": 1}, {}]}) == 'at $.items[1]: "sku" is a required property'


def test_a_number_too_large_for_a_float_is_compared_all_the_same() -> None:
    assert words({"approx": {"value": 1, "within": 1}}, HUGE) is not None
    assert words({"approx": {"value": HUGE, "within": 1}}, HUGE + 1) is None
    assert words({"lt": 1.5}, HUGE) is not None
    assert words({"gt": 1e308}, HUGE) is None


def test_a_number_too_large_for_a_float_is_an_integer_all_the_same() -> None:
    assert words({"type": "integer"}, HUGE) is None
    assert words({"type": "string"}, HUGE) is not None


def test_objects_match_as_subsets_at_every_depth() -> None:
    assert words({"order": {"paid": True}}, {"order": {"paid": True, "total": 5}, "more": 1}) is None
    assert words({}, {"more": 1}) is None


def test_exact_allows_no_further_key_at_any_depth() -> None:
    actual = {"order": {"paid": True, "total": 5}}
    assert words({"order": {"paid": True}}, actual, exact=True) == "at $.order.total: expected nothing, got 5"
    assert words({"order": {"paid": True, "total": {"gt": 1}}}, actual, exact=True) is None
    assert words({}, {"more": None}, exact=True) == "at $.more: expected nothing, got null"


def test_lists_match_item_by_item_and_are_never_subsets() -> None:
    assert words([{"sku": "a"}, {"gt": 1}], [{"sku": "a", "count": 1}, 2]) is None
    assert words([{"sku": "a"}], [{"sku": "a"}, {"sku": "b"}]) == 'at $[1]: expected nothing, got {"sku": "b"}'
    assert words([1, 2], [2, 1]) == "at $[0]: expected 1, got 2"


def test_the_place_of_a_nested_operator_is_told() -> None:
    expected = {"orders": {"5678": {"lines": [{"count": {"gte": 2}}]}}}
    actual = {"orders": {"5678": {"lines": [{"count": 1}]}}}
    assert words(expected, actual) == 'at $.orders["5678"].lines[0].count: expected a number of at least 2, got 1'


def test_operators_nest() -> None:
    matcher = {"any_of": [{"not": {"type": "object"}}, {"equals": {"a": 1}}]}
    assert words(matcher, "text") is None
    assert words(matcher, {"a": 1}) is None
    assert words(matcher, {"a": 1, "b": 2}) is not None


@pytest.mark.parametrize("matcher", [{"gt": 1, "lt": 5}, {"greater": 1}, {"gt": 1, "note": "x"}])
def test_a_mapping_that_is_not_one_operator_is_plain_data(matcher: dict[str, Any]) -> None:
    assert words(matcher, 3) is not None
    assert words(matcher, matcher) is None


def test_null_and_absent_are_told_apart_inside_objects() -> None:
    assert words({"a": None}, {}) == "at $.a: expected null, got nothing"
    assert words({"a": {"absent": True}}, {"a": None}) == "at $.a: expected nothing, got null"
    assert words({"a": {"absent": True}}, {}) is None
    assert words({"a": {"present": True}}, {"a": None}) is None


def test_a_pattern_that_takes_too_long_is_no_verdict() -> None:
    with pytest.raises(PatternTimeoutError, match="took more than 1 s"):
        mismatch({"regex": "(a|aa)+$"}, "a" * 40 + "!")


@pytest.mark.parametrize(
    ("matcher", "why"),
    [
        ({"gt": "5"}, 'gt: "5" is not a number'),
        ({"gte": True}, "gte: true is not a number"),
        ({"lt": None}, "lt: null is not a number"),
        ({"lte": [1]}, "lte: [1] is not a number"),
        ({"between": [2, 1]}, "between: write [lowest, highest]"),
        ({"between": [1]}, "between: write [lowest, highest]"),
        ({"between": ["a", "b"]}, "between: write [lowest, highest]"),
        ({"approx": 5}, "approx: write {value: …, within: …}"),
        ({"approx": {"value": 5}}, "approx: write {value: …, within: …}"),
        ({"approx": {"value": 5, "within": "1"}}, "approx: write {value: …, within: …}"),
        ({"any_of": "ab"}, "any_of: write a list of values"),
        ({"any_of": []}, "any_of: write a list of values"),
        ({"regex": "["}, "regex: /[/ is not a pattern"),
        ({"regex": 5}, "regex: 5 is not a pattern"),
        ({"type": "text"}, 'type: "text" is not one of null, boolean, number, integer, string, array, object'),
        ({"type": []}, "type: "),
        ({"present": False}, "present: only true makes sense here"),
        ({"absent": "yes"}, "absent: only true makes sense here"),
        ({"any": None}, "any: only true makes sense here"),
        ({"schema": {"type": "objekt"}}, "schema: "),
        ({"schema": 5}, "schema: "),
    ],
)
def test_a_bad_operand_is_told_before_anything_runs(matcher: Any, why: str) -> None:
    ((path, said),) = faults(matcher)
    assert said.startswith(why)
    assert said.endswith("; to compare with the mapping itself write {equals: …}")
    assert path == tuple(matcher)


def test_a_tolerance_below_zero_is_a_bad_operand() -> None:
    assert len(list(faults({"approx": {"value": 5, "within": -1}}))) == 1


@pytest.mark.parametrize(
    ("matcher", "path"),
    [
        ({"a": {"b": [1, {"gt": "x"}]}}, ("a", "b", 1, "gt")),
        ({"any_of": [1, {"gt": "x"}]}, ("any_of", 1, "gt")),
        ({"not": {"gt": "x"}}, ("not", "gt")),
        ({"length": {"gt": "x"}}, ("length", "gt")),
    ],
)
def test_a_bad_operand_is_found_at_every_depth(matcher: Any, path: tuple[str | int, ...]) -> None:
    assert [place for place, _ in faults(matcher)] == [path]


@pytest.mark.parametrize(
    "matcher", [5, "text", [1, {"a": 2}], {"equals": {"gt": "x"}}, {"gt": 1}, {"gt": "a", "lt": 5}]
)
def test_good_matchers_have_no_faults(matcher: Any) -> None:
    assert list(faults(matcher)) == []


@given(json_values, json_values)
@steady
def test_equals_is_the_comparison_of_values(one: Any, other: Any) -> None:
    assert (mismatch({"equals": one}, other) is None) == same(one, other)


@given(json_values)
@steady
def test_not_is_the_opposite(value: Any) -> None:
    assert mismatch({"not": {"equals": value}}, value) is not None
    assert mismatch({"not": {"not": {"equals": value}}}, value) is None


@given(st.sampled_from(sorted(OPERATORS)), json_values | st.lists(st.integers(), min_size=2, max_size=2), json_values)
@steady
def test_an_operator_without_faults_decides_on_any_value(operator: str, operand: Any, actual: Any) -> None:
    matcher = {operator: operand}
    assume(not list(faults(matcher)))
    assert all(words(matcher, value) != "" for value in (actual, ABSENT, NAN))


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**70), 2**70))
@steady
def test_whole_numbers_and_fractions_are_ordered_exactly(one: float, other: int) -> None:
    exact_order = other > int(one) or (other == int(one) and other > one)
    assert (mismatch({"gt": one}, other) is None) == exact_order


def test_every_place_that_does_not_match_is_told_in_the_order_of_the_matcher() -> None:
    expected = {"a": 1, "b": {"c": {"gt": 5}, "d": [1, 2]}, "e": {"absent": True}}
    found = mismatches(expected, {"a": 2, "b": {"c": 5, "d": [1, 3]}, "e": 0})
    assert [difference.path for difference in found] == ["$.a", "$.b.c", "$.b.d[1]", "$.e"]
