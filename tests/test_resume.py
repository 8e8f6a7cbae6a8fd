"""Runs that are stopped in the middle and gone on with: nothing finished is lost, nothing is counted twice."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build import run as run_of
from build import tried
from conftest import AGENTEVAL, Done, Repo
from desk import CASE, ENDLESS, Desk, cases, processes_with, somebody_waits, until, written
from jsonschema import Draft202012Validator
from judge_programs import LAST_WORD

from agenteval_cli import schemas
from agenteval_cli.errors import UsageError
from agenteval_cli.records import ATTEMPT_FORMAT, RUN_FORMAT
from agenteval_cli.run_writer import RunWriter
from agenteval_cli.runner import begun_again
from agenteval_cli.store import is_being_written, new_run_id, read_run
from agenteval_cli.summary import summary_of

ALL = 8  # four cases, two attempts each


@pytest.fixture
def desk(repo: Repo) -> Iterator[Desk]:
    """Four cases of two attempts each, and an agent that answers three calls."""
    cases(repo, 4)
    made = Desk(repo)
    made.answers(3)
    yield made
    made.answers(ENDLESS)


def stopped(repo: Repo, number: signal.Signals, *arguments: str, after: int = 3) -> Done:
    """A run, stopped by a signal once so many attempts are on disk and one more is waiting for its answer."""
    process = repo.start("run", "-j", "1", *arguments)
    try:
        until(lambda: process.poll() is not None or (repo.runs() and written(repo.runs()[-1]) == after))
        until(lambda: process.poll() is not None or somebody_waits(repo.root.parent / "desk"))
        assert process.poll() is None, process.communicate()
        process.send_signal(number)
    except BaseException:
        process.kill()
        raise
    finally:
        out, err = process.communicate(timeout=30)
    return Done(subprocess.CompletedProcess([], process.wait(), out, err))


def graded(repo: Repo) -> Counter[tuple[str, int]]:
    """How many graded records each attempt of the newest run has."""
    return Counter((each["case"], each["attempt"]) for each in repo.attempts() if each["status"] == "passed")


def record(repo: Repo) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repo.runs()[-1] / "run.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_was_stopped_is_gone_on_with_where_it_was(repo: Repo, desk: Desk, how: signal.Signals) -> None:
    """A killed run is interrupted, not running for ever; nothing of it is lost and only the rest runs."""
    was = stopped(repo, how)
    assert was.code == (-signal.SIGKILL if how == signal.SIGKILL else 130), was
    run = repo.runs()[-1]
    if how != signal.SIGKILL:
        assert f"agenteval run --resume {run.name}" in was.err
    assert repo.run("runs", "list", "--json").json["runs"][0]["status"] == "interrupted"
    assert [line.split()[1] for line in repo.run("runs", "list").out.splitlines()[1:]] == ["interrupted"]
    assert repo.run("diff", "latest", "latest").code == 2, "it is not finished, so it is not the latest"

    desk.forget()
    desk.answers(ENDLESS)
    done = repo.run("run", "--resume", "latest", "--json")
    assert done.code == 0, done
    assert len(desk.calls) == ALL - 3
    assert done.json["attempts"] == {"passed": ALL, "graded": ALL, "planned": ALL, "by_status": {"passed": ALL}}
    assert done.json["run"] == run.name
    assert set(graded(repo).values()) == {1}
    assert len(repo.runs()) == 1
    assert record(repo)["counts"] == {"passed": ALL}
    assert len(record(repo)["resumed_at"]) == 1


def test_what_was_on_when_a_run_was_interrupted_is_kept_as_cancelled_and_runs_again(repo: Repo, desk: Desk) -> None:
    assert stopped(repo, signal.SIGINT).code == 130
    assert Counter(each["status"] for each in repo.attempts()) == {"passed": 3, "cancelled": 1}
    assert record(repo)["counts"] == {"passed": 3, "cancelled": 5}
    desk.answers(ENDLESS)
    assert repo.run("run", "--resume", "latest").code == 0
    assert Counter(each["status"] for each in repo.attempts()) == {"passed": ALL, "cancelled": 1}
    assert record(repo)["counts"] == {"passed": ALL}


def test_what_was_cancelled_and_then_passed_is_shown_as_passed_and_grading_again_changes_nothing(
    repo: Repo, desk: Desk
) -> None:
    stopped(repo, signal.SIGINT)
    (cancelled,) = (each for each in repo.attempts() if each["status"] == "cancelled")
    desk.answers(ENDLESS)
    assert repo.run("run", "--resume", "latest").code == 0
    shown = repo.run("show", cancelled["case"], "--run", "latest").out
    assert "the run was stopped before the agent answered" not in shown.partition("\n\n")[2]
    asked_for = repo.run("show", cancelled["case"], "--run", "latest", "--attempt", str(cancelled["attempt"])).out
    assert f"{cancelled['case']} #{cancelled['attempt']} passed" in asked_for
    assert repo.run("grade", "--run", "latest", "--json").json["changed"] == []


def test_a_second_resume_sees_the_work_of_the_first(repo: Repo, desk: Desk) -> None:
    stopped(repo, signal.SIGKILL)
    desk.answers(len(desk.calls) + 2)
    before = len(desk.calls)
    stopped(repo, signal.SIGKILL, "--resume", "latest", after=5)
    assert len(desk.calls) == before + 3
    desk.forget()
    desk.answers(ENDLESS)
    assert repo.run("run", "--resume", "latest").code == 0
    assert len(desk.calls) == ALL - 5
    assert set(graded(repo).values()) == {1}
    assert len(record(repo)["resumed_at"]) == 2
    done = repo.run("run", "--resume", "latest")
    assert done.code == 2
    assert "is finished; there is nothing to go on with" in done.err


@pytest.mark.slow
def test_there_is_nothing_to_go_on_with_where_there_is_no_run(repo: Repo) -> None:
    for name in ("latest", "20261130T101112.123456Z-4f2a"):
        assert repo.run("run", "--resume", name).code == 2
    assert repo.runs() == []


def test_a_run_that_was_copied_elsewhere_is_gone_on_with_where_runs_are(repo: Repo, desk: Desk) -> None:
    stopped(repo, signal.SIGKILL)
    (run,) = repo.runs()
    there = run.rename(repo.root.parent / run.name)
    done = repo.run("run", "--resume", str(there))
    assert (done.code, f"move that folder to {run}" in done.err) == (2, True), done
    assert (written(there), repo.runs()) == (3, [])


def test_the_plan_of_a_run_that_is_gone_on_with_is_its_own(repo: Repo, desk: Desk) -> None:
    stopped(repo, signal.SIGKILL)
    done = repo.run("run", "--resume", "latest", "--seed", "0")
    assert done.code == 2
    assert "--resume goes on with the run's own plan; leave out --seed\n" in done.err
    picks = ("tier=smoke", "case=x", "tag=x", "owner=x", "where=a=b", "failed=x", "changed=HEAD", "sample=1")
    given = (*picks, "shard=1/2", "agent=main", "attempts=3", "since=latest", "seed=1")
    done = repo.run("run", "--resume", "latest", *(f"--{option}" for option in given))
    assert done.code == 2
    assert "leave out " + ", ".join(f"--{option.partition('=')[0]}" for option in given) in done.err
    assert len(desk.calls) == 4


def test_the_dry_run_of_a_resume_says_how_much_is_left(repo: Repo, desk: Desk) -> None:
    stopped(repo, signal.SIGKILL)
    done = repo.run("run", "--resume", "latest", "--dry-run", "--json")
    assert (done.json["kept"], done.json["to_run"], done.json["attempts"]) == (3, 5, ALL)
    assert len(desk.calls) == 4


CHANGES = {
    "input": ("cases/case-2.yaml", "input: hello", "input: good hello", "case-2: what the agent gets has changed"),
    "checks": ("cases/case-3.yaml", "contains: hello", "contains: hell", "case-3: what is checked has changed"),
    "rate": ("cases/case-3.yaml", "attempts: 2", "attempts: 2\nmin_pass_rate: 0.5", "case-3: what is checked"),
    "program": ("agent.sh", "echo", "echo ", "agent 'main' has changed: its command, its settings, its pins or its"),
    "source": ("prompts/one.txt", "kind", "rude", "agent 'main' has changed"),
    "pins": ("agenteval.yaml", "model: m1", "model: m2", "agent 'main' has changed"),
    "settings": ("agenteval.yaml", "DESK:", "MORE: x, DESK:", "agent 'main' has changed"),
    "name": ("agenteval.yaml", "  main:", "  other:", "agent 'main' is not in agenteval.yaml any more"),
    "broken": ("cases/case-1.yaml", "outcome:", "outcom:", "case-1 is not there any more, or its file is not valid"),
    "id": ("cases/case-1.yaml", "id: case-1", "id: case-one", "case-1 is not there any more"),
}


@pytest.fixture
def half_done(repo: Repo, desk: Desk) -> Path:
    """A run of an agent with sources and pins, killed after three of its attempts."""
    desk.works_by((repo.root / "agent.sh").read_text(encoding="utf-8"), config="pins: {model: m1}\nsource: [prompts]")
    repo.write("prompts/one.txt", "Be kind.\n")
    stopped(repo, signal.SIGKILL)
    return repo.runs()[-1]


@pytest.mark.slow
def test_a_change_of_a_case_or_of_the_agent_is_refused_by_name(repo: Repo, desk: Desk, half_done: Path) -> None:
    desk.forget()
    for file, old, new, said in CHANGES.values():
        text = (repo.root / file).read_text(encoding="utf-8")
        assert old in text
        repo.write(file, text.replace(old, new, 1))
        done = repo.run("run", "--resume", "latest")
        assert (done.code, said in done.err) == (2, True), done
        assert f"with --since {half_done.name} it keeps what still holds" in done.err
        repo.write(file, text)
    assert desk.calls == []
    assert written(half_done) == 3


@pytest.mark.slow
def test_a_run_is_not_gone_on_with_by_another_judge(repo: Repo) -> None:
    repo.agent(config="protocol: json")
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", f"{config}judges:\n  default: {{command: [{sys.executable}, judge.py]}}\n")
    repo.write("judge.py", LAST_WORD)
    repo.case("says-hello", CASE + "criteria: [It says hello.]\n")
    assert repo.run("run", "--budget-time", "0s").code == 3
    repo.write("judge.py", LAST_WORD + "# another\n")
    done = repo.run("run", "--resume", "latest")
    assert (done.code, "judge 'default' has changed" in done.err) == (2, True), done
    repo.write("judge.py", LAST_WORD)
    assert repo.run("run", "--resume", "latest").code == 0


def test_every_change_is_named_at_once(repo: Repo, half_done: Path) -> None:
    (repo.root / "cases/case-4.yaml").unlink()
    repo.case("case-1", CASE.replace("hello", "good hello"))
    repo.write("agent.sh", "cat\n")
    done = repo.run("run", "--resume", half_done.name)
    assert done.code == 2
    for name in ("agent 'main' has changed", "case-4 is not there any more", "case-1: what the agent gets"):
        assert name in done.err


def test_what_changes_nothing_for_the_run_does_not_stand_in_its_way(repo: Repo, desk: Desk, half_done: Path) -> None:
    repo.case("case-1", CASE + "title: A better title\nnotes: some\n")
    repo.case("case-5", CASE)
    repo.write("README.md", "more")
    desk.answers(ENDLESS)
    done = repo.run("run", "--resume", half_done.name, "--json")
    assert (done.code, done.json["attempts"]["planned"]) == (0, ALL), done


def test_a_run_of_other_checks_of_the_tool_is_not_gone_on_with(repo: Repo, half_done: Path) -> None:
    edited(half_done, grading=99)
    done = repo.run("run", "--resume", "latest")
    assert done.code == 2
    assert "the checks of this version of agenteval do not mean what those of the run meant" in done.err


def edited(run: Path, **changes: Any) -> None:
    path = run / "run.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**facts, **changes}), encoding="utf-8")


@pytest.mark.parametrize(("name", "cut"), [("attempts.jsonl", 1), ("attempts.jsonl", 200), ("transcripts.jsonl", 40)])
def test_a_last_line_that_was_cut_is_as_if_it_had_never_been_begun(repo: Repo, desk: Desk, name: str, cut: int) -> None:
    """The last record cut in half."""
    stopped(repo, signal.SIGKILL)
    run = repo.runs()[-1]
    if name == "attempts.jsonl":
        os.truncate(run / name, (run / name).stat().st_size - cut)
        left = 2
    else:  # the transcript of the attempt that was on, whose line in attempts.jsonl was not written yet
        with (run / name).open("ab") as file:
            file.write(b'{"format":2,"case":"case-4","attempt":1,"request":{"protocol":1,"inp'[:cut])
        left = 3
    assert repo.run("show", "case-1", "--run", run.name).code == 0
    desk.forget()
    desk.answers(ENDLESS)
    done = repo.run("run", "--resume", "latest", "--json")
    assert (done.code, done.json["attempts"]["by_status"]) == (0, {"passed": ALL}), done
    assert ("was cut off and is ignored; its attempt runs again" in done.err) == (left == 2)
    assert len(desk.calls) == ALL - left
    stored = read_run(run)
    assert stored.torn_lines == 0
    for attempt in repo.attempts():
        place = attempt["transcript"]
        raw = (run / "transcripts.jsonl").read_bytes()[place["offset"] :][: place["length"]]
        assert (json.loads(raw)["case"], json.loads(raw)["attempt"]) == (attempt["case"], attempt["attempt"])


@pytest.mark.slow
def test_only_one_process_writes_a_run(repo: Repo, desk: Desk) -> None:
    stopped(repo, signal.SIGKILL)
    desk.answers(len(desk.calls) + 1)
    first = repo.start("run", "-j", "1", "--resume", "latest")
    try:
        until(lambda: written(repo.runs()[-1]) == 4)
        assert repo.run("runs", "list", "--json").json["runs"][0]["status"] == "running"
        second = repo.run("run", "--resume", "latest")
        assert second.code == 2
        assert "is being written by another process; wait until that has ended" in second.err
    finally:
        desk.answers(ENDLESS)
        assert first.wait(timeout=30) == 0, first.communicate()
        first.communicate()
    assert set(graded(repo).values()) == {1}


def test_a_run_that_another_process_went_on_with_after_it_was_read_is_left_alone(repo: Repo, desk: Desk) -> None:
    """Two resumes at once: the second waits for the lock with a list of what is missing that is not true any more."""
    stopped(repo, signal.SIGKILL)
    run = repo.runs()[-1]
    until(lambda: not is_being_written(run))
    with pytest.raises(UsageError, match="has just been gone on with by another process"):
        RunWriter.reopen(run, 2)
    writer = RunWriter.reopen(run, 3)
    assert is_being_written(run)
    writer.close()
    assert not is_being_written(run)


def test_two_runs_at_once_do_not_mix(repo: Repo, desk: Desk) -> None:
    desk.answers(2)
    runs = [repo.start("run", "--json", "--attempts", str(attempts)) for attempts in (2, 3)]
    until(lambda: len(desk.calls) > 3)
    desk.answers(ENDLESS)
    for process, attempts in zip(runs, (2, 3), strict=True):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        run = Path(json.loads(out)["folder"])
        pairs = [(each["case"], each["attempt"]) for each in repo.attempts(run)]
        assert sorted(pairs) == [(f"case-{case}", number) for case in range(1, 5) for number in range(1, attempts + 1)]
        transcripts = (run / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
        traces = {json.loads(line)["request"]["attempt"] for line in transcripts}
        assert len(traces) == len(pairs)


# ---- a disk that is full


def long_cases(repo: Repo) -> None:
    """Cases whose transcripts soon fill a small disk."""
    cases(repo, 4, CASE.replace("hello {id}", "hello {id} " + "x" * 3000))


def test_a_full_disk_ends_the_run_and_what_is_written_is_kept(repo: Repo, desk: Desk) -> None:
    desk.answers(ENDLESS)
    long_cases(repo)
    full = repo.program("sh", "-c", 'ulimit -f 48; exec "$0" run -j 1', str(AGENTEVAL))
    kept = written(repo.runs()[-1])
    assert (full.code, 0 < kept < ALL) == (3, True), full
    said = f"cannot write the run to {repo.runs()[-1]}: File too large; {kept} finished attempts are kept there"
    assert said in full.err
    assert read_run(repo.runs()[-1]).torn_lines == 0
    desk.forget()
    assert repo.run("run", "--resume", "latest").code == 0
    assert len(desk.calls) == ALL - kept
    assert set(graded(repo).values()) == {1}


def may_mount() -> bool:
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    words = [unshare, "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_a_small_file_system_that_is_full_can_be_made_larger_and_the_run_gone_on_with(repo: Repo, desk: Desk) -> None:
    if not may_mount():
        pytest.skip("this system does not let us mount a small file system")
    desk.answers(ENDLESS)
    long_cases(repo)
    (repo.root / ".agenteval/runs").mkdir(parents=True)
    script = """
        mount -t tmpfs -o size=64k tmpfs .agenteval/runs || exit 99
        head -c 24k /dev/zero > .agenteval/runs/ballast
        "$0" run -j 1; echo "first $?"
        rm .agenteval/runs/ballast; mount -o remount,size=8m .agenteval/runs
        wc -l < "$1"; "$0" run --resume latest; echo "then $?"
        wc -l < "$1"; cp -r .agenteval/runs kept
    """
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, str(AGENTEVAL), str(desk.folder / "calls")]
    done = repo.program(*words)
    assert "No space left on device" in done.err, done
    lines = [line for line in done.out.splitlines() if re.fullmatch(r"(first|then) \d+|\d+", line)]
    assert (lines[0], lines[2]) == ("first 3", "then 0"), done
    (run,) = (path for path in (repo.root / "kept").iterdir() if path.is_dir())
    stored = read_run(run)
    assert summary_of(stored.record, stored.attempts).passed == len(stored.attempts) == ALL
    assert int(lines[3]) <= ALL + 4, "at most those that were on when nothing could be written ran twice"


# ---- clocks


def test_a_clock_that_was_set_back_does_not_mix_up_the_order_of_runs(repo: Repo, desk: Desk) -> None:
    """The last run was made when the clock was a year ahead."""
    desk.answers(ENDLESS)
    assert repo.run("run").code == 0
    ahead = (dt.datetime.now(dt.UTC) + dt.timedelta(days=365)).strftime("%Y%m%dT%H%M%S.%fZ-0001")
    before = repo.runs()[-1].rename(repo.runs()[-1].with_name(ahead))
    edited(before, id=ahead)
    after = repo.run("run", "--json").json["run"]
    assert after > ahead
    assert repo.runs()[-1].name == after
    compared = repo.run("diff", "--json").json["diff"]
    assert (compared["base"], compared["head"]) == (ahead, after)


def test_a_folder_whose_name_only_looks_like_a_run_is_no_run(tmp_path: Path) -> None:
    for name in ("99999999T999999.999999Z-0000", "99991231T235959.999999Z-0000", "notes"):
        (tmp_path / name).mkdir()
    assert new_run_id(tmp_path) < "9"


STEPPING_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <sys/time.h>
#include <unistd.h>
/* The wall clock goes 25 seconds back as soon as the file that STEPPED names is there; the monotonic one goes on. */
#include <stdlib.h>
static long back(void) { const char *name = getenv("STEPPED"); return name && !access(name, F_OK) ? 25 : 0; }
int clock_gettime(clockid_t id, struct timespec *at) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int done = real(id, at);
  if (!done && id == CLOCK_REALTIME) at->tv_sec -= back();
  return done;
}
"""


