"""Traps that people fell into with files like ours, from the file to the verdict: none may end in a quiet pass."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo

from agenteval_cli import schemas
from agenteval_cli.yaml_reader import read

CASE = "schema: 1\nid: {id}\ninput: ask {id}\noutcome: [{contains: hello}]\n"
SAYS = "import json\nprint(json.dumps({answer}))\n"
MARKS = "import pathlib\npathlib.Path({marker!r}).touch()\nprint('{{}}')\n"


def put(repo: Repo, name: str, text: str = CASE) -> Path:
    return repo.write(f"cases/{name}.yaml", text.replace("{id}", name))


def told(repo: Repo, *files: str) -> list[str]:
    """The problems of the files, as they are printed."""
    return repo.run("validate", *(f"cases/{file}.yaml" for file in files)).out.splitlines()


def statuses(repo: Repo, *options: str) -> dict[str, str]:
    repo.run("run", *options)
    return {attempt["case"]: attempt["status"] for attempt in repo.attempts()}


def answers(repo: Repo, **answer: Any) -> None:
    """An agent that always gives this answer."""
    repo.agent(SAYS.format(answer=answer))


# ---- plain values that look like something else

LOOK_ALIKES = """
schema: 1
id: look-alikes
input: {country: no, start: 12:30, due: 2031-02-03, seen_at: 2031-02-03 10:00:00, on: retry, amount: 1_000}
trajectory:
  required:
    - tool: book
      arguments: {country: no, start: 12:30, due: 2031-02-03, seen_at: 2031-02-03 10:00:00, on: retry, amount: 1_000}
