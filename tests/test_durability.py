"""Fault injection: the tool is killed at random moments, again and again, and whatever had ended is there, once."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import AGENTEVAL, Repo
from desk import processes_with, until

from agenteval_cli.records import FINISHED
from agenteval_cli.statuses import GRADED
from agenteval_cli.store import is_being_written, read_run, read_transcript
from agenteval_cli.summary import summary_of

CASES, ATTEMPTS = 60, 5
PARTS = ("run.json", "attempts.jsonl", "transcripts.jsonl")

# One process answers many requests, each after a moment, so that there is a middle to be killed in.
SLOW_LINES = """
while read -r line; do
  sleep 0.05
  case "$line" in *crash*) exit 3;; *fail*) echo '{"output": "goodbye"}';; *) echo '{"output": "hello"}';; esac
done
"""

# A process for each request, which leaves a grandchild behind and files in its folder.
SLOW_PROCESS = """
cat > request.json
sleep 60 &
sleep 0.05
case "$(cat request.json)" in *crash*) exit 3;; *fail*) echo '{"output": "goodbye"}';; *) echo '{"output": "hello"}';; esac
"""


def prepared(repo: Repo, program: str, protocol: str) -> None:
    """Sixty cases: most pass, some fail, some crash the agent."""
    for path in (repo.root / "cases").glob("*.yaml"):
        path.unlink()
    for number in range(CASES):
        word = "crash" if number % 20 == 7 else "fail" if number % 10 == 3 else "greet"
        text = f"schema: 1\nid: case-{number}\ntier: smoke\nattempts: {ATTEMPTS}\ninput: '{word} {number}'\n"
        repo.case(f"case-{number}", text + "outcome: [{contains: hello}]\n")
    repo.write("agent.sh", program)
    repo.write(
        "agenteval.yaml",
        "schema: 1\nagents:\n"
        f"  main: {{command: [sh, agent.sh], protocol: {protocol}, concurrency: 8, env: {{set: {{OURS: '{repo.root}'}}}}}}\n",
    )


class Victim:
    """A run that is started, killed and gone on with, and what it told before each death."""

    def __init__(self, repo: Repo, dice: random.Random) -> None:
        self.repo = repo
        self.dice = dice
        self.told: Counter[str] = Counter()
        self.scratch = repo.root.parent / "scratch"
        self.scratch.mkdir()
        self.log = repo.root.parent / "told"
        self.deaths = 0

    @property
    def run(self) -> Path | None:
        """The run; None before it has begun. A folder that was made, and nothing more, is no run yet."""
        for folder in self.repo.runs():
            if (folder / "run.json").exists():
                return folder
            assert not (folder / "attempts.jsonl").exists() or not (folder / "attempts.jsonl").read_bytes()
            shutil.rmtree(folder)
        return None

    def lives(self, longest: float) -> bool:
        """One life of the tool, of a random length; False where it came to its end before."""
        words = ["run", "--verbose", *(("--resume", self.run.name) if self.run else ())]
        with self.log.open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [str(AGENTEVAL), *words],
                cwd=self.repo.root,
                env={**self.repo.env, "TMPDIR": str(self.scratch)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
            try:
                code = process.wait(timeout=self.dice.uniform(0.02, longest))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                self.deaths += 1
                return True
        assert code in (0, 1), (code, self.log.read_text(encoding="utf-8"))
        return False

    def tells_the_truth(self) -> None:
        """What was told is on disk, nothing is there twice, and the outcomes add up."""
        if self.run is None:
            return
        stored = read_run(self.run)
        raw = (self.run / "attempts.jsonl").read_bytes()
        assert raw.count(b"\n") == len(stored.attempts), "each line is a record but one that was cut off"
        said = [line for line in self.log.read_text(encoding="utf-8").splitlines() if line.startswith("case-")]
        self.told.update(" ".join(line.split()[:3]).rstrip(":") for line in said)
        kept = Counter(f"{each.case} #{each.attempt} {each.status}" for each in stored.attempts)
        assert set(self.told) <= set(kept), "what was told is on disk"
        graded = Counter((each.case, each.attempt) for each in stored.attempts if each.status in GRADED)
        assert set(graded.values()) <= {1}, "nothing is there twice"
        summary = summary_of(stored.record, stored.attempts)
        assert sum(summary.statuses.values()) == summary.planned == CASES * ATTEMPTS
        assert summary.graded == len(graded)
        for attempt in stored.attempts:
            transcript = read_transcript(stored, attempt)
            assert (transcript.case, transcript.attempt) == (attempt.case, attempt.attempt)
            assert transcript.request["input"].split()[1] == attempt.case.removeprefix("case-")

    def leaves_nothing(self) -> None:
        """No agent and no folder of an attempt is left a moment after a death."""
        until(lambda: not list(self.scratch.iterdir()), 5.0)
        if Path("/proc/self/environ").exists():
            until(lambda: not processes_with(f"OURS={self.repo.root}"), 5.0)
        if run := self.run:
            until(lambda: not is_being_written(run), 5.0)


def killed_again_and_again(repo: Repo, deaths: int, longest: float, seed: int) -> None:
    victim = Victim(repo, random.Random(seed))
    while victim.deaths < deaths:
        died = victim.lives(longest)
        if died:
            victim.leaves_nothing()
        victim.tells_the_truth()
        if victim.run and (not died or read_run(victim.run).record.status == FINISHED):  # it may die of old age
            victim.run.rename(repo.root.parent / victim.run.name)  # another run, until there have been enough deaths
            victim.told.clear()
    finish(repo, victim)


def finish(repo: Repo, victim: Victim) -> None:
    """What is left runs in one go; the whole is what a run without deaths would be."""
    going_on = ("--resume", victim.run.name) if victim.run else ()
    done = repo.run("run", "--json", *going_on, TMPDIR=str(victim.scratch))
    assert done.code == 1, done
    crashing, failing = CASES // 20 * ATTEMPTS, CASES // 10 * ATTEMPTS
    expected = {"passed": CASES * ATTEMPTS - crashing - failing, "failed": failing, "agent_error": crashing}
    assert done.json["attempts"]["by_status"] == expected
    victim.leaves_nothing()
    stored = read_run(repo.runs()[-1])
    assert [path.name for path in repo.runs()[-1].iterdir() if path.name not in PARTS] == []
    graded = Counter((each.case, each.attempt) for each in stored.attempts if each.status in GRADED)
    assert (len(graded), set(graded.values())) == (CASES * ATTEMPTS, {1})


@pytest.mark.slow
@pytest.mark.parametrize(("program", "protocol"), [(SLOW_LINES, "jsonl"), (SLOW_PROCESS, "json")])
def test_a_tool_that_is_killed_at_random_moments_loses_nothing(repo: Repo, program: str, protocol: str) -> None:
    prepared(repo, program, protocol)
    killed_again_and_again(repo, deaths=8, longest=0.8, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize(("program", "protocol"), [(SLOW_LINES, "jsonl"), (SLOW_PROCESS, "json")])
def test_a_tool_that_is_killed_a_hundred_times_loses_nothing(repo: Repo, program: str, protocol: str) -> None:
    prepared(repo, program, protocol)
    killed_again_and_again(repo, deaths=100, longest=0.4, seed=int(os.environ.get("SEED", "11")))
    assert json.loads((repo.runs()[-1] / "run.json").read_text(encoding="utf-8"))["status"] == "finished"


# A watcher with a bug: it breaks down over the last case, when the two before it have ended and wait to be written.
BROKEN_WATCHER = """
import os, sys, threading, time
from pathlib import Path
from agenteval_cli.ordering import Wishes, new_order
from agenteval_cli.repository import load, open_repository
from agenteval_cli.runner import run

class Watcher:
    broke = threading.Event()
    def start(self, record): pass
    def note(self, text): pass
    def close(self): pass
    def began(self, case, number, agent):
        if case == "d-last":
            self.broke.set()
            raise ZeroDivisionError(case)
    def attempt(self, record):
        print(record.case, flush=True)
        assert self.broke.wait(20)
        time.sleep(0.1)

repository = open_repository(Path.cwd())
loaded = load(repository)
run(new_order(repository, loaded, loaded.cases, Wishes(seed=1, concurrency=1), os.environ), Watcher())
"""


def test_a_bug_of_ours_in_one_attempt_loses_none_that_had_ended(repo: Repo) -> None:
    (repo.root / "cases" / "says-hello.yaml").unlink()
    for case in ("a-first", "b-second", "c-third", "d-last"):
        repo.case(case)
    done = repo.program(sys.executable, "-c", BROKEN_WATCHER)
    assert "ZeroDivisionError: d-last" in done.err, done
    assert done.out.split() == [each["case"] for each in repo.attempts()] == ["a-first", "b-second", "c-third"]
    assert repo.run("run", "--resume", "latest").code == 0
    assert len(repo.attempts()) == 4
