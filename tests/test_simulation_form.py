"""Simulation cases of a service's API: to case files and back, field by field, nothing lost."""

from __future__ import annotations

import re
from typing import Any

import pytest
from build import steady
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli import TestCase, schemas
from agenteval_cli.checking import Context, check
from agenteval_cli.fixtures import fixture_from
from agenteval_cli.interchange import case_from_simulation, record_from_case, simulation_from_case

Data = dict[str, Any]

PAGE = (ROOT / "docs" / "interchange.md").read_text(encoding="utf-8")

FIXTURES = {"shop-1": fixture_from("fixtures/shop.yaml", {"id": "shop-1", "tools": [{"name": "get_order"}]})}
AGENT = {"name": "Desk", "agentId": "agent_D5D0", "status": "Live"}
LOST_ORDER = {"toolAlias": "get_order", "mockToolDataId": "mtd_1", "name": "No such order", "statusCode": 404}
GATES = {"text": "Confirms the cancellation.", "gate": True}


def form(**fields: Any) -> Data:
    """A simulation case that its one criterion can fail."""
    return {
        "userPrompt": "You are angry and want to cancel.",
        "successCriteria": "Confirms the cancellation.",
        **fields,
    }


def errors(data: Data) -> list[str]:
    """What `agenteval validate` says of the case as a file, in a repository with our fixture."""
    text = TestCase.from_dict(data).to_yaml()
    facts, document = check(Context(fixtures=FIXTURES), "cases/a.yaml", text.encode())
    assert document is None or document.data == data
    return [str(problem) for problem in facts.problems if problem.severity == "error"]


def made(**fields: Any) -> Data:
    """The case of a form, which is valid and gives just this form back."""
    given = form(**fields)
    case = case_from_simulation(given, fixtures=FIXTURES)
    assert errors(case) == []
    assert simulation_from_case(case) == given
    return case


def kept(case: Data) -> Any:
    return case.get("metadata", {}).get("interchange", {})


# ---- each field

