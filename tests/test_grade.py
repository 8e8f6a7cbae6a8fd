"""`agenteval grade`: verdicts on answers that are there already, kept as a run, and no agent started."""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
from typing import Any

import pytest
from build import attempt
from conftest import Repo
from desk import CASE as TWO_ATTEMPTS
from desk import Desk, cases, until, written
from jsonschema import Draft202012Validator
from judge_programs import HEAD, LAST_WORD, says
from test_contracts import output_schema

from agenteval_cli import schemas
from agenteval_cli.cli.grade_report import lines_of_changes
from agenteval_cli.datasets import answers_in
from agenteval_cli.errors import UsageError
from agenteval_cli.finding import CheckResult
from agenteval_cli.regrading import Change
from agenteval_cli.reuse import without_evidence

CASE = """
schema: 1
id: {id}
tier: {tier}
input: hello
outcome: [{contains: hello}]
"""


@pytest.fixture
def desk(repo: Repo) -> Desk:
    """Three cases of two attempts that passed; the agent may not be started again."""
    cases(repo, 3)
    made = Desk(repo)
    done = repo.run("run")
    assert done.code == 0, done
    made.works_by("echo 'started again' >> \"$DESK/calls\"; exit 1")
    made.forget()
    return made


def graded(repo: Repo, *arguments: str, code: int = 0) -> Any:
    """The --json document, which is as its schema says, as is what is stored of the run."""
    done = repo.run("grade", *arguments, "--json")
    assert done.code == code, done
    output_schema("grade").validate(done.json)
    folder = repo.runs()[-1]
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    Draft202012Validator(schemas.load("run")).validate(record)
    assert (record["id"], record["graded"], record["status"]) == (done.json["run"], True, "finished")
    for attempt_line in repo.attempts():
        Draft202012Validator(schemas.load("attempt")).validate(attempt_line)
    for line in (folder / "transcripts.jsonl").read_text(encoding="utf-8").splitlines():
        Draft202012Validator(schemas.load("transcript")).validate(json.loads(line))
    return done.json


def statuses(repo: Repo) -> list[str]:
    return [line["status"] for line in repo.attempts()]


