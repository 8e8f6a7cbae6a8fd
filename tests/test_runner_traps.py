"""Traps that people fell into with runners like ours: what an agent may see, what its output is taken for, exit codes."""

from __future__ import annotations

import base64
import json
import re
import sys
from typing import Any

import pytest
from build import case
from conftest import AGENTEVAL, Repo

from agenteval_cli.requests import request_for

# ---- the agent never sees the answers

# A case that has everything; what must not reach the agent says so with KEEP.
SECRETIVE = """
schema: 1
id: KEEP-id-of-it
title: KEEP title
why: KEEP why
tier: regression
tags: [KEEP-tag]
metadata: {intent: KEEP-intent, segment: KEEP-segment, owner: KEEP-owner, anything: {else: KEEP-else}}
provenance: {trace_id: KEEP-trace, source: KEEP-source, incident: KEEP-incident}
quarantine: {reason: KEEP-reason, issue: "#KEEP"}
notes: KEEP notes
conversation: [{role: user, content: Hi}, {role: assistant, content: Hello}]
input: What is {{what}}?
conversation_id: talk-1
system_prompt: Be kind.
state: {orders: {"1": {total: 5}}}
variables: [{name: what, value: it}, {name: KEEP_variable, value: KEEP value}]
context: [A document.]
files: [fixtures/receipt.txt]
limits: {timeout: 20s, steps: 9, tool_calls: 3, tokens: 100, cost: "0.1"}
attempts: 2
min_pass_rate: 0.51237
expected_output: KEEP reference
match: contains
outcome:
  - {contains: [KEEP words], ignore_case: true, severity: warning, note: KEEP note}
  - {not_contains: KEEP other words}
  - {regex: KEEP.*}
  - {json_schema: {const: KEEP const}}
  - {field: {path: $.KEEP_path, equals: KEEP field}}
  - {state: {KEEP_state: {KEEP: 1}}}
trajectory:
  required: [KEEP_required, {tool: KEEP_tool, arguments: {KEEP_argument: KEEP 1}, times: 1}]
  forbidden: [KEEP_forbidden]
  only: [KEEP_required, KEEP_tool, KEEP_first, KEEP_then, KEEP_only]
  order: [{first: KEEP_first, then: KEEP_then}]
  max_repeats: 2
"""
# Prints, in base64, every byte it can come by without looking for it elsewhere.
LOOKS_AROUND = """
import base64, json, os, pathlib, sys
here = pathlib.Path.cwd()
raw = sys.stdin.buffer.read() if STDIN else b""
seen = [raw, *map(os.fsencode, sys.argv), bytes(here), *(k + b"=" + v for k, v in os.environb.items()),
        pathlib.Path("/proc/self/cmdline").read_bytes(), pathlib.Path("/proc/self/environ").read_bytes()]
for top in (here, here.parent, pathlib.Path(os.environ["TMPDIR"])):
    for folder, folders, files in os.walk(top):
        seen += map(os.fsencode, (folder, *folders, *files))
        seen += (pathlib.Path(folder, name).read_bytes() for name in files)
for fd in os.listdir("/proc/self/fd"):
    try:
        seen.append(os.fsencode(os.readlink(f"/proc/self/fd/{fd}")))
    except OSError:
        pass
print(json.dumps({"output": base64.b64encode(b"\\n".join(seen)).decode(), "tool_calls": []}))
"""


@pytest.mark.parametrize("protocol", ["json", "text", "jsonl", "argv"])
def test_no_byte_that_reaches_the_agent_tells_the_answer_the_checks_or_the_case(repo: Repo, protocol: str) -> None:
    program = LOOKS_AROUND.replace("if STDIN", "if True" if protocol != "jsonl" else "if False")
    if protocol == "jsonl":
        program = "import sys\nline = sys.stdin.buffer.readline()\n" + program.replace('else b""', "else line")
    (repo.root / "tmp").mkdir()
    repo.agent(program, config=f"protocol: {'text' if protocol == 'argv' else protocol}\nenv: {{set: {{MODE: test}}}}")
    if protocol == "argv":
        config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
        repo.write("agenteval.yaml", config.replace("agent.py]", "agent.py, '{input}']"))
    repo.write("fixtures/receipt.txt", "a receipt")
    text = SECRETIVE
    if protocol in ("text", "argv"):  # which carry the input only
        text = re.sub("(?m)^(conversation|system_prompt|state):.*\n", "", text)
    if protocol == "jsonl":  # whose folder is for all attempts
        text = re.sub("(?m)^files:.*\n", "", text)
    repo.write("cases/KEEP-folder/KEEP-file.yaml", text)
    (repo.root / "cases" / "says-hello.yaml").unlink()
    done = repo.run("run", "--attempts", "2", TMPDIR=str(repo.root / "tmp"))
    assert done.code in (0, 1, 3), done
    for attempt in repo.run("show", "KEEP-id-of-it", "--run", "latest", "--json").json["attempts"]:
        output = attempt["transcript"]["transcript"]["output"]
        seen = base64.b64decode(output if protocol in ("json", "jsonl") else json.loads(output)["output"])
        assert b"What is it?" in seen
        assert b"KEEP" not in seen, re.findall(rb".{0,40}KEEP.{0,40}", seen)
        assert b"0.51237" not in seen
        assert b"regression" not in seen
        if protocol in ("json", "text"):
            assert b"a receipt" in seen


