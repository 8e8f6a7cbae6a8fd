"""`agenteval run --since RUN`: what still holds is kept and said, what does not is graded or run again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from desk import CASE, Desk, cases

KEPT, TITLED, CHECKED, ASKED = "case-1", "case-2", "case-3", "case-4"


@pytest.fixture
def desk(repo: Repo) -> Desk:
    """Four cases of two attempts, which have been run once; then one has a new title, one new checks, one a new input."""
    cases(repo, 4)
    made = Desk(repo, config="pins: {model: m1}\nsource: [prompts/]")
    repo.write("prompts/one.txt", "Be kind.\n")
    done = repo.run("run")
    assert done.code == 0, done
    made.forget()
    return made


@pytest.fixture
def edited(repo: Repo, desk: Desk) -> Desk:
    repo.case(TITLED, "# a comment\n" + CASE + "title: A new title\ntags: [new]\n")
    repo.case(CHECKED, CASE.replace("contains: hello", "contains: goodbye"))
    repo.case(ASKED, CASE.replace("input: hello", "input: well hello"))
    return desk


def first_run(repo: Repo) -> str:
    return repo.runs()[0].name


def reasons(repo: Repo, *arguments: str) -> dict[str, str]:
    """Why each case is reused, regraded or run again, as the dry run has it."""
    plan = repo.run("run", "--since", "latest", "--dry-run", "--json", *arguments).json["plan"]
    return {each["case"]: each["reason"] for each in plan}


@pytest.mark.slow
def test_the_plan_says_of_each_case_what_becomes_of_it_and_why(repo: Repo, edited: Desk) -> None:
    since = first_run(repo)
    assert reasons(repo) == {
        KEPT: f"reuse: nothing has changed since {since}",
        TITLED: f"reuse: nothing has changed since {since}",
        CHECKED: f"regrade: only the checks have changed since {since}",
        ASKED: f"rerun: what the agent gets has changed since {since}",
    }
    shown = repo.run("run", "--since", "latest", "--dry-run")
    assert f"regrade: only the checks have changed since {since}" in shown.out
    assert "4 cases, 2 attempts to run, 6 kept; nothing was run" in shown.err
    facts = repo.run("run", "--since", since, "--dry-run", "--json").json
    assert (facts["kept"], facts["to_run"], facts["attempts"]) == (6, 2, 8)
    assert (edited.calls, len(repo.runs())) == ([], 1)


def test_only_what_changed_runs_and_the_rest_is_marked_with_where_it_came_from(repo: Repo, edited: Desk) -> None:
    done = repo.run("run", "--since", "latest", "--json")
    assert edited.calls == ["well hello case-4"] * 2
    assert done.code == 1, "what was graded again fails its new check, without a call of the agent"
    assert {case["id"]: case["verdict"] for case in done.json["cases"]} == {
        KEPT: "passed",
        TITLED: "passed",
        CHECKED: "failed",
        ASKED: "passed",
    }
    marks = {
        (each["case"], each.get("reused_from") == first_run(repo), each.get("regraded", False), each["status"])
        for each in repo.attempts()
    }
    assert marks == {
        (KEPT, True, False, "passed"),
        (TITLED, True, False, "passed"),
        (CHECKED, True, True, "failed"),
        (ASKED, False, False, "passed"),
    }
    record = json.loads((repo.runs()[-1] / "run.json").read_text(encoding="utf-8"))
    assert record["since"] == first_run(repo)
    assert len(repo.attempts()) == 8


def test_a_reader_of_the_result_is_told_what_was_kept(repo: Repo, edited: Desk) -> None:
    done = repo.run("run", "--since", "latest")
    assert f"6 attempts kept from run {first_run(repo)}" in done.out


@pytest.mark.slow
def test_a_kept_attempt_still_has_its_transcript(repo: Repo, edited: Desk) -> None:
    repo.run("run", "--since", "latest")
    for name in (KEPT, CHECKED):
        before, after = (
            [each["transcript"] for each in repo.run("show", name, "--run", run.name, "--json").json["attempts"]]
            for run in repo.runs()
        )
        assert after == before
    assert repo.run("diff", first_run(repo), "latest", "--json").json["diff"]["counts"]["edited"] == 2


def test_nothing_is_ever_kept_unless_it_was_asked_for(repo: Repo, desk: Desk) -> None:
    assert repo.run("run").code == 0
    assert len(desk.calls) == 8
    assert all("reused_from" not in each for each in repo.attempts())


OF_THE_AGENT = (
    ("agent.sh", "echo", "echo "),
    ("prompts/one.txt", "kind", "rude"),
    ("agenteval.yaml", "model: m1", "model: m2"),
    ("agenteval.yaml", "agent.sh]", "agent.sh, more]"),
    ("agenteval.yaml", "DESK:", "MORE: x, DESK:"),
    ("agenteval.yaml", "env: {", "env: {pass: [HOME], "),
)


@pytest.mark.slow
def test_any_change_of_what_the_agent_is_made_of_runs_all_of_it_again(repo: Repo, desk: Desk) -> None:
    expected = {f"rerun: the agent has changed since {first_run(repo)}"}
    for file, old, new in OF_THE_AGENT:
        text = (repo.root / file).read_text(encoding="utf-8")
        assert old in text
        repo.write(file, text.replace(old, new, 1))
        assert set(reasons(repo).values()) == expected, (file, new)
        repo.write(file, text)
    repo.write("prompts/deep/two.txt", "new")
    assert set(reasons(repo).values()) == expected
    assert repo.run("run", "--since", "latest").code == 0
    assert len(desk.calls) == 8


@pytest.mark.parametrize(
    "argument", ["--config={root}/settings of it.json", "x; cat '{root}/settings.json'; y", "-f=settings.json"]
)
def test_a_file_that_is_named_in_the_middle_of_an_argument_is_part_of_the_agent(repo: Repo, argument: str) -> None:
    for name in ("settings.json", "settings of it.json"):
        repo.write(name, "1")
    config = f"schema: 1\nagents: {{main: {{command: [{sys.executable}, agent.py, {json.dumps(argument)}]}}}}\n"
    repo.write("agenteval.yaml", config)
    assert repo.run("run").code == 0
    assert set(reasons(repo).values()) == {f"reuse: nothing has changed since {repo.runs()[-1].name}"}
    for name in ("settings.json", "settings of it.json"):
        repo.write(name, "2")
    assert set(reasons(repo).values()) == {f"rerun: the agent has changed since {repo.runs()[-1].name}"}


def test_what_a_link_in_the_source_leads_to_is_part_of_the_agent(repo: Repo, desk: Desk) -> None:
    shared = repo.write("shared/three.txt", "old")
    (repo.root / "prompts" / "shared").symlink_to("../shared")
    (repo.root / "prompts" / "round").symlink_to(".")
    assert repo.run("run").code == 0
    run = repo.runs()[-1].name
    assert set(reasons(repo).values()) == {f"reuse: nothing has changed since {run}"}
    shared.write_text("new", encoding="utf-8")
    assert set(reasons(repo).values()) == {f"rerun: the agent has changed since {run}"}


PROGRAMS = """
schema: 1
id: has-programs
input: hello
attempts: 1
tools: [{name: look, handler: "fakes.shop:look"}, {name: buy, handler: [python3, ./fakes/buy.py]}]
outcome: [{contains: hello}, {any_of: [{command: [sh, checks/polite.sh]}, {code: {call: "checks.kind:is_kind"}}]}]
"""


@pytest.mark.parametrize(
    ("file", "becomes"),
    [
        ("fakes/shop.py", "rerun: what the agent gets has changed"),
        ("fakes/buy.py", "rerun: what the agent gets has changed"),
        ("checks/polite.sh", "regrade: only the checks have changed"),
        ("checks/kind.py", "regrade: only the checks have changed"),
        ("checks/other.py", "reuse: nothing has changed"),
    ],
)
def test_the_programs_of_tools_and_checks_are_part_of_the_case(repo: Repo, file: str, becomes: str) -> None:
    (repo.root / "cases" / "says-hello.yaml").unlink()
    for name in ("fakes/shop.py", "fakes/buy.py", "checks/polite.sh", "checks/kind.py"):
        repo.write(name, "exit\n")
    repo.case("has-programs", PROGRAMS)
    assert repo.run("run").code == 0
    repo.write(file, "exit # another\n")
    assert reasons(repo) == {"has-programs": f"{becomes} since {first_run(repo)}"}


def test_what_is_no_part_of_the_agent_does_not_run_it_again(repo: Repo, desk: Desk) -> None:
    repo.write("README.md", "new")
    repo.write("prompts/__pycache__/one.pyc", "new")
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", "# a comment\n" + config + "    concurrency: 2\n")
    assert set(reasons(repo).values()) == {f"reuse: nothing has changed since {first_run(repo)}"}


def test_attempts_that_are_missing_run_and_those_too_many_are_left(repo: Repo, desk: Desk) -> None:
    assert reasons(repo, "--attempts", "3")[KEPT].endswith("; 2 of 3 attempts are there")
    assert repo.run("run", "--since", "latest", "--attempts", "3").code == 0
    assert sorted(desk.calls) == [f"hello case-{number}" for number in range(1, 5)]
    assert {each["attempt"] for each in repo.attempts() if "reused_from" not in each} == {3}
    desk.forget()
    done = repo.run("run", "--since", "latest", "--attempts", "1", "--json")
    assert (done.json["attempts"]["planned"], len(repo.attempts()), desk.calls) == (4, 4, [])


def test_a_case_that_was_not_in_the_earlier_run_runs(repo: Repo, desk: Desk) -> None:
    repo.case("case-5", CASE)
    assert reasons(repo)["case-5"] == f"rerun: not in {first_run(repo)}"
    assert repo.run("run", "--since", "latest").code == 0
    assert desk.calls == ["hello case-5"] * 2


def test_through_two_runs_the_first_is_named(repo: Repo, desk: Desk) -> None:
    for _ in range(2):
        assert repo.run("run", "--since", "latest").code == 0
    assert desk.calls == []
    assert {each["reused_from"] for each in repo.attempts()} == {first_run(repo)}


def changed_record(run: Path, **changes: Any) -> None:
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tool_version": "0.0.1"}, "was graded by agenteval 0.0.1"),
        ({"grading": 0}, "whose checks meant something else"),
    ],
)
def test_what_another_version_graded_is_graded_again(
    repo: Repo, desk: Desk, changes: dict[str, Any], said: str
) -> None:
    changed_record(repo.runs()[0], **changes)
    # What that version made of the answers is seen to be made anew.
    path = repo.runs()[0] / "attempts.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"status":"passed"', '"status":"failed"'), "utf-8")
    assert all(reason.startswith("regrade: ") and reason.endswith(said) for reason in reasons(repo).values())
    done = repo.run("run", "--since", "latest")
    assert (done.code, desk.calls) == (0, [])
    assert all(each["regraded"] and each["status"] == "passed" for each in repo.attempts())


ERRORS = """
said=$(cat)
echo "$said" >> "$DESK/calls"
case "$said" in *case-1) exit 7;; *case-2) exec sleep 20;; *case-3) exit 0;; esac
echo "$said"
"""


@pytest.mark.slow
@pytest.mark.parametrize("regraded", [False, True])
def test_attempts_that_ended_in_an_error_of_the_agent_are_kept_as_they_ended(repo: Repo, *, regraded: bool) -> None:
    cases(repo, 4, CASE.replace("attempts: 2", "attempts: 1"))
    desk = Desk(repo, ERRORS, config="timeout: 1s")
    assert repo.run("run").code == 1
    desk.forget()
    if regraded:
        more = CASE.replace("[{contains: hello}]", "[{contains: hello}, {contains: case}]")
        cases(repo, 4, more.replace("attempts: 2", "attempts: 1"))
    assert repo.run("run", "--since", "latest").code == 1
    assert desk.calls == []
    assert [(each["case"], each["status"], each.get("exit_code")) for each in sorted_attempts(repo)] == [
        ("case-1", "agent_error", 7),
        ("case-2", "timeout", None),
        ("case-3", "agent_error", 0),
        ("case-4", "passed", 0),
    ]
    assert [each.get("regraded", False) for each in sorted_attempts(repo)] == [False, False, False, regraded]


def sorted_attempts(repo: Repo) -> list[dict[str, Any]]:
    return sorted(repo.attempts(), key=lambda each: str(each["case"]))


def test_what_only_the_checks_left_open_is_graded_by_new_checks_and_not_run(repo: Repo) -> None:
    """Nothing tells which tools were called, which leaves it open; without that check the stored answer decides."""
    cases(repo, 1, CASE + "trajectory: {forbidden: [delete]}\n")
    desk = Desk(repo)
    assert repo.run("run").code == 3
    assert {each["status"] for each in repo.attempts()} == {"ungraded"}
    desk.forget()
    cases(repo, 1, CASE)
    assert reasons_of(repo, repo.runs()[0]) == [f"regrade: only the checks have changed since {first_run(repo)}"]
    assert repo.run("run", "--since", first_run(repo)).code == 0
    assert desk.calls == []


@pytest.mark.slow
def test_what_new_checks_leave_open_is_run_again(repo: Repo, desk: Desk) -> None:
    """The stored answer does not tell which tools were called, and the new check asks for that."""
    repo.case(KEPT, CASE + "trajectory: {forbidden: [delete]}\n")
    facts = repo.run("run", "--since", "latest", "--dry-run", "--json").json
    assert (facts["kept"], facts["to_run"]) == (6, 2)
    assert repo.run("run", "--since", "latest").code == 3
    assert desk.calls == ["hello case-1"] * 2
    assert sum(each["case"] == KEPT for each in repo.attempts()) == 2


def reasons_of(repo: Repo, run: Path) -> list[str]:
    plan = repo.run("run", "--since", run.name, "--dry-run", "--json").json["plan"]
    return [each["reason"] for each in plan]


def test_a_run_to_keep_from_that_is_not_there_is_a_usage_error(repo: Repo, desk: Desk) -> None:
    done = repo.run("run", "--since", "20261130T101112.123456Z-4f2a")
    assert (done.code, len(repo.runs())) == (2, 1)
    assert "is no run ID, `latest`, `previous`, folder of a run, or git ref" in done.err


def test_a_stopped_run_is_as_good_to_keep_from_as_far_as_it_came(repo: Repo, desk: Desk) -> None:
    run = repo.runs()[0]
    lines = (run / "attempts.jsonl").read_bytes().splitlines(keepends=True)
    (run / "attempts.jsonl").write_bytes(b"".join(lines[:3]))
    changed_record(run, status="running", finished_at=None)
    assert repo.run("run", "--since", run.name).code == 0
    assert len(desk.calls) == 5


def test_the_agent_under_another_name_is_the_same_agent(repo: Repo, desk: Desk) -> None:
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config.replace("  main:", "  renamed:"))
    assert repo.run("run", "--since", "latest").code == 0
    assert desk.calls == []
