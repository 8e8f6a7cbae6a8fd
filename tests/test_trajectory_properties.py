"""The rules over the path against slow and plain definitions of what they mean."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from build import call, case, did, steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.constraints import CallPattern, ExpectedCall, Stage
from agenteval_cli.finding import CheckResult
from agenteval_cli.trajectory import checked
from agenteval_cli.trajectory.alignment import free_pairing, ordered_pairing
from agenteval_cli.trajectory.matching import fits
from agenteval_cli.transcript import ToolCall

Calls = list[ToolCall]

TOOLS = ("a", "b", "c")
some_call = st.builds(
    lambda name, status, number: call(name, status, id=number),
    st.sampled_from(TOOLS),
    st.sampled_from(["ok", "ok", "error"]),
    st.sampled_from([1, 2]),
)
some_calls = st.lists(some_call, max_size=7)
some_patterns = st.builds(
    lambda name, number: CallPattern(name, None if number is None else {"id": number}),
    st.sampled_from(TOOLS),
    st.sampled_from([None, 1, 2]),
)
some_expected = st.builds(
    lambda pattern, optional: ExpectedCall(pattern, "", optional), some_patterns, st.sampled_from([False, False, True])
)
some_stages = st.lists(
    st.lists(some_expected, min_size=1, max_size=2).map(lambda members: Stage(tuple(members))), max_size=3
)


def results(calls: Calls, /, **rules: Any) -> list[CheckResult]:
    return list(checked(case(trajectory=rules).trajectory, did(*calls)))


def verdicts(calls: Calls, /, **rules: Any) -> list[str]:
    return [result.result for result in results(calls, **rules)]


def holds(calls: Calls, /, **rules: Any) -> bool:
    return set(verdicts(calls, **rules)) <= {"passed"}


# ---- pairing


def ways(members: list[ExpectedCall], calls: Calls) -> Iterator[tuple[int | None, ...]]:
    """Every way to give members a call of their own or none."""
    choices = [[None, *(index for index, made in enumerate(calls) if fits(member.pattern, made))] for member in members]
    for way in product(*choices):
        used = [index for index in way if index is not None]
        if len(set(used)) == len(used):
            yield way


def keeps_order(stages: list[Stage], way: tuple[int | None, ...]) -> bool:
    place = [number for number, stage in enumerate(stages) for _ in stage.members]
    pairs = [(number, index) for number, index in zip(place, way, strict=True) if index is not None]
    return all(one <= other or index > later for one, index in pairs for other, later in pairs if one != other) and all(
        index < later for one, index in pairs for other, later in pairs if one < other
    )


def worth(members: list[ExpectedCall], way: Any) -> tuple[int, int]:
    """How many required members have a call, and how many of all."""
    paired = [member for member, index in zip(members, way, strict=True) if index is not None]
    return sum(not member.optional for member in paired), len(paired)


@given(some_stages, some_calls)
@steady
def test_no_way_that_keeps_the_order_is_better_than_the_one_that_is_found(stages: list[Stage], calls: Calls) -> None:
    members = [member for stage in stages for member in stage.members]
    found = tuple(ordered_pairing(stages, tuple(calls)))
    possible = [way for way in ways(members, calls) if keeps_order(stages, way)]
    assert found in possible
    assert worth(members, found) == max(worth(members, way) for way in possible)


@given(some_stages, some_calls)
@steady
def test_no_way_is_better_than_the_one_that_is_found_whatever_the_order(stages: list[Stage], calls: Calls) -> None:
    members = [member for stage in stages for member in stage.members]
    found = tuple(free_pairing(members, tuple(calls)))
    possible = list(ways(members, calls))
    assert found in possible
    assert worth(members, found) == max(worth(members, way) for way in possible)


# ---- calls


expected = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(TOOLS)}, optional={"arguments": st.sampled_from([{}, {"id": 1}, {"id": 2}])}
    ),
    max_size=5,
)


@given(expected, some_calls)
@steady
def test_the_modes_imply_each_other(expected: list[Any], calls: Calls) -> None:
    def held(mode: str, **more: str) -> bool:
        return holds(calls, calls={"mode": mode, "expected": expected, **more})

    assert not held("exact") or held("in_order")
    assert not held("in_order") or held("any_order")
    assert held("any_order") == held("superset")
    assert held("any_order", extra="deny") == (held("superset") and held("subset"))
    assert held("in_order", extra="deny") == held("exact")
    assert held("exact") == (held("in_order") and len(calls) == len(expected))


@given(expected, some_calls)
@steady
def test_scores_are_ratios_and_full_where_everything_came(expected: list[Any], calls: Calls) -> None:
    (found,) = results(calls, calls={"mode": "exact", "expected": expected})
    scores = found.scores or {}
    assert all(0 <= score <= 1 for score in scores.values())
    if found.result == "passed":
        assert set(scores.values()) <= {1.0}
        assert bool(scores) == bool(calls)


# ---- order


def counts(made: ToolCall, name: str, *, count_failed: bool) -> bool:
    return made.name == name and (count_failed or made.status != "error")


@given(some_calls, st.booleans())
@steady
def test_order_is_its_first_order_definition(calls: Calls, count_failed: bool) -> None:
    rule: dict[str, Any] = {"first": "a", "then": "b", "count_failed": count_failed}
    firsts = [at for at, made in enumerate(calls) if counts(made, "a", count_failed=count_failed)]
    thens = [at for at, made in enumerate(calls) if made.name == "b"]
    every = all(any(first < then for first in firsts) for then in thens)
    assert holds(calls, order=[rule]) == every
    assert holds(calls, order=[{**rule, "mode": "first"}]) == all(
        any(first < then for first in firsts) for then in thens[:1]
    )
    assert holds(calls, order=[{**rule, "mode": "each"}]) == all(
        sum(first < then for first in firsts) >= sum(other <= then for other in thens) for then in thens
    )


# ---- recovery


@given(some_calls, st.sampled_from([None, 1, 2]), st.booleans())
@steady
def test_recovery_is_its_first_order_definition(calls: Calls, within: int | None, same: bool) -> None:
    rule = {"after_error": "a", "within": within} if within else {"after_error": "a"}
    failed = [at for at, made in enumerate(calls) if made.name == "a" and made.status == "error"]
    window = {at: calls[at + 1 :][:within] for at in failed}

    def again(at: int) -> bool:
        return any(made.name == "a" and (not same or made.arguments == calls[at].arguments) for made in window[at])

    retry = {**rule, "must": "retry", "same_arguments": same}
    assert holds(calls, recovery=[retry]) == all(again(at) for at in failed)
    for must in ("fallback", "escalate"):
        assert holds(calls, recovery=[{**rule, "must": must, "tool": "b"}]) == all(
            "b" in [made.name for made in window[at]] for at in failed
        )
    assert holds(calls, recovery=[{**rule, "must": "stop"}]) == (not any(window.values()))
    assert holds(calls, recovery=[{**rule, "must": "stop", "tool": "b"}]) == all(
        "b" not in [made.name for made in window[at]] for at in failed
    )


# ---- loops


def rounds(names: list[str]) -> int:
    """The most rounds of a cycle of two or three names, not all the same, that stand in a row."""
    most = 1
    for length, begin in product((2, 3), range(len(names))):
        cycle = names[begin : begin + length]
        if len(cycle) == length and len(set(cycle)) > 1:
            count = 1
            while names[begin + count * length : begin + (count + 1) * length] == cycle:
                count += 1
            most = max(most, count)
    return most


@given(st.lists(st.sampled_from(TOOLS), max_size=12), st.integers(1, 3))
@steady
def test_loops_are_rounds_in_a_row(names: list[str], most: int) -> None:
    assert holds([call(name) for name in names], loops={"max": most}) == (rounds(names) <= most)


# ---- what changes a verdict and what does not


patterns = st.fixed_dictionaries(
    {"tool": st.sampled_from(TOOLS)},
    optional={"arguments": st.sampled_from([{}, {"id": 1}]), "status": st.sampled_from(["ok", "error"])},
)
required = st.fixed_dictionaries(
    {"tool": st.sampled_from(TOOLS)},
    optional={
        "arguments": st.just({"id": 1}),
        "occurrence": st.sampled_from(["first", "last", 2]),
        "status": st.sampled_from(["ok", "error"]),
        "times": st.sampled_from([0, 1, {"gte": 2}]),
    },
)
blind_to_others = st.fixed_dictionaries(
    {
        "required": st.lists(required, min_size=1, max_size=3),
        "forbidden": st.lists(patterns, min_size=1, max_size=2),
        "order": st.just([{"first": "a", "then": "b", "mode": "each"}, {"first": "c", "then": "a"}]),
        "calls": st.fixed_dictionaries(
            {"mode": st.sampled_from(["in_order", "any_order", "superset"]), "expected": expected}
        ),
        "recovery": st.just(
            [{"after_error": "a", "must": "retry"}, {"after_error": "b", "must": "escalate", "tool": "c"}]
        ),
        "max_repeats": st.integers(1, 3),
    }
)


@given(some_calls, blind_to_others, st.data())
@steady
def test_an_unrelated_call_anywhere_changes_no_verdict(
    calls: Calls, rules: dict[str, Any], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(calls)))
    more = [*calls[:at], call("unrelated", id=at), *calls[at:]]
    assert verdicts(more, **rules) == verdicts(calls, **rules)


@given(expected.filter(bool), st.sampled_from(["exact", "in_order", "any_order", "superset"]), st.data())
@steady
def test_without_one_of_its_calls_an_expectation_always_fails(
    expected: list[Any], mode: str, data: st.DataObject
) -> None:
    calls = [call(item["name"], **item.get("arguments", {})) for item in expected]
    rule = {"mode": mode, "expected": expected}
    assert holds(calls, calls=rule)
    at = data.draw(st.integers(0, len(calls) - 1))
    assert not holds([*calls[:at], *calls[at + 1 :]], calls=rule)


@pytest.mark.parametrize("mode", ["exact", "in_order", "any_order", "subset"])
def test_thousands_of_calls_are_decided_in_a_moment(mode: str) -> None:
    calls = [call(name, id=1) for name in ("a", "b", "a", "c") * 500]
    parallel = {"parallel": [{"name": "a"}, {"name": "b"}, {"name": "missing"}]}
    begin = time.process_time()
    found = verdicts(
        calls, calls={"mode": mode, "expected": [parallel] * 5}, loops={"max": 9}, max_repeats=9, only=["a", "b", "c"]
    )
    assert found == ["passed", "failed", "failed", "passed"]
    assert time.process_time() - begin < 60