"""
AS_WRITTEN = {
    "country": "no",
    "start": "12:30",
    "due": "2031-02-03",
    "seen_at": "2031-02-03 10:00:00",
    "on": "retry",
    "amount": "1_000",
}


def test_dates_times_and_words_reach_the_agent_the_checks_and_the_stored_run_as_they_were_written(repo: Repo) -> None:
    put(repo, "look-alikes", LOOK_ALIKES)
    repo.agent(
        """
        import json, sys
        said = json.load(sys.stdin)["input"]
        print(json.dumps({"output": said, "tool_calls": [{"name": "book", "arguments": said}]}))
        """
    )
    done = repo.run("run", "--case", "look-alikes", "--attempts", "1")
    assert done.code == 0, done
    shown = repo.run("show", "look-alikes", "--run", "latest", "--json").json
    assert shown["attempts"][0]["transcript"]["transcript"]["output"] == AS_WRITTEN
    assert repo.run("show", "look-alikes", "--json").json["case"]["input"] == AS_WRITTEN


@pytest.mark.parametrize(("key", "other"), [("country", False), ("start", 750), ("amount", 1000)])
def test_what_another_loader_makes_of_a_plain_value_does_not_match(repo: Repo, key: str, other: Any) -> None:
    put(repo, "look-alikes", LOOK_ALIKES)
    answers(repo, output="", tool_calls=[{"name": "book", "arguments": {**AS_WRITTEN, key: other}}])
    assert statuses(repo, "--case", "look-alikes", "--attempts", "1") == {"look-alikes": "failed"}


WRONG_KINDS = {
    "id: 12345": "3:5: id: 12345 is a number; expected text; write it in quotes",
    'id: "greet\\n"': "3:5: id: ",
    "tags: [2.0, refund]": "3:8: tags[0]: 2.0 is a number; expected text; write it in quotes",
    "limits: {timeout: 30}": "write it with its unit, as 30s",
    "limits: {cost: 0.05}": "write it in quotes",
    "tier: yes": "'yes' is not one of smoke, regression, representative",
    "min_pass_rate: 80": "min_pass_rate: ",
    "attempts: 1.5": "attempts: ",
    "variables: {name: Ada}": "expected a list",
    "provenance: {trace_id: 4711}": "provenance.trace_id: 4711 is a number; expected text; write it in quotes",
    "outcome: {contains: hello}": "expected a list",
    "outcome:": "expected a list",
    "input:": "input: null",
}


def test_a_value_of_the_wrong_kind_is_told_with_the_form_to_write(repo: Repo) -> None:
    for index, line in enumerate(WRONG_KINDS):
        key = line.partition(":")[0]
        rest = [text for text in CASE.replace("{id}", f"wrong-{index}").splitlines() if not text.startswith(f"{key}:")]
        repo.write(f"cases/{index:02}.yaml", "\n".join([*rest[:1], "# here:", line, *rest[1:], ""]))
    lines = repo.run("validate", "--ignore", "yaml-number").out.splitlines()
    for index, words in enumerate(WRONG_KINDS.values()):
        assert any(line.startswith(f"cases/{index:02}.yaml:3:") and words in line for line in lines), (words, lines)


@pytest.mark.parametrize(
    "more", ["attempts: 2.0", "limits: {tool_calls: 3.0, steps: 9.0}", "trajectory: {max_repeats: 1.0}"]
)
def test_a_whole_number_written_with_a_point_counts_or_is_told(repo: Repo, more: str) -> None:
    put(repo, "says-hello", f"schema: 1\nid: says-hello\ninput: hello\noutcome: [{{contains: hello}}]\n{more}\n")
    done = repo.run("run")
    assert done.code in (0, 2), done


# ---- half of a file that vanishes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CASE + "outcome: [{contains: bye}]\n", "5:1: outcome: the key 'outcome' is already on line 4"),
        (CASE + "---\n" + CASE.replace("{id}", "second"), "5:1: a second document starts here"),
        (CASE.replace("outcome", "outcmoe"), "4:1: outcmoe: unknown key 'outcmoe'; did you mean 'outcome'?"),
        (CASE.replace("contains", "contian"), "unknown key 'contian'; did you mean 'contains'?"),
        (CASE + "limits: {tool_call: 3}\n", "unknown key 'tool_call'; did you mean 'tool_calls'?"),
        (CASE + "trajectory: {forbiden: [pay]}\n", "unknown key 'forbiden'; did you mean 'forbidden'?"),
        (CASE + "trajectory: {required: [{tol: pay}]}\n", "unknown key 'tol'; did you mean 'tool'?"),
    ],
)
def test_a_case_that_lost_some_of_its_checks_never_reaches_an_agent(repo: Repo, text: str, words: str) -> None:
    marker = repo.root / "started"
    repo.agent(MARKS.format(marker=str(marker)))
    put(repo, "refund", text)
    assert any(words in line for line in told(repo, "refund"))
    done = repo.run("run")
    assert done.code == 2
    assert words in done.err
    assert not marker.exists()


def test_every_misspelt_check_of_every_file_is_told_before_anything_runs(repo: Repo) -> None:
    put(repo, "one", CASE.replace("contains", "contains_some") + "  - {similarity: x}\n".replace("  - ", "#"))
    put(
        repo, "two", "schema: 1\nid: two\ninput: hi\noutcome: [{regexp: a}, {equal: b}]\ntrajectory: {must_call: [a]}\n"
    )
    assert [line.partition(": ")[2].partition("; ")[0] for line in told(repo, "one", "two")] == [
        "outcome[0].contains_some: unknown key 'contains_some'",
        "outcome[0].regexp: unknown key 'regexp'",
        "outcome[1].equal: unknown key 'equal'",
        "trajectory.must_call: unknown key 'must_call'",
    ]


@pytest.mark.parametrize("key", ["input", "metadata", "state"])
def test_checks_that_were_indented_into_data_are_told_even_where_other_checks_remain(repo: Repo, key: str) -> None:
    text = "schema: 1\nid: {id}\ninput: ask\nlimits: {tool_calls: 3}\n".replace(
        "input: ask\n" if key == "input" else "\0", ""
    )
    put(repo, "json-only", text + f"{key}:\n  question: List three fruits\n  outcome:\n    - {{contains: apple}}\n")
    (line,) = told(repo, "json-only")
    assert f"{key}.outcome" in line


def test_a_placeholder_that_nothing_fills_is_told(repo: Repo) -> None:
    """It would stand in no answer, so that what forbids it always holds."""
    text = "schema: 1\nid: {id}\nvariables: [{name: secret, value: hunter2}]\ninput: Keep {{secret}} to yourself.\n"
    put(repo, "no-leak", text + "outcome: [{not_contains: '{{secrt}}'}]\n")
    (line,) = told(repo, "no-leak")
    assert "secrt" in line


@pytest.mark.parametrize("leads_to", [None, "/dev/zero"])
def test_a_pipe_or_a_device_among_the_cases_is_told_and_never_waited_for(repo: Repo, leads_to: str | None) -> None:
    path = repo.root / "cases" / "endless.yaml"
    if leads_to is None:
        os.mkfifo(path)
    else:
        path.symlink_to(leads_to)
    assert repo.run("validate").out == "cases/endless.yaml:1:1: cannot be read: it is no regular file [file]\n"
    assert repo.run("list").code == 2
    done = repo.run("fmt")
    assert (done.code, done.out) == (2, "cases/endless.yaml:1:1: cannot be read: it is no regular file [file]\n")


def test_a_case_that_is_asked_for_and_invalid_is_not_said_to_be_unknown_only(repo: Repo) -> None:
    put(repo, "kettle", CASE.replace("input:", "inptu:"))
    put(repo, "lamp", "id: [")
    for asked in (["show", "kettle"], ["list", "--tag", "billing"]):
        assert "2 files with errors could not be asked: see `agenteval validate`" in repo.run(*asked).err
    done = repo.run("quarantine", "add", "lamp", "--reason", "flaky")
    assert "it may be in cases/lamp.yaml, whose ID cannot be read" in done.err


def test_checks_of_any_turn_may_hold_of_different_ones(repo: Repo) -> None:
    turns = "turns: [{user: Hi}, {user: Bye}]"
    checks = "outcome: [{contains: hello, turn: any}, {not_contains: hello, turn: any}]"
    put(repo, "greets-once", f"schema: 1\nid: greets-once\n{turns}\n{checks}\n")
    assert told(repo, "greets-once") == []


@pytest.mark.parametrize("name", ["KETTLE.YAML", "kettle.Yml"])
def test_a_file_whose_ending_is_in_capitals_is_not_passed_over(repo: Repo, name: str) -> None:
    repo.write(f"cases/{name}", "schema: 1\n")
    done = repo.run("validate")
    assert name in done.out + done.err, done


# ---- an agent that did nothing, and a case that only forbids

FORBIDS = (
    "schema: 1\nid: no-leak\ninput: ask\noutcome: [{not_contains: hunter2}]\ntrajectory: {forbidden: [read_secrets]}\n"
)
NEVER_STARTED = {
    "a quoting error": ([sys.executable, "-c", "print('unterminated)"], "SyntaxError"),
    "exit 1 without a word": ([sys.executable, "-c", "raise SystemExit(1)"], "exited with code 1"),
    "an answer and exit 1": ([sys.executable, "-c", 'print(\'{"output": "no", "tool_calls": []}\'); raise SystemExit(1)'], "exited with code 1"),
    "a signal": ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "SIGKILL"),
    "no such module": ([sys.executable, "-m", "no_such_agent"], "No module named"),
    "no answer in time": ([sys.executable, "-c", "import time; time.sleep(60)"], "1 s"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", NEVER_STARTED)
def test_an_agent_that_never_answered_forbids_nothing_and_passes_nothing(repo: Repo, what: str) -> None:
    command, words = NEVER_STARTED[what]
    config = {"schema": 1, "agents": {"main": {"command": command, "timeout": "1s"}}}
    repo.write("agenteval.yaml", json.dumps(config))
    put(repo, "no-leak", FORBIDS + "attempts: 1\n")
    done = repo.run("run", "--case", "no-leak")
    assert done.code == 1, done
    assert words in done.out
    (attempt,) = repo.attempts()
    assert attempt["status"] == ("timeout" if "time" in what else "agent_error")


@pytest.mark.parametrize("protocol", ["json", "text"])
def test_an_answer_of_nothing_is_no_proof_that_nothing_forbidden_was_done(repo: Repo, protocol: str) -> None:
    repo.agent('print(\'{"output": "", "tool_calls": []}\')' if protocol == "json" else "print()")
    put(repo, "no-leak", FORBIDS + "attempts: 1\n")
    done = repo.run("run", "--case", "no-leak")
    assert done.code != 0 or "empty" in done.out + done.err, done


NO_EVIDENCE: dict[str, tuple[str, dict[str, Any]]] = {
    "calls": ("trajectory: {forbidden: [read_secrets]}", {"output": "no"}),
    "calls that are null": ("trajectory: {only: []}", {"output": "no", "tool_calls": None}),
    "tokens": ("limits: {tokens: 10}", {"output": "no", "tool_calls": []}),
    "cost": ('limits: {cost: "0.1"}', {"output": "no", "tool_calls": []}),
    "state": ("outcome: [{state: {a: {absent: true}}}]", {"output": "no", "tool_calls": []}),
}


@pytest.mark.parametrize("what", NO_EVIDENCE)
def test_what_the_agent_did_not_report_is_not_taken_for_good(repo: Repo, what: str) -> None:
    check, answer = NO_EVIDENCE[what]
    answers(repo, **answer)
    put(repo, "no-leak", f"schema: 1\nid: no-leak\ninput: ask\nattempts: 1\n{check}\n")
    done = repo.run("run", "--case", "no-leak")
    assert (done.code, repo.attempts()[0]["status"]) == (3, "ungraded"), done


def test_a_field_that_is_not_in_the_answer_satisfies_no_operator_by_being_away(repo: Repo) -> None:
    operators = ["not: 5", "any: true", "gte: 0", "any_of: [1, 2]", "type: number", "regex: .", "length: {gte: 1}"]
    for index, operator in enumerate(operators):
        put(
            repo,
            f"field-{index}",
            f"schema: 1\nid: {{id}}\ninput: ask {index}\nattempts: 1\noutcome: [{{field: {{path: $.totl, {operator}}}}}]\n",
        )
    answers(repo, output={"total": 1})
    found = statuses(repo, *(option for index in range(len(operators)) for option in ("--case", f"field-{index}")))
    assert set(found.values()) == {"failed"}


# ---- whatever stands where

FULL = """
schema: 1
id: full
title: A title
why: A reason
tier: smoke
tags: [a]
metadata: {intent: a}
provenance: {trace_id: a}
quarantine: {reason: flaky, since: 2031-01-01, until: 2999-01-01}
notes: free
agent: main
conversation: [{role: user, content: Hi}, {role: assistant, content: Hello}]
input: What is {{who}}?
conversation_id: talk
system_prompt: Be kind.
state: {orders: {"1": {total: 5}}}
variables: [{name: who, value: Ada}]
context: [A document.]
files: [agent.py]
tools:
  - name: look
    parameters: {type: object, properties: {at: {type: string}}}
    responses: [{when: {at: "1"}, times: 1, error: {status: 503}, delay: 200ms}, {result: paid, effects: {a: 1}}]
    unmatched: error
  - {use: shop, name: pay}
