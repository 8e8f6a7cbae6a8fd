"""`agenteval bisect`: the commit that broke a case, found on real history without touching the checkout."""

from __future__ import annotations

import random
import signal

import pytest
from conftest import Repo
from desk import until
from test_contracts import output_schema

from agenteval_cli.bisecting import AT_ONCE, BAD, GOOD, Ends, are_apart, error_of, side_of, steps_for

SAYS = """
import json, sys
json.dump({"output": "WORD", "tool_calls": []}, sys.stdout)
"""


@pytest.fixture
def seven(repo: Repo) -> Repo:
    """Seven commits, tagged c1 to c7; from c5 on the agent has forgotten its greeting, and at c4 it is not configured."""
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    for number in range(1, 8):
        repo.write("agent.py", SAYS.replace("WORD", "hello" if number < 5 else "goodbye") + f"# {number}\n")
        repo.write("agenteval.yaml", "schema: 1\nagents: {}\n" if number == 4 else config)
        repo.commit(f"change {number}")
        repo.git("tag", f"c{number}")
    return repo


@pytest.mark.slow
def test_the_commit_is_found_and_nothing_of_the_checkout_is_touched(seven: Repo) -> None:
    seven.write("scratch.txt", "mine")
    before = seven.git("status", "--porcelain"), seven.git("rev-parse", "HEAD")
    done = seven.run("bisect", "says-hello", "--good", "c4~1", "--bad", "c7", "--json")
    assert done.code == 3, done  # c4 cannot run, so it may have been c4 or c5
    output_schema("bisect").validate(done.json)
    assert {each["subject"] for each in done.json["bisection"]["suspects"]} == {"change 4", "change 5"}
    done = seven.run("bisect", "SAYS-hello", "--good", "c1", "--bad", "c3")
    assert done.code == 3
    assert "may be chance" in done.err
    assert (seven.git("status", "--porcelain"), seven.git("rev-parse", "HEAD")) == before
    assert len(seven.git("worktree", "list").splitlines()) == 1
    assert seven.runs() == []


@pytest.mark.slow
def test_one_commit_is_named_where_all_can_run(seven: Repo) -> None:
    seven.git("checkout", "--quiet", "-b", "mended", "c3")
    for number in range(4, 8):
        seven.write("agent.py", SAYS.replace("WORD", "hello" if number < 6 else "goodbye") + f"# {number}\n")
        seven.commit(f"mended {number}")
    done = seven.run("bisect", "says-hello", "--good", "c1")
    assert done.code == 0, done
    assert done.out.strip().endswith("mended 6")
    assert "with a confidence of 95.0%" in done.err


@pytest.mark.slow
def test_a_commit_is_prepared_and_skipped_where_that_fails(seven: Repo) -> None:
    seven.git("checkout", "--quiet", "-b", "built", "c3")
    built = SAYS.replace('"WORD"', 'open(__file__.replace("agent.py", "word")).read()')
    for number in range(4, 8):
        seven.write("agent.py", built + f"# {number}\n")
        seven.write(
            "build.sh", "exit 9\n" if number == 6 else f"printf {'hello' if number < 5 else 'goodbye'} > word\n"
        )
        seven.commit(f"built {number}")
    done = seven.run(
        "bisect", "says-hello", "--good", "HEAD~3", "--bad", "HEAD", "--prepare", "sh ./build.sh", "--json"
    )
    assert done.code == 0, done
    assert [each["subject"] for each in done.json["bisection"]["suspects"]] == ["built 5"]
    done = seven.run("bisect", "says-hello", "--good", "HEAD~3", "--bad", "HEAD~1", "--prepare", "sh ./build.sh")
    assert done.code == 3, done
    assert "--prepare ended with 9 at" in done.err
    assert len(seven.git("worktree", "list").splitlines()) == 1


def test_what_a_killed_bisect_left_is_gone_with_the_next_one(seven: Repo) -> None:
    trees = seven.root / ".agenteval" / "worktrees"
    waits = ["bisect", "says-hello", "--good", "c1", "--bad", "c3", "--prepare", "sleep 60"]
    with seven.start(*waits) as first, seven.start(*waits) as living:
        until(lambda: len(list(trees.glob("*/agent.py"))) == 2)
        first.kill()
        first.wait()
        assert seven.run("bisect", "says-hello", "--good", "c1", "--bad", "c3", "--prepare", "exit 1").code == 3
        assert len(list(trees.glob("*/agent.py"))) == 1, "that of the living one stays"
        living.send_signal(signal.SIGINT)
        living.wait()
    assert list(trees.iterdir()) == []
    assert len(seven.git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["says-hello", "--good", "nowhere"], "'nowhere' names no commit"),
        (["says-hello", "--good", "c7", "--bad", "c1"], "is not before"),
        (["says-helo", "--good", "c1"], "did you mean 'says-hello'"),
    ],
)
def test_what_is_asked_wrongly_is_said(seven: Repo, arguments: list[str], told: str) -> None:
    done = seven.run("bisect", *arguments)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize(("commits", "steps"), [(1, 0), (2, 1), (3, 2), (8, 3), (9, 4)])
def test_steps_are_the_halvings(commits: int, steps: int) -> None:
    assert steps_for(commits) == steps


@pytest.mark.parametrize("rates", [(1.0, 0.0), (0.95, 0.3), (0.9, 0.5)])
def test_the_commit_found_is_the_right_one_as_often_as_is_said(rates: tuple[float, float]) -> None:
    """Of 400 bisections of 16 commits that came to an end, with the break anywhere, at most 5 % name another."""
    dice = random.Random(7)
    wrong = ended = 0
    for _ in range(400):
        broken_at = dice.randrange(1, 17)  # commit 0 is the good end, 16 the bad one
        found = _bisected(rates, broken_at, dice)
        ended += found is not None
        wrong += found not in (None, broken_at)
    assert ended > 300
    assert wrong / ended <= 0.05


def _bisected(rates: tuple[float, float], broken_at: int, dice: random.Random, most: int = 60) -> int | None:
    """The commit that the rule finds among 16; None where it does not dare to say."""

    def more(commit: int, counts: tuple[int, int]) -> tuple[int, int]:
        rate = rates[commit >= broken_at]
        return counts[0] + sum(dice.random() < rate for _ in range(AT_ONCE)), counts[1] + AT_ONCE

    ends = Ends((0, 0), (0, 0), error_of(0.95, 16))
    while not are_apart(ends, most):
        if ends.good[1] >= most:
            return None
        ends = Ends(more(0, ends.good), more(16, ends.bad), ends.error)
    low, high = 0, 16
    while high - low > 1:
        middle, counts, said = (low + high) // 2, (0, 0), None
        while said is None:
            if counts[1] >= most:
                return None
            counts = more(middle, counts)
            said = side_of(counts, ends)
        low, high = (middle, high) if said == GOOD else (low, middle)
        assert said in (GOOD, BAD)
    return high