def transcripts(repo: Repo) -> list[dict[str, Any]]:
    lines = (repo.runs()[-1] / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def refused(repo: Repo, *arguments: str) -> str:
    """What a command says that was asked wrongly, and makes no run."""
    before = len(repo.runs())
    done = repo.run("grade", *arguments)
    assert (done.code, len(repo.runs()), done.out) == (2, before, ""), done
    return done.err


# ---- a stored run


def test_a_run_is_graded_again_and_what_changed_is_said(repo: Repo, desk: Desk) -> None:
    repo.case("case-2", CASE.replace("input: hello", "input: hello case-2").replace("contains: hello", "contains: bye"))
    earlier = repo.runs()[0].name
    done = repo.run("grade", "--run", "latest")
    assert done.code == 1, done
    assert "2 attempts passed before and fail now: case-2 #1, case-2 #2" in done.out
    assert f"agenteval diff {earlier} {repo.runs()[-1].name}" in done.err
    assert {(line["case"], line["status"]) for line in repo.attempts()} == {
        ("case-1", "passed"),
        ("case-2", "failed"),
        ("case-3", "passed"),
    }
    assert all(line["regraded"] and line["reused_from"] == earlier for line in repo.attempts())
    assert desk.calls == []


def test_a_graded_run_is_a_run_like_any_other(repo: Repo, desk: Desk) -> None:
    first = repo.runs()[0].name
    facts = graded(repo, "--run", first)
    assert (facts["graded_from"], facts["changed"], facts["verdict"]) == (first, [], "passed")
    assert [agent["name"] for agent in facts["agents"]] == ["main"]
    shown = repo.run("show", "case-1", "--run", "latest")
    assert shown.code == 0
    assert "its transcript was graded anew" in shown.out
    diff = repo.run("diff", "--json").json["diff"]
    assert diff["counts"]["still_passing"] == 3
    assert repo.run("runs", "list").code == 0
    again = graded(repo, "--run", "latest")
    assert again["graded_from"] == facts["run"]
    assert {line["reused_from"] for line in repo.attempts()} == {first}
    assert desk.calls == []


def test_only_cases_of_which_an_attempt_did_not_pass_are_graded(repo: Repo) -> None:
    """With all their attempts: a rate is one of all of them."""
    cases(repo, 2)
    last_is_wrong = 'cat; echo >> "$DESK/calls"; [ "$(wc -l < "$DESK/calls")" -lt 4 ] || echo oops'
    Desk(repo, last_is_wrong, config="concurrency: 1")
    for name in ("case-1", "case-2"):
        repo.case(name, TWO_ATTEMPTS.replace("{contains: hello}", "{not_contains: oops}"))
    assert repo.run("run").code == 1
    earlier = repo.runs()[-1].name
    before = {(line["case"], line["attempt"]): line["status"] for line in repo.attempts()}
    assert sorted(before.values()) == ["failed", "passed", "passed", "passed"]
    ((wrong, _),) = [key for key, status in before.items() if status == "failed"]
    (right,) = {"case-1", "case-2"} - {wrong}
    assert "every attempt of run" in refused(repo, "--run", "latest", "--failed", "--case", right)
    assert graded(repo, "--run", "latest", "--failed", code=1)["graded_from"] == earlier
    assert [(line["case"], line["attempt"]) for line in repo.attempts()] == [(wrong, 1), (wrong, 2)]


def test_a_changed_verdict_is_in_the_json_form_too(repo: Repo, desk: Desk) -> None:
    repo.case("case-2", CASE.replace("input: hello", "input: hello case-2").replace("contains: hello", "contains: bye"))
    facts = graded(repo, "--run", "latest", "--case", "case-2", code=1)
    assert [(item["case"], item["attempt"], item["before"], item["after"]) for item in facts["changed"]] == [
        ("case-2", 1, "passed", "failed"),
        ("case-2", 2, "passed", "failed"),
    ]
    assert facts["attempts"]["planned"] == 2
    assert desk.calls == []


def test_an_answer_to_what_the_case_is_not_any_more_decides_nothing(repo: Repo, desk: Desk) -> None:
    repo.case("case-2", CASE.replace("input: hello", "input: what else?"))
    facts = graded(repo, "--run", "latest", code=3)
    assert facts["attempts"]["by_status"] == {"passed": 4, "ungraded": 2}
    reasons = {line.get("reason", "") for line in repo.attempts() if line["case"] == "case-2"}
    assert reasons == {f"what the agent gets has changed since {repo.runs()[0].name}; run it again"}
    assert len(facts["changed"]) == 2
    plan = repo.run("run", "--since", "latest", "--dry-run", "--json").json["plan"]
    assert all(item["reason"].startswith("rerun") for item in plan if item["case"] == "case-2")
    assert desk.calls == []


def test_what_gave_no_answer_stays_as_it_ended(repo: Repo) -> None:
    repo.agent("import sys; sys.exit(3)")
    assert repo.run("run").code == 1
    facts = graded(repo, "--run", "latest", code=1)
    assert (facts["attempts"]["by_status"], facts["changed"]) == ({"agent_error": 1}, [])


def test_cases_that_are_gone_are_left_out_and_named(repo: Repo, desk: Desk) -> None:
    (repo.root / "cases/case-3.yaml").unlink()
    done = repo.run("grade", "--run", "latest")
    assert done.code == 0, done
    assert "1 case of the run left out, since no case file has the ID any more: case-3" in done.err
    assert {line["case"] for line in repo.attempts()} == {"case-1", "case-2"}


def test_a_transcript_that_is_lost_is_no_pass(repo: Repo, desk: Desk) -> None:
    repo.runs()[0].joinpath("transcripts.jsonl").unlink()
    facts = graded(repo, "--run", "latest", code=3)
    assert facts["attempts"]["by_status"] == {"ungraded": 6}
    assert {line["reason"] for line in repo.attempts()} == {"its transcript cannot be read"}


SECRET = "sk-123456789"


@pytest.mark.parametrize(
    ("checks", "first", "again"),
    [
        ("{not_contains: sk-1}", "failed", "ungraded"),
        ("{contains: hello}", "passed", "passed"),
        ("{contains: goodbye}", "failed", "failed"),
    ],
)
def test_a_masked_transcript_never_turns_a_leak_into_a_pass(repo: Repo, checks: str, first: str, again: str) -> None:
    repo.agent(f'print(\'{{"output": "hello, my key is {SECRET}"}}\')')
    repo.write("agenteval.yaml", (repo.root / "agenteval.yaml").read_text() + "redact: ['sk-[0-9]+']\n")
    repo.case("says-hello", CASE.replace("{contains: hello}", checks))
    repo.run("run")
    assert statuses(repo) == [first]
    repo.run("grade", "--run", "latest")
    (line,) = repo.attempts()
    assert line["status"] == again
    assert any("[redacted]" in note for note in line["notes"])
    if again == "ungraded":
        assert "run the case again" in line["reason"]


def test_what_is_to_be_masked_now_is_masked_in_the_new_run(repo: Repo) -> None:
    repo.agent(f'print(\'{{"output": "hello {SECRET}"}}\')')
    repo.run("run")
    repo.write("agenteval.yaml", (repo.root / "agenteval.yaml").read_text() + "redact: ['sk-[0-9]+']\n")
    graded(repo, "--run", "latest")
    stored = [path.read_text(encoding="utf-8") for path in repo.runs()[-1].iterdir()]
    assert not any(SECRET in text for text in stored)


def test_what_is_to_be_masked_now_is_masked_in_raw_bytes_too(repo: Repo) -> None:
    """Output that is not UTF-8 is kept in base64, where no pattern would find anything."""
    program = "cat; printf '\\377 my card is 4111-1111'; printf '\\376 card 4222-2222' >&2"
    Desk(repo, program)
    assert repo.run("run").code == 0
    (kept,) = transcripts(repo)
    assert b"4111-1111" in base64.b64decode(kept["stdout_base64"])
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config + 'redact: ["4[0-9]{3}-[0-9]{4}"]\n')
    graded(repo, "--run", "latest")
    (kept,) = transcripts(repo)
    assert base64.b64decode(kept["stdout_base64"]) == b"hello\xff my card is [redacted]"
    assert base64.b64decode(kept["stderr_base64"]) == b"\xfe card [redacted]"
    assert (kept["stdout_size"], kept["stderr_size"]) == (27, 16)


