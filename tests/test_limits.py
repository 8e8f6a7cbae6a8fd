"""Limits: what the transcript shows is held against the budget, and what it does not show is no evidence."""

from __future__ import annotations

from typing import Any

import pytest
from build import call, case, steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.limits import checked
from agenteval_cli.transcript import ReasoningStep, Transcript, Usage

TWO_CALLS: dict[str, Any] = {"tool_calls": (call("a"), call("b"))}


def results(limits: dict[str, Any], seconds: float = 1.0, **shown: Any) -> dict[str, str]:
    """The result of each limit on a transcript that shows this."""
    found = checked(case(limits=limits).limits, Transcript(output="Done.", **shown), seconds)
    return {result.name.removeprefix("limits."): result.result for result in found}


def words(limits: dict[str, Any], seconds: float = 1.0, **shown: Any) -> str:
    (found,) = checked(case(limits=limits).limits, Transcript(output="Done.", **shown), seconds)
    return found.message


def thoughts(*calls: str | None) -> tuple[ReasoningStep, ...]:
    return tuple(ReasoningStep("ACTION" if call else "THOUGHT", "", call) for call in calls)


@pytest.mark.parametrize(
    ("limits", "shown", "result"),
    [
        ({"tool_calls": 2}, TWO_CALLS, "passed"),
        ({"tool_calls": 1}, TWO_CALLS, "failed"),
        ({"tool_calls": 0}, {"tool_calls": ()}, "passed"),
        ({"tool_calls": 5}, {}, "no_evidence"),
        ({"steps": 2}, TWO_CALLS, "passed"),
        ({"steps": 2}, TWO_CALLS | {"reasoning": thoughts(None)}, "failed"),
        ({"steps": 3}, TWO_CALLS | {"reasoning": thoughts(None, "call-1")}, "passed"),
        ({"steps": 5}, {"reasoning": thoughts(None)}, "no_evidence"),
        ({"tokens": 100}, {"usage": Usage(total_tokens=100)}, "passed"),
        ({"tokens": 100}, {"usage": Usage(total_tokens=101)}, "failed"),
        ({"tokens": 100}, {"usage": Usage(60, 40)}, "passed"),
        ({"tokens": 100}, {"usage": Usage(60, 41)}, "failed"),
        ({"tokens": 100}, {"usage": Usage(1, 1, 101)}, "failed"),
        ({"tokens": 100}, {"usage": Usage(60, 41, 0)}, "failed"),
        ({"tokens": 100}, {"usage": Usage(101, None, 5)}, "failed"),
        ({"tokens": 100}, {"usage": Usage(60, None)}, "no_evidence"),
        ({"tokens": 100}, {"usage": Usage()}, "no_evidence"),
        ({"tokens": 100}, {}, "no_evidence"),
        ({"cost": "0.05"}, {"cost": "0.05"}, "passed"),
        ({"cost": "0.05"}, {"cost": "0.050"}, "passed"),
        ({"cost": "0.05"}, {"cost": "0.0500000000000000001"}, "failed"),
        ({"cost": "0.3"}, {"cost": "3e-1"}, "passed"),
        ({"cost": "0"}, {"cost": "0"}, "passed"),
        ({"cost": "0.05"}, {"cost": "a little"}, "no_evidence"),
        ({"cost": "0.05"}, {"cost": "NaN"}, "no_evidence"),
        ({"cost": "0.05"}, {"cost": "Infinity"}, "no_evidence"),
        ({"cost": "0.05"}, {}, "no_evidence"),
        ({"turns": 1}, {}, "passed"),
        ({"turns": 1}, {"messages": ({"role": "user"}, {"role": "assistant"})}, "passed"),
        ({"turns": 1}, {"messages": ({"role": "user"}, {"role": "assistant"}, {"role": "user"})}, "failed"),
    ],
)
def test_a_limit_is_kept_broken_or_without_evidence(limits: dict[str, Any], shown: dict[str, Any], result: str) -> None:
    assert results(limits, **shown) == {next(iter(limits)): result}


@pytest.mark.parametrize(("seconds", "result"), [(0.5, "passed"), (0.4999, "passed"), (0.6, "failed"), (30, "failed")])
def test_an_answer_after_the_timeout_is_over_it(seconds: float, result: str) -> None:
    assert results({"timeout": "500ms"}, seconds) == {"timeout": result}


@pytest.mark.parametrize(
    ("turns", "users", "result"),
    [(2, 0, "passed"), (3, 0, "failed"), (2, 5, "passed"), (None, 2, "passed"), (None, 3, "failed")],
)
def test_turns_are_those_that_were_held_or_that_the_agent_tells_of(turns: int | None, users: int, result: str) -> None:
    said = tuple({"role": "user"} for _ in range(users)) or None
    (found,) = checked(case(limits={"turns": 2}).limits, Transcript(output="Done.", messages=said), 1.0, turns)
    assert found.result == result


def test_the_words_say_how_much_and_how_much_was_allowed() -> None:
    assert words({"tool_calls": 1}, **TWO_CALLS) == "2 tool calls; the limit is 1"
    assert words({"cost": "0.05"}, cost="0.051") == "0.051 cost; the limit is 0.05"
    assert words({"tokens": 5}) == "the agent did not report its tokens"
    assert words({"cost": "5"}, cost="-1") == "the cost that the agent reported, '-1', is no amount"


def test_every_limit_is_checked_and_nothing_else() -> None:
    limits = {"timeout": "2s", "steps": 9, "tool_calls": 9, "tokens": 9, "cost": "9", "turns": 9}
    assert set(results(limits)) == set(limits)
    assert results({}) == {}


def test_limits_are_part_of_the_trajectory() -> None:
    (found,) = checked(case(limits={"tool_calls": 1}).limits, Transcript(**TWO_CALLS), 1.0)
    assert (found.part, found.severity, found.expected, found.actual) == ("trajectory", "error", 1, 2)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 110))
@steady
def test_tokens_of_both_directions_count(received: int, given_back: int, limit: int) -> None:
    shown = results({"tokens": limit}, usage=Usage(received, given_back))
    assert (shown["tokens"] == "passed") == (received + given_back <= limit)


def test_of_a_broken_transcript_what_was_counted_may_be_more() -> None:
    limits = {"tool_calls": 2, "tokens": 100}
    shown: dict[str, Any] = {"tool_calls": (call("look"),), "usage": Usage(10, 10, 20), "partial": True}
    assert set(results(limits, **shown).values()) == {"no_evidence"}
    assert "1 tool calls at least: a part of the transcript is broken" in words({"tool_calls": 2}, **shown)
    assert results({"tool_calls": 0}, **shown) == {"tool_calls": "failed"}
    assert results({"tool_calls": 2}, observed=True, **shown) == {"tool_calls": "passed"}