limits: {timeout: 20s, steps: 9, tool_calls: 3, tokens: 100, cost: "0.1", turns: 2}
attempts: 1
min_pass_rate: 0.5
expected_output: fine
match: contains
outcome:
  - {contains: [a, b], ignore_case: true, turn: 1, severity: warning, note: n}
  - {regex: fi+ne}
  - {json_schema: {type: object}}
  - {field: {path: $.a, length: {gte: 1}}}
  - {state: {orders: {"1": {total: {between: [1, 9]}}}}}
trajectory:
  required: [{tool: look, arguments: {at: {any_of: ["1", "2"]}}, exact: true, times: {gte: 1}, status: ok}]
  forbidden: [pay]
  only: [look]
  order: [{first: look, then: pay}]
  calls: {mode: in_order, expected: [{name: look, arguments: {at: "1"}, ignore: [a], defaults: {b: 1}}], extra: allow}
  recovery: [{after_error: look, must: fallback, tool: pay, within: 2}]
  max_repeats: 2
  plan: {required: true}
criteria: [{id: tone, text: Stays polite to Ada., gate: true, votes: 3}, {metric: faithfulness, threshold: 0.7}]
recording:
  output: '{"a": "fine"}'
  tool_calls: [{id: a, name: look, arguments: {at: "1"}, result: paid, duration_ms: 3}]
  reasoning: [{type: PLAN, content: a, tool_call: a}]
  usage: {input_tokens: 1, output_tokens: 1, total_tokens: 2}
  cost: "0.01"
  state: {orders: {"1": {total: 5}}}