# What the tool does not run yet is kept from the agent all the same.
UNRUNNABLE: dict[str, Any] = {
    "tools": [
        {
            "name": "look",
            "description": "Look",
            "parameters": {"type": "object"},
            "responses": [
                {"when": {"KEEP": 1}, "times": 1, "error": {"KEEP": 1}},
                {"result": "KEEP", "effects": {"KEEP": 1}},
            ],
            "unmatched": "error",
        }
    ],
    "criteria": ["KEEP criterion", {"id": "KEEP", "text": "KEEP", "gate": True}],
    "recording": {"output": "KEEP", "tool_calls": []},
    "turns": [{"user": "Hi", "outcome": [{"contains": "KEEP"}]}, {"user": "KEEP: said later"}],
    "expected_output": "KEEP",
    "match": "contains",
    "agent": "main",
}


def test_the_request_has_nothing_of_responses_criteria_recordings_and_later_turns() -> None:
    built = case(id="KEEP-1", **UNRUNNABLE)
    request = request_for(built, "0" * 32, 1, "2030-01-01T00:00:00Z")
    assert "KEEP" not in json.dumps(request)
    assert request["input"] == "Hi"
    assert request["tools"] == [{"name": "look", "description": "Look", "parameters": {"type": "object"}}]


# ---- attempts share nothing

