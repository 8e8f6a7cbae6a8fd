"""`agenteval run` as a user meets it: verdicts, exit codes, what is kept."""

from __future__ import annotations

import json
import sys

import pytest
from conftest import Repo

FAILING = """
schema: 1
id: {id}
tier: {tier}
input: hello
outcome:
  - contains: goodbye
"""


def test_a_passing_case_ends_with_0_and_says_what_passed(repo: Repo) -> None:
    done = repo.run("run")
    assert done.code == 0, done
    assert "1 of 1 case passed" in done.out
    assert "1 passed / 1 graded / 1 planned" in done.out


def test_a_failing_case_ends_with_1_and_gives_the_reason(repo: Repo) -> None:
    repo.case("says-goodbye", FAILING)
    done = repo.run("run")
    assert done.code == 1, done
    assert 'outcome[0].contains: the answer does not contain "goodbye"' in done.out
    assert "agenteval show says-goodbye --run" in done.err


def test_results_go_to_stdout_and_talk_to_stderr(repo: Repo) -> None:
    done = repo.run("run", "--quiet")
    assert (done.out, done.err) == ("", "")
    assert "run 2" in repo.run("run").err


def test_json_is_the_only_thing_on_stdout(repo: Repo) -> None:
    repo.case("says-goodbye", FAILING)
    done = repo.run("run", "--json")
    assert done.code == 1
    assert [(case["id"], case["verdict"]) for case in done.json["cases"]] == [
        ("says-goodbye", "failed"),
        ("says-hello", "passed"),
    ]
    assert done.json["attempts"] == {
        "passed": 1,
        "graded": 2,
        "planned": 2,
        "by_status": {"passed": 1, "failed": 1},
    }


def test_a_tier_has_its_number_of_attempts(repo: Repo) -> None:
    repo.case("old-bug", tier="regression")
    repo.case("daily-question", tier="representative")
    plan = repo.run("run", "--dry-run", "--json").json["plan"]
    assert {item["case"]: item["attempts"] for item in plan} == {"says-hello": 1, "old-bug": 3, "daily-question": 5}


def test_attempts_can_be_asked_for(repo: Repo) -> None:
    done = repo.run("run", "--attempts", "4", "--json")
    assert done.json["cases"][0]["planned"] == 4
    assert sorted(attempt["attempt"] for attempt in repo.attempts()) == [1, 2, 3, 4]


def test_a_dry_run_runs_nothing(repo: Repo) -> None:
    done = repo.run("run", "--dry-run")
    assert done.code == 0
    assert "says-hello" in done.out
    assert "attempts of tier smoke" in done.out
    assert repo.runs() == []


def test_only_the_tier_asked_for_runs(repo: Repo) -> None:
    repo.case("old-bug", tier="regression")
    ids = [case["id"] for case in repo.run("run", "--tier", "regression", "--json").json["cases"]]
    assert ids == ["old-bug"]


def test_a_case_is_found_whatever_its_case(repo: Repo) -> None:
    assert repo.run("run", "--case", "SAYS-hello").code == 0


def test_an_unknown_id_is_a_usage_error_with_the_nearest_one(repo: Repo) -> None:
    done = repo.run("run", "--case", "says-helo")
    assert done.code == 2
    assert "no case 'says-helo'; did you mean 'says-hello'?" in done.err


def test_a_selection_of_nothing_is_never_good(repo: Repo) -> None:
    done = repo.run("run", "--tier", "representative")
    assert done.code == 2
    assert "nothing selected" in done.err
    assert repo.runs() == []


def test_a_misspelt_tier_is_a_usage_error(repo: Repo) -> None:
    done = repo.run("run", "--tier", "smok")
    assert done.code == 2
    assert "smoke" in done.err


def test_a_flaky_case_passes_at_the_rate_it_asks_for(repo: Repo) -> None:
    repo.agent(
        """
        import json, os, sys
        request = json.load(sys.stdin)
        counter = os.environ["COUNTER"]
        with open(counter, "a+") as file:
            file.write("x"); file.seek(0); number = len(file.read())
        json.dump({"output": "hello" if number != 2 else "what?"}, sys.stdout)
        """,
        config=f"concurrency: 1\nenv: {{set: {{COUNTER: {json.dumps(str(repo.root / 'counter'))}}}}}",
    )
    repo.case("says-hello", "schema: 1\nid: says-hello\ninput: hi\noutcome: [{contains: hello}]\nmin_pass_rate: 0.75\n")
    done = repo.run("run", "--attempts", "4", "--json")
    assert done.code == 0, done
    assert done.json["cases"][0]["passed"] == 3
    assert repo.run("run", "--attempts", "4").code == 0