def test_many_attempts_are_shared_out_and_none_is_lost(repo: Repo) -> None:
    repo.case("says-hello", CASE + "attempts: 1000\n")
    answers = [repo.write(f"answers/{number}.json", '{"output": "hello"}') for number in range(2)]
    graded(repo, "--case", "says-hello", "--transcript", str(answers[0]))
    folder = repo.runs()[-1]
    line = json.loads((folder / "attempts.jsonl").read_text())
    record = json.loads((folder / "run.json").read_text())
    record["plan"][0]["attempts"] = 1500
    (folder / "run.json").write_text(json.dumps(record))
    lines = [json.dumps({**line, "attempt": number}) for number in range(1, 1501)]
    (folder / "attempts.jsonl").write_text("\n".join(lines) + "\n")
    repo.case("says-hello", CASE.replace("contains: hello", "contains: bye") + "attempts: 1000\n")
    facts = graded(repo, "--run", "latest", code=1)
    assert facts["attempts"]["by_status"] == {"failed": 1500}
    assert [item["attempt"] for item in facts["changed"]] == list(range(1, 1501))


# ---- transcripts


CHAT = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "hello there"},
]


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        ({"output": "hello"}, ()),
        ({"output": "hello"}, ("--format", "agenteval")),
        ({"messages": CHAT}, ()),
        ({"messages": CHAT}, ("--format", "openai")),
    ],
)
def test_a_transcript_in_a_file_is_graded_against_a_case(repo: Repo, answer: Any, options: tuple[str, ...]) -> None:
    repo.write("answer.json", json.dumps(answer))
    facts = graded(repo, "--case", "says-hello", "--transcript", "answer.json", *options)
    (agent,) = facts["agents"]
    assert (agent["name"], agent["command"], agent["protocol"]) == ("transcripts", [], "none")
    assert agent["pins"] == {"files": "answer.json"}
    assert (facts["graded_from"], facts["changed"]) == (None, [])
    assert "hello" in repo.run("show", "says-hello", "--run", "latest").out


