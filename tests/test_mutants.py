"""Mutants: small changes of a recording, and which of them a case would let pass."""

from __future__ import annotations

from typing import Any

import pytest
from build import call, case, did, json_values, steady
from conftest import Repo
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agenteval_cli import schemas
from agenteval_cli.compare import same
from agenteval_cli.mutants import MOST_CALLS, Mutation, mutants_of, mutation_of, survivors
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript

LOOK, PAY = call("look", id="7"), call("pay", amount=5)
RECORDING = did(LOOK, PAY)
STRONG: dict[str, Any] = {
    "outcome": [{"contains": "Done"}],
    "trajectory": {
        "calls": {
            "mode": "exact",
            "expected": [
                {"name": "look", "arguments": {"id": "7"}, "status": "ok"},
                {"name": "pay", "arguments": {"amount": 5}, "status": "ok"},
            ],
        }
    },
}


def names(recording: Transcript) -> list[str]:
    return [mutant.name for mutant in mutants_of(recording)]


def surviving(recording: Transcript = RECORDING, **keys: Any) -> list[str]:
    return [mutant.name for mutant in survivors(case(**keys), recording)]


def test_a_recording_is_changed_step_by_step() -> None:
    assert names(RECORDING) == [
        "the answer blanked",
        "step 1 (look) left out",
        "step 1 (look) made twice",
        "step 1 (look) swapped with step 2 (pay)",
        "step 1 (look) failed",
        'step 1 (look) with $.id = "7-changed"',
        "step 2 (pay) left out",
        "step 2 (pay) made twice",
        "step 2 (pay) failed",
        "step 2 (pay) with $.amount = 6",
    ]


def test_a_case_that_says_everything_lets_no_mutant_pass() -> None:
    assert mutation_of(case(**STRONG), RECORDING) == Mutation("greet", 10, ())


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        ({"outcome": [{"contains": "Done"}]}, set(names(RECORDING)) - {"the answer blanked"}),
        (
            {"trajectory": {"required": ["pay"]}},
            set(names(RECORDING)) - {"step 2 (pay) left out"},
        ),
        (
            {"trajectory": {"required": [{"tool": "pay", "arguments": {"amount": {"lte": 6}}, "times": 1}]}},
            set(names(RECORDING)) - {"step 2 (pay) left out", "step 2 (pay) made twice"},
        ),
        (
            {"trajectory": {"order": [{"first": "look", "then": "pay"}]}},
            set(names(RECORDING))
            - {"step 1 (look) left out", "step 1 (look) swapped with step 2 (pay)", "step 1 (look) failed"},
        ),
    ],
)
def test_what_a_case_does_not_check_survives(keys: dict[str, Any], left: set[str]) -> None:
    assert set(surviving(**keys)) == left


def test_the_score_is_killed_of_all() -> None:
    found = mutation_of(case(outcome=[{"contains": "Done"}]), RECORDING)
    assert found is not None
    assert (found.mutants, found.killed, found.score) == (10, 1, 0.1)


def test_a_recording_that_does_not_pass_proves_nothing() -> None:
    assert mutation_of(case(outcome=[{"contains": "Goodbye"}]), RECORDING) is None
    assert mutation_of(case(limits={"tool_calls": 3}), Transcript(output="", tool_calls=())) is None


def test_two_identical_neighbours_are_not_swapped_and_a_failed_call_does_not_fail_again() -> None:
    failed = call("look", "error", id="7")
    assert not [name for name in names(did(LOOK, LOOK)) if "swapped" in name]
    assert "step 1 (look) failed" not in names(did(failed))
    assert "step 1 (look) swapped with step 2 (look)" in names(did(failed, LOOK))


