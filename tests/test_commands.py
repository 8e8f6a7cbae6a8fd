"""The other commands as a user meets them: init, validate, list, show, diff."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import AGENTEVAL, GOOD_CASE, ROOT, Repo

from agenteval_cli.cli import COMMANDS

KEEPS_STATE = """
import json, sys
request = json.load(sys.stdin)
call = {"name": "look", "arguments": {"at": request["input"]}, "result": "seen"}
json.dump({"output": "WORD", "tool_calls": [call]}, sys.stdout)
"""


# ---- init


def test_a_starter_repository_runs_at_once(empty: Repo) -> None:
    done = empty.run("init")
    assert done.code == 0, done
    assert done.err == "next: git init && agenteval validate && agenteval run\n"
    assert empty.run("validate").err.endswith("3 case files valid\n")
    done = empty.run("run")
    assert done.code == 0, done
    assert "3 of 3 cases passed" in done.out


def test_what_comes_next_after_a_change_is_a_diff(empty: Repo) -> None:
    empty.run("init", "shop")
    shop = empty.root / "shop"
    empty.run("run", cwd=shop)
    agent = shop / "agent.py"
    agent.write_text(agent.read_text(encoding="utf-8").replace("I do not know that shop.", "It is open from 9."))
    assert empty.run("run", cwd=shop).code == 1
    done = empty.run("diff", cwd=shop)
    assert done.code == 1
    assert "broke unknown-city-is-admitted" in done.out
    assert "differs: agent assistant changed" in done.out


def test_init_keeps_what_is_there(empty: Repo) -> None:
    empty.write("agent.py", "mine\n")
    empty.write(".gitignore", "build/")
    assert "kept agent.py, which was there" in empty.run("init").out
    assert (empty.root / "agent.py").read_text(encoding="utf-8") == "mine\n"
    assert (empty.root / ".gitignore").read_text(encoding="utf-8") == "build/\n.agenteval/\n"
    done = empty.run("init")
    assert done.code == 2
    assert "agenteval.yaml is there already; nothing was changed" in done.err


# ---- validate


def test_all_problems_of_all_files_are_told_in_one_go(repo: Repo) -> None:
    repo.case("one", "schema: 1\nid: one\ninptu: hi\nteir: smoke\noutcome: [{contans: x}]\n")
    repo.case("two", "schema: 1\nid: two\ninput: hi\n")
    done = repo.run("validate")
    assert done.code == 2
    assert done.out.splitlines() == [
        "cases/one.yaml:3:1: inptu: unknown key 'inptu'; did you mean 'input'? [schema]",
        "cases/one.yaml:4:1: teir: unknown key 'teir'; did you mean 'tier'? [schema]",
        "cases/one.yaml:5:12: outcome[0].contans: unknown key 'contans'; did you mean 'contains'? [schema]",
        "cases/two.yaml:1:1: nothing can fail this case; give it outcome, trajectory, limits, match or a criterion "
        "with gate: true [no-checks]",
    ]
    assert done.err.endswith("4 errors in 3 files\n")


def test_only_the_named_files_are_told_of(repo: Repo) -> None:
    repo.case("broken", "schema: 1\n")
    assert repo.run("validate", "cases/says-hello.yaml").code == 0
    assert repo.run("validate", "broken.yaml", cwd=repo.root / "cases").code == 2
    assert repo.run("validate", "cases/nothing.yaml").err == "agenteval: cases/nothing.yaml is not a file\n"


def test_an_id_that_another_file_has_is_found_whichever_file_is_named(repo: Repo) -> None:
    repo.case("twice", GOOD_CASE.replace("{id}", "Says-Hello"))
    done = repo.run("validate", "--ignore", "duplicate-input", "cases/twice.yaml")
    assert done.code == 2
    assert done.out == (
        "cases/twice.yaml:2:5: id: the ID 'Says-Hello' is also that of cases/says-hello.yaml; "
        "IDs are unique, ignoring case [duplicate-id]\n"
    )
    assert done.out.count("duplicate-id") == 1
    assert repo.run("validate").out.count("duplicate-id") == 2
    assert repo.run("run").code == 2


def test_a_warning_does_not_fail(repo: Repo) -> None:
    repo.case("says-hello", GOOD_CASE + "state: {postcode: 04817, release: 2.10}\nmin_pass_rate: 1.0\n")
    done = repo.run("validate", "--json")
    assert done.code == 0
    assert [(problem["path"], problem["severity"]) for problem in done.json["problems"]] == [
        ("state.postcode", "warning"),
        ("state.release", "warning"),
    ]


# ---- list and show


def test_list_shows_each_case_and_can_be_narrowed(repo: Repo) -> None:
    repo.case("old-bug", tier="regression")
    lines = repo.run("list").out.splitlines()
    assert [line.split()[:2] for line in lines] == [["ID", "TIER"], ["old-bug", "regression"], ["says-hello", "smoke"]]
    assert "old-bug" not in repo.run("list", "--tier", "smoke").out
    assert repo.run("list", "--tier", "representative").code == 2


def test_show_prints_the_case_with_its_digests(repo: Repo) -> None:
    out = repo.run("show", "says-hello").out
    assert "hello" in out
    assert "grade 1:" in out
    assert repo.run("show", "say-hello").err == "agenteval: no case 'say-hello'; did you mean 'says-hello'?\n"


def test_show_prints_what_the_agent_said_and_did(repo: Repo) -> None:
    repo.agent(KEEPS_STATE.replace("WORD", "good morning"))
    repo.run("run")
    out = repo.run("show", "says-hello", "--run", "latest").out
    assert '1. look({"at": "hello"}) → "seen"' in out
    assert "good morning" in out
    assert 'failed outcome[0].contains: the answer does not contain "hello"' in out
    assert "0 of 1 checks passed" in out
    done = repo.run("show", "says-hello", "--run", "latest", "--attempt", "9")
    assert (done.code, "no attempt 9 of 'says-hello' has ended" in done.err) == (2, True)


def test_what_an_agent_says_cannot_act_on_the_terminal(repo: Repo) -> None:
    repo.agent(KEEPS_STATE.replace("WORD", r"\x1b]0;owned\x07\x1b[2J\u202eevil\r\x00"))
    done = repo.run("run")
    shown = repo.run("show", "says-hello", "--run", "latest")
    for text in (done.out, done.err, shown.out):
        assert not {"\x1b", "\u202e", "\r", "\x00", "\x07"} & set(text)
    assert "\\u202eevil" in shown.out


# ---- diff


def answers(repo: Repo, word: str) -> None:
    repo.agent(KEEPS_STATE.replace("WORD", word))


def test_a_diff_says_what_broke_and_why(repo: Repo) -> None:
    answers(repo, "hello")
    repo.run("run")
    answers(repo, "goodbye")
    repo.run("run")
    done = repo.run("diff")
    assert done.code == 1
    assert "broke says-hello 1/1 → 0/1, p 0.500, q 0.500: within noise" in done.out
    assert 'outcome[0].contains: the answer does not contain "hello"' in done.out
    assert "differs: agent main changed" in done.out
    assert "gate (broke) failed: says-hello" in done.err
    assert "a fall from all to none is confirmed from 3 attempts on" in done.err


def test_a_diff_of_what_was_mended_is_good(repo: Repo) -> None:
    answers(repo, "goodbye")
    repo.run("run")
    answers(repo, "hello")
    repo.run("run")
    done = repo.run("diff")
    assert done.code == 0
    assert "fixed says-hello 0/1 → 1/1" in done.out


def test_edited_new_and_removed_cases_are_shown_and_not_judged(repo: Repo) -> None:
    for name in ("edited", "removed", "retitled"):
        repo.case(name)
    repo.run("run")
    repo.case("edited", GOOD_CASE + "  - not_contains: zebra\n")
    repo.case("retitled", GOOD_CASE + "title: Another title\ntags: [new]\n")
    repo.case("new")
    (repo.root / "cases" / "removed.yaml").unlink()
    repo.run("run")
    done = repo.run("diff", "--json")
    assert done.code == 0
    assert {case["id"]: case["class"] for case in done.json["diff"]["cases"]} == {
        "edited": "edited",
        "new": "new",
        "removed": "removed",
        "retitled": "still_passing",
        "says-hello": "still_passing",
    }


@pytest.mark.slow
def test_a_case_that_was_not_asked_for_is_not_removed(repo: Repo) -> None:
    repo.case("old-bug", tier="regression")
    repo.run("run")
    repo.run("run", "--tier", "smoke")
    cases = {case["id"]: (case["class"], case["reason"]) for case in repo.run("diff", "--json").json["diff"]["cases"]}
    assert cases["old-bug"] == ("not_comparable", "not selected in the head run")


@pytest.mark.slow
def test_a_diff_without_evidence_is_not_good(repo: Repo) -> None:
    repo.run("run")
    repo.case("says-hello", GOOD_CASE + "  - contains: ello\n")
    repo.run("run")
    done = repo.run("diff")
    assert done.code == 3
    assert "no case could be compared" in done.err


@pytest.mark.slow
def test_runs_are_named_by_id_its_beginning_folder_word_or_ref(repo: Repo) -> None:
    first = repo.commit()
    repo.run("run")
    repo.case("another")
    repo.commit("another")
    repo.run("run")
    old, new = (path.name for path in repo.runs())
    bases = (old, old[:22], "previous", str(repo.runs()[0]), str(repo.runs()[0] / "run.json"), first, "main~1")
    for base, head in zip(bases, (new, "latest", "main", "HEAD", new, "latest", "main"), strict=True):
        facts = repo.run("diff", base, head, "--json").json["diff"]
        assert (facts["base"], facts["head"]) == (old, new), (base, head)


def test_a_branch_that_is_called_like_a_folder_names_its_run(repo: Repo) -> None:
    repo.commit()
    repo.git("branch", "cases")
    repo.run("run")
    assert repo.run("diff", "cases", "latest").code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("nonsense", "'nonsense' is no run ID, `latest`, `previous`, folder of a run, or git ref"),
        ("main", "no finished run of main"),
        ("baseline", "there is no baseline yet; `agenteval baseline accept` makes one of the latest run"),
        ("cases", "no run in cases: run.json is missing"),
        ("2", "begins 2 run IDs; write more of it"),
        ("x" * 300, "is no run ID, `latest`, `previous`, folder of a run, or git ref"),
    ],
)
def test_a_run_that_is_not_known(repo: Repo, base: str, said: str) -> None:
    repo.run("run")
    repo.run("run")
    repo.commit()
    done = repo.run("diff", base)
    assert done.code == 2
    assert said in done.err


@pytest.mark.slow
def test_a_diff_needs_two_runs(repo: Repo) -> None:
    assert "there is no finished run in .agenteval/runs" in repo.run("diff").err
    repo.run("run")
    assert "a diff needs two, so `agenteval run` once more" in repo.run("diff").err


def test_a_run_of_a_newer_format_is_refused_with_its_number(repo: Repo) -> None:
    repo.run("run")
    path = repo.runs()[0] / "run.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"format": 2', '"format": 9'), encoding="utf-8")
    done = repo.run("show", "says-hello", "--run", repo.runs()[0].name)
    assert (done.code, "has format 9; this version reads 1 to 2" in done.err) == (2, True)


def test_a_torn_last_line_is_no_attempt(repo: Repo) -> None:
    repo.run("run", "--attempts", "3")
    path = repo.runs()[0] / "attempts.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    shown = repo.run("show", "says-hello", "--run", repo.runs()[0].name, "--json")
    assert len(shown.json["attempts"]) == 2


# ---- all


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example_and_the_common_options(empty: Repo, command: str) -> None:
    out = empty.run(command, "--help").out
    assert f"Example: agenteval {command}" in " ".join(out.split())
    for option in ("--json", "-C DIR", "--quiet", "--verbose"):
        assert option in out


def test_the_help_names_every_command_and_exit_code(empty: Repo) -> None:
    out = empty.run("--help").out
    assert all(f"\n  {command} " in out for command in COMMANDS)
    assert "130" in out
    assert empty.run("--version").out.startswith("agenteval 0.")


def test_help_knows_the_schemas_of_every_json_output() -> None:
    schema = json.loads(Path(ROOT, "schemas", "output.schema.json").read_text(encoding="utf-8"))
    named = {name.partition("_")[0] for name in schema["$defs"]}  # runs_list and runs_merge are those of `runs`
    assert set(COMMANDS) <= named


@pytest.mark.slow
def test_a_cost_that_is_no_number_is_unknown_not_a_crash(repo: Repo) -> None:
    repo.agent("import json; print(json.dumps({'output': 'hello', 'cost': 'cheap'}))")
    repo.run("run")
    repo.run("run")
    assert repo.run("diff", "--json").json["diff"]["cases"][0]["head"]["measures"]["cost"] is None


def test_the_folder_may_be_named_before_the_command_as_with_git(repo: Repo) -> None:
    elsewhere = repo.root.parent
    for arguments in (("list",), ("list", "--json"), ("show", "--", "says-hello")):
        done = repo.program(str(AGENTEVAL), "-C", str(repo.root), *arguments, cwd=elsewhere)
        assert (done.code, "says-hello" in done.out) == (0, True), done


def test_a_configuration_of_another_ending_is_named(empty: Repo) -> None:
    empty.write("agenteval.yml", "schema: 1\n")
    done = empty.run("list")
    assert (done.code, done.err.endswith("; agenteval.yml is there; rename it\n")) == (2, True), done