def test_a_quarantined_case_runs_and_is_shown_but_does_not_gate(repo: Repo) -> None:
    repo.case("says-goodbye", FAILING + "quarantine: {reason: flaky}\n")
    done = repo.run("run")
    assert done.code == 0, done
    assert "says-goodbye" in done.out
    assert "quarantined: does not gate" in done.out


def test_the_gate_of_the_configuration_counts_cases(repo: Repo) -> None:
    repo.case("says-goodbye", FAILING)
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config + "gate: {min_pass_rate: 0.5}\n")
    assert repo.run("run").code == 0


def test_the_other_agent_can_be_asked_for(repo: Repo) -> None:
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    silent = f"  silent:\n    command: [{sys.executable}, -c, 'pass']\ndefault_agent: main\n"
    repo.write("agenteval.yaml", config + silent)
    assert repo.run("run").code == 0
    done = repo.run("run", "--agent", "silent")
    assert done.code == 1
    assert repo.run("run", "--agent", "silen").err == (
        "agenteval: no agent 'silen' in agenteval.yaml; did you mean 'silent'?\n"
    )


def test_several_agents_need_a_default(repo: Repo) -> None:
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config + "  other: {command: [sh]}\n")
    done = repo.run("run")
    assert done.code == 2
    assert "no default_agent; name one of main, other with --agent" in done.err


def test_a_run_knows_where_it_came_from(repo: Repo) -> None:
    commit = repo.commit()
    repo.run("run")
    record = json.loads((repo.runs()[-1] / "run.json").read_text(encoding="utf-8"))
    assert record["git"] == {"commit": commit, "branch": "main", "dirty": False}
    assert record["status"] == "finished"
    assert record["agents"][0]["command"] == [sys.executable, "agent.py"]
    assert record["counts"] == {"passed": 1}


@pytest.mark.parametrize("state", ["no git", "no commit", "detached", "dirty"])
def test_a_run_works_in_every_state_of_git(repo: Repo, state: str) -> None:
    if state == "no commit":
        repo.git("init", "--quiet")
    elif state != "no git":
        repo.commit()
    if state == "detached":
        repo.git("checkout", "--quiet", "--detach")
    if state == "dirty":
        repo.case("untracked")
    done = repo.run("run", "--json")
    assert done.code == 0, done
    git = done.json["git"]
    assert (git["commit"] is None) == (state in ("no git", "no commit"))
    assert (git["branch"] is None) == (state in ("no git", "detached"))
    assert git["dirty"] == {"no git": None, "no commit": True, "detached": False, "dirty": True}[state]


def test_a_subfolder_is_as_good_as_the_root(repo: Repo) -> None:
    assert repo.run("run", cwd=repo.root / "cases").code == 0
    assert repo.run("run", "-C", str(repo.root), cwd=repo.root.parent).code == 0


def test_a_simulated_user_that_nobody_plays_is_refused(repo: Repo) -> None:
    simulated = "schema: 1\nid: simulated\nsimulation: {user_prompt: Be angry.}\noutcome: [{contains: h}]\n"
    repo.case("simulated", simulated)
    done = repo.run("run")
    assert done.code == 2
    assert "simulated: nobody plays its simulated user; name who does under users in agenteval.yaml" in done.err
    assert repo.run("run", "--case", "says-hello").code == 0


def test_a_text_agent_is_not_given_a_conversation_it_would_not_see(repo: Repo) -> None:
    repo.agent(config="protocol: text")
    repo.case("remembers", "schema: 1\nid: remembers\nsystem_prompt: Be kind.\ninput: hi\noutcome: [{contains: h}]\n")
    done = repo.run("run")
    assert done.code == 2
    assert "system_prompt: agent 'main' would not see it" in done.err


def test_a_broken_file_stops_a_run_but_not_one_of_another_case(repo: Repo) -> None:
    repo.case("broken", "schema: 1\nid: broken\ninput: [\n")
    done = repo.run("run")
    assert done.code == 2
    assert "cases/broken.yaml:4:1" in done.err
    assert repo.runs() == []
    assert repo.run("run", "--case", "says-hello").code == 0


def test_two_runs_at_once_keep_apart(repo: Repo) -> None:
    started = [repo.start("run", "--json") for _ in range(3)]
    ids = {json.loads(process.communicate(timeout=60)[0])["run"] for process in started}
    assert len(ids) == 3
    assert len(repo.runs()) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--against", "latest"], "give --confirm N too"),
        (["--ignore", "id"], "--ignore is for --record-tools"),
        (["--confirm", "3", "--record-tools", "cat"], "leave one out"),
        (["--sample", "1", "--shard", "1/2"], "needs a --seed"),
    ],
)
def test_an_option_that_would_say_nothing_is_refused(repo: Repo, options: list[str], said: str) -> None:
    done = repo.run("run", *options)
    assert (done.code, said in done.err, repo.runs()) == (2, True, [])
