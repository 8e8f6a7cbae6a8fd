"""TestCase: a case as a value in Python, and the files that it writes and reads."""

from __future__ import annotations

import copy
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from build import document, json_values, steady
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

import agenteval_cli
from agenteval_cli import TestCase
from agenteval_cli.checking import Context, check
from agenteval_cli.test_case import decimal_text

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def problems(text: str) -> list[str]:
    """What the tool says of a case file, warnings too."""
    facts, _ = check(Context(), "cases/a.yaml", text.encode())
    return [str(problem) for problem in facts.problems]


# ---- the package


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, agenteval_cli; print([m for m in ('yaml', 'msgspec', 'typer', 'jsonschema_rs') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_knows_its_names_and_no_others() -> None:
    assert {"TestCase", "__version__"} <= set(dir(agenteval_cli))
    assert set(agenteval_cli.__all__) == {"TestCase", "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'TestCsae'"):
        agenteval_cli.TestCsae  # type: ignore[attr-defined]  # noqa: B018  # asking for it is the test


def test_pytest_collects_no_test_case() -> None:
    assert TestCase.__test__ is False


def test_the_documentation_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), {})  # noqa: S102  # our own page
    written = sorted((tmp_path / "cases").iterdir())
    assert [problems(path.read_text(encoding="utf-8")) for path in written] == [[], []]


# ---- field by field, there and back