KEEPS_NOTES = """
import json, os, pathlib, sys
notes = pathlib.Path("notes.txt")
known = notes.read_text() if notes.exists() else "nothing"
request = json.load(sys.stdin)
notes.write_text(known + request["input"])
os.environ["LOCKER"] = request["input"]
print(json.dumps({"output": f"I know {known}; this is {request['attempt']}"}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [[], ["--shuffle", "--seed", "1"], ["--shuffle", "--seed", "2"], ["-j", "1"], ["-j", "8"]]
)
def test_no_attempt_knows_of_another_whatever_the_order(repo: Repo, options: list[str]) -> None:
    repo.agent(KEEPS_NOTES)
    check = "outcome: [{contains: I know nothing}, {not_contains: '4471'}]\n"
    repo.case("remember", "schema: 1\nid: {id}\ninput: My locker code is 4471. Remember it.\n" + check)
    repo.case("recall", "schema: 1\nid: {id}\ninput: What is my locker code?\n" + check)
    done = repo.run("run", "--case", "remember", "--case", "recall", "--attempts", "3", *options)
    assert done.code == 0, done
    names = set()
    for name in ("remember", "recall"):
        shown = repo.run("show", name, "--run", "latest", "--json").json["attempts"]
        names |= {attempt["transcript"]["transcript"]["output"].split()[-1] for attempt in shown}
    assert len(names) == 6


def test_two_agents_with_the_same_command_and_other_settings_share_no_worker(repo: Repo) -> None:
    program = (
        "import json, os, sys\nfor line in sys.stdin: print(json.dumps({'output': os.environ['MODE']}), flush=True)\n"
    )
    repo.write("agent.py", program)
    agents = {
        mode: {
            "command": [sys.executable, "agent.py"],
            "protocol": "jsonl",
            "env": {"set": {"MODE": mode}},
            "concurrency": 1,
        }
        for mode in ("one", "two")
    }
    repo.write("agenteval.yaml", json.dumps({"schema": 1, "agents": agents, "default_agent": "one"}))
    (repo.root / "cases" / "says-hello.yaml").unlink()
    for mode in ("one", "two"):
        repo.case(f"mode-{mode}", f"schema: 1\nid: {{id}}\ninput: hi\nagent: {mode}\noutcome: [{{equals: {mode}}}]\n")
    done = repo.run("run", "--attempts", "8", "-j", "1")
    assert done.code == 0, done


def test_an_agent_sees_a_declared_environment(repo: Repo) -> None:
    repo.agent(
        "import json, os; print(json.dumps({'output': dict(os.environ)}))",
        config="env: {pass: [PASSED], set: {GIVEN: 'yes'}}",
    )
    checks = "outcome: [{field: {path: $.PASSED, type: string}}]"
    repo.case("says-hello", f"schema: 1\nid: says-hello\ninput: hi\nattempts: 1\n{checks}\n")
    done = repo.run(
        "run", PASSED="whatever", GITHUB_TOKEN="t", PYTHONPATH="/x", LC_ALL="C.UTF-8", TRACEPARENT="00-1-2-03"
    )
    assert done.code == 0, done
    done = repo.run("show", "says-hello", "--run", "latest", "--json")
    assert done.code == 0, done
    (attempt,) = done.json["attempts"]
    seen = attempt["transcript"]["transcript"]["output"]
    assert "TRACEPARENT" in seen
    assert seen["TRACEPARENT"] != "00-1-2-03"
    known = {"PATH", "HOME", "LANG", "TMPDIR", "NO_COLOR", "PASSED", "GIVEN", "TRACEPARENT", "LC_CTYPE"}
    assert {name for name in seen if not name.startswith("AGENTEVAL_")} <= known
    assert seen["NO_COLOR"] == "1"


# ---- helpers, timeouts and pipes

SHELLS = {
    "started": ("sleep 600 & echo started; wait", "timeout", "started\n"),
    "final-answer": ('sleep 600 & echo "final answer"; exit 0', "passed", "final answer\n"),
    "stubborn": ("trap '' TERM; echo started; sleep 600", "timeout", "started\n"),
    "leaves": ("setsid sleep 600 >/dev/null 2>&1 & echo answer", "passed", "answer\n"),
}


@pytest.mark.slow
def test_a_helper_that_holds_the_pipe_is_neither_waited_for_nor_the_agents_fault(repo: Repo) -> None:
    repo.write(
        "agenteval.yaml", "schema: 1\nagents: {main: {command: [sh, -c, '{input}'], protocol: text, timeout: 1s}}\n"
    )
    (repo.root / "cases" / "says-hello.yaml").unlink()
    for name, (script, _, _) in SHELLS.items():
        data = {"schema": 1, "id": name, "input": script, "attempts": 1, "outcome": [{"contains": "answer"}]}
        repo.write(f"cases/{name}.yaml", json.dumps(data))
    assert repo.run("run").code == 1
    assert {attempt["case"]: attempt["status"] for attempt in repo.attempts()} == {
        name: status for name, (_, status, _) in SHELLS.items()
    }
    for name, (_, _, said) in SHELLS.items():
        (attempt,) = repo.run("show", name, "--run", "latest", "--json").json["attempts"]
        assert attempt["transcript"]["stdout"] == said


@pytest.mark.slow
def test_five_hundred_cases_leave_no_zombie_and_no_descriptor(repo: Repo) -> None:
    repo.write("agenteval.yaml", "schema: 1\nagents: {main: {command: [sh, -c, '(exit 0) & setsid true & ls /proc/$PPID/fd | wc -l; ps -o stat= --ppid $PPID | grep -c Z'], protocol: text}}\n")  # fmt: skip
    (repo.root / "cases" / "says-hello.yaml").unlink()
    for number in range(50):
        repo.case(f"case-{number}", f"schema: 1\nid: {{id}}\ninput: hi {number}\noutcome: [{{regex: '[0-9]'}}]\n")
    done = repo.run("run", "--attempts", "10")
    lines = (repo.runs()[-1] / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    counts = [[int(word) for word in json.loads(line)["stdout"].split()] for line in lines]
    assert len(counts) == 500
    assert done.code in (0, 1), done
    assert max(descriptors for descriptors, _ in counts) < 100
    assert max(zombies for _, zombies in counts) < 100


# ---- bytes that are not text


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
@pytest.mark.parametrize("printed", [r"r\351sultat: 12 \377\n", r"cut in the middle of a character: \303"])
def test_undecodable_bytes_stop_no_run_and_match_no_check(repo: Repo, locale: str, printed: str) -> None:
    repo.write(
        "agenteval.yaml",
        json.dumps({"schema": 1, "agents": {"main": {"command": ["printf", printed], "protocol": "text"}}}),
    )
    checks = {"mark": "contains: \ufffd", "regex": "regex: '\ufffd'", "words": "regex: '12|cut in'"}
    for name, check in checks.items():
        repo.case(name, f"schema: 1\nid: {{id}}\ninput: hi\noutcome: [{{{check}}}]\n")
    options = [option for name in checks for option in ("--case", name)]
    done = repo.run("run", *options, LC_ALL=locale)
    assert done.code == 1, done
    found = {attempt["case"]: attempt for attempt in repo.attempts()}
    assert {name: attempt["status"] for name, attempt in found.items()} == {
        "mark": "failed",
        "regex": "failed",
        "words": "passed",
    }
    assert all(any("not UTF-8" in note for note in attempt["notes"]) for attempt in found.values())


# ---- colours and terminal queries


def test_colours_around_an_answer_hide_nothing_from_the_checks_and_are_kept(repo: Repo) -> None:
    raw = rb"\033[32mDONE\033[0m: ticket \033[1m8841\033[0m"
    repo.write(
        "agenteval.yaml",
        json.dumps({"schema": 1, "agents": {"main": {"command": ["printf", raw.decode()], "protocol": "text"}}}),
    )
    repo.case("ticket", "schema: 1\nid: ticket\ninput: hi\nattempts: 1\noutcome: [{contains: 'DONE: ticket 8841'}]\n")
    done = repo.run("run", "--case", "ticket")
    assert done.code == 0, done
    (attempt,) = repo.run("show", "ticket", "--run", "latest", "--json").json["attempts"]
    assert attempt["transcript"]["stdout"] == "\x1b[32mDONE\x1b[0m: ticket \x1b[1m8841\x1b[0m"
    assert "\x1b" not in repo.run("show", "ticket", "--run", "latest").out


def test_terminal_queries_before_a_json_answer_do_not_matter(repo: Repo) -> None:
    raw = r'\033]11;?\033\\\033[6n{"output":"hello","tool_calls":[]}\r\n'
    repo.write("agenteval.yaml", json.dumps({"schema": 1, "agents": {"main": {"command": ["printf", raw]}}}))
    assert repo.run("run").code == 0


# ---- exit codes

ENDS = {
    "fails": 'print(\'{"output": "x"}\')',
    "errors": "raise SystemExit(9)",
    "passes": 'print(\'{"output": "hello"}\')',
}
NEARLY_NO_GATE = "gate: {min_pass_rate: 0.01}\n"
CODES: list[tuple[list[str], str, int]] = [
    (["passes"], "", 0),
    (["passes", "fails"], "", 1),
    (["passes", "errors"], "", 1),
    (["passes", "fails", "errors", "invalid"], "", 2),
    (["passes", "invalid"], "", 2),
    (["passes", "fails"], NEARLY_NO_GATE, 0),
    (["passes", "fails", "invalid"], NEARLY_NO_GATE, 2),
    (["passes", "fails", "unknown"], NEARLY_NO_GATE, 3),
    (["passes", "unknown"], "", 3),
]


@pytest.mark.parametrize(("cases", "gate", "code"), CODES)
def test_each_way_a_run_can_end_has_its_exit_code(repo: Repo, cases: list[str], gate: str, code: int) -> None:
    repo.agent(f"import json, sys\nexec({ENDS!r}.get(json.load(sys.stdin)['input'], {ENDS['passes']!r}))")
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config + gate)
    (repo.root / "cases" / "says-hello.yaml").unlink()
    for name in cases:
        more = {"unknown": "trajectory: {forbidden: [pay]}\n", "invalid": "no_such_key: 1\n"}.get(name, "")
        repo.case(name, f"schema: 1\nid: {{id}}\ninput: {name}\nattempts: 1\noutcome: [{{contains: hello}}]\n{more}")
    done = repo.run("run")
    assert done.code == code, done


def test_a_reader_that_goes_away_stops_no_run(repo: Repo) -> None:
    done = repo.program("sh", "-c", f"'{AGENTEVAL}' run --attempts 5 | true")
    assert "Traceback" not in done.err
    assert len(repo.attempts()) == 5


@pytest.mark.slow
@pytest.mark.parametrize(("wanted", "code"), [("hello", 0), ("goodbye", 1)])
@pytest.mark.parametrize("command", ["run", "run --json", "run --quiet", "show --run latest"])
def test_the_exit_code_does_not_depend_on_who_reads(repo: Repo, wanted: str, code: int, command: str) -> None:
    repo.case("says-hello", f"schema: 1\nid: greet\ntier: smoke\ninput: hello\noutcome: [{{contains: {wanted}}}]\n")
    repo.run("run")
    gone = f"{{ sleep 0.2; '{AGENTEVAL}' {command}; echo $? > code; }} | true"
    done = repo.program("sh", "-c", gone)
    assert done.err.count("Error") == 0, done
    assert int((repo.root / "code").read_text()) == (code if command.startswith("run") else 0)


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_change_nothing(repo: Repo, closed: str) -> None:
    repo.case("says-no", "schema: 1\nid: says-no\ntier: smoke\ninput: hello\noutcome: [{contains: no}]\n")
    done = repo.program("sh", "-c", f"exec '{AGENTEVAL}' run {closed}")
    assert done.code == 1, done
    assert "Traceback" not in done.err
    assert sorted(each["status"] for each in repo.attempts()) == ["failed", "passed"]
    assert repo.run("show", "--run", "latest").code == 0
