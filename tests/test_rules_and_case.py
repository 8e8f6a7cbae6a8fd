"""From a document to a case: rules beyond the schema, variables, defaults, and match as a check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from build import case, json_values, steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.case import Case, Limits, OutcomeCheck, Tool, case_from, filled
from agenteval_cli.config import Config
from agenteval_cli.constraints import CallPattern, OrderRule, Trajectory
from agenteval_cli.repository import Loaded, Repository, load
from agenteval_cli.rules import RULES
from agenteval_cli.units import seconds

GREET = "schema: 1\nid: greet\ninput: Hello\noutcome: [{contains: hello}]\n"


def loaded(folder: Path, **texts: str) -> Loaded:
    """The cases of these texts, each in a file of its own: `loaded(folder, a=GREET)` reads a.yaml."""
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return load(Repository(folder, Config()), [f"{name}.yaml" for name in texts])


def told(folder: Path, text: str) -> list[str]:
    return [str(problem) for problem in loaded(folder, a=text).problems]


def with_variables(**keys: Any) -> dict[str, Any]:
    variables = [{"name": "who", "value": "Ada"}, {"name": "days", "value": 30}, {"name": "gift", "value": True}]
    return filled({"variables": variables, **keys})


# ---- rules


def test_a_sound_case_has_no_problems(tmp_path: Path) -> None:
    assert told(tmp_path, GREET) == []


def test_a_case_is_told_all_of_its_problems_in_reading_order(tmp_path: Path) -> None:
    text = GREET.replace("{contains: hello}", '{regex: "("}, {field: {path: "$[", equals: 1}}') + "expected_output: x\n"
    assert [line.partition(": ")[0] for line in told(tmp_path, text)] == ["a.yaml:4:19", "a.yaml:4:40", "a.yaml:5:18"]


def test_every_problem_carries_the_name_of_a_rule(tmp_path: Path) -> None:
    text = "schema: 1\nid: greet\ninput: Hello\nturns: [{user: Hi}]\nmatch: exact\nexpected_output:\n"
    found = [problem.rule for problem in loaded(tmp_path, a=text).problems]
    assert found == ["one-input", "unused-reference"]
    assert set(found) <= set(RULES)


@pytest.mark.parametrize(
    "more",
    [
        "trajectory: {only: []}",
        "limits: {tool_calls: 3}",
        "expected_output: Hi\nmatch: exact",
        "criteria: [{text: Polite., gate: true}]",
    ],
)
def test_one_thing_that_can_fail_is_enough(tmp_path: Path, more: str) -> None:
    assert told(tmp_path, f"schema: 1\nid: greet\ninput: Hello\n{more}\n") == []


def test_a_criterion_may_use_the_reference_answer(tmp_path: Path) -> None:
    assert told(tmp_path, GREET + "expected_output: Hi\ncriteria: [{metric: correctness}]\n") == []


def test_a_count_of_any_size_is_judged_and_breaks_nothing(tmp_path: Path) -> None:
    calls = f"trajectory: {{required: [{{tool: get_order, times: {'9' * 400}}}]}}\n"
    assert all("[bad-matcher]" in line for line in told(tmp_path, GREET + calls))


def test_each_file_is_told_of_another_with_its_id_ignoring_case(tmp_path: Path) -> None:
    ids = {"a": "greet", "b": "other", "c": "GREET", "d": "Greet"}
    texts = {name: GREET.replace("greet", own).replace("Hello", f"Hello {name}") for name, own in ids.items()}
    assert [str(problem) for problem in loaded(tmp_path, **texts).problems] == [
        "a.yaml:2:5: id: the ID 'greet' is also that of c.yaml; IDs are unique, ignoring case [duplicate-id]",
        "c.yaml:2:5: id: the ID 'GREET' is also that of a.yaml; IDs are unique, ignoring case [duplicate-id]",
        "d.yaml:2:5: id: the ID 'Greet' is also that of a.yaml; IDs are unique, ignoring case [duplicate-id]",
    ]


def test_documents_without_an_id_repeat_none(tmp_path: Path) -> None:
    found = loaded(tmp_path, a="- a\n", b="- a\n", c="id: 5\n", d="id: 5\n")
    assert "duplicate-id" not in {problem.rule for problem in found.problems}


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("min_pass_rate: 0.80", False),
        ("outcome: [{field: {path: $.a, gte: 1.50}}]", False),
        ("outcome: [{field: {path: $.a, between: [1.0, 1.5]}}]", False),
        ("outcome: [{field: {path: $.a, approx: {value: 1.10, within: 0.10}}}]", False),
        ("outcome: [{state: {a: {approx: {value: 1.10, within: 0.10}}}}]", False),
        ("outcome: [{json_schema: {properties: {total: {minimum: 1.0}}}}]", False),
        ("trajectory: {required: [{tool: a, times: 1.0}]}", False),
        ("outcome: [{equals: 2.10}]", True),
        ("state: {release: 2.10}", True),
        ("state: {order: {value: 2.10}}", True),
        ("variables: [{name: release, value: 2.10}]", True),
        ("metadata: {attempts: 2.10}", True),
        ("trajectory: {required: [{tool: a, arguments: {value: 2.10}}]}", True),
    ],
)
def test_a_number_that_loses_a_zero_is_fine_only_where_a_number_is_meant(
    tmp_path: Path, line: str, warned: bool
) -> None:
    text = f"schema: 1\nid: greet\ninput: Install {{{{release}}}}\nlimits: {{tool_calls: 3}}\n{line}\n"
    found = [problem.rule for problem in loaded(tmp_path, a=text).problems]
    assert found == (["yaml-number"] if warned else [])


@pytest.mark.parametrize(
    ("text", "unused"),
    [
        ("input: Hello {{who}}", False),
        ("input: Hello {{ who }}", False),
        ("input: {deep: [{text: 'for {{who}}'}]}", False),
        ('input: "Hello {{\\n\\twho}}"', False),
        ("input: {'{{who}}': a key is not filled}", True),
        ("input: Hello {who}", True),
        ("input: Hello {{Who}}", True),
    ],
)
def test_a_variable_that_fills_nothing_is_a_warning(tmp_path: Path, text: str, unused: bool) -> None:
    told_all = told(tmp_path, GREET.replace("input: Hello", f"variables: [{{name: who, value: Ada}}]\n{text}"))
    found = [line for line in told_all if "unknown-placeholder" not in line]
    warning = "a.yaml:3:20: warning: variables[0].name: {{who}} stands nowhere in this case [unused-variable]"
    assert found == ([warning] if unused else [])


# ---- variables


def test_variables_fill_the_texts_of_the_case_at_every_depth() -> None:
    data = with_variables(
        input="I am {{who}}",
        state={"a": [{"b": "{{ who }} and {{who}}"}], "n": 5},
        outcome=[{"contains": "{{days}} days"}],
        trajectory={"required": [{"tool": "t", "arguments": {"gift": "{{gift}}"}}]},
    )
    assert data["input"] == "I am Ada"
    assert data["state"] == {"a": [{"b": "Ada and Ada"}], "n": 5}
    assert data["outcome"] == [{"contains": "30 days"}]
    assert data["trajectory"]["required"][0]["arguments"] == {"gift": "true"}


@pytest.mark.parametrize("key", ["title", "why", "notes"])
def test_variables_leave_the_words_about_the_case_alone(key: str) -> None:
    assert with_variables(**{key: "for {{who}}"})[key] == "for {{who}}"


def test_variables_leave_keys_tags_and_metadata_alone() -> None:
    data = with_variables(state={"{{who}}": 1}, tags=["{{who}}"], metadata={"owner": "{{who}}"})
    assert (data["state"], data["tags"], data["metadata"]) == ({"{{who}}": 1}, ["{{who}}"], {"owner": "{{who}}"})


@pytest.mark.parametrize("text", ["{{unknown}}", "{who}", "{{ who", "{{who.name}}", "{{}}", "{{{days", "{% who %}"])
def test_other_braces_are_left_as_they_are(text: str) -> None:
    assert with_variables(input=text)["input"] == text


def test_a_value_is_filled_in_as_it_is_and_not_filled_again() -> None:
    variables = [{"name": "a", "value": "{{b}}"}, {"name": "b", "value": "{{a}}"}]
    assert filled({"variables": variables, "input": "{{a}} {{b}}"})["input"] == "{{b}} {{a}}"


def test_a_value_that_looks_like_a_pattern_is_text() -> None:
    variables = [{"name": "a", "value": r"\1\g<0>"}]
    assert filled({"variables": variables, "input": "{{a}}"})["input"] == r"\1\g<0>"


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=4))
@steady
def test_a_case_without_variables_is_left_as_it_is(data: dict[str, Any]) -> None:
    data.pop("variables", None)
    assert filled(data) == data


# ---- the case


def test_what_a_case_does_not_say_has_its_default() -> None:
    assert case_from("a.yaml", {"schema": 1, "id": "greet", "input": "Hello"}) == Case(
        id="greet",
        file="a.yaml",
        data={"schema": 1, "id": "greet", "input": "Hello"},
        title="",
        tier="regression",
        tags=(),
        quarantined=False,
        agent=None,
        messages=({"role": "user", "content": "Hello"},),
        turns=(),
        role=None,
        files=(),
        tools=(),
        limits=Limits(),
        attempts=None,
        min_pass_rate=1.0,
        outcome=(),
        trajectory=Trajectory(standing=True, user_says="Hello"),
    )


def test_what_a_case_says_is_kept() -> None:
    found = case(
        title="A title",
        tier="smoke",
        tags=["a"],
        quarantine={"reason": "flaky"},
        agent="support",
        files=["a.pdf"],
        tools=[{"name": "get_order", "description": "Looks it up"}, {"use": "orders-api"}],
        limits={"timeout": "500ms", "tool_calls": 0, "cost": "0.05"},
        attempts=5,
        min_pass_rate=1,
    )
    assert (found.title, found.tier, found.tags, found.quarantined) == ("A title", "smoke", ("a",), True)
    assert (found.agent, found.files, found.attempts, found.min_pass_rate) == ("support", ("a.pdf",), 5, 1.0)
    assert found.tools == (Tool("get_order", "Looks it up"),)
    assert found.limits == Limits(timeout=0.5, tool_calls=0, cost="0.05")


def test_checks_are_named_by_their_place() -> None:
    found = case(
        outcome=[{"contains": "a", "ignore_case": True}, {"note": "n", "severity": "warning", "state": {"a": 1}}]
    )
    assert found.outcome == (
        OutcomeCheck("outcome[0].contains", "contains", "a", ignore_case=True),
        OutcomeCheck("outcome[1].state", "state", {"a": 1}, severity="warning", note="n"),
    )


@pytest.mark.parametrize(
    ("match", "expected", "check"),
    [
        ("exact", "Yes.", OutcomeCheck("match.exact", "equals", "Yes.")),
        ("exact", {"a": 1}, OutcomeCheck("match.exact", "equals", {"a": 1})),
        ("exact", False, OutcomeCheck("match.exact", "equals", expected=False)),
        ("contains", "Yes", OutcomeCheck("match.contains", "contains", "Yes")),
    ],
)
def test_match_makes_the_reference_answer_a_check(match: str, expected: Any, check: OutcomeCheck) -> None:
    assert case(match=match, expected_output=expected).outcome == (check,)


def test_a_reference_answer_alone_compares_nothing() -> None:
    assert case(expected_output="Yes.").outcome == ()


def test_the_check_of_match_comes_after_the_others() -> None:
    found = case(outcome=[{"contains": "a"}], match="exact", expected_output="a")
    assert [check.name for check in found.outcome] == ["outcome[0].contains", "match.exact"]


def test_the_rules_of_the_path_are_read() -> None:
    rules = {
        "required": ["a", {"tool": "b", "arguments": {"x": 1}, "exact": True, "times": {"gte": 2}, "status": "ok"}],
        "forbidden": [{"tool": "c"}],
        "only": [],
        "order": [{"first": "a", "then": "b"}],
        "max_repeats": 2,
    }
    assert case(trajectory=rules).trajectory == Trajectory(
        required=(CallPattern("a"), CallPattern("b", {"x": 1}, exact=True, times={"gte": 2}, status="ok")),
        forbidden=(CallPattern("c"),),
        only=(),
        order=(OrderRule(CallPattern("a"), CallPattern("b")),),
        max_repeats=2,
        standing=True,
        user_says="Hello",
    )


def test_the_input_follows_the_conversation() -> None:
    before = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    found = case(conversation=before, input={"order": 5678})
    assert found.messages == (*before, {"role": "user", "content": {"order": 5678}})
    assert found.input == {"order": 5678}


def test_without_an_input_the_last_message_is_the_turn_under_test() -> None:
    data = {"schema": 1, "id": "greet", "conversation": [{"role": "user", "content": "Hi"}]}
    assert case_from("a.yaml", data).input == "Hi"


@pytest.mark.parametrize(
    ("text", "value"), [("30s", 30), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("1.5s", 1.5), ("0.5m", 30)]
)
def test_durations_are_read_with_their_unit(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)