FIELDS: list[tuple[str, Any, dict[str, Any]]] = [
    ("input", {"question": [1, None]}, {"input": {"question": [1, None]}}),
    ("expected_output", "Hello!", {"expected_output": "Hello!"}),
    ("criteria", ("Polite.", {"text": "Short.", "gate": True}), {"criteria": ["Polite.", {"text": "Short.", "gate": True}]}),
    ("metadata", {"owner": "me", "n": [1]}, {"metadata": {"owner": "me", "n": [1]}}),
    ("name", "A greeting", {"title": "A greeting"}),
    ("tags", ("a", "b"), {"tags": ["a", "b"]}),
    ("timeout", 12.5, {"limits": {"timeout": "12.5s"}}),
    ("timeout", None, {}),
    ("id", "greet-1", {"id": "greet-1"}),
    ("match", "exact", {"match": "exact", "expected_output": "x"}),
    ("actual_output", "Hello", {"recording": {"output": "Hello"}}),
    ("actual_output", None, {"recording": {"output": None}}),
    ("messages", ({"role": "user", "content": "Hi"},), {"recording": {"output": None, "messages": [{"role": "user", "content": "Hi"}]}}),
    ("tool_calls", ({"name": "look", "arguments": {"at": None}},), {"recording": {"output": None, "tool_calls": [{"name": "look", "arguments": {"at": None}}]}}),
    ("tool_calls", (), {"recording": {"output": None, "tool_calls": []}}),
    ("reasoning", ({"type": "PLAN", "content": "look"},), {"recording": {"output": None, "reasoning": [{"type": "PLAN", "content": "look"}]}}),
    ("retrieval_context", ("a page",), {"recording": {"output": None, "retrieval_context": ["a page"]}}),
    ("usage", {"total_tokens": 9}, {"recording": {"output": None, "usage": {"total_tokens": 9}}}),
    ("cost", "0.0500", {"recording": {"output": None, "cost": "0.0500"}}),
    ("latency_ms", 1.5, {"recording": {"output": None, "latency_ms": 1.5}}),
    ("end_state", {"paid": True}, {"recording": {"output": None, "state": {"paid": True}}}),
    ("end_state", None, {"recording": {"output": None, "state": None}}),
    ("model", "m-1", {"recording": {"output": None, "model": "m-1"}}),
    ("trace_id", "4bf9", {"recording": {"output": None, "trace_id": "4bf9"}}),
    ("more", {"tier": "smoke", "limits": {"steps": 3}}, {"tier": "smoke", "limits": {"steps": 3}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "data"), FIELDS)
def test_each_field_has_its_place_in_the_file_and_comes_back(name: str, value: Any, data: dict[str, Any]) -> None:
    expected = {"expected_output": "x"} if name == "match" else {}
    case = TestCase(**{"input": "Hi", "timeout": None, "id": "greet", **expected, name: value})
    assert case.to_case() == case.to_dict() == {"schema": 1, "id": "greet", "input": "Hi", **data}
    read = TestCase.from_yaml(case.to_yaml())
    assert (read, getattr(read, name)) == (case, value)
    assert TestCase.from_dict(case.to_case()) == case


def test_every_field_is_in_the_table_above() -> None:
    assert {name for name, _, _ in FIELDS} == {name for name in TestCase.__dataclass_fields__ if name[0] != "_"}


def test_fields_may_stand_without_their_names() -> None:
    case = TestCase("Hi", "Hello", ["Polite."], {"owner": "me"}, "A greeting", ["a"], 5)
    assert (case.input, case.expected_output, case.criteria, case.metadata) == (
        "Hi",
        "Hello",
        ("Polite.",),
        {"owner": "me"},
    )
    assert (case.name, case.tags, case.timeout) == ("A greeting", ("a",), 5.0)


def test_a_case_of_an_input_alone_has_the_defaults() -> None:
    case = TestCase("Hi")
    assert (case.expected_output, case.criteria, case.metadata, case.name, case.tags, case.timeout) == (
        None,
        (),
        {},
        None,
        (),
        30.0,
    )
    assert (case.id, case.actual_output, case.tool_calls, case.end_state) == (None, UNSET, None, UNSET)
    assert case.to_case().keys() == {"schema", "id", "input", "limits"}


def test_what_was_recorded_without_an_answer_has_null_for_it() -> None:
    assert TestCase("Hi", tool_calls=[]).actual_output is None


def test_expected_output_is_compared_only_where_match_says_how() -> None:
    assert "match" not in TestCase("Hi", "Hello").to_case()
    assert TestCase("Hi", "Hello", match="exact").to_case()["match"] == "exact"
    assert "compared by nothing" in problems(TestCase("Hi", "Hello").to_yaml())[0]
    assert problems(TestCase("Hi", "Hello", match="exact").to_yaml()) == []


def test_a_single_criterion_is_a_list_of_one() -> None:
    assert TestCase("Hi", criteria="Polite.").criteria == ("Polite.",)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (30, "30s"),
        (0.1, "0.1s"),
        (1e-7, "0.0000001s"),
        (1e22, "10000000000000000000000s"),
        ("2m", "120s"),
        ("500ms", "0.5s"),
    ],
)
def test_a_timeout_is_seconds_with_every_digit(given: Any, text: str) -> None:
    case = TestCase("Hi", timeout=given)
    assert case.to_case()["limits"] == {"timeout": text}
    assert TestCase.from_yaml(case.to_yaml()).timeout == case.timeout


@pytest.mark.parametrize(
    ("given", "text"),
    [("0.0500", "0.0500"), (Decimal("1E-7"), "0.0000001"), (0.1, "0.1"), (3, "3"), ("1e-3", "0.001"), (-0.0, "0.0")],
)
def test_an_amount_stays_decimal_text(given: Any, text: str) -> None:
    assert decimal_text(given, "cost") == text


def test_other_limits_stand_beside_the_timeout() -> None:
    text = "input: Hi\nlimits: {timeout: 2m, steps: 3}\n"
    case = TestCase.from_yaml(text)
    assert (case.timeout, case.more) == (120.0, {"limits": {"steps": 3}})
    assert case.to_case()["limits"] == {"steps": 3, "timeout": "120s"}


# ---- IDs


def test_a_missing_id_is_made_once_for_each_object() -> None:
    case, other = TestCase("Hi"), TestCase("Hi")
    assert re.fullmatch("tc-[a-z0-9]{12}", case.to_case()["id"])
    assert case.to_case()["id"] == case.to_case()["id"] == copy.deepcopy(case).to_case()["id"]
    assert other.to_case()["id"] != case.to_case()["id"]
    assert (other, other.to_case() | {"id": ""}) == (case, case.to_case() | {"id": ""})


