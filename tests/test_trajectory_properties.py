"""The rules over the path against slow and plain definitions of what they mean."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import groupby, permutations, product
from typing import Any

import msgspec
import pytest
from build import call, case, did, steady
from hypothesis import HealthCheck, example, given, settings
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


def in_groups(calls: Calls, groups: list[int | None]) -> Calls:
    return [msgspec.structs.replace(made, group=group) for made, group in zip(calls, groups, strict=False)]


# Neighbours of one number are a group; None is a call alone.
grouped_calls = st.lists(st.tuples(some_call, st.sampled_from([1, 1, 2, None])), max_size=6).map(
    lambda pairs: in_groups([made for made, _ in pairs], [group for _, group in pairs])
)


def arrivals(calls: Calls) -> Iterator[Calls]:
    """Every order in which the calls can have come, those of one group in any among themselves."""
    blocks = [list(block) for _, block in groupby(calls, key=lambda made: made.group or id(made))]
    for order in product(*map(permutations, blocks)):
        yield [made for block in order for made in block]


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


def in_best_arrival(stages: list[Stage], calls: Calls) -> tuple[int, int]:
    """What the best pairing is worth in the order of arrival that suits it best."""
    members = [member for stage in stages for member in stage.members]
    return max(
        worth(members, way) for arrival in arrivals(calls) for way in ways(members, arrival) if keeps_order(stages, way)
    )


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


stages_of_names = st.lists(
    st.lists(
        st.fixed_dictionaries(
            {"name": st.sampled_from(TOOLS)},
            optional={"arguments": st.sampled_from([{"id": 1}, {"id": 2}]), "optional": st.just(value=True)},
        ),
        min_size=1,
        max_size=3,
    ).map(lambda members: members[0] if len(members) == 1 else {"parallel": members}),
    min_size=1,
    max_size=4,
)


SHARED = [
    {"parallel": [{"name": "a", "optional": True}, {"name": "b"}]},
    {"parallel": [{"name": "a"}, {"name": "c", "optional": True}]},
    {"parallel": [{"name": "c"}, {"name": "c"}]},
]


@example(SHARED, in_groups([call(name) for name in "abccc"], [1, 1, None, 2, 2]), "exact")
@given(stages_of_names, grouped_calls, st.sampled_from(["exact", "in_order"]))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=300)
def test_calls_of_one_group_hold_if_they_hold_in_any_order_among_themselves(
    expected: list[Any], calls: Calls, mode: str
) -> None:
    rule = {"mode": mode, "expected": expected}
    one_by_one = [in_groups(arrival, [None] * len(arrival)) for arrival in arrivals(calls)]
    assert holds(calls, calls=rule) == any(holds(arrival, calls=rule) for arrival in one_by_one)


@given(stages_of_names, grouped_calls, st.sampled_from(["exact", "in_order"]), st.data())
@steady
def test_neither_verdict_nor_scores_tell_in_which_order_a_group_arrived(
    expected: list[Any], calls: Calls, mode: str, data: st.DataObject
) -> None:
    rule = {"mode": mode, "expected": expected}
    other = data.draw(st.sampled_from(list(arrivals(calls))))
    (one,), (two,) = results(calls, calls=rule), results(other, calls=rule)
    assert (one.result, one.scores) == (two.result, two.scores)


@given(st.lists(some_expected.map(lambda member: Stage((member,))), max_size=4), grouped_calls)
@steady
def test_no_order_of_arrival_pairs_more_of_a_list_of_calls(stages: list[Stage], calls: Calls) -> None:
    members = [member for stage in stages for member in stage.members]
    assert worth(members, ordered_pairing(stages, tuple(calls))) == in_best_arrival(stages, calls)


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


@pytest.mark.slow
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


@pytest.mark.parametrize("mode", ["exact", "in_order"])
@pytest.mark.parametrize("size", [2, 7, 1000])
def test_thousands_of_calls_in_groups_are_decided_in_a_moment(mode: str, size: int) -> None:
    tools = [f"tool_{number}" for number in range(12)]
    calls = [call(tools[(at * at + at // 7) % 12], id=at % 3) for at in range(4000)]
    grouped = in_groups(calls, [at // size for at in range(4000)])
    parallel = {"parallel": [{"name": name, "optional": True} for name in tools[:4]]}
    last = {"parallel": [{"name": "missing"}, {"name": "tool_1"}]}
    begin = time.process_time()
    assert verdicts(grouped, calls={"mode": mode, "expected": [parallel, *tools, parallel, *tools, last]}) == ["failed"]
    assert time.process_time() - begin < 20


def test_a_hundred_calls_at_once_are_the_hundred_expected_in_any_order() -> None:
    calls = in_groups([call("a", id=number) for number in range(1000)], [1] * 1000)
    expected = [{"name": "a", "arguments": {"id": number}} for number in reversed(range(1000))]
    begin = time.process_time()
    assert holds(calls, calls={"mode": "exact", "expected": expected[:100]}) is False
    assert holds(calls[:100], calls={"mode": "exact", "expected": [{"parallel": expected[900:]}]})
    assert holds(calls[:100], calls={"mode": "exact", "expected": expected[900:]})
    assert time.process_time() - begin < 20