def test_several_transcripts_are_attempts_of_the_case(repo: Repo) -> None:
    repo.write("good.json", '{"output": "hello"}')
    repo.write("bad.json", '{"output": "bye"}')
    repo.write("nothing.json", '{"output": ""}')
    files = [word for name in ("good", "bad", "nothing") for word in ("--transcript", f"{name}.json")]
    facts = graded(repo, "--case", "says-hello", *files, code=1)
    assert facts["attempts"] == {
        "passed": 1,
        "graded": 3,
        "planned": 3,
        "by_status": {"passed": 1, "failed": 1, "agent_error": 1},
    }


def test_a_time_limit_is_no_pass_where_nothing_tells_the_time(repo: Repo) -> None:
    repo.case("says-hello", CASE + "limits: {timeout: 2s}\n")
    repo.write("untimed.json", '{"output": "hello"}')
    repo.write("quick.json", '{"output": "hello", "latency_ms": 900}')
    repo.write("slow.json", '{"output": "hello", "latency_ms": 2100}')
    files = [word for name in ("untimed", "quick", "slow") for word in ("--transcript", f"{name}.json")]
    graded(repo, "--case", "says-hello", *files, code=1)
    assert statuses(repo) == ["ungraded", "passed", "over_limit"]
    assert repo.attempts()[0]["reason"] == "limits.timeout: the transcript does not tell how long it took"