def test_a_call_takes_the_thoughts_that_led_to_it_along() -> None:
    made = ToolCall(name="look", id="c1", arguments={}, result=1)
    thoughts = (ReasoningStep("PLAN", "look"), ReasoningStep("ACTION", "", "c1"))
    recording = Transcript(output="Done.", tool_calls=(made,), reasoning=thoughts)
    left = {mutant.name: mutant.transcript.reasoning for mutant in mutants_of(recording)}
    assert left["step 1 (look) left out"] == thoughts[:1]
    assert left["step 1 (look) made twice"] == thoughts


def test_a_long_recording_is_changed_at_its_begin_only() -> None:
    assert "step 50 (look) left out" in names(did(*[LOOK] * 80))
    assert f"step {MOST_CALLS + 1} (look) left out" not in names(did(*[LOOK] * 80))


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4))
@steady
def test_a_changed_argument_is_another_one(arguments: dict[str, Any]) -> None:
    made = ToolCall(name="look", arguments=arguments, result=1)
    changed = [mutant.transcript.tool_calls for mutant in mutants_of(did(made)) if " with $" in mutant.name]
    assert len(changed) == len(arguments)
    for calls in changed:
        assert calls is not None
        assert not same(calls[0].arguments, arguments)
        assert calls[0].arguments.keys() == arguments.keys()


# ---- validate --prove

WEAK = """
schema: 1
id: weak
input: Pay order 7.
state: {orders: {"7": {total: 5}}}
tools: [{use: shop}, {name: pay}]
outcome: [{contains: Paid}]
trajectory: {required: [{tool: pay, arguments: {amount: {$state: /orders/7/total}}}]}
recording:
  output: Paid.
  tool_calls: [{name: look, arguments: {}, result: 1}, {name: pay, arguments: {amount: 5}, result: 1}]
"""
SHOP = "schema: 1\nid: shop\ntools: [{name: look}]\n"
LEFT = [
    "step 1 (look) left out",
    "step 1 (look) made twice",
    "step 1 (look) swapped with step 2 (pay)",
    "step 1 (look) failed",
    "step 2 (pay) made twice",
    "step 2 (pay) failed",
]


def test_the_proof_lists_what_a_case_would_not_notice(repo: Repo) -> None:
    repo.write("fixtures/shop.yaml", SHOP)
    repo.case("weak", WEAK)
    assert "weak-case" not in repo.run("validate").out
    told = repo.run("validate", "--prove")
    assert told.code == 0
    assert (
        told.out.strip()
        == f"cases/weak.yaml:9:3: warning: recording: 6 of 9 changes of the recording pass: {'; '.join(LEFT)} [weak-case]"
    )
    assert repo.run("validate", "--prove", "--ignore", "weak-case").out == ""


def test_the_proof_gives_the_score_of_each_case_as_json(repo: Repo) -> None:
    repo.write("fixtures/shop.yaml", SHOP)
    repo.case("weak", WEAK)
    said = repo.run("validate", "--prove", "--json").json
    assert said["mutation"] == [{"case": "weak", "killed": 3, "mutants": 9, "survivors": LEFT}]
    assert "mutation" not in repo.run("validate", "--json").json
    output = schemas.load("output")
    Draft202012Validator({"$ref": "#/$defs/validate", "$defs": output["$defs"]}).validate(said)


def test_a_long_list_of_changes_is_cut_in_words_and_whole_as_json(repo: Repo) -> None:
    calls = ", ".join(f"{{name: look, arguments: {{n: {number}}}, result: 1}}" for number in range(9))
    case_text = "schema: 1\nid: long\ninput: Hi\noutcome: [{contains: Hi}]\n"
    repo.case("long", f"{case_text}recording: {{output: Hi, tool_calls: [{calls}]}}\n")
    told = repo.run("validate", "--prove", "--json").json
    (mutation,) = told["mutation"]
    assert len(mutation["survivors"]) == mutation["mutants"] - 1 == 44
    assert [problem["message"][-12:] for problem in told["problems"] if problem["rule"] == "weak-case"] == [
        "; and 36 more"[-12:]
    ]