def test_a_case_whose_id_was_made_is_what_is_read_of_it(tmp_path: Path) -> None:
    case = TestCase("Hi")
    read = [
        TestCase.from_dict(case.to_dict()),
        TestCase.from_yaml(case.to_yaml()),
        TestCase.from_yaml(case.write(tmp_path)),
    ]
    assert read == [case] * 3
    assert {case, *read} == {case}
    assert {other.id for other in read} == {case.to_case()["id"]}


@pytest.mark.parametrize("case_id", ["tc-0123456789a", "tc-0123456789abc", "TC-0123456789ab", "greet"])
def test_an_id_that_was_not_made_tells_cases_apart(case_id: str) -> None:
    assert TestCase("Hi", id=case_id) != TestCase("Hi")


def test_an_id_that_was_given_is_part_of_the_case() -> None:
    assert TestCase("Hi", id="greet-1") != TestCase("Hi", id="greet-2") != TestCase("Hi")
    assert TestCase("Hi", id="greet-1").replace(input="Hello").id == "greet-1"


# ---- equality, hash, repr, copies


@pytest.mark.parametrize(("one", "other", "equal"), [(1, 1.0, True), (1, True, False), ("1", 1, False), ([1, 2], (1, 2), True), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True)])  # fmt: skip
def test_cases_are_equal_where_their_data_is(one: Any, other: Any, equal: bool) -> None:
    cases = TestCase(one, metadata={"x": one}), TestCase(other, metadata={"x": other})
    assert (cases[0] == cases[1]) is equal
    assert (len(set(cases)) == 1) is equal


def test_a_case_equals_nothing_else() -> None:
    assert TestCase("Hi") != TestCase("Hi").to_case()


def test_the_repr_is_short() -> None:
    assert repr(TestCase("Hi", id="greet", name="A greeting")) == "TestCase('Hi', id='greet', name='A greeting')"
    assert len(repr(TestCase("Hi" * 1000))) < 60


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda case: pickle.loads(pickle.dumps(case))])  # noqa: S301  # our own bytes
def test_a_copy_is_equal_and_as_immutable(copied: Callable[[TestCase], TestCase]) -> None:
    case = copied(TestCase("Hi", metadata={"a": [1]}, actual_output="x"))
    assert case == TestCase("Hi", metadata={"a": [1]}, actual_output="x")
    with pytest.raises(TypeError, match="does not change"):
        case.metadata["a"].append(2)


# ---- immutability


def test_what_the_caller_does_to_his_values_changes_no_case() -> None:
    asked: dict[str, Any] = {"items": [{"id": 1}]}
    metadata: dict[str, Any] = {"list": [1]}
    calls: list[Any] = [{"name": "look", "arguments": {"at": [1]}}]
    case = TestCase(asked, metadata=metadata, tool_calls=calls)
    before = case.to_case()
    asked["items"][0]["id"] = 2
    metadata["list"].append(2)
    calls[0]["arguments"]["at"].clear()
    calls.clear()
    assert case.to_case() == before


def test_what_is_done_to_its_data_changes_no_case() -> None:
    case = TestCase({"a": [1]}, metadata={"b": {"c": 1}})
    data = case.to_case()
    data["input"]["a"].append(2)
    data["metadata"]["b"]["c"] = 2
    assert (case.input, case.metadata) == ({"a": [1]}, {"b": {"c": 1}})


@pytest.mark.parametrize(
    "change",
    [
        lambda case: case.metadata.update(a=1),
        lambda case: case.metadata.pop("list"),
        lambda case: case.metadata.setdefault("new", 1),
        lambda case: case.metadata.__setitem__("a", 1),
        lambda case: case.metadata.__ior__({"a": 1}),
        lambda case: case.metadata["list"].append(2),
        lambda case: case.metadata["list"].__iadd__([2]),
        lambda case: case.metadata["list"].sort(),
        lambda case: case.tool_calls[0]["arguments"].clear(),
        lambda case: case.more["limits"].__delitem__("steps"),
    ],
)
def test_what_a_case_holds_refuses_to_be_changed(change: Callable[[Any], Any]) -> None:
    case = TestCase(
        "Hi", metadata={"list": [1]}, tool_calls=[{"name": "f", "arguments": {"a": 1}}], more={"limits": {"steps": 1}}
    )
    before = case.to_case()
    with pytest.raises(TypeError, match="what a TestCase holds does not change"):
        change(case)
    assert case.to_case() == before