SCRIPT = """
schema: 1
id: {id}
turns:
  - {user: hello, outcome: [{contains: hello}]}
  - {user: bye, outcome: [{contains: bye}]}
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "grade what?"),
        (("--recordings", "--dataset", "x.json"), "each makes a run of its own"),
        (("--run", "nope"), "'nope' is no run ID"),
        (("--transcript", "good.json"), "Name it with --case"),
        (("--case", "says-hullo", "--transcript", "good.json"), "did you mean 'says-hello'"),
        (("--case", "says-*", "--transcript", "good.json"), "2 cases are selected"),
        (("--case", "says-hello", "--transcript", "none.json"), "none.json: No such file"),
        (("--case", "says-hello", "--transcript", "bad.json"), "bad.json: the transcript is in no known format"),
        (("--case", "says-hello", "--transcript", "good.json", "--format", "opnai"), "did you mean 'openai'"),
        (("--case", "says-more", "--transcript", "good.json"), "one transcript does not tell them apart"),
        (("--recordings",), "none of the 2 selected cases has a recording"),
        (("--recordings", "--case", "says-hello"), "'says-hello' has no recording"),
        (("--recordings", "--tag", "none"), "nothing selected"),
        (("--recordings", "--format", "openai"), "leave it out"),
        (("--recordings", "--match", "exact"), "leave it out"),
        (("--recordings", "--failed"), "--failed says nothing about answers of no run"),
        (("--dataset", "good.json", "--tag", "none"), "leave it out"),
        (("--dataset", "none.json"), "none.json: No such file"),
        (("--dataset", "good.json", "--match", "exct"), "did you mean 'exact'"),
    ],
)
def test_what_is_asked_wrongly_is_said_and_makes_no_run(repo: Repo, arguments: tuple[str, ...], words: str) -> None:
    repo.case("says-more", SCRIPT)
    repo.write("good.json", '{"output": "hello"}')
    repo.write("bad.json", "[[[")
    assert words in refused(repo, *arguments)


def test_a_case_that_a_run_has_not_is_not_graded(repo: Repo, desk: Desk) -> None:
    repo.case("case-9")
    assert "has no case 'case-9'" in refused(repo, "--run", "latest", "--case", "case-9")
    assert "has none of the 1 selected cases" in refused(repo, "--run", "latest", "--case", "case-9*")


def test_invalid_cases_are_not_passed_over(repo: Repo, desk: Desk) -> None:
    repo.write("cases/broken.yaml", "schema: 1\nid: broken\n")
    assert "cases/broken.yaml" in refused(repo, "--run", "latest")
    graded(repo, "--run", "latest", "--case", "case-1")


# ---- recordings, programs and judges


RECORDED = CASE + "recording: {output: hello, tool_calls: []}\n"


def test_recordings_are_graded_as_they_are_selected(repo: Repo) -> None:
    repo.case("recorded", RECORDED)
    repo.case("later", RECORDED, tier="regression")
    done = repo.run("grade", "--recordings", "--tier", "smoke")
    assert done.code == 0, done
    assert "1 selected case without a recording left out" in done.err
    assert [line["case"] for line in repo.attempts()] == ["recorded"]


def judged_by(repo: Repo, program: str) -> None:
    repo.write("judge.py", program)
    repo.agent()
    lines = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", f"{lines}judges:\n  default:\n    command: [{sys.executable}, judge.py]\n")


JUDGED = RECORDED.replace("outcome: [{contains: hello}]", "criteria: [{text: It says hello., gate: true}]")
COUNTING = HEAD + 'open("../asked", "a").write("x")\n' + LAST_WORD.removeprefix(HEAD)


def test_criteria_are_judged_and_an_answer_of_a_judge_is_kept(repo: Repo) -> None:
    judged_by(repo, COUNTING.replace("../asked", str(repo.root.parent / "asked")))
    asked = repo.root.parent / "asked"
    repo.case("says-hello", JUDGED)
    graded(repo, "--recordings")
    assert (statuses(repo), asked.read_text()) == (["passed"], "x")
    graded(repo, "--run", "latest")
    assert (statuses(repo), asked.read_text()) == (["passed"], "x")
    graded(repo, "--run", "latest", "--ask-again")
    assert (statuses(repo), asked.read_text()) == (["passed"], "xx")
    assert len(repo.attempts()[0]["notes"]) == 1


def test_a_judge_that_fails_leaves_the_run_incomplete(repo: Repo) -> None:
    judged_by(repo, says("'I am unable to say.'"))
    repo.case("says-hello", JUDGED)
    graded(repo, "--recordings", code=3)
    assert statuses(repo) == ["ungraded"]


def test_programs_are_asked_again(repo: Repo) -> None:
    repo.write("check.py", "import sys\nsys.exit(0 if 'hello' in sys.stdin.read() else 1)\n")
    repo.case("says-hello", CASE.replace("{contains: hello}", f"{{command: [{sys.executable}, check.py]}}"))
    assert repo.run("run").code == 0
    repo.write("check.py", "import sys\nsys.exit(1)\n")
    facts = graded(repo, "--run", "latest", code=1)
    assert [(item["before"], item["after"]) for item in facts["changed"]] == [("passed", "failed")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_what_was_graded_and_leaves_nothing_running(repo: Repo, number: int) -> None:
    """The second recording's judge never answers."""
    judged_by(
        repo,
        HEAD + 'import time\nif q["evidence"]["answer"] != "hello": time.sleep(600)\n' + LAST_WORD.removeprefix(HEAD),
    )
    repo.case("a-hello", JUDGED)
    repo.case("b-hello", JUDGED.replace("output: hello", "output: well hello"))
    process = repo.start("grade", "--recordings")
    try:
        until(lambda: repo.runs() and written(repo.runs()[-1]) == 1)
        os.kill(process.pid, number)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "interrupted; what was graded is kept" in err
    assert json.loads((repo.runs()[-1] / "run.json").read_text())["status"] == "interrupted"
    assert statuses(repo) == ["passed"]


