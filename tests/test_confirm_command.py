"""`agenteval run --confirm`: what fell is tried again on both sides, and the fresh attempts alone decide."""

from __future__ import annotations

import json
import sys

import pytest
from conftest import Repo

# Answers "hello", but where the word is asked for in the case: then "goodbye", or that only in the first attempt of all.
AGENT = """
import json, pathlib, sys
request = json.load(sys.stdin)
asked = request["input"]
seen = pathlib.Path("MARK" + asked)
first = not seen.exists()
seen.touch()
word = "goodbye" if ("broken" in asked and BROKEN) or ("unlucky" in asked and BROKEN and first) else "hello"
json.dump({"output": word, "tool_calls": []}, sys.stdout)
"""
CASE = "schema: 1\nid: {id}\ntier: smoke\ninput: {id}\noutcome: [{contains: hello}]\n"


@pytest.fixture
def two(repo: Repo) -> Repo:
    """Two commits of an agent, the first of which has run: the second breaks one case and fails another one once."""
    for name in ("broken", "unlucky", "steady"):
        repo.case(name, CASE)
    agent(repo, broken=False)
    repo.commit("good")
    assert repo.run("run").code == 0
    agent(repo, broken=True)
    repo.commit("bad")
    return repo


def agent(repo: Repo, *, broken: bool) -> None:
    marks = repo.root.parent / "marks"
    marks.mkdir(exist_ok=True)
    repo.agent(AGENT.replace("MARK", f"{marks}/").replace("BROKEN", str(broken)))
    for mark in marks.iterdir():
        mark.unlink()


@pytest.mark.slow
def test_fresh_attempts_of_both_agents_tell_a_real_break_from_bad_luck(two: Repo) -> None:
    done = two.run("run", "--confirm", "8")
    assert done.code == 1
    assert "broken fresh attempts 8/8 → 0/8" in done.out
    assert "broken fresh attempts 8/8 → 0/8, q 0.000: confirmed" in done.out
    assert "unlucky fresh attempts 4/4 → 4/4, q 1.000: within noise" in done.out
    assert "steady" not in done.out
    compared = two.run("diff", "--gate", "significant", "--json")
    assert compared.code == 1
    assert compared.json["gate"]["failed"] == ["broken"]
    cases = {case["id"]: case for case in compared.json["diff"]["cases"]}
    assert (cases["unlucky"]["class"], cases["unlucky"]["evidence"]) == ("broke", "within_noise")
    assert cases["broken"]["fresh"]["base_passed"] == cases["broken"]["fresh"]["base_graded"] == 8


@pytest.mark.slow
def test_fresh_attempts_are_runs_of_their_own_that_nobody_takes_for_the_latest(two: Repo) -> None:
    two.run("run", "--confirm", "8")
    records = [json.loads((run / "run.json").read_text(encoding="utf-8")) for run in two.runs()]
    base, head, again_base, again_head = records
    assert again_base["git"]["commit"] == base["git"]["commit"] != again_head["git"]["commit"]
    assert head["confirmed_by"] == [again_base["id"], again_head["id"]]
    assert again_head["confirms"] == {"base": base["id"], "head": head["id"], "attempts": 8}
    shown = two.run("diff", "--json").json["diff"]
    assert (shown["base"], shown["head"]) == (base["id"], head["id"])


def test_the_checkout_is_not_touched(two: Repo) -> None:
    before = two.git("status", "--porcelain"), two.git("rev-parse", "HEAD"), two.git("worktree", "list")
    two.run("run", "--confirm", "8")
    assert (two.git("status", "--porcelain"), two.git("rev-parse", "HEAD"), two.git("worktree", "list")) == before
    assert list((two.root / ".agenteval" / "worktrees").iterdir()) == []


def test_where_nothing_fell_nothing_is_run(two: Repo) -> None:
    agent(two, broken=False)
    done = two.run("run", "--confirm", "8")
    assert done.code == 0
    assert "nothing to confirm" in done.err
    assert len(two.runs()) == 2


def test_a_base_with_uncommitted_changes_cannot_be_run_again(repo: Repo) -> None:
    repo.case("broken", CASE)
    repo.commit()
    agent(repo, broken=False)
    repo.run("run")
    agent(repo, broken=True)
    done = repo.run("run", "--confirm", "8")
    assert done.code == 2
    assert "was made with uncommitted changes, so it cannot be had again" in done.err
    again = repo.run("run", "--confirm", "8", "--against", repo.runs()[0].name, "--json")
    assert (again.code, again.json["verdict"]) == (2, "failed")
    assert "was made with uncommitted changes" in again.err


def test_two_agents_of_the_working_tree_are_confirmed_without_a_commit(repo: Repo) -> None:
    repo.case("broken", CASE)
    agent(repo, broken=False)
    repo.write("other.py", (repo.root / "agent.py").read_text(encoding="utf-8").replace("hello", "goodbye"))
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", f"{config}  other:\n    command: [{sys.executable}, other.py]\ndefault_agent: main\n")
    repo.run("run")
    done = repo.run("run", "--agent", "other", "--confirm", "8")
    assert "broken fresh attempts 8/8 → 0/8" in done.out


def test_too_few_attempts_to_confirm_anything_are_told_with_how_many_would_do(two: Repo) -> None:
    done = two.run("run", "--confirm", "2")
    assert "so few can confirm nothing: from 4 on a fall from all to none among 2 cases is confirmed" in done.err


NEEDS_WORDS = """
import json, pathlib, sys
words = pathlib.Path(__file__).parent / ".agenteval" / "words.txt"
json.dump({"output": words.read_text(), "tool_calls": []}, sys.stdout)
"""


def test_a_base_that_needs_more_than_git_has_is_prepared(repo: Repo) -> None:
    for words, comment in (("hello", "# 1\n"), ("goodbye", "# 2\n")):
        repo.agent(NEEDS_WORDS + comment)
        repo.commit(words)
        repo.write(".agenteval/words.txt", words)
        if words == "hello":
            assert repo.run("run").code == 0
    prepare = "mkdir .agenteval; printf hello > .agenteval/words.txt; echo prepared"
    done = repo.run("run", "--confirm", "8", "--prepare", prepare)
    assert done.code == 1, done
    assert "says-hello fresh attempts 8/8 → 0/8" in done.out
    assert "prepared" in done.err
    assert (repo.root / ".agenteval" / "words.txt").read_text() == "goodbye", "the checkout is not prepared"
    done = repo.run("run", "--confirm", "8", "--against", "previous", "--prepare", "exit 7")
    assert done.code == 3, done
    assert "--prepare ended with 7 at" in done.err
    assert len(repo.git("worktree", "list").splitlines()) == 1


def test_to_prepare_is_a_part_of_confirming(repo: Repo) -> None:
    done = repo.run("run", "--prepare", "true")
    assert done.code == 2
    assert done.err == "agenteval: --prepare says how to --confirm; give --confirm N too, or leave it out\n"