def test_a_field_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        TestCase("Hi").name = "x"  # type: ignore[misc]


def test_replace_makes_another_case() -> None:
    case = TestCase("Hi", tags=["a"])
    assert case.replace(tags=["b"], timeout=5) == TestCase("Hi", tags=["b"], timeout=5)
    assert case == TestCase("Hi", tags=["a"])
    with pytest.raises(TypeError, match="no field 'tag'; did you mean 'tags'"):
        case.replace(tag=["b"])


# ---- from dicts


@pytest.mark.parametrize(
    ("key", "name"),
    [("title", "name"), ("expected", "expected_output"), ("expectedOutput", "expected_output"), ("actual", "actual_output"), ("actualOutput", "actual_output")],
)  # fmt: skip
def test_other_names_are_understood(key: str, name: str) -> None:
    assert getattr(TestCase.from_dict({"input": "Hi", key: "x"}), name) == "x"


def test_match_type_is_match() -> None:
    assert TestCase.from_dict({"input": "Hi", "expected": "x", "match_type": "exact"}).match == "exact"


def test_a_mapping_of_another_kind_will_do() -> None:
    assert TestCase.from_dict(
        MappingProxyType({"input": "Hi", "metadata": MappingProxyType({"a": (1,)})})
    ).metadata == {"a": [1]}


def test_keys_that_only_case_files_have_are_kept() -> None:
    case = TestCase.from_dict({"input": "Hi", "outcome": [{"contains": "Hello"}], "tier": "smoke"})
    assert case.more == {"outcome": [{"contains": "Hello"}], "tier": "smoke"}


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"input": "Hi", "expectd_output": 1}, "unknown key 'expectd_output'; did you mean 'expected_output'?"),
        ({"input": "Hi", "outcom": []}, "unknown key 'outcom'; did you mean 'outcome'?"),
        ({"input": "Hi", "zzz": 1}, "unknown key 'zzz'; docs/cases.md has the keys of a case"),
        ({"input": "Hi", "more": {}}, "unknown key 'more'"),
        ({"input": "Hi", "expected_contains": ["x"]}, "unknown key 'expected_contains'; write outcome: [{contains: [...]}]"),
        ({"input": "Hi", "recording": {"output": "x", "tool_cals": []}}, "recording: unknown key 'tool_cals'; did you mean 'tool_calls'?"),
        ({"input": "Hi", "recording": {"tool_calls": []}}, "recording: the output is missing; null where there was no answer"),
        ({"input": "Hi", "recording": "x"}, "more: 'recording' has a field of its own"),
        ({"input": "Hi", "name": "a", "title": "b"}, "name is given twice, once as 'title'"),
        ({"input": "Hi", "timeout": 1, "limits": {"timeout": "2s"}}, "timeout is given twice, once as 'timeout'"),
        ({"input": "Hi", "schema": 2}, "schema: this version reads format 1, not 2"),
        ({"input": "Hi", "schema": True}, "schema: this version reads format 1, not True"),
        ({}, "give one of input, conversation, turns or simulation"),
    ],
)  # fmt: skip
def test_a_mapping_that_is_no_case_is_refused_in_a_sentence(mapping: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(words)):
        TestCase.from_dict(mapping)