FIELDS: list[tuple[str, Any, Data, Data]] = [
    ("testCaseId", "tc_d17T6uReChpyfFeP", {"id": "tc_d17T6uReChpyfFeP"}, {"/testCaseId": "tc_d17T6uReChpyfFeP"}),
    ("testCaseId", "not an ID", {}, {"/testCaseId": "not an ID"}),
    ("testCaseId", "", {}, {"/testCaseId": ""}),
    ("workspaceId", "org_V6eZ", {}, {"/workspaceId": "org_V6eZ"}),
    ("label", "Angry customer", {"title": "Angry customer"}, {}),
    ("label", "", {}, {"/label": ""}),
    ("agentId", "agent_D5D0", {}, {"/agentId": "agent_D5D0"}),
    ("agent", AGENT, {}, {"/agent": AGENT}),
    ("agent", {}, {}, {"/agent": {}}),
    ("llmModel", "a-model-5", {}, {"/llmModel": "a-model-5"}),
    ("userPrompt", "You are calm.\n\nYou want a refund.", {"simulation": {"user_prompt": "You are calm.\n\nYou want a refund.", "criteria": [GATES]}}, {}),
    ("attempt", 5, {"attempts": 5}, {}),
    ("successCriteria", "Is kind to her.", {"simulation": {"user_prompt": "You are angry and want to cancel.", "criteria": [{"text": "Is kind to her.", "gate": True}]}}, {}),
    ("successCriteria", ["Is kind to her.", "Offers a refund."], {"simulation": {"user_prompt": "You are angry and want to cancel.", "criteria": [{"text": "Is kind to her.", "gate": True}, {"text": "Offers a refund.", "gate": True}]}}, {}),
    ("successCriteria", ["Is kind to her."], {"simulation": {"user_prompt": "You are angry and want to cancel.", "criteria": [{"text": "Is kind to her.", "gate": True}]}}, {"/successCriteria": ["Is kind to her."]}),
    ("successCriteria", ["", "Is kind to her."], {"simulation": {"user_prompt": "You are angry and want to cancel.", "criteria": [{"text": "Is kind to her.", "gate": True}]}}, {"/successCriteria": ["", "Is kind to her."]}),
    ("mockData", [{"variableName": "customer_name", "value": "Ada"}, {"variableName": "orders", "value": 3}], {"variables": [{"name": "customer_name", "value": "Ada"}, {"name": "orders", "value": 3}]}, {}),
    ("mockData", [{"variableName": "customer name", "value": "Ada"}], {}, {"/mockData": [{"variableName": "customer name", "value": "Ada"}]}),
    ("mockData", [{"variableName": "name", "value": None}], {}, {"/mockData": [{"variableName": "name", "value": None}]}),
    ("mockData", [{"variableName": "name", "value": ""}], {"variables": [{"name": "name", "value": ""}]}, {}),
    ("mockData", [{"variableName": "name", "value": "Ada"}, {"variableName": "name", "value": "Eve"}], {"variables": [{"name": "name", "value": "Ada"}]}, {"/mockData": [{"variableName": "name", "value": "Ada"}, {"variableName": "name", "value": "Eve"}]}),
    ("mockData", [], {}, {"/mockData": []}),
    ("mockToolData", ["shop-1"], {"tools": [{"use": "shop-1"}]}, {}),
    ("mockToolData", ["shop-1", "shop-1"], {"tools": [{"use": "shop-1"}]}, {"/mockToolData": ["shop-1", "shop-1"]}),
    ("mockToolData", ["mtd_1"], {}, {"/mockToolData": ["mtd_1"]}),
    ("mockToolData", ["mtd_1", "shop-1"], {"tools": [{"use": "shop-1"}]}, {"/mockToolData": ["mtd_1", "shop-1"]}),
    ("mockToolData", [LOST_ORDER], {"tools": [{"name": "get_order", "responses": [{"error": {"status": 404, "message": "No such order"}}]}]}, {"/mockToolData": [LOST_ORDER]}),
    ("mockToolData", [{"toolAlias": "get_order", "statusCode": 503}], {"tools": [{"name": "get_order", "responses": [{"error": {"status": 503}}]}]}, {}),
    ("mockToolData", [{**LOST_ORDER, "statusCode": 200}], {"tools": [{"name": "get_order"}]}, {"/mockToolData": [{**LOST_ORDER, "statusCode": 200}]}),
    ("mockToolData", [{**LOST_ORDER, "mockToolDataId": "shop-1"}], {"tools": [{"use": "shop-1"}]}, {"/mockToolData": [{**LOST_ORDER, "mockToolDataId": "shop-1"}]}),
    ("mockToolData", [{"mockToolDataId": "mtd_1"}], {}, {"/mockToolData": [{"mockToolDataId": "mtd_1"}]}),
    ("mockToolData", [LOST_ORDER, {**LOST_ORDER, "statusCode": 500}], {"tools": [{"name": "get_order", "responses": [{"error": {"status": 404, "message": "No such order"}}]}]}, {"/mockToolData": [LOST_ORDER, {**LOST_ORDER, "statusCode": 500}]}),
    ("mockToolData", [], {}, {"/mockToolData": []}),
    ("metadata", {"owner": "me", "difficulty": 3}, {"metadata": {"owner": "me"}}, {"/metadata/difficulty": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "data", "aside"), FIELDS)
def test_each_field_has_its_place_in_a_valid_case_and_comes_back(
    name: str, value: Any, data: Data, aside: Data
) -> None:
    case = made(**{name: value})
    plain = {key: item for key, item in case.items() if key not in ("id", "metadata")}
    expected = {"schema": 1, "provenance": {"source": "simulation"}, "simulation": made()["simulation"], **data}
    assert plain == {key: item for key, item in expected.items() if key not in ("id", "metadata")}
    assert case["id"] == data["id"] if "id" in data else re.fullmatch("tc-[0-9a-f]{12}", case["id"])
    assert kept(case) == aside


def test_every_field_of_the_form_is_in_the_table_above() -> None:
    assert {name for name, *_ in FIELDS} == {
        *("label", "agentId", "userPrompt", "attempt", "successCriteria", "mockData", "mockToolData", "testCaseId"),
        *("workspaceId", "llmModel", "agent", "metadata"),
    }


@pytest.mark.parametrize("name", sorted({name for name, *_ in FIELDS} - {"userPrompt", "successCriteria"}))
def test_null_and_absent_are_told_apart(name: str) -> None:
    assert kept(made(**{name: None})) == {f"/{name}": None}
    assert kept(made()) == {}


def test_ids_go_in_and_objects_come_out_and_both_travel() -> None:
    """As a service takes a case, and as it gives it back."""
    sent = form(agentId="agent_D5D0", mockToolData=["shop-1", "mtd_2"], attempt=5)
    got = form(
        testCaseId="tc_d17T",
        workspaceId="org_V6eZ",
        agent=AGENT,
        attempt=5,
        mockToolData=[
            {"toolAlias": "get_order", "mockToolDataId": "shop-1", "name": "Found", "statusCode": 200},
            {"toolAlias": "refund", "mockToolDataId": "mtd_2", "name": "Down", "statusCode": 503},
        ],
    )
    cases = [case_from_simulation(each, fixtures=FIXTURES) for each in (sent, got)]
    assert [case["tools"] for case in cases] == [
        [{"use": "shop-1"}],
        [{"use": "shop-1"}, {"name": "refund", "responses": [{"error": {"status": 503, "message": "Down"}}]}],
    ]
    assert [simulation_from_case(case) for case in cases] == [sent, got]


def test_criteria_of_the_caller_stand_beside_those_of_the_form() -> None:
    given = {"userPrompt": "You are angry."}
    case = case_from_simulation(given, criteria="Stays polite to her.", case_id="angry")
    assert (case["id"], case["criteria"]) == ("angry", [{"text": "Stays polite to her.", "gate": True}])
    assert errors(case) == []
    assert simulation_from_case(case) == given


def test_the_id_follows_from_the_form_where_it_has_none() -> None:
    assert made()["id"] == made()["id"]
    assert made(attempt=2)["id"] != made()["id"]


# ---- a case that was edited


@pytest.mark.parametrize(
    ("fields", "edit", "expected"),
    [
        ({"label": ""}, {"title": "Angry"}, {"label": "Angry"}),
        ({"attempt": None}, {"attempts": 3}, {"attempt": 3}),
        ({"mockData": [{"variableName": "a b", "value": "x"}, {"variableName": "n", "value": "Ada"}]}, {"variables": [{"name": "m", "value": 1}, {"name": "n", "value": "Bob"}]}, {"mockData": [{"variableName": "m", "value": 1}, {"variableName": "n", "value": "Bob"}, {"variableName": "a b", "value": "x"}]}),
        ({"mockToolData": ["mtd_1", "shop-1"]}, {"tools": [{"name": "refund"}, {"use": "shop-1"}]}, {"mockToolData": [{"toolAlias": "refund"}, "shop-1", "mtd_1"]}),
        ({"mockToolData": [LOST_ORDER]}, {"tools": [{"name": "refund"}, {"name": "get_order"}]}, {"mockToolData": [{"toolAlias": "refund"}, {"toolAlias": "get_order", "mockToolDataId": "mtd_1"}]}),
        ({"mockToolData": [LOST_ORDER]}, {"tools": [{"name": "get_order", "responses": [{"result": {}}]}]}, {"mockToolData": [{"toolAlias": "get_order", "mockToolDataId": "mtd_1"}]}),
        ({"successCriteria": ["Is kind to her."]}, {"simulation": {"user_prompt": "You are calm.", "criteria": [{"text": "Is quick.", "gate": True}]}}, {"userPrompt": "You are calm.", "successCriteria": ["Is quick."]}),
        ({"successCriteria": "Is kind to her."}, {"simulation": {"user_prompt": "You are calm.", "criteria": [{"text": "Is quick.", "gate": True}]}}, {"userPrompt": "You are calm.", "successCriteria": "Is quick."}),
    ],
)  # fmt: skip
def test_what_was_kept_never_hides_what_the_case_says_now(fields: Data, edit: Data, expected: Data) -> None:
    case = {**case_from_simulation(form(testCaseId="tc_1", **fields), fixtures=FIXTURES), **edit}
    there = simulation_from_case(case)
    assert {key: there.get(key) for key in expected} == expected
    assert case_from_simulation(there, fixtures=FIXTURES) == case


@pytest.mark.parametrize("kept_aside", [{"/attempt": "x"}, {"/mockData": [1]}, {"/agent/name": "x"}, {"/label/": 0}])
def test_what_is_kept_may_be_nonsense_by_now(kept_aside: Data) -> None:
    data = {**case_from_simulation(form()), "metadata": {"interchange": kept_aside}}
    there = simulation_from_case(data)
    assert {key: there[key] for key in there if key != "metadata"} == form()
    assert case_from_simulation(there) == data


# ---- cases that never were in the form

NATIVE: list[Data] = [
    {"simulation": {"user_prompt": "You are angry.", "criteria": [GATES]}},
    {"simulation": {"user_prompt": "You are angry.", "criteria": "Is kind."}, "limits": {"turns": 4}, "tags": ["a"]},
    {"simulation": {"user_prompt": "You are angry.", "criteria": [GATES, {"metric": "toxicity"}, "Is quick."], "max_turns": 3, "knows": {"a": [1]}, "script": [{"say": "Hi"}]}, "metadata": {"owner": "me"}},
    {"simulation": {"user_prompt": "You are angry."}, "outcome": [{"contains": "sorry"}], "agent": "desk", "attempts": 2},
    {"simulation": {"user_prompt": "You are angry."}, "limits": {"turns": 4}, "conversation": [{"role": "user", "content": "Hi"}], "provenance": {"source": "simulation"}},
    {"simulation": {"user_prompt": "You are angry."}, "limits": {"turns": 4}, "tools": [{"use": "shop-1"}, {"use": "shop-1", "name": "get_order"}, {"name": "refund", "responses": [{"error": {"status": 503}}]}]},
    {"simulation": {"user_prompt": "You are angry."}, "limits": {"turns": 4}, "metadata": {"agenteval_case": 5, "interchange": {"/label": "x"}}, "title": "y", "variables": [], "tools": []},
]  # fmt: skip


@pytest.mark.parametrize("keys", NATIVE)
@pytest.mark.parametrize("fixtures", [(), ("shop-1",)])
def test_a_case_comes_back_from_its_form(keys: Data, fixtures: tuple[str, ...]) -> None:
    data = {"schema": 1, "id": "angry-one", **keys}
    assert schemas.is_valid("case", data)
    there = simulation_from_case(data)
    assert case_from_simulation(there, fixtures=fixtures) == data
    assert simulation_from_case(case_from_simulation(there, fixtures=fixtures)) == there


def test_a_case_of_our_own_has_an_id_and_texts_in_the_form() -> None:
    there = simulation_from_case({"schema": 1, "id": "angry-one", **NATIVE[2]})
    assert (there["testCaseId"], there["successCriteria"]) == ("angry-one", ["Confirms the cancellation.", "Is quick."])
    assert there["metadata"]["agenteval_case"]["simulation"]["max_turns"] == 3


def test_what_was_changed_in_the_form_since_is_never_ignored() -> None:
    there = simulation_from_case({"schema": 1, "id": "angry-one", **NATIVE[2]})
    assert case_from_simulation({**there, "label": "New"})["title"] == "New"
    with pytest.raises(ValueError, match=r'disagree: at \$\.userPrompt: expected "You are calm\.", got "You are angry'):
        case_from_simulation({**there, "userPrompt": "You are calm."})


@pytest.mark.parametrize("keys", [{"input": "Hi"}, {"turns": [{"user": "Hi"}]}])
def test_a_case_without_a_simulated_user_is_refused(keys: Data) -> None:
    with pytest.raises(ValueError, match="this case has no simulation"):
        simulation_from_case({"schema": 1, "id": "greet", **keys})


def test_a_simulation_is_no_record() -> None:
    with pytest.raises(ValueError, match="this case has simulation; use simulation_from_case"):
        record_from_case({"schema": 1, "id": "angry-one", **NATIVE[0]})


# ---- bad forms


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (None, TypeError, "a simulation case is a mapping, not None"),
        ([], TypeError, "a simulation case is a mapping, not a list"),
        ({}, ValueError, "userPrompt is missing or empty"),
        (form(userPrompt=""), ValueError, "userPrompt is missing or empty"),
        (form(userPrompt=["a"]), TypeError, "userPrompt is a list; give a text"),
        (form(userPromt="a"), ValueError, "unknown key 'userPromt'; did you mean 'userPrompt'?"),
        (form(label=7), TypeError, "label is an int; give a text"),
        (form(testCaseId=7), TypeError, "testCaseId is an int; give a text"),
        (form(agent="desk"), TypeError, "agent is a mapping, not 'desk'"),
        (form(agent={"nam": "x"}), ValueError, "unknown key 'agent.nam'; did you mean 'name'?"),
        (form(agent={"name": 1}), TypeError, "agent.name is an int; give a text"),
        (form(attempt="5"), TypeError, "attempt is a str; give a whole number from 1 to 1000"),
        (form(attempt=True), TypeError, "attempt is a bool; give a whole number from 1 to 1000"),
        (form(attempt=2.5), TypeError, "attempt is a float; give a whole number from 1 to 1000"),
        (form(attempt=0), ValueError, "attempt: 0 is not from 1 to 1000"),
        (form(attempt=10**5000), ValueError, "attempt: a number of that size is not from 1 to 1000"),
        (form(attempt=float("inf")), ValueError, "attempt: inf is not a number that JSON has"),
        (form(successCriteria=5), TypeError, "successCriteria is an int; give a text or a list of texts"),
        (form(successCriteria=["a", 5]), TypeError, "successCriteria[1] is an int; give a text"),
        (form(successCriteria=None), ValueError, "nothing can fail this case: the simulation has no successCriteria"),
        (form(successCriteria=""), ValueError, "nothing can fail this case"),
        (form(successCriteria=[]), ValueError, "nothing can fail this case"),
        (form(mockData={}), TypeError, "mockData is a dict; give a list"),
        (form(mockData=["a"]), TypeError, "mockData[0] is a mapping, not 'a'"),
        (form(mockData=[{"value": "a"}]), TypeError, "mockData[0].variableName is None; give a text"),
        (form(mockData=[{"variableName": "a", "value": []}]), TypeError, "mockData[0].value is a list; give a text"),
        (form(mockData=[{"variableName": "a", "val": 1}]), ValueError, "unknown key 'mockData[0].val'"),
        (form(mockToolData=[7]), TypeError, "mockToolData[0] is a mapping, not 7"),
        (form(mockToolData="a"), TypeError, "mockToolData is a str; give a list"),
        (form(mockToolData=[{"toolAlias": 1}]), TypeError, "mockToolData[0].toolAlias is an int; give a text"),
        (form(mockToolData=[{"statusCode": "404"}]), TypeError, "mockToolData[0].statusCode is a str; give a whole"),
        (form(mockToolData=[{"statusCode": True}]), TypeError, "mockToolData[0].statusCode is a bool; give a whole"),
        (form(mockToolData=[{"statusCode": 700}]), ValueError, "mockToolData[0].statusCode: 700 is no status of HTTP"),
        (form(label="\ud800"), ValueError, "'\\ud800' is not a text in UTF-8"),
        (form(metadata=[]), TypeError, "metadata is a list; give a mapping"),
    ],
)
def test_a_bad_form_is_told_in_a_sentence(given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match="^" + re.escape(words)):
        case_from_simulation(given)