def test_a_clock_that_jumps_back_in_the_middle_leaves_no_negative_time(repo: Repo, desk: Desk) -> None:
    """The wall clock steps 25 s back while attempts are on."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to make a clock that jumps")
    source, shim = repo.root.parent / "clock.c", repo.root.parent / "clock.so"
    source.write_text(STEPPING_CLOCK, encoding="utf-8")
    made = subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source, "-ldl"], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("the C compiler cannot make shared libraries here")
    stepped = repo.root.parent / "stepped"
    process = repo.start("run", "-j", "1", "--json", LD_PRELOAD=str(shim), STEPPED=str(stepped))
    until(lambda: len(desk.calls) == 4)
    stepped.touch()
    desk.answers(ENDLESS)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    attempts = repo.attempts()
    starts = [each["started_at"] for each in attempts]
    assert sorted(starts) != starts, "the clock did jump"
    assert all(0 <= each["duration_ms"] < 20_000 for each in attempts)
    again = repo.run("run", "--json", LD_PRELOAD=str(shim), STEPPED=str(stepped)).json["run"]
    assert again > json.loads(out)["run"]


# ---- where runs are, and what older versions wrote


def test_the_runs_may_be_on_another_file_system(repo: Repo, desk: Desk) -> None:
    other = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else repo.root.parent  # noqa: S108  # tmpfs on Linux
    folder = other / f"agenteval-test-{os.getpid()}-{os.urandom(4).hex()}"
    folder.mkdir()
    try:
        (repo.root / ".agenteval").mkdir(exist_ok=True)
        (repo.root / ".agenteval/runs").symlink_to(folder)
        stopped(repo, signal.SIGKILL)
        desk.answers(ENDLESS)
        assert repo.run("run", "--resume", "latest").code == 0
        assert repo.run("run").code == 0
        assert repo.run("diff").code == 0
        assert len(list(folder.iterdir())) == 2
    finally:
        shutil.rmtree(folder)


def as_format_1(run: Path) -> None:
    """What the first version wrote: the same without the keys that came later."""
    edited(run, format=1)
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    for key in ("grading", "shard", "merged", "since", "stopped", "resumed_at"):
        del facts[key]
    (run / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    transcripts, attempts, offset = [], [], 0
    for line in (run / "attempts.jsonl").read_text(encoding="utf-8").splitlines():
        attempt = json.loads(line)
        place = attempt["transcript"]
        raw = (run / "transcripts.jsonl").read_bytes()[place["offset"] :][: place["length"]]
        transcripts.append(json.dumps({**json.loads(raw), "format": 1}))
        attempt |= {"format": 1, "transcript": {"offset": offset, "length": len(transcripts[-1]) + 1}}
        attempts.append(json.dumps(attempt))
        offset += len(transcripts[-1]) + 1
    (run / "transcripts.jsonl").write_text("".join(f"{line}\n" for line in transcripts), encoding="utf-8")
    (run / "attempts.jsonl").write_text("".join(f"{line}\n" for line in attempts), encoding="utf-8")


@pytest.mark.slow
def test_runs_of_the_first_format_are_read_compared_and_kept_from(repo: Repo, desk: Desk) -> None:
    stopped(repo, signal.SIGKILL)
    run = repo.runs()[-1]
    until(lambda: not is_being_written(run))
    as_format_1(run)
    Draft202012Validator(schemas.load("run")).validate(record(repo))
    desk.forget()
    desk.answers(ENDLESS)
    refused = repo.run("run", "--resume", run.name)
    assert refused.code == 2
    assert "the checks of this version of agenteval do not mean what those of the run meant" in refused.err
    kept = repo.run("run", "--since", run.name, "--json")
    assert (kept.code, len(desk.calls)) == (0, ALL - 3), kept
    assert {each["format"] for each in repo.attempts()} == {ATTEMPT_FORMAT}
    for line in (repo.runs()[-1] / "transcripts.jsonl").read_text(encoding="utf-8").splitlines():
        Draft202012Validator(schemas.load("transcript")).validate(json.loads(line))
    shown = repo.run("show", "case-1", "--run", run.name, "--json").json
    assert [each["transcript"]["transcript"]["output"] for each in shown["attempts"]] == ["hello case-1"]
    assert repo.run("diff", run.name, "latest").code == 3, "one of them is incomplete, and can be read"
    listed = repo.run("runs", "list", "--json").json["runs"]
    assert [each["status"] for each in listed] == ["finished", "interrupted"]


def test_a_run_of_the_first_format_becomes_one_of_today_when_it_is_gone_on_with() -> None:
    begun = begun_again(run_of(tried("greet", "P"), format=1).record)
    assert (begun.format, begun.status, len(begun.resumed_at)) == (RUN_FORMAT, "running", 1)


def test_nothing_of_a_killed_run_goes_on(repo: Repo, desk: Desk) -> None:
    if not Path("/proc/self/environ").exists():
        pytest.skip("only Linux lets us look for processes by their environment")
    stopped(repo, signal.SIGKILL)
    until(lambda: processes_with(f"DESK={desk.folder}") == [], 2.0)


@pytest.mark.slow
def test_a_run_with_since_that_was_stopped_while_it_kept_still_keeps_the_rest(repo: Repo, desk: Desk) -> None:
    desk.answers(ENDLESS)
    assert repo.run("run").code == 0
    assert repo.run("run", "--since", "latest").code == 0
    run = repo.runs()[-1]
    first = (run / "attempts.jsonl").read_bytes().splitlines(keepends=True)[0]
    (run / "attempts.jsonl").write_bytes(first)
    edited(run, status="running", finished_at=None)
    desk.forget()
    done = repo.run("run", "--resume", "latest", "--json")
    assert (done.code, done.json["attempts"]["passed"], desk.calls) == (0, ALL, [])
    assert {each["reused_from"] for each in repo.attempts()} == {repo.runs()[0].name}