@pytest.mark.parametrize(
    "mapping", [None, "input: Hi", [("input", "Hi")], {"input": "Hi", 1: "x"}, {"input": "Hi", "limits": 3}]
)
def test_what_is_no_mapping_is_a_type_error(mapping: Any) -> None:
    with pytest.raises(TypeError):
        TestCase.from_dict(mapping)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"input": None}, ValueError, "give one of input"),
        ({"input": ""}, ValueError, "input: must not be empty"),
        ({"name": ""}, ValueError, "name: must not be empty"),
        ({"name": 1}, TypeError, "name is a text, not an int"),
        ({"tags": "refund"}, TypeError, "tags is a list, not a str"),
        ({"tags": ["a", "a"]}, ValueError, "tags: 'a' is there twice"),
        ({"metadata": ["a"]}, TypeError, "metadata is a mapping, not a list"),
        ({"metadata": {"difficulty": 3}}, ValueError, "metadata.difficulty: 3 is a number; expected text"),
        ({"metadata": {"a": {1}}}, TypeError, "metadata.a is a set; give a JSON value"),
        ({"metadata": {"a": float("nan")}}, ValueError, "metadata.a: nan is not a number that JSON has"),
        ({"metadata": {"a": {1: 2}}}, TypeError, "metadata.a: the key 1 is an int; keys are texts"),
        ({"timeout": -1}, ValueError, "timeout: -1 is less than 0 seconds"),
        ({"timeout": True}, TypeError, "timeout is a number of seconds"),
        ({"timeout": "soon"}, TypeError, "timeout is a number of seconds, or a text such as '2m', not 'soon'"),
        ({"id": "no spaces"}, ValueError, "id: 'no spaces' is not an ID"),
        ({"match": "exact"}, ValueError, "'expected_output' is needed by 'match'"),
        ({"expected_output": "x", "match": "semantic"}, ValueError, "match: 'semantic' is not one of exact, contains"),
        ({"tool_calls": [{"nam": "f"}]}, ValueError, "tool_calls[0]"),
        ({"cost": "cheap"}, ValueError, "cost: 'cheap' is not an amount"),
        ({"cost": "-1"}, ValueError, "cost: '-1' is not an amount of 0 or more"),
        ({"cost": True}, TypeError, "cost is a bool"),
        ({"latency_ms": "3"}, ValueError, "latency_ms: '3' is text; expected a number"),
        ({"more": {"outcom": []}}, ValueError, "more: unknown key 'outcom'; did you mean 'outcome'?"),
        ({"more": {"title": "x"}}, ValueError, "more: 'title' has a field of its own"),
        ({"more": {"limits": {"timeout": "2s"}}}, ValueError, "more.limits: give timeout as the field of that name"),
        ({"more": 3}, TypeError, "more is a mapping, not an int"),
    ],
)
def test_what_no_case_file_could_hold_is_refused(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match="^" + re.escape(words)):
        TestCase(**{"input": "Hi", **arguments})


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        TestCase(endless)


def test_an_enum_is_what_it_is_underneath() -> None:
    class Tone(StrEnum):
        KIND = "kind"

    assert "{tone: kind}\n" in TestCase("Hi", metadata={"tone": Tone.KIND}).to_yaml()


# ---- many at once


def test_a_batch_is_made_of_mappings_and_pairs() -> None:
    cases = TestCase.batch_create([{"input": "a"}, ("b", "c"), ["d", None]])
    assert cases == [TestCase("a"), TestCase("b", "c"), TestCase("d")]
    assert TestCase.batch_create(iter(())) == []


@pytest.mark.parametrize(
    ("item", "error", "words"),
    [
        ("ab", TypeError, "item 1: give a mapping or a pair (input, expected output), not a str"),
        (("a", "b", "c"), TypeError, "item 1: give a mapping or a pair (input, expected output), not a tuple"),
        ({"inptu": "a"}, ValueError, "item 1: unknown key 'inptu'; did you mean 'input'?"),
        ({"input": {1}}, TypeError, "item 1: input is a set"),
    ],
)
def test_a_bad_item_of_a_batch_is_told_by_its_number(item: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match="^" + re.escape(words)):
        TestCase.batch_create([("a", "b"), item])


# ---- YAML


@pytest.mark.parametrize("text", ["input: Hi", '{"input": "Hi"}', "input:\n  Hi\n", '{"input":"Hi"}'])
def test_yaml_is_read_from_a_text(text: str) -> None:
    assert TestCase.from_yaml(text) == TestCase("Hi")