def test_control_characters_stay_what_they_are() -> None:
    case = made(label="\x1b[31mred\x07\u202e", userPrompt="You\x00 are\r\nangry.")
    assert case["title"] == "\x1b[31mred\x07\u202e"


def test_the_form_itself_is_left_as_it_was() -> None:
    given = form(testCaseId="tc_1", mockData=[], metadata={"a": [1], "agenteval_case": {"notes": "x"}})
    before = repr(given)
    case_from_simulation(given)["metadata"]["a"].append(2)
    assert repr(given) == before


def test_the_example_of_the_documentation_holds() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(block, "docs/interchange.md", "exec"), {})  # noqa: S102  # our own page


def test_the_documentation_tells_the_place_of_every_field() -> None:
    told = set(re.findall(r"`(\w+)", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    assert told >= {name for name, *_ in FIELDS} - {"metadata"}


# ---- round trips

texts = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
words = st.sampled_from(["Is kind.", "Is quick.", ""])
names = st.sampled_from(["name", "a b", "n2", ""])
variables = st.fixed_dictionaries(
    {"variableName": names}, optional={"value": texts | st.booleans() | st.integers(0, 9) | st.just(0.5)}
)
tools = st.sampled_from(["shop-1", "mtd_1", ""]) | st.fixed_dictionaries(
    {},
    optional={
        "toolAlias": st.sampled_from(["get_order", "refund", "", None]),
        "mockToolDataId": st.sampled_from(["shop-1", "mtd_1", None]),
        "name": texts,
        "statusCode": st.sampled_from([None, 200, 404, 503]),
    },
)
forms = st.fixed_dictionaries(
    {"userPrompt": st.sampled_from(["You are angry.", "{{name}}"])},
    optional={
        "testCaseId": texts | st.just("tc_d17T6uReChpyfFeP"),
        "workspaceId": texts,
        "label": texts,
        "agentId": texts,
        "agent": st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(["name", "agentId", "status"], texts)),
        "llmModel": texts,
        "attempt": st.none() | st.integers(1, 1000),
        "successCriteria": st.none() | words | st.lists(words, max_size=3),
        "mockData": st.none() | st.lists(variables, max_size=3),
        "mockToolData": st.none() | st.lists(tools, max_size=3),
    },
)
CRITERION = "Says where the order is."


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(forms)
@steady
def test_a_form_comes_back_from_its_case(given: Data) -> None:
    case = case_from_simulation(given, criteria=CRITERION, fixtures=FIXTURES)
    assert schemas.is_valid("case", case)
    assert errors(case) == []
    assert simulation_from_case(case) == given
    assert simulation_from_case(TestCase.from_yaml(TestCase.from_dict(case).to_yaml()).to_case()) == given


edits = st.fixed_dictionaries(
    {},
    optional={
        "title": st.just("Other"),
        "tags": st.just(["a"]),
        "attempts": st.just(7),
        "limits": st.just({"turns": 3}),
        "variables": st.lists(
            st.just({"name": "n2", "value": 1}) | st.just({"name": "name", "value": "x"}), max_size=2
        ),
        "tools": st.lists(st.sampled_from([{"use": "shop-1"}, {"name": "refund"}, {"name": "get_order"}]), max_size=2),
        "simulation": st.fixed_dictionaries(
            {"user_prompt": st.just("You are calm.")},
            optional={
                "criteria": st.sampled_from(["x", [GATES], ["x", {"metric": "toxicity"}]]),
                "max_turns": st.just(3),
            },
        ),
    },
)


@given(forms, edits, st.sampled_from([(), ("shop-1",)]))
@steady
def test_an_edited_case_comes_back_from_its_form(given: Data, edit: Data, fixtures: tuple[str, ...]) -> None:
    case = {**case_from_simulation(given, criteria=CRITERION, fixtures=FIXTURES), "notes": "edited", **edit}
    there = simulation_from_case(case)
    assert case_from_simulation(there, fixtures=fixtures) == case
    assert simulation_from_case(case_from_simulation(there, fixtures=fixtures)) == there
