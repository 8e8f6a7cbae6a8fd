"""What `agenteval validate` can be asked for: rules, formats, the proof; and what it remembers and shares."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from conftest import ROOT, Done, Repo

from agenteval_cli import forked
from agenteval_cli.rules import RULES

CASE = "schema: 1\nid: {id}\ninput: ask {id}\noutcome: [{contains: hello}]\n"
SHOP = """
schema: 1
id: shop
tools:
  - name: get_order
    parameters: {type: object, properties: {order_id: {type: string}}}
    responses: [{when: {order_id: "1"}, result: paid}]
  - {name: create_refund}
  - {name: close_order}
"""


def put(repo: Repo, name: str, text: str = CASE) -> Path:
    return repo.write(f"cases/{name}.yaml", text.replace("{id}", name))


def told(repo: Repo, *arguments: str) -> list[str]:
    """The rule, the file and the path of each problem."""
    problems = repo.run("validate", "--json", *arguments).json["problems"]
    return [" ".join(filter(None, (p["rule"], p["file"], p["path"]))) for p in problems]


def settle(repo: Repo) -> None:
    """Wait until no file was just written, as in a repository that nobody is editing: only then is it remembered."""
    newest = max(path.stat().st_ctime for path in repo.root.rglob("*.yaml"))
    time.sleep(max(0.0, newest + 2.1 - time.time()))


# ---- which rules

UNREADABLE = {
    "conflict-markers": "<<<<<<< HEAD\nid: a1\n=======\nid: a2\n>>>>>>> topic\n",
    "schema": "schema: 1\n",
    "yaml-directive": "%YAML 1.1\n---\n" + CASE,
    "yaml-documents": CASE + "---\n" + CASE,
    "yaml-duplicate-key": CASE + "input: again\n",
    "yaml-empty": "",
    "yaml-encoding": CASE + "notes: \udce9\n",
    "yaml-merge": CASE + "metadata: {<<: text}\n",
    "yaml-range": CASE + "state: {a: .nan}\n",
    "yaml-separator": CASE + "notes: 'a\u2028b'\n",
    "yaml-syntax": CASE + "tags: [\n",
    "yaml-tag": CASE + "notes: !secret x\n",
}


@pytest.fixture
def unreadable(repo: Repo) -> Repo:
    """A good case, and one file for each reason for which a file is no case."""
    for rule, text in UNREADABLE.items():
        repo.write(f"cases/{rule}.yaml", text.replace("{id}", rule).encode("utf-8", "surrogateescape"))
    return repo


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--select", "duplicate-input"],
        [option for rule in UNREADABLE for option in ("--ignore", rule)],
    ],
)
def test_no_choice_of_rules_hides_a_file_that_cannot_be_read_as_a_case(unreadable: Repo, options: list[str]) -> None:
    done = unreadable.run("validate", "--json", *options)
    assert done.code == 2
    files = {problem["file"].removeprefix("cases/").removesuffix(".yaml") for problem in done.json["problems"]}
    assert files == set(UNREADABLE)


def test_only_the_rules_that_were_selected_count(repo: Repo) -> None:
    put(repo, "kettle", CASE.replace("ask {id}", "hello") + "state: {postcode: 04817}\nfiles: [nothing.txt]\n")
    assert told(repo, "--select", "yaml-number") == ["yaml-number cases/kettle.yaml state.postcode"]
    assert told(repo, "--select", "yaml-number", "--select", "missing-file") == [
        "yaml-number cases/kettle.yaml state.postcode",
        "missing-file cases/kettle.yaml files[0]",
    ]
    assert repo.run("validate", "--select", "yaml-number").code == 0


def test_a_rule_that_is_ignored_does_not_count(repo: Repo) -> None:
    put(repo, "kettle", CASE + "state: {postcode: 04817}\nfiles: [nothing.txt]\n")
    assert told(repo, "--ignore", "missing-file") == ["yaml-number cases/kettle.yaml state.postcode"]
    done = repo.run("validate", "--ignore", "missing-file")
    assert (done.code, "2 case files valid, 1 warning" in done.err) == (0, True)


@pytest.mark.parametrize("option", ["--select", "--ignore", "--explain"])
def test_an_unknown_rule_is_a_usage_error_with_the_nearest_one(repo: Repo, option: str) -> None:
    done = repo.run("validate", option, "duplicat-id")
    assert (done.code, done.out) == (2, "")
    assert done.err == "agenteval: no rule 'duplicat-id'; did you mean 'duplicate-id'?\n"


# ---- why a rule is there

# Where, in a call of this name, the rule of a problem stands.
_PLACES = {"problem": 1, "note": 1, "_at_byte": 3, "Finding": 2}


def emitted() -> Iterator[tuple[str, str]]:
    """Each rule that the code gives to a problem, with its module."""
    for path in sorted((ROOT / "agenteval_cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = [keyword.value for keyword in node.keywords if keyword.arg == "rule" and name == "Problem"]
            given += node.args[_PLACES[name] : _PLACES[name] + 1] if name in _PLACES else []
            for value in given:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value, path.name


@pytest.mark.slow
def test_every_rule_that_a_problem_can_have_is_explained() -> None:
    found = dict(emitted())
    assert len(found) > 15
    assert {rule: module for rule, module in found.items() if rule not in RULES} == {}


@pytest.mark.slow
def test_every_rule_that_is_explained_is_applied_by_something() -> None:
    applied = {rule for rule, _ in emitted()} | {name for name, rule in RULES.items() if rule.look}
    assert set(RULES) - applied == set()


def test_explain_says_what_a_rule_is_for(repo: Repo) -> None:
    done = repo.run("validate", "--explain", "vanished-case")
    assert done.code == 0
    assert done.out.splitlines() == [
        f"vanished-case (error): {RULES['vanished-case'].summary}",
        f"    {RULES['vanished-case'].why}",
    ]
    done = repo.run("validate", "--explain", "all", "--json")
    assert {rule["name"]: rule["severity"] for rule in done.json["rules"]} == {
        name: rule.severity for name, rule in RULES.items()
    }
    assert all(rule["summary"] and rule["why"] for rule in done.json["rules"])


def test_explain_needs_no_repository(empty: Repo) -> None:
    assert empty.run("validate", "--explain", "all").out.count("    ") == len(RULES)


def test_verbose_gives_the_reason_of_each_rule_once(repo: Repo) -> None:
    put(repo, "kettle", CASE + "files: [a.txt, b.txt]\n")
    assert repo.run("validate", "--verbose").err.count(RULES["missing-file"].why) == 1


# ---- formats


@pytest.fixture
def examples(repo: Repo) -> Repo:
    """Every invalid example, each with its own problems, and a name that must be escaped everywhere."""
    shutil.copytree(ROOT / "tests" / "examples" / "invalid", repo.root / "cases" / "100% a,b:c")
    put(repo, "odd", 'schema: 1\nid: odd\ninput: hi\noutcome: [{contains: hi}]\n"k%0A,:\\n\\e]": 1\n')
    return repo


def places(done: Done) -> list[tuple[Any, ...]]:
    return [(p["file"], p["line"], p["column"], p["severity"], p["rule"]) for p in done.json["problems"]]


def test_every_problem_is_as_severe_as_its_rule(examples: Repo) -> None:
    problems = examples.run("validate", "--json").json["problems"]
    assert {problem["rule"]: problem["severity"] for problem in problems} == {
        rule: RULES[rule].severity for rule in {problem["rule"] for problem in problems}
    }


@pytest.mark.slow
def test_json_by_either_name_is_the_same(examples: Repo) -> None:
    assert examples.run("validate", "--json").out == examples.run("validate", "--format", "json").out


def test_github_gets_one_annotation_for_each_problem_and_nothing_else(examples: Repo) -> None:
    expected = places(examples.run("validate", "--json"))
    done = examples.run("validate", "--format", "github")
    assert done.code == 2
    found = []
    for line in done.out.splitlines():
        command, _, message = line.removeprefix("::").partition("::")
        severity, _, rest = command.partition(" ")
        facts = dict(item.split("=", 1) for item in rest.split(","))
        assert message
        assert not set(message) & {"\x1b", "\r"}
        found.append((unquote(facts["file"]), int(facts["line"]), int(facts["col"]), severity, facts["title"]))
    assert found == expected
    assert "::k%250A,:%0A\\x1b]: unknown key 'k%250A,:%0A\\x1b]'" in done.out
    assert "file=cases/100%25 a%2Cb%3Ac/" in done.out


@pytest.mark.slow
def test_sarif_is_what_code_scanning_asks_for(examples: Repo) -> None:
    expected = places(examples.run("validate", "--json"))
    done = examples.run("validate", "--format", "sarif")
    assert (done.code, done.json["version"]) == (2, "2.1.0")
    assert "sarif-2.1.0" in done.json["$schema"]
    (run,) = done.json["runs"]
    driver = run["tool"]["driver"]
    rules = {rule["id"]: rule for rule in driver["rules"]}
    assert driver["name"] == "agenteval"
    assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules.values())
    found = []
    for result in run["results"]:
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        region = location["physicalLocation"]["region"]
        assert result["message"]["text"]
        assert rules[result["ruleId"]]
        assert set(uri) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/%")
        found.append((unquote(uri), region["startLine"], region["startColumn"], result["level"], result["ruleId"]))
    assert found == expected


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_without_a_problem_each_format_is_still_whole(repo: Repo, form: str) -> None:
    done = repo.run("validate", "--format", form)
    assert done.code == 0
    if form == "github":
        assert done.out == ""
    else:
        assert (done.json["problems"] if form == "json" else done.json["runs"][0]["results"]) == []


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_problems_of_the_configuration_come_in_the_format_that_was_asked_for(repo: Repo, form: str) -> None:
    repo.write("agenteval.yaml", "schema: 1\nagents: {main: {comand: [x]}}\n")
    done = repo.run("validate", "--format", form)
    assert done.code == 2
    assert "unknown key 'comand'" in done.out


def test_warnings_are_told_in_every_format_and_fail_nothing(repo: Repo) -> None:
    put(repo, "kettle", CASE + "state: {postcode: 04817}\n")
    assert repo.run("validate", "--format", "github").out.startswith("::warning file=cases/kettle.yaml,line=5,col=19,")
    assert repo.run("validate", "--format", "sarif").json["runs"][0]["results"][0]["level"] == "warning"
    done = repo.run("validate", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert "warning: state.postcode: 04817 is read as the number 4817" in done.out


def test_an_unknown_format_is_a_usage_error(repo: Repo) -> None:
    done = repo.run("validate", "--format", "xml")
    assert (done.code, done.out) == (2, "")
    assert "'xml' is not one of 'text', 'json', 'github', 'sarif'" in done.err


# ---- the proof

ONLY_FORBIDS = {
    "texts": "input: hi\noutcome: [{not_contains: hunter2}]",
    "tools": "input: hi\ntrajectory: {forbidden: [pay], only: [], max_repeats: 1}",
    "limits": 'input: hi\nlimits: {tool_calls: 2, steps: 3, tokens: 5, cost: "0.1", timeout: 3s}',
    "what-was-so-before": "input: hi\nstate: {a: 1}\noutcome: [{state: {a: 1}}]",
    "a-warning-asks": "input: hi\noutcome: [{contains: hi, severity: warning}, {not_contains: ho}]",
}
REQUIRES = {
    "a-text": "input: hi\noutcome: [{contains: hello}, {not_contains: hunter2}]",
    "a-call": "input: hi\ntrajectory: {required: [look], forbidden: [pay]}",
    "a-change": "input: hi\nstate: {a: 1}\noutcome: [{state: {a: 2}}]",
    "a-reference": "input: hi\nmatch: exact\nexpected_output: hello",
    "a-judged-criterion": "input: hi\noutcome: [{not_contains: x}]\ncriteria: [{text: Names the city., gate: true}]",
    "a-text-of-a-turn": "turns: [{user: hi, outcome: [{contains: hello}]}]",
    "a-simulation": "simulation: {user_prompt: Be angry.}\noutcome: [{stop: user_done}]\ncriteria: [{text: Names the city., gate: true}]",
}


def test_the_proof_tells_the_cases_that_silence_would_pass(repo: Repo) -> None:
    for name, text in {**ONLY_FORBIDS, **REQUIRES}.items():
        put(repo, name, f"schema: 1\nid: {{id}}\n{text}\n".replace(": hi", f": hi {name}", 1))
    assert told(repo) == []
    done = repo.run("validate", "--prove", "--json")
    assert done.code == 2
    proved = {problem["file"]: problem["rule"] for problem in done.json["problems"]}
    assert proved == {f"cases/{name}.yaml": "nop-passes" for name in ONLY_FORBIDS}


@pytest.mark.slow
def test_the_proof_is_of_the_named_files_and_can_be_selected(repo: Repo) -> None:
    put(repo, "no-leak", "schema: 1\nid: no-leak\ninput: ask\noutcome: [{not_contains: hunter2}]\n")
    put(repo, "broken", "schema: 1\nid: broken\n")
    assert told(repo, "--prove", "cases/says-hello.yaml") == []
    assert told(repo, "--prove", "cases/no-leak.yaml", "--select", "nop-passes") == ["nop-passes cases/no-leak.yaml"]
    assert told(repo, "--prove", "--ignore", "nop-passes", "cases/no-leak.yaml") == []


def test_a_recording_proves_its_case_or_is_told(repo: Repo) -> None:
    text = CASE + "trajectory: {required: [look]}\nrecording:\n  output: hello\n  tool_calls: [{name: look}]\n"
    put(repo, "kettle", text)
    assert told(repo) == []
    put(repo, "kettle", text.replace("[{name: look}]", "[{name: lok}]"))
    assert told(repo) == ["recording-fails cases/kettle.yaml recording"]


# ---- no case breaks the tool

NASTY = {
    "properties-that-are-a-list": 'tools: [{name: pay, parameters: {properties: [to]}}]\ntrajectory: {required: [{tool: pay, arguments: {to: "1"}}]}',
    "properties-that-are-a-number": 'tools: [{name: pay, parameters: {properties: 5}}]\ntrajectory: {required: [{tool: pay, arguments: {to: "1"}}]}',
    "a-property-that-is-a-text": 'tools: [{name: pay, parameters: {properties: {to: text}}}]\ntrajectory: {required: [{tool: pay, arguments: {to: "1"}}]}',
    "a-large-number": f"input: {{n: {'9' * 40}}}\noutcome: [{{contains: a}}]",
    "a-count-that-is-a-mapping": "trajectory: {required: [{tool: pay, times: {gte: {gte: 1}}}]}\nlimits: {tool_calls: 1}",
    "a-length-of-text": "outcome: [{field: {path: $.a, length: {gte: many}}}]",
    "a-length-of-nothing": "outcome: [{field: {path: $.a, length: {gte: null}}}]",
    "a-lone-criterion": "outcome: [{contains: a}]\ncriteria: good",
    "a-criterion-without-letters": "outcome: [{contains: a}]\ncriteria: ['???']",
    "a-pattern-without-end": "outcome: [{regex: '^(\\w+\\s?)+:$'}]",
    "a-pattern-that-is-none": "outcome: [{field: {path: $.a, regex: '('}}]",
}


@pytest.mark.parametrize("name", NASTY)
def test_a_strange_case_is_told_or_valid_and_never_our_bug(repo: Repo, name: str) -> None:
    text = NASTY[name]
    put(
        repo,
        name,
        f"schema: 1\nid: {{id}}\n{'' if text.startswith('input') else f'input: ask {name}{chr(10)}'}{text}\n",
    )
    done = repo.run("validate", "--prove", f"cases/{name}.yaml")
    assert done.code in (0, 2), done


# ---- what is remembered


@pytest.mark.slow
def test_a_second_look_tells_what_the_first_one_told(examples: Repo) -> None:
    put(examples, "new", CASE.replace("outcome", "outcom"))
    settle(examples)
    first = examples.run("validate", "--json")
    cache = examples.root / ".agenteval" / "cache" / "validation-tree.msgpack"
    assert examples.run("validate", "--json").out == first.out
    cache.write_bytes(cache.read_bytes().replace(b"unknown key", b"as was told"))
    assert examples.run("validate", "--json").out == first.out.replace("unknown key", "as was told")
    shutil.rmtree(examples.root / ".agenteval")
    assert examples.run("validate", "--json").out == first.out


@pytest.mark.slow
def test_what_was_learnt_of_a_few_files_is_kept_beside_the_rest(repo: Repo) -> None:
    for index in range(30):
        put(repo, f"case-{index:02}")
    settle(repo)
    assert told(repo) == []
    cache = repo.root / ".agenteval" / "cache"
    before = (cache / "validation-tree.msgpack").read_bytes()
    for name in ("case-03", "case-04"):  # the second look knows of the first file from beside
        put(repo, name, CASE.replace("outcome", "outcom"))
        settle(repo)
        found = told(repo)
        assert f"schema cases/{name}.yaml outcom" in found
        assert told(repo) == found
    assert (cache / "validation-tree.msgpack").read_bytes() == before
    assert (cache / "validation-tree.newer.msgpack").read_bytes().count(b"unknown key") == 2
    for index in range(30):
        put(repo, f"case-{index:02}")
    settle(repo)
    assert told(repo) == []
    assert not (cache / "validation-tree.newer.msgpack").exists()


def test_a_file_that_was_just_written_is_not_remembered(repo: Repo) -> None:
    assert told(repo) == []
    assert not (repo.root / ".agenteval").exists()


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "way", ["at once", pytest.param("in place", marks=SLOW), pytest.param("by another file", marks=SLOW)]
)
def test_an_edit_that_keeps_size_and_time_is_seen(repo: Repo, way: str) -> None:
    path = repo.root / "cases" / "says-hello.yaml"
    if way != "at once":
        settle(repo)
    times = path.stat().st_mtime_ns
    assert told(repo) == told(repo) == []
    edited = path.read_bytes().replace(b"outcome", b"outcoem")
    if way == "by another file":
        path.rename(path.with_suffix(".old"))
    path.write_bytes(edited)
    os.utime(path, ns=(times, times))
    assert told(repo) == ["schema cases/says-hello.yaml outcoem"]


def test_files_of_any_age_are_looked_at_again_when_they_change(repo: Repo) -> None:
    ages = {f"age-{index}": seconds for index, seconds in enumerate([0, -1, 1, 999_999_999, 4_000_000_000])}
    for text in (CASE, "schema: 1\n"):
        for name, seconds in ages.items():
            os.utime(put(repo, name, text), (seconds, seconds))
        lines = repo.run("validate").out.splitlines()
    assert {line.split(":")[0] for line in lines} == {f"cases/{name}.yaml" for name in ages}


@pytest.mark.slow
def test_a_changed_configuration_makes_every_case_be_looked_at_again(repo: Repo) -> None:
    put(repo, "kettle", CASE + "agent: main\n")
    settle(repo)
    assert told(repo) == told(repo) == []
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config.replace("main:", "other:"))
    assert told(repo) == ["unknown-agent cases/kettle.yaml agent"]
    repo.write("agenteval.yaml", config)
    assert told(repo) == []


@pytest.mark.slow
def test_a_changed_fixture_makes_every_case_be_looked_at_again(repo: Repo) -> None:
    repo.write("fixtures/shop.yaml", SHOP)
    put(repo, "kettle", CASE + "tools: [{use: shop}]\ntrajectory: {required: [close_order]}\n")
    settle(repo)
    assert told(repo) == told(repo) == []
    repo.write("fixtures/shop.yaml", SHOP.replace("close_order", "shut_order"))
    assert told(repo) == ["unknown-tool cases/kettle.yaml trajectory.required[0]"]


@pytest.mark.slow
def test_what_lies_beside_a_case_is_looked_at_every_time(repo: Repo) -> None:
    receipt = repo.write("receipt.txt", "paid")
    put(repo, "kettle", CASE + "files: [receipt.txt]\n")
    settle(repo)
    assert told(repo) == []
    receipt.unlink()
    assert told(repo) == ["missing-file cases/kettle.yaml files[0]"]


@pytest.mark.slow
def test_two_looks_at_once_remember_nothing_wrong(examples: Repo) -> None:
    settle(examples)
    started = [examples.start("validate", "--json", "--ignore", rule) for rule in ("yaml-number", "schema") * 2]
    outputs = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [2] * 4
    assert outputs[:2] == outputs[2:]
    assert {path.name for path in (examples.root / ".agenteval" / "cache").iterdir()} == {
        ".gitignore",
        "validation-tree.msgpack",
    }
    remembered = examples.run("validate").out
    shutil.rmtree(examples.root / ".agenteval")
    assert examples.run("validate").out == remembered


# ---- many files, in several processes


@pytest.mark.slow
def test_many_files_are_told_as_few_are(repo: Repo) -> None:
    """The helpers read with events of their own, and hand what is not plain to the careful reader."""
    texts = {
        "plain": CASE,
        "anchored": CASE.replace("input: ask", "input: &a ask").replace("contains: hello", "contains: *a"),
        "number": CASE + "metadata: {zip: 04817}\n",
        "broken": "schema: 1\nid: {id}\ninput: [\n",
        "twice": CASE + "input: again\n",
        "latin": CASE,
    }
    for index in range(240):
        name = f"{list(texts)[index % len(texts)]}-{index}"
        put(repo, name, texts[name.partition("-")[0]])
        if name.startswith("latin"):
            (repo.root / "cases" / f"{name}.yaml").write_bytes(b"title: caf\xe9\n")
    many = repo.run("validate", "--format", "json").json["problems"]
    assert len(many) == 4 * 40
    few = []
    for name in ("anchored-1", "number-2", "broken-3", "twice-4", "latin-5"):
        (repo.root / "alone").mkdir(exist_ok=True)
        shutil.copy(repo.root / "cases" / f"{name}.yaml", repo.root / "alone" / f"{name}.yaml")
        alone = repo.run("validate", "--format", "json", "--ignore", "duplicate-id", f"alone/{name}.yaml")
        few += [{**p, "file": p["file"].replace("alone", "cases")} for p in alone.json["problems"]]
    expected = [p for p in few if p["rule"] != "duplicate-input"]
    assert [p for p in many if p["file"] in {p["file"] for p in few}] == sorted(expected, key=lambda p: p["file"])


def work(piece: Sequence[int]) -> bytes:
    return b"".join(b"%d," % number for number in piece)


@pytest.mark.parametrize("count", [0, 1, 24, 25, 26, 1_000, 100_000])
def test_every_piece_is_worked_on_once_whatever_their_number(count: int) -> None:
    pieces = forked.pieces_of(list(range(count)))
    assert len(pieces) <= 256
    done = dict(forked.each(pieces, work, begin=lambda: None))
    assert b"".join(done[index] for index in range(len(pieces))) == work(range(count))


@pytest.mark.parametrize("end", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1 / 0, lambda: os._exit(0)])
def test_what_a_helper_leaves_undone_is_done_here(end: Callable[[], object]) -> None:
    home = os.getpid()

    def work_until_the_third(piece: Sequence[int]) -> bytes:
        if 70 in piece and os.getpid() != home:
            end()
        return work(piece)

    pieces = forked.pieces_of(list(range(300)))
    done = dict(forked.each(pieces, work_until_the_third, begin=lambda: None))
    assert b"".join(done[index] for index in range(len(pieces))) == work(range(300))


def test_an_error_of_the_work_is_seen_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        list(forked.each([[0]], lambda piece: bytes(1 // piece[0]), begin=lambda: None))


def test_a_result_of_any_size_arrives_whole() -> None:
    done = dict(forked.each([[1], [0], [3]], lambda piece: bytes(piece[0] * 1_000_000), begin=lambda: None))
    assert {index: len(raw) for index, raw in done.items()} == {0: 1_000_000, 1: 0, 2: 3_000_000}


# ---- tools that cases share


@pytest.fixture
def shop(repo: Repo) -> Repo:
    """A repository with the shared tools of a shop."""
    repo.write("fixtures/shop.yaml", SHOP)
    return repo


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        ("{use: shop}", None),
        ("{use: shop, name: get_order}", None),
        ("{use: shop, name: get_order, responses: [{result: lost}]}", None),
        ("{use: shpo}", "unknown-fixture tools[0].use: no fixture 'shpo'; did you mean 'shop'?"),
        ("{use: bank}", "unknown-fixture tools[0].use: no fixture 'bank'"),
        (
            "{use: shop, name: get_ordr}",
            "unknown-fixture tools[0].name: the fixture 'shop' has no tool 'get_ordr'; did you mean 'get_order'?",
        ),
        (
            "{use: shop, unmatched: empty}",
            "unknown-fixture tools[0]: say with `name` which tool of 'shop' the other keys are for",
        ),
        ("{use: shop, nmae: get_order}", "schema tools[0].nmae: unknown key 'nmae'; did you mean 'name'?"),
    ],
)
def test_a_case_uses_shared_tools(shop: Repo, tools: str, problem: str | None) -> None:
    put(shop, "kettle", CASE + f"tools: [{tools}]\n")
    found = shop.run("validate", "--json").json["problems"]
    assert [f"{p['rule']} {p['path']}: {p['message']}" for p in found] == ([problem] if problem else [])


def test_a_shared_tool_is_as_good_as_one_of_the_cases_own(shop: Repo) -> None:
    put(shop, "kettle", CASE + "tools: [{use: shop}, {name: own}]\ntrajectory: {required: [own, get_ordr]}\n")
    assert told(shop) == ["unknown-tool cases/kettle.yaml trajectory.required[1]"]
    assert "did you mean 'get_order'?" in shop.run("validate").out


def test_what_a_case_says_of_a_shared_tool_goes_before_what_the_fixture_says(shop: Repo) -> None:
    put(shop, "kettle", CASE + "tools: [{use: shop, name: get_order, responses: [{result: lost}]}]\n")
    (tool,) = shop.run("show", "kettle", "--json").json["case"]["tools"]
    assert (tool["name"], tool["responses"]) == ("get_order", [{"result": "lost"}])
    assert tool["parameters"]["properties"] == {"order_id": {"type": "string"}}


@pytest.mark.parametrize(
    "tools",
    [
        "{use: shop}, {use: shop, name: get_order, responses: [{result: lost}]}",
        "{use: shop, name: get_order, responses: [{result: lost}]}, {use: shop}",
        "{use: shop}, {name: get_order, responses: [{result: lost}]}",
    ],
)
def test_a_tool_that_a_case_names_goes_before_the_same_one_of_a_whole_fixture(shop: Repo, tools: str) -> None:
    put(shop, "kettle", CASE + f"tools: [{tools}]\n")
    assert told(shop) == []
    found = shop.run("show", "kettle", "--json").json["case"]["tools"]
    assert sorted(tool["name"] for tool in found) == ["close_order", "create_refund", "get_order"]
    (responses,) = (tool["responses"] for tool in found if tool["name"] == "get_order")
    assert responses == [{"result": "lost"}]


def test_a_fixture_that_is_named_twice_is_there_once(shop: Repo) -> None:
    put(shop, "kettle", CASE + "tools: [{use: shop}, {use: shop}]\n")
    assert told(shop) == []
    found = shop.run("show", "kettle", "--json").json["case"]["tools"]
    assert sorted(tool["name"] for tool in found) == ["close_order", "create_refund", "get_order"]


def test_two_fixtures_with_one_tool_are_no_choice_of_the_case(shop: Repo) -> None:
    shop.write("fixtures/other.yaml", "schema: 1\nid: other\ntools: [{name: get_order, responses: [{result: lost}]}]\n")
    put(shop, "kettle", CASE + "tools: [{use: shop}, {use: other}]\n")
    assert told(shop) == ["duplicate-tool cases/kettle.yaml tools"]
    put(shop, "kettle", CASE + "tools: [{use: shop}, {use: other}, {use: other, name: get_order}]\n")
    assert told(shop) == []


def test_a_misspelt_matcher_of_a_shared_tool_is_told_in_the_fixture(shop: Repo) -> None:
    shop.write("fixtures/shop.yaml", SHOP.replace('{order_id: "1"}', '{order_id: {between: "1"}}'))
    put(shop, "kettle", CASE + "tools: [{use: shop}]\n")
    assert told(shop) == ["bad-matcher fixtures/shop.yaml tools[0].responses[0].when.order_id.between"]


def test_what_a_tool_said_to_a_wrong_call_may_be_recorded(shop: Repo) -> None:
    parameters = "{properties: {a: {type: integer}}}"
    responses = "[{when: {a: lots, b: 1}, error: {status: 400, message: a is a number}}]"
    put(shop, "kettle", CASE + f"tools: [{{name: own, parameters: {parameters}, responses: {responses}}}]\n")
    assert told(shop) == []


def test_a_case_with_another_fixture_is_another_case(shop: Repo) -> None:
    def digest() -> str:
        (case,) = (case for case in shop.run("list", "--json").json["cases"] if case["id"] == "kettle")
        return str(case["digests"]["input"])

    put(shop, "kettle", CASE + "tools: [{use: shop}]\n")
    before = digest()
    shop.write("fixtures/shop.yaml", SHOP.replace("paid", "not paid"))
    assert digest() != before


def test_a_fault_of_the_cases_own_tool_is_told_in_its_own_place(shop: Repo) -> None:
    own = "{name: own, parameters: {properties: {a: {}}}, responses: [{when: {b: 1}, result: x}]}"
    put(shop, "kettle", CASE + f"tools:\n  - use: shop\n  - {own}\n")
    (problem,) = shop.run("validate", "--json").json["problems"]
    assert (problem["path"], problem["line"]) == ("tools[1].responses[0].when.b", 7)


def test_a_fault_of_a_shared_tool_is_told_in_the_fixture(shop: Repo) -> None:
    shop.write("fixtures/shop.yaml", SHOP.replace('{order_id: "1"}', '{order: "1"}'))
    put(shop, "kettle", CASE + "tools: [{use: shop}]\n")
    assert told(shop) == ["bad-argument fixtures/shop.yaml tools[0].responses[0].when.order"]


def test_a_fixture_that_is_not_there_is_told_once_and_not_as_each_of_its_tools(shop: Repo) -> None:
    put(shop, "kettle", CASE + "tools: [{use: shpo}, {name: own}]\ntrajectory: {required: [own, get_order]}\n")
    assert told(shop) == ["unknown-fixture cases/kettle.yaml tools[0].use"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "yaml-empty fixtures/shop.yaml"),
        ("schema: 1\nid: shop\n", "schema fixtures/shop.yaml"),
        ("schema: 1\nid: shop\ntools: []\n", "schema fixtures/shop.yaml tools"),
        ("schema: 1\nid: shop\ntools: [{nmae: a}]\n", "schema fixtures/shop.yaml tools[0].nmae"),
        ("schema: 1\nid: shop\ntools: [{use: other}]\n", "schema fixtures/shop.yaml tools[0].use"),
        (
            "schema: 1\nid: shop\ntools: [{name: a, responses: [{when: {}}]}]\n",
            "schema fixtures/shop.yaml tools[0].responses[0]",
        ),
        ("schema: 1\nid: shop\nid: again\ntools: [{name: a}]\n", "yaml-duplicate-key fixtures/shop.yaml id"),
    ],
)
def test_a_broken_fixture_is_told_whether_it_is_used_or_not(shop: Repo, text: str, problem: str) -> None:
    shop.write("fixtures/shop.yaml", text)
    assert problem in told(shop, "cases/says-hello.yaml")


def test_two_fixtures_with_one_id_are_told(shop: Repo) -> None:
    shop.write("fixtures/more/shop.yml", SHOP)
    assert told(shop) == ["duplicate-id fixtures/shop.yaml"]
    assert "is also that of fixtures/more/shop.yml" in shop.run("validate").out


def test_a_fixture_may_be_named_among_the_files(shop: Repo) -> None:
    assert told(shop, "fixtures/shop.yaml", "cases/says-hello.yaml") == []


def test_a_named_file_outside_the_cases_is_read_from_the_index_too(repo: Repo) -> None:
    repo.write("drafts/kettle.yaml", CASE.replace("{id}", "kettle"))
    repo.commit()
    assert told(repo, "drafts/kettle.yaml") == told(repo, "--staged", "drafts/kettle.yaml") == []


def test_a_file_may_be_named_through_a_link_above_it(repo: Repo) -> None:
    (repo.root.parent / "link").symlink_to(repo.root)
    done = repo.run("validate", "--json", str(repo.root.parent / "link" / "cases" / "says-hello.yaml"))
    assert (done.code, done.json["problems"]) == (0, []), done


def test_json_that_was_asked_for_is_json_when_there_is_nothing_to_look_at(empty: Repo) -> None:
    for option in (["--json"], ["--format", "json"]):
        done = empty.run("validate", *option)
        assert done.code == 2
        assert json.loads(done.out)["exit_code"] == 2, option