def test_yaml_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("input: Hi\n", encoding="utf-8")
    assert TestCase.from_yaml(path) == TestCase.from_yaml(str(path)) == TestCase("Hi")


def test_a_whole_case_file_loses_nothing() -> None:
    for path in sorted((ROOT / "cases").rglob("*.yaml")):
        data = document(path.read_text(encoding="utf-8")).data
        if "id" in data:
            case = TestCase.from_yaml(path)
            assert TestCase.from_yaml(case.to_yaml()) == case
            if "limits" not in data:
                assert case.timeout is None
                assert case.to_case() == data


def test_a_case_file_may_say_that_nothing_is_expected() -> None:
    case = TestCase.from_yaml("schema: 1\nid: greet\ninput: Hi\nexpected_output: null\n")
    assert case.to_case()["expected_output"] is None
    assert TestCase.from_dict(case.to_dict()) == case != TestCase("Hi", timeout=None, id="greet")
    assert case.replace(expected_output="x").to_case()["expected_output"] == "x"
    assert TestCase.from_dict({"input": "Hi", "expected_output": None}) == TestCase("Hi")


def test_a_case_file_without_an_input_is_read_too() -> None:
    case = TestCase.from_yaml(
        "schema: 1\nid: talk\nconversation: [{role: user, content: Hi}]\noutcome: [{contains: Hello}]\n"
    )
    assert case.input is None
    assert "input" not in case.to_case()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("input: Hi\ninput: Hello\n", "text:2:1: input: the key 'input' is already on line 1"),
        ("input: a\nb: [\n", "text:3:1: not valid YAML"),
        ("", "text:1:1: the file is empty"),
        ("input: !!python/name:os.system x\n", "text:1:8: input: unknown tag"),
        ("input: Hi\ntagz: [a]\n", "text: unknown key 'tagz'; did you mean 'tags'?"),
        ("- a\n- b\n", "text: a case is a mapping, not a list"),
        ("input: \ud800\n", "text:1:8: byte 0xed is not UTF-8"),
        ("a: &a [1]\na: 1\nb: *c\n", "text:3:4: not valid YAML"),
    ],
)
def test_bad_yaml_is_a_value_error_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(words)):
        TestCase.from_yaml(text)


def test_a_missing_file_and_no_text_at_all_are_told_as_such() -> None:
    with pytest.raises(FileNotFoundError, match=re.escape("cases/nobody.yaml")):
        TestCase.from_yaml("cases/nobody.yaml")
    with pytest.raises(TypeError, match="give a YAML text or a path, not a dict"):
        TestCase.from_yaml({"input": "Hi"})  # type: ignore[arg-type]


def test_a_number_that_was_probably_meant_as_text_is_told() -> None:
    with pytest.warns(UserWarning, match=r"text:2:18: warning: expected_output: 2\.10 is read as the number 2\.1"):
        assert TestCase.from_yaml("input: Hi\nexpected_output: 2.10\n").expected_output == 2.1


def test_a_timeout_may_have_its_trailing_zero() -> None:
    assert TestCase.from_yaml("input: Hi\ntimeout: 30.0\n") == TestCase("Hi")


@pytest.mark.parametrize("text", ["no", "on", "12:30", "2031-02-03", "0o17", "1e3", "04817", "2.10", "null", "~", ".inf", "true", "- a", "a: b", "#x", "", " a", "a\nb\n", "\u2028", "<<", "1_000", "=", "y"])  # fmt: skip
def test_what_looks_like_another_type_stays_text(text: str) -> None:
    case = TestCase({"said": text, text: 1}, id="greet")
    written = case.to_yaml()
    assert document(written).data == case.to_case()
    assert problems(written) == []
    assert document(written).data["input"]["said"] == text


def test_other_readers_of_yaml_see_the_same_data() -> None:
    from ruamel.yaml import YAML

    case = TestCase(
        {"a": "no", "b": "12:30", "c": ["1e3", 1.5, None, "a\nb\n"]}, name="x: y", tool_calls=[{"name": "f"}]
    )
    assert json.loads(json.dumps(YAML(typ="safe", pure=True).load(case.to_yaml()))) == case.to_case()