"""
ODD_VALUES: list[Any] = [None, True, 0, -1, 1.5, 10**30, "", "text", "(", "\0", [], [None], ["a", ["a"]], {}, {"gte": None}, {"a": {"b": 1}}]  # fmt: skip


def variants(data: Any) -> Iterator[Any]:
    """The value with each of its parts, one after the other, replaced by something odd."""
    yield from ODD_VALUES
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        for variant in variants(value):
            copy = data.copy()
            copy[key] = variant
            yield copy


@pytest.mark.slow
def test_whatever_stands_wherever_in_a_case_it_is_told_or_valid_and_never_our_bug(repo: Repo) -> None:
    repo.write("fixtures/shop.yaml", "schema: 1\nid: shop\ntools: [{name: pay}]\n")
    put(repo, "full", FULL.lstrip())
    assert told(repo, "full") == []
    full = read("full.yaml", FULL.encode()).document.data  # type: ignore[union-attr]  # it was just found valid
    assert set(full) == set(schemas.load("case")["properties"]) - {"turns", "simulation"}
    found = list(variants(full))
    assert len(found) > 2000
    for start in range(0, len(found), 500):
        for index, variant in enumerate(found[start : start + 500]):
            repo.write(f"cases/{index}.yaml", json.dumps(variant))
        done = repo.run("validate", "--json", "--prove")
        assert done.code == 2, done.err


def test_every_key_of_a_case_is_told_where_it_is_null(repo: Repo) -> None:
    """But for expected_output, where null means none."""
    keys = sorted(set(schemas.load("case")["properties"]) - {"expected_output"})
    for key in keys:
        rest = CASE.replace("{id}", f"null-{key}".replace("_", "-"))
        lines = [line for line in rest.splitlines() if not line.startswith(f"{key}:")]
        repo.write(f"cases/null-{key}.yaml", "\n".join([*lines, f"{key}:", ""]))
    lines = repo.run("validate").out.splitlines()
    assert {line.split(":")[0] for line in lines} == {f"cases/null-{key}.yaml" for key in keys}


@pytest.mark.parametrize(
    ("place", "command", "code"),
    [
        ("labels/x.yaml", ("calibrate",), 2),
        ("baselines/main.smoke.jsonl", ("baseline", "show"), 2),
        ("cases/retired.yaml", ("validate",), 2),
    ],
)
def test_a_pipe_in_the_place_of_a_file_is_told_and_not_waited_for(
    repo: Repo, place: str, command: tuple[str, ...], code: int
) -> None:
    path = repo.root / place
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config + "judges: {default: {command: [cat]}}\n")
    done = repo.run(*command)
    assert (done.code, f"{place}" in done.out + done.err, "no regular file" in done.out + done.err) == (
        code,
        True,
        True,
    ), done