# ---- datasets


RECORDS: list[dict[str, Any]] = [
    {"input": "Capital of France?", "actualOutput": "Paris", "expectedOutput": "Paris"},
    {"input": "Capital of Peru?", "actualOutput": "Quito", "expectedOutput": "Lima"},
    {
        "input": "Refund 5678",
        "actualOutput": "Done.",
        "toolCalls": [{"name": "get_order", "arguments": {"id": "5678"}}],
        "expectedToolCalls": [{"name": "get_order", "arguments": {"id": "5678"}}],
    },
]
CONVERSATION = {"turns": [{"input": "Hi", "actualOutput": "Hello"}, {**RECORDS[0]}]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("answers.json", json.dumps(RECORDS)),
        ("answers.jsonl", "\n".join(map(json.dumps, RECORDS)) + "\n\n"),
        ("answers.yaml", json.dumps(RECORDS, indent=1)),
    ],
)
def test_a_dataset_is_graded_in_one_go(empty: Repo, name: str, text: str) -> None:
    empty.agent()
    empty.write(name, text)
    facts = graded(empty, "--dataset", name, code=1)
    assert facts["attempts"]["by_status"] == {"passed": 2, "failed": 1}
    assert facts["agents"][0]["pins"] == {"files": name}
    (failed,) = [item for item in facts["cases"] if item["verdict"] == "failed"]
    assert failed["file"].startswith(name)
    assert "Quito" in empty.run("show", failed["id"], "--run", "latest").out


def test_two_datasets_of_the_same_questions_can_be_compared(empty: Repo) -> None:
    empty.agent()
    empty.write("old.json", json.dumps(RECORDS))
    empty.write(
        "new.json", json.dumps([{**RECORDS[0], "actualOutput": "Lyon"}, {**RECORDS[1], "actualOutput": "Lima"}])
    )
    graded(empty, "--dataset", "old.json", code=1)
    graded(empty, "--dataset", "new.json", code=1)
    counts = empty.run("diff", "--json").json["diff"]["counts"]
    assert (counts["broke"], counts["fixed"], counts["removed"]) == (1, 1, 1)


def test_equal_questions_are_attempts_of_one_case(empty: Repo) -> None:
    empty.agent()
    empty.write("answers.json", json.dumps([RECORDS[0], {**RECORDS[0], "actualOutput": "Rome"}]))
    facts = graded(empty, "--dataset", "answers.json", code=1)
    assert [(item["passed"], item["planned"]) for item in facts["cases"]] == [(1, 2)]


def test_a_misspelt_metric_is_no_sentence_to_judge_by(repo: Repo) -> None:
    repo.write("answers.jsonl", '{"input": "Hi", "actualOutput": "Hello"}\n')
    done = repo.run("grade", "--dataset", "answers.jsonl", "--criterion", "faithfulnes")
    assert done.code == 2
    assert "--criterion faithfulnes: no metric has this name; did you mean 'faithfulness'?" in done.err


def test_a_dataset_can_be_judged_by_a_sentence_or_a_metric(repo: Repo) -> None:
    judged_by(repo, LAST_WORD)
    record = {"input": "Say hello", "actualOutput": "hello"}
    repo.write("answers.json", json.dumps(record))
    assert "nothing can fail this case" in refused(repo, "--dataset", "answers.json")
    graded(repo, "--dataset", "answers.json", "--criterion", "It says hello.")
    repo.write("answers.json", json.dumps({**record, "toolCalls": [], "expectedToolCalls": []}))
    graded(repo, "--dataset", "answers.json", "--criterion", "It says bye.", code=1)