@pytest.mark.parametrize("value", ["\ud800", json.loads("[" * 63 + "]" * 63)])
def test_what_no_file_can_carry_is_refused(value: Any) -> None:
    case = TestCase({"x": value})
    with pytest.raises(ValueError, match=r"UTF-8|nested deeper"):
        case.to_yaml()


def test_a_text_that_would_be_read_as_another_case_is_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agenteval_cli.yaml_writer.document", lambda data: f"input: {data['input']}\n")
    with pytest.raises(ValueError, match="cannot be written as a case file without being changed"):
        TestCase("no").to_yaml()


def test_write_makes_a_file_and_never_overwrites_one(tmp_path: Path) -> None:
    case = TestCase("Hi", id="greet")
    path = case.write(tmp_path / "cases" / "new")
    assert path == tmp_path / "cases" / "new" / "greet.yaml"
    assert path.read_text(encoding="utf-8") == case.to_yaml()
    with pytest.raises(FileExistsError, match=r"greet\.yaml"):
        case.replace(input="Hello").write(path.parent)
    assert TestCase.from_yaml(path) == case


def test_a_made_id_names_the_file(tmp_path: Path) -> None:
    case = TestCase("Hi")
    path = case.write(str(tmp_path))
    assert path.stem == case.to_case()["id"] == TestCase.from_yaml(path).id


# ---- round trips

values = json_values.filter(lambda value: value is not None and value != "")
texts = st.text(min_size=1, max_size=10)
metadata = st.dictionaries(st.text(max_size=5), json_values, max_size=3)
calls = st.fixed_dictionaries(
    {"name": texts},
    optional={"id": st.text(max_size=3), "arguments": metadata, "result": json_values, "error": json_values, "duration_ms": st.integers(0, 9) | st.floats(0, 1e9)},
)  # fmt: skip
steps = st.fixed_dictionaries({"type": st.sampled_from(["PLAN", "THOUGHT", "OBSERVATION", "ACTION"])}, optional={"content": st.text(max_size=9), "tool_call": st.text(max_size=3)})  # fmt: skip
maybe_timeout = st.none() | st.integers(0, 10**6) | st.floats(0, allow_infinity=False)
test_cases = st.builds(
    TestCase,
    input=values,
    expected_output=json_values,
    criteria=st.lists(texts | st.builds(lambda text: {"text": text, "gate": True}, texts), max_size=2),
    metadata=metadata,
    name=st.none() | texts,
    tags=st.lists(texts, max_size=3, unique=True),
    timeout=maybe_timeout,
    id=st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{1,20}", fullmatch=True),
    actual_output=st.just(UNSET) | json_values,
    tool_calls=st.none() | st.lists(calls, max_size=2),
    reasoning=st.none() | st.lists(steps, max_size=2),
    retrieval_context=st.none() | st.lists(st.text(max_size=5), max_size=2),
    usage=st.none()
    | st.fixed_dictionaries({}, optional={"input_tokens": st.integers(0, 9), "total_tokens": st.integers(0, 9)}),
    cost=st.none() | st.decimals(0, 1000, places=4),
    latency_ms=st.none() | st.floats(0, 1e9),
    end_state=st.just(UNSET) | json_values,
    model=st.none() | st.text(max_size=5),
    more=st.fixed_dictionaries(
        {}, optional={"tier": st.just("smoke"), "state": metadata, "outcome": st.just([{"contains": "x"}])}
    ),
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(test_cases)
@steady
def test_a_case_comes_back_from_its_file(case: TestCase) -> None:
    read = TestCase.from_yaml(case.to_yaml())
    assert read == case
    assert hash(read) == hash(case)
    assert read.to_case() == case.to_case()


@pytest.mark.slow
@given(test_cases)
@steady
def test_a_case_comes_back_from_its_data(case: TestCase) -> None:
    read = TestCase.from_dict(case.to_dict())
    assert read == case == case.replace()
    assert hash(read) == hash(case)
    assert read.to_dict() == case.to_dict()
