"""`agenteval import` and `agenteval export`: what other tools keep becomes cases, and cases and runs what they read."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from build import LETTERS, agent, call, did, run, tried
from conftest import ROOT, Done, Repo
from test_contracts import output_schema

from agenteval_cli.batch_form import batch_of, conversation_of
from agenteval_cli.finding import CheckResult
from agenteval_cli.judgement import Judgement
from agenteval_cli.records import AttemptRecord, TranscriptRecord
from agenteval_cli.store import Run
from agenteval_cli.talk import Talk

Data = dict[str, Any]

SIMULATED: Data = {
    "testCaseId": "tc_d17T6uReChpyfFeP",
    "workspaceId": "org_V6eZ2zg8",
    "label": "Angry customer",
    "agentId": "agent_D5D0",
    "agent": {"name": "Desk", "agentId": "agent_D5D0", "status": "Live"},
    "llmModel": "a-model-5",
    "userPrompt": "You are {{customer_name}}, angry, and want to cancel.",
    "attempt": 5,
    "successCriteria": "The agent confirms the cancellation.",
    "mockData": [{"variableName": "customer_name", "value": "Ada"}],
    "mockToolData": [
        {"toolAlias": "cancel", "mockToolDataId": "mtd_1", "name": "Backend is down", "statusCode": 503},
        {"toolAlias": "get_order", "mockToolDataId": "shop-1", "name": "Found", "statusCode": 200},
    ],
}
RECORD: Data = {"input": "Where is order 5678?", "actualOutput": "It was shipped.", "expectedOutput": "shipped"}
TALK: Data = {"turns": [{"input": "Hi", "actualOutput": "Hello!"}, {**RECORD}]}


def given(repo: Repo, *documents: Any, name: str = "in.json") -> Path:
    """A file with the documents: lines where its name says so, one document as itself."""
    lines = name.endswith(".jsonl")
    text = "\n".join(map(json.dumps, documents)) if lines else json.dumps(list(documents))
    return repo.write(name, text.encode())


def cases(repo: Repo) -> list[str]:
    return sorted(str(path.relative_to(repo.root)) for path in (repo.root / "cases").rglob("*.yaml"))


def refused(repo: Repo, *arguments: str) -> Done:
    """The command said no, and no case was made."""
    before = cases(repo)
    done = repo.run(*arguments)
    assert (done.code, done.out, cases(repo)) == (2, "", before), done
    assert "Traceback" not in done.err
    return done


# ---- import


def test_a_simulation_case_becomes_a_valid_case_and_comes_back_whole(repo: Repo) -> None:
    repo.write("fixtures/shop.yaml", "schema: 1\nid: shop-1\ntools: [{name: get_order, responses: [{result: {}}]}]\n")
    given(repo, SIMULATED)
    done = repo.run("import", "in.json")
    assert (done.code, done.out) == (0, "cases/tc_d17T6uReChpyfFeP.yaml\n"), done
    assert done.err.endswith("1 case made\n")
    assert repo.run("validate").code == 0
    shown = repo.run("show", "tc_d17T6uReChpyfFeP", "--json").json["case"]
    assert (shown["attempts"], shown["simulation"]["user_prompt"]) == (
        5,
        "You are Ada, angry, and want to cancel.",
    )
    assert [tool["name"] for tool in shown["tools"]] == ["cancel", "get_order"]
    assert repo.run("export", "tc_d17T6uReChpyfFeP").json == [SIMULATED]


def test_mock_data_that_is_named_twice_is_one_fixture_of_the_case(repo: Repo) -> None:
    repo.write("fixtures/shop.yaml", "schema: 1\nid: shop-1\ntools: [{name: get_order, responses: [{result: {}}]}]\n")
    cancel = {"toolAlias": "cancel_order", "mockToolDataId": "shop-1", "name": "Found", "statusCode": 200}
    document = {**SIMULATED, "mockToolData": ["shop-1", "shop-1", cancel]}
    given(repo, document)
    done = repo.run("import", "in.json")
    assert done.code == 0, done
    assert repo.run("export", "tc_d17T6uReChpyfFeP").json == [document]


def test_each_form_is_told_by_its_keys(repo: Repo) -> None:
    given(repo, SIMULATED, RECORD, TALK, name="in.jsonl")
    done = repo.run("import", "in.jsonl", "--match", "contains", "--json")
    assert done.code == 0, done
    output_schema("import").validate(done.json)
    assert [(made["form"], made["from"]) for made in done.json["made"]] == [
        ("simulation", "in.jsonl:1"),
        ("record", "in.jsonl:2"),
        ("conversation", "in.jsonl:3"),
    ]
    assert repo.run("validate").code == 0
    ids = [made["id"] for made in done.json["made"]]
    assert repo.run("export", *ids, "--quiet").json == sorted_by_id(ids, [SIMULATED, RECORD, TALK])


def sorted_by_id(ids: list[str], documents: list[Data]) -> list[Data]:
    """As cases are listed: by the names of their files."""
    return [document for _, document in sorted(zip(ids, documents, strict=True), key=lambda pair: pair[0])]


def test_what_was_imported_is_graded_as_any_case(repo: Repo) -> None:
    given(repo, RECORD)
    repo.run("import", "in.json", "--match", "contains")
    assert repo.run("grade", "--recordings", "--case", "tc-*").code == 0


def test_a_second_import_says_what_is_there_and_writes_nothing(repo: Repo) -> None:
    given(repo, SIMULATED, RECORD)
    made = repo.run("import", "in.json", "--match", "contains").out.split()
    written = {name: (repo.root / name).read_bytes() for name in made}
    path = repo.root / made[0]
    path.write_bytes(path.read_bytes() + b"notes: mine\n")
    again = repo.run("import", "in.json", "--match", "contains")
    assert (again.code, again.out) == (0, "")
    assert f"in.json#1: {made[0]} is there already and says something else; it was left as it is" in again.err
    assert f"in.json#2: {made[1]} is there already\n" in again.err
    assert again.err.endswith("0 cases made, 2 there already\n")
    assert path.read_bytes() == written[made[0]] + b"notes: mine\n"
    facts = repo.run("import", "in.json", "--match", "contains", "--json").json
    output_schema("import").validate(facts)
    assert [each["differs"] for each in facts["there"]] == [True, False]


def test_a_dry_run_checks_everything_and_writes_nothing(repo: Repo) -> None:
    given(repo, SIMULATED)
    before = cases(repo)
    done = repo.run("import", "in.json", "--dry-run")
    assert (done.code, done.out, cases(repo)) == (0, "cases/tc_d17T6uReChpyfFeP.yaml\n", before)
    assert "1 case would be made" in done.err


def test_into_is_a_folder_below_the_cases(repo: Repo) -> None:
    given(repo, SIMULATED)
    done = repo.run("import", "in.json", "--into", "cases/from/desk")
    assert done.out == "cases/from/desk/tc_d17T6uReChpyfFeP.yaml\n", done
    assert (
        "elsewhere/tc_2.yaml is not below cases/"
        in refused(repo, "import", str(given(repo, {**SIMULATED, "testCaseId": "tc_2"})), "--into", "elsewhere").err
    )


def test_criteria_make_a_test_of_what_expects_nothing(repo: Repo) -> None:
    given(repo, {"input": "Hi", "actualOutput": "Hello"}, {"userPrompt": "You are angry."})
    assert "nothing can fail this case" in refused(repo, "import", "in.json").err
    done = repo.run("import", "in.json", "--criterion", "Is polite to her at all times.", "--criterion", "toxicity")
    assert len(done.out.split()) == 2, done
    text = (repo.root / done.out.split()[0]).read_text(encoding="utf-8")
    assert "{text: Is polite to her at all times., gate: true}" in text
    assert "{metric: toxicity, gate: true}" in text


def test_several_files_are_one_import(repo: Repo) -> None:
    given(repo, SIMULATED, name="one.json")
    given(repo, {**RECORD, "input": "?"}, RECORD, name="two.jsonl")
    assert len(repo.run("import", "one.json", "two.jsonl").out.split()) == 3


def test_one_document_needs_no_list_and_yaml_is_read_too(repo: Repo) -> None:
    repo.write("one.json", json.dumps(RECORD))
    assert len(repo.run("import", "one.json").out.split()) == 1
    repo.write("two.yaml", "- {input: Do you ship to Norway?, expectedOutput: no}\n")
    done = repo.run("import", "two.yaml", "--match", "contains", "--verbose")
    assert " is the record at two.yaml#1" in done.err, done


def test_two_records_that_ask_the_same_are_one_case(repo: Repo) -> None:
    given(repo, RECORD, {**RECORD, "actualOutput": "No idea."})
    done = repo.run("import", "in.json", "--match", "contains", "--json")
    output_schema("import").validate(done.json)
    (made,) = done.json["made"]
    assert done.json["repeated"] == [{"id": made["id"], "from": "in.json#2", "first": "in.json#1"}]
    assert "in.json#2 is the case" in repo.run("import", "in.json", "--match", "contains").err


def test_one_bad_document_keeps_all_of_them_out(repo: Repo) -> None:
    given(
        repo,
        SIMULATED,
        {**SIMULATED, "testCaseId": "tc_2", "attempt": "5"},
        {"input": "Hi"},
        7,
        {"a": 1},
        {"schema": 1},
    )
    err = refused(repo, "import", "in.json").err
    assert "nothing was imported:" in err
    assert "in.json#2: attempt is a str; give a whole number from 1 to 1000" in err
    assert "in.json#3: nothing can fail this case: the record has neither expectedToolCalls nor expectedOutput" in err
    assert "in.json#4: a document is a mapping, not an int" in err
    assert "in.json#5: it has none of userPrompt, turns, input, so nobody knows what it is" in err
    assert "in.json#6: this is a case file already" in err
    assert "in.json#1" not in err


def test_of_many_bad_documents_the_first_are_told(repo: Repo) -> None:
    given(repo, *[{"input": "Hi"}] * 25)
    err = refused(repo, "import", "in.json").err
    assert ("in.json#20: " in err, "in.json#21: " in err, "and 5 more" in err) == (True, False, True)


def test_form_says_what_the_documents_are(repo: Repo) -> None:
    given(repo, RECORD)
    assert "in.json#1: unknown key 'input'" in refused(repo, "import", "in.json", "--form", "simulation").err


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("in.json", b"[{]", "in.json:1:3: not JSON: expecting property name"),
        ("in.json", b'[\n  {"input": "a"},\n  {"input" "b"}\n]', "in.json:3:12: not JSON: expecting ':' delimiter"),
        ("in.jsonl", b'{"input": "a"}\n\n{"input":}\n', "in.jsonl:3:10: not JSON: expecting value"),
        (
            "in.json",
            b'{"input": "a"}\n{"input": "b"}\n',
            "in.json:2:1: not JSON: more comes after the first value; documents of a line each go into a file that ends in .jsonl",
        ),
        ("in.json", b"", "in.json:1:1: not JSON: expecting value"),
        ("in.jsonl", b"\n", "no documents in in.jsonl; nothing was imported"),
        ("in.json", b"[]", "no documents in in.json; nothing was imported"),
        (
            "in.json",
            b'{"input": "a", "input": "b"}',
            "in.json:1: not JSON: the key 'input' is there twice",
        ),
        ("in.json", b'{"input": NaN}', "in.json:1: not JSON: NaN is not a number that JSON has"),
        ("in.json", b'{"input": ' + b"9" * 5000 + b"}", "in.json:1: not JSON: a number of thousands of digits"),
        ("in.json", b'{"input": 1e999, "expectedOutput": "x"}', "in.json: input: inf is not a number that JSON has"),
        ("in.json", b"[" * 100_000, "in.json:1: nested too deeply to be read"),
        ("in.json", b'{"input": "\xff"}', "in.json:1: not UTF-8, at byte 12"),
        ("in.json", b'{"input": "\\ud800", "expectedOutput": "x"}', "in.json: '\\ud800' is not a text in UTF-8"),
        ("in.csv", b"input\nHi\n", "in.csv: name it .json, .jsonl or .yaml"),
        ("in.yaml", b"- {input: a\n", "in.yaml:"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_its_place(repo: Repo, name: str, raw: bytes, words: str) -> None:
    repo.write(name, raw)
    assert words in refused(repo, "import", name).err


def test_a_file_that_is_not_there_is_told(repo: Repo) -> None:
    assert "gone.json cannot be read: No such file or directory" in refused(repo, "import", "gone.json").err


def test_a_byte_order_mark_is_no_content(repo: Repo) -> None:
    repo.write("in.json", b"\xef\xbb\xbf" + json.dumps(RECORD).encode())
    assert repo.run("import", "in.json").code == 0


def test_control_characters_do_not_reach_the_terminal(repo: Repo) -> None:
    given(repo, {**SIMULATED, "label": "\x1b[31mred", "userPromt": 1}, {"\x1b[31m": 1})
    err = refused(repo, "import", "in.json").err
    assert "\x1b" not in err
    given(repo, {**SIMULATED, "label": "\x1b[31mred"})
    assert repo.run("import", "in.json").code == 0
    shown = repo.run("export", "tc_d17T6uReChpyfFeP")
    assert "\x1b" not in shown.out
    assert shown.json[0]["label"] == "\x1b[31mred"


# ---- IDs


def test_a_test_case_id_that_is_there_twice_is_told(repo: Repo) -> None:
    given(repo, SIMULATED, {**SIMULATED, "testCaseId": "TC_D17t6uReChpyfFeP", "userPrompt": "You are calm."})
    err = refused(repo, "import", "in.json").err
    assert "in.json#2: it has the ID 'TC_D17t6uReChpyfFeP' of in.json#1, and is another case" in err


def test_the_id_of_another_case_is_refused(repo: Repo) -> None:
    given(repo, {**SIMULATED, "testCaseId": "says-hello"})
    err = refused(repo, "import", "in.json").err
    assert "in.json#1: the ID 'says-hello' is that of cases/says-hello.yaml, which is another case" in err


def test_a_test_case_id_that_differs_in_case_alone_is_another_case_and_is_refused(repo: Repo) -> None:
    given(repo, SIMULATED)
    assert repo.run("import", "in.json").code == 0
    given(repo, {**SIMULATED, "testCaseId": SIMULATED["testCaseId"].upper()})
    done = refused(repo, "import", "in.json")
    assert "the ID 'TC_D17T6URECHPYFFEP' is that of cases/tc_d17T6uReChpyfFeP.yaml, which is another case" in done.err


def test_a_retired_id_is_never_used_again(repo: Repo) -> None:
    given(repo, SIMULATED)
    repo.run("import", "in.json")
    repo.run("retire", "tc_d17T6uReChpyfFeP", "--reason", "it was replaced")
    assert "was retired (it was replaced) and is never used again" in refused(repo, "import", "in.json").err


def test_a_file_in_the_way_is_never_overwritten(repo: Repo) -> None:
    path = repo.write("cases/tc_d17T6uReChpyfFeP.yaml", "not: [a case\n")
    given(repo, SIMULATED)
    assert (
        "cases/tc_d17T6uReChpyfFeP.yaml is there already, and is not this case"
        in refused(repo, "import", "in.json").err
    )
    assert path.read_text(encoding="utf-8") == "not: [a case\n"


def test_an_exported_case_is_the_same_case_where_it_is_and_elsewhere(repo: Repo, tmp_path: Path) -> None:
    repo.case(
        "talks", "schema: 1\nid: talks\nconversation: [{role: user, content: Hi}]\nlimits: {steps: 3}\ntags: [a]\n"
    )
    exported = repo.run("export", "--quiet")
    repo.write("out.json", exported.out)
    done = repo.run("import", "out.json")
    assert (done.code, done.out) == (0, ""), done
    assert "2 there already" in done.err
    before = {name: repo.run("show", name, "--json").json["case"] for name in ("talks", "says-hello")}
    for path in (repo.root / "cases").iterdir():
        path.unlink()
    assert len(repo.run("import", "out.json").out.split()) == 2
    assert {name: repo.run("show", name, "--json").json["case"] for name in before} == before


def test_a_document_with_an_agent_that_is_not_here_is_told(repo: Repo) -> None:
    given(repo, {**RECORD, "metadata": {"agenteval_case": {"id": "mine", "agent": "nobody", "match": "contains"}}})
    err = refused(repo, "import", "in.json").err
    assert "in.json#1: this makes no valid case: agent: no agent 'nobody' in agenteval.yaml" in err


def test_match_says_nothing_about_simulation_cases(repo: Repo) -> None:
    given(repo, SIMULATED)
    assert "--match says nothing about simulation cases" in refused(repo, "import", "in.json", "--match", "exact").err


# ---- export


def test_cases_are_exported_as_they_are_picked(repo: Repo) -> None:
    repo.case("says-bye", "schema: 1\nid: says-bye\ninput: bye\ntags: [end]\noutcome: [{contains: bye}]\n")
    assert [each["input"] for each in repo.run("export", "says-h*").json] == ["hello"]
    assert [each["input"] for each in repo.run("export", "--case", "says-bye").json] == ["bye"]
    assert [each["input"] for each in repo.run("export", "--tag", "end", "--form", "record").json] == ["bye"]
    done = repo.run("export", "--json")
    output_schema("export").validate(done.json)
    assert [(each["id"], each["carries"]) for each in done.json["cases"]] == [("says-bye", True), ("says-hello", True)]
    assert "2 cases with more than the form has a place for" in done.err


def test_cases_that_a_form_cannot_stand_for_are_refused_by_name(repo: Repo) -> None:
    repo.case("walks", "schema: 1\nid: walks\nturns: [{user: Hi, outcome: [{contains: h}]}]\n")
    err = refused(repo, "export", "--form", "simulation").err
    assert "says-hello: this case has no simulation" in err
    assert "walks: this case has no simulation" in err
    err = refused(repo, "export").err
    assert "walks: no form has a place for turns that are checked one by one" in err
    assert "says-hello" not in err
    assert "no case 'nobody'" in refused(repo, "export", "nobody").err


def test_an_exported_case_keeps_its_variables_and_fixtures_as_they_are_written(repo: Repo) -> None:
    repo.write("fixtures/shop.yaml", "schema: 1\nid: shop-1\ntools: [{name: get_order, responses: [{result: {}}]}]\n")
    given(repo, {**SIMULATED, "mockToolData": ["shop-1"]})
    repo.run("import", "in.json")
    (document,) = repo.run("export", "tc_*").json
    assert (document["userPrompt"], document["mockToolData"]) == (SIMULATED["userPrompt"], ["shop-1"])


# ---- a run as a batch

CALLING = """
import json, sys
request = json.load(sys.stdin)
said = request["input"]
calls = [{"name": "look", "arguments": {"at": said}, "result": 3}] if "look" in said else []
json.dump({"output": "You said " + said, "tool_calls": calls}, sys.stdout)
"""


def test_a_run_is_exported_with_what_was_said(repo: Repo) -> None:
    repo.agent(CALLING)
    repo.case("talks", "schema: 1\nid: talks\ntitle: Talks\nattempts: 2\nturns:\n  - {user: look here, outcome: [{contains: look}]}\n  - {user: bye, outcome: [{contains: bye}]}\n")  # fmt: skip
    repo.case(
        "fails",
        "schema: 1\nid: fails\ninput: hello\nattempts: 1\noutcome: [{contains: goodbye}, {contains: farewell}]\n",
    )
    repo.run("run")
    done = repo.run("export", "--run", "latest", "--json")
    output_schema("export_run").validate(done.json)
    batch = repo.run("export", "--run", "latest").json
    assert batch == done.json["batch"]
    assert (batch["batchId"], batch["agent"], batch["status"]) == (repo.runs()[0].name, {"name": "main"}, "finished")
    assert [batch[key] for key in COUNTS] == [4, 3, 1, 0]
    fails, _, talks = batch["testCases"]
    assert (talks["testCaseId"], talks["label"], [talks[key] for key in COUNTS]) == ("talks", "Talks", [2, 2, 0, 0])
    first, second = talks["attempts"]
    assert first["conversation"] == [
        {"role": "user", "content": "look here"},
        {
            "role": "assistant",
            "content": "You said look here",
            "toolCalls": [{"name": "look", "arguments": {"at": "look here"}, "result": 3}],
        },
        {"role": "user", "content": "bye"},
        {"role": "assistant", "content": "You said bye"},
    ]
    assert first["jobId"] == f"{batch['batchId']}:talks:1" != second["jobId"]
    (failed,) = fails["attempts"]
    assert (failed["status"], failed["isSuccessful"]) == ("failed", False)
    assert "goodbye" in failed["remarks"]
    assert "farewell" in failed["remarks"]


def test_chosen_cases_of_a_run(repo: Repo) -> None:
    repo.case("says-bye", "schema: 1\nid: says-bye\ntier: smoke\ninput: bye\noutcome: [{contains: bye}]\n")
    repo.run("run")
    chosen = repo.run("export", "SAYS-b*", "--run", "latest").json
    assert ([case["testCaseId"] for case in chosen["testCases"]], chosen["totalAttempts"]) == (["says-bye"], 1)
    assert len(repo.run("export", "--run", "latest", "--case", "says-bye").json["testCases"]) == 1
    assert (
        "has no case 'says-by'; did you mean 'says-bye'?" in refused(repo, "export", "says-by", "--run", "latest").err
    )
    assert "--tag says nothing about a run" in refused(repo, "export", "--run", "latest", "--tag", "a").err
    assert "--form says nothing about a run" in refused(repo, "export", "--run", "latest", "--form", "record").err
    assert "a baseline keeps no conversations" in refused(repo, "export", "--run", "baseline").err


def test_a_conversation_that_is_lost_is_null_and_the_rest_is_told(repo: Repo) -> None:
    repo.run("run")
    (repo.runs()[0] / "transcripts.jsonl").write_bytes(b"")
    done = repo.run("export", "--run", "latest")
    assert done.code == 0
    assert "the conversation of 1 attempt cannot be read" in done.err
    (attempt,) = done.json["testCases"][0]["attempts"]
    assert (attempt["isSuccessful"], attempt["conversation"]) == (True, None)


COUNTS = ("totalAttempts", "successfulAttempts", "failedAttempts", "undecidedAttempts")


def batch(made: Run, *cases: str) -> Data:
    found = batch_of(made, cases or [planned.case for planned in made.record.plan], lambda _: None)
    output_schema("batch").validate(found)
    return found


def test_what_neither_passed_nor_failed_is_counted_and_told() -> None:
    (case,) = batch(run(tried("greet", "PFETLUHC", planned=10)))["testCases"]
    assert [case[key] for key in COUNTS] == [10, 1, 4, 5]
    ended = {attempt["status"]: (attempt["isSuccessful"], attempt["remarks"]) for attempt in case["attempts"]}
    assert {status: successful for status, (successful, _) in ended.items()} == {
        **dict.fromkeys([LETTERS[letter] for letter in "FETL"], False),
        **dict.fromkeys([LETTERS[letter] for letter in "UHC"], None),
        "passed": True,
    }
    assert case["attempts"][-1]["remarks"] == "it was not begun"
    assert all(remarks for _, remarks in ended.values())


def test_a_run_that_stopped_early_says_why_an_attempt_was_not_begun() -> None:
    (case,) = batch(run(tried("greet", "P", planned=2), stopped="the budget"))["testCases"]
    assert case["attempts"][1]["remarks"] == "it was not begun: the run stopped early (the budget)"
    assert case["attempts"][1]["status"] == "skipped"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("running", "it has not ended: the run is still on"),
        ("interrupted", "it did not end, or was not begun: the run was interrupted"),
    ],
)
def test_of_a_run_that_is_on_or_was_killed_nobody_says_what_was_not_begun(status: str, words: str) -> None:
    (case,) = batch(run(tried("greet", "P", planned=2), status=status, finished_at=None))["testCases"]
    assert case["attempts"][1]["remarks"] == words
    assert [case[key] for key in COUNTS] == [2, 1, 0, 1]


def test_a_retry_is_the_same_job_and_the_try_that_was_graded_counts() -> None:
    made = run(tried("greet", "E"))
    (first,) = made.attempts
    second = replaced(first, status="passed", reason="", retry=1)
    (case,) = batch(replaced(made, attempts=(first, second)))["testCases"]
    assert [case[key] for key in COUNTS] == [1, 1, 0, 0]
    (case,) = batch(replaced(made, attempts=(first, replaced(first, status="harness_error", retry=1))))["testCases"]
    assert [attempt["status"] for attempt in case["attempts"]] == ["agent_error"]


def replaced(value: Any, **changes: Any) -> Any:
    from msgspec.structs import replace

    return replace(value, **changes)


def remarks(**changes: Any) -> str:
    made = run(tried("greet", "F"))
    attempt: AttemptRecord = replaced(made.attempts[0], **changes)
    (case,) = batch(replaced(made, attempts=(attempt,)))["testCases"]
    text: str = case["attempts"][0]["remarks"]
    return text


def test_remarks_are_every_check_that_did_not_hold() -> None:
    checks = (
        CheckResult("outcome[0].contains", "outcome", "failed", "it lacks 'hello'"),
        CheckResult("outcome[1].contains", "outcome", "failed", "just so", severity="warning"),
        CheckResult("simulation.criteria[0]", "outcome", "failed", "no: it was rude"),
        CheckResult("limits.steps", "trajectory", "passed"),
    )
    assert remarks(checks=checks, reason="outcome[0].contains: it lacks 'hello'") == (
        "outcome[0].contains: it lacks 'hello'; simulation.criteria[0]: no: it was rude"
    )
    judged = (Judgement(criterion="criteria[0]", digest="1:a", answer="yes", reason="It confirmed."),)
    assert remarks(status="passed", checks=checks[3:], judgements=judged) == "every check held (1); It confirmed."


@pytest.mark.parametrize("status", sorted(LETTERS.values()))
def test_remarks_are_never_empty(status: str) -> None:
    assert remarks(status=status, reason="", checks=()).strip()


def test_a_run_of_several_agents_names_them_by_case() -> None:
    made = run(tried("greet", "P"), agents=[agent("support"), agent("other")])
    found = batch(made)
    assert (found["agent"], found["testCases"][0]["agent"]) == (None, {"name": "support"})


def test_the_batch_in_the_documentation_is_what_the_schema_says() -> None:
    page = (ROOT / "docs" / "interchange.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    output_schema("batch").validate(json.loads(block))


# ---- what was said


def said(**fields: Any) -> list[tuple[str, Any]]:
    request: Data = {"messages": fields.pop("messages", []), **fields.pop("request", {})}
    record = TranscriptRecord(format=2, case="greet", attempt=1, request=request, **fields)
    return [(message["role"], message["content"]) for message in conversation_of(record)]


HI: Data = {"role": "user", "content": "Hi"}


def test_a_request_and_its_answer() -> None:
    assert said(messages=[HI], request={"system_prompt": "Be kind."}, transcript=did(output="Hello")) == [
        ("system", "Be kind."),
        ("user", "Hi"),
        ("assistant", "Hello"),
    ]


def test_a_simulated_user_speaks_after_what_was_said_before() -> None:
    before = [HI, {"role": "assistant", "content": "Hello"}]
    talk = Talk(said=("Cancel it.", "Now!"), user="default", stop="user_done")
    turns = (did(output="Why?"), did(output="Done."))
    assert said(messages=before, talk=talk, turns=turns, transcript=turns[1]) == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "Cancel it."),
        ("assistant", "Why?"),
        ("user", "Now!"),
        ("assistant", "Done."),
    ]


def test_calls_from_before_the_case_are_told_with_the_message_that_asked_for_them() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    record = TranscriptRecord(format=2, case="greet", attempt=1, request={"messages": [asked, HI]})
    assert next(conversation_of(record)) == {
        "role": "assistant",
        "content": None,
        "toolCalls": [{"name": "get_order", "arguments": "{}"}],
    }


def test_a_simulated_user_of_one_turn() -> None:
    talk = Talk(said=("Cancel it.",), user="default", stop="agent_ended")
    assert said(talk=talk, transcript=did(output="Done.")) == [("user", "Cancel it."), ("assistant", "Done.")]


def test_words_that_got_no_answer_are_told() -> None:
    assert said(messages=[HI]) == [("user", "Hi")]
    script = Talk(said=("Hi", "And now?"))
    assert said(messages=[HI], talk=script, turns=(did(output="Hello"),)) == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("user", "And now?"),
    ]
    assert said(talk=Talk(said=("Hi",), user="default")) == [("user", "Hi")]


def test_turns_of_an_older_run_without_the_users_words_are_told() -> None:
    turns = (did(output="Hello"), did(output="Bye"))
    assert said(messages=[HI], turns=turns) == [("user", "Hi"), ("assistant", "Hello"), ("assistant", "Bye")]


def test_calls_stand_beside_the_answer_that_they_led_to() -> None:
    failed = replaced(call("refund", "error", order_id="1"), duration_ms=12.0)
    record = TranscriptRecord(
        format=2, case="greet", attempt=1, request={"messages": []}, transcript=did(call("look"), failed)
    )
    (answer,) = conversation_of(record)
    assert answer["toolCalls"] == [
        {"name": "look", "arguments": {}, "result": "done"},
        {"name": "refund", "arguments": {"order_id": "1"}, "error": "it broke", "durationMs": 12.0},
    ]


def test_a_simulated_conversation_from_the_form_to_the_batch(repo: Repo) -> None:
    """A case of a service is imported, gets a script for its user, runs, and its batch is exported."""
    repo.agent(CALLING)
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    judge = [sys.executable, "judge.py"]
    repo.write("judge.py", "import sys\nsys.stdin.read()\n")
    repo.write("agenteval.yaml", f"{config}judges: {{default: {{command: {json.dumps(judge)}}}}}\n")
    given(repo, {**SIMULATED, "attempt": 1, "mockToolData": []})
    repo.run("import", "in.json")
    path = repo.root / "cases/tc_d17T6uReChpyfFeP.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text + "  script:\n    - {say: I want to cancel., times: 1}\n    - {say: Bye., done: true}\n", encoding="utf-8"
    )
    repo.run("run", "--case", "tc_*")
    (case,) = repo.run("export", "--run", "latest").json["testCases"]
    (attempt,) = case["attempts"]
    assert [case[key] for key in COUNTS] == [1, 0, 0, 1]
    assert (attempt["status"], attempt["isSuccessful"], bool(attempt["remarks"])) == ("ungraded", None, True)
    assert [(message["role"], message["content"]) for message in attempt["conversation"]] == [
        ("user", "I want to cancel."),
        ("assistant", "You said I want to cancel."),
        ("user", "Bye."),
        ("assistant", "You said Bye."),
    ]