def test_a_conversation_is_graded_by_its_last_turn() -> None:
    (answer,) = answers_in("a.json", json.dumps(CONVERSATION).encode())
    assert answer.transcript.output == "Paris"
    assert [message["content"] for message in answer.loaded.case.messages] == ["Hi", "Hello", "Capital of France?"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "[", "a.json:1:2: not JSON"),
        ("a.jsonl", '{"input": 1}\n{', "a.jsonl:2:2: not JSON"),
        ("a.json", '{"input": 1}\n{"input": 2}', "a.json:2:1: not JSON: more comes after the first value"),
        (
            "a.jsonl",
            '{"input": "a", "actualOutput": "no", "actualOutput": "b"}',
            "a.jsonl:1: not JSON: the key 'actualOutput' is there twice",
        ),
        ("a.csv", "input", "name it .json, .jsonl or .yaml"),
        ("a.json", "[]", "no records; nothing was graded"),
        ("a.jsonl", "\n", "no records; nothing was graded"),
        ("a.json", '[{"input": "a", "expectedOutput": "b"}]', "a.json#1: it holds no answer"),
        ("a.json", '[{"input": "a", "actualOutput": "b"}]', "a.json#1: nothing can fail this case"),
        ("a.json", '[{"inptu": "a"}]', "a.json#1: unknown key 'inptu'; did you mean 'input'?"),
        ("a.json", "[1]", "a.json#1: a record is a mapping"),
        ("a.json", '[{"turns": []}]', "a.json#1: turns: a conversation has at least one"),
    ],
)
def test_what_is_no_dataset_is_refused_with_its_place(name: str, text: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        answers_in(name, text.encode())
    assert words in str(error.value)


def test_all_records_with_a_fault_are_told_of_at_once() -> None:
    with pytest.raises(UsageError) as error:
        answers_in("a.json", json.dumps([{"input": "a"}, *RECORDS, {"inptu": 1}]).encode())
    assert "a.json#1: " in str(error.value)
    assert "a.json#5: " in str(error.value)


# ---- words, and what decides nothing


def change(before: str, after: str, number: int = 1) -> Change:
    return Change("greet", number, 0, before, after, "")


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ([], []),
        ([change("passed", "failed")], ["1 attempt passed before and fails now: greet #1"]),
        (
            [change("failed", "passed", 1), change("passed", "over_limit", 2), change("passed", "over_limit", 3)],
            [
                "2 attempts passed before and are over a limit now: greet #2, greet #3",
                "1 attempt failed before and passes now: greet #1",
            ],
        ),
        (
            [change("ungraded", "failed", number) for number in range(1, 8)],
            ["7 attempts could not be graded before and fail now: "
             "greet #1, greet #2, greet #3, greet #4, greet #5, and 2 more"],
        ),
    ],
)  # fmt: skip
def test_changes_are_told_in_words(changes: list[Change], lines: list[str]) -> None:
    assert lines_of_changes(changes) == lines


@pytest.mark.parametrize(
    ("results", "status", "after"),
    [
        (("passed", "error"), "passed", ("ungraded", "not_checked")),
        (("passed", "warning"), "passed", ("passed", "passed")),
        (("failed", "error"), "failed", ("failed", "failed")),
    ],
)
def test_a_check_without_evidence_is_never_passed(
    results: tuple[str, str], status: str, after: tuple[str, str]
) -> None:
    result, severity = results
    record = attempt("greet", 1, status)
    checks = (CheckResult("c", "outcome", result, severity=severity),)
    without = without_evidence(
        type(record)(**{**{name: getattr(record, name) for name in record.__struct_fields__}, "checks": checks}),
        {"c": "nobody knows"},
    )
    assert (without.status, without.outcome) == after
