"""What happens to processes: real ones, ended in time, nothing of theirs left running."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Repo

from agenteval_cli.orphans import Guardian
from agenteval_cli.process import MAX_STDOUT, Cancel, Command, Ended, NotStartedError, Processes


@pytest.fixture
def processes() -> Iterator[Processes]:
    guardian, cancel = Guardian("TRACEPARENT=00-feedfacefeedface"), Cancel()
    yield Processes(guardian, cancel)
    guardian.dismiss()
    cancel.close()


def shell(script: str, *, seconds: float = 10.0, stdin: bytes = b"") -> Command:
    return Command(("/bin/sh", "-c", script), {"PATH": os.environ["PATH"]}, "/", stdin, seconds)


def alive(pid: int) -> bool:
    """Whether the process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pids_in(ended: Ended) -> list[int]:
    return [int(word) for word in ended.stdout.split()]


def wait_for(condition: object, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if callable(condition) and condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come to that in time")


def test_both_pipes_are_read_at_once(processes: Processes) -> None:
    ended = processes.run(shell("head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; echo end >&2"))
    assert (ended.why, ended.exit_code) == ("exited", 0)
    assert (ended.stdout_size, ended.stderr_size) == (3_000_000, 3_000_004)


def test_more_than_the_cap_is_counted_not_kept(processes: Processes) -> None:
    ended = processes.run(shell("head -c 50000000 /dev/zero"))
    assert (ended.stdout_size, len(ended.stdout)) == (50_000_000, MAX_STDOUT)


def test_input_larger_than_a_pipe_reaches_an_agent_that_echoes_it(processes: Processes) -> None:
    text = b"0123456789" * 500_000
    assert processes.run(shell("cat", stdin=text)).stdout == text


@pytest.mark.parametrize("script", ["exec <&-; echo hi", "echo hi", "head -c 1 >/dev/null; echo hi"])
def test_an_agent_that_does_not_read_its_input_is_no_trouble(processes: Processes, script: str) -> None:
    ended = processes.run(shell(script, stdin=b"x" * 5_000_000))
    assert (ended.exit_code, ended.stdout) == (0, b"hi\n")


def test_a_timeout_keeps_what_was_said_and_leaves_nothing_of_the_group(processes: Processes) -> None:
    began = time.monotonic()
    ended = processes.run(shell("sleep 600 & echo $! $$; wait", seconds=0.5))
    assert (ended.why, ended.exit_code, ended.signal) == ("timeout", None, signal.SIGTERM)
    assert time.monotonic() - began < 60
    assert len(pids_in(ended)) == 2
    wait_for(lambda: not any(map(alive, pids_in(ended))))


def test_a_process_that_ignores_term_is_killed_after_the_grace(processes: Processes) -> None:
    began = time.monotonic()
    ended = processes.run(shell("trap '' TERM; echo $$; while :; do sleep 600; done", seconds=0.3))
    assert (ended.why, ended.signal) == ("timeout", signal.SIGKILL)
    assert time.monotonic() - began < 60
    wait_for(lambda: not any(map(alive, pids_in(ended))))


def test_a_process_may_say_goodbye_in_the_grace(processes: Processes) -> None:
    ended = processes.run(shell("trap 'echo bye; exit 7' TERM; sleep 600 & wait", seconds=0.3))
    assert (ended.why, ended.exit_code, ended.stdout) == ("timeout", 7, b"bye\n")


def test_a_helper_that_holds_the_pipe_does_not_hold_the_answer(processes: Processes) -> None:
    began = time.monotonic()
    ended = processes.run(shell("sleep 600 & echo $!; exit 0"))
    assert (ended.why, ended.exit_code) == ("exited", 0)
    assert time.monotonic() - began < 60
    wait_for(lambda: not any(map(alive, pids_in(ended))))


def test_a_crash_and_a_signal_are_told_apart(processes: Processes) -> None:
    assert processes.run(shell("exit 3")).exit_code == 3
    assert processes.run(shell("kill -SEGV $$")).signal == signal.SIGSEGV


def test_a_program_that_is_not_there_never_started(processes: Processes) -> None:
    with pytest.raises(NotStartedError, match="No such file"):
        processes.run(Command(("/no/such/program",), {}, "/", b"", 1.0))


def test_an_argument_that_is_too_long_never_started(processes: Processes) -> None:
    with pytest.raises(NotStartedError, match="Argument list too long"):
        processes.run(Command(("/bin/echo", "x" * 3_000_000), {}, "/", b"", 1.0))


def test_a_cancelled_run_ends_its_processes_at_once(processes: Processes) -> None:
    processes.cancel.request()
    began = time.monotonic()
    ended = processes.run(shell("echo $$; sleep 600"))
    assert ended.why == "cancelled"
    assert time.monotonic() - began < 60
    wait_for(lambda: not any(map(alive, pids_in(ended))))


def test_no_zombies_after_many(processes: Processes) -> None:
    for _ in range(100):
        processes.run(shell("(exit 0) & exit 0"))
    stats = [path.read_text(encoding="utf-8") for path in Path("/proc").glob("[0-9]*/stat") if path.exists()]
    ours = [stat for stat in stats if int(stat.rpartition(")")[2].split()[1]) == os.getpid()]
    assert not [stat for stat in ours if " Z " in stat]


@pytest.mark.parametrize("mark", ["", "x", "TRACEPARENT=", "TRACEPARENT=00-feed", "TRACEPARENT=00-feedfacefeedface-01"])
def test_a_mark_that_others_may_have_is_refused_since_all_that_have_it_are_killed(mark: str) -> None:
    with pytest.raises(ValueError, match="not the mark of a run"):
        Guardian(mark)


def test_a_sweep_lets_be_what_the_tool_started_for_itself(processes: Processes) -> None:
    with subprocess.Popen(["sleep", "600"]) as own, subprocess.Popen(["true"]) as ended:
        wait_for(lambda: not alive(ended.pid))
        processes.sweep()
        assert alive(own.pid)
        assert ended.wait() == 0
        own.kill()


def test_a_second_request_to_stop_ends_the_grace() -> None:
    assert killed_after(requests=2) < killed_after(requests=1)


def killed_after(requests: int) -> float:
    """Seconds until a process that ignores TERM is gone, when so many ask for it one right after the other."""
    guardian, cancel = Guardian("TRACEPARENT=00-feedfacefeedface"), Cancel()
    for _ in range(requests):
        threading.Timer(0.3, cancel.request).start()
    began = time.monotonic()
    ended = Processes(guardian, cancel).run(shell("trap '' TERM; echo $$; while :; do sleep 600; done"))
    took = time.monotonic() - began
    guardian.dismiss()
    cancel.close()
    assert (ended.why, ended.signal) == ("cancelled", signal.SIGKILL)
    return took


STRAY = """
import json, os, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
open(os.environ["PIDS"], "a").write(f"{child.pid}\\n")
SLEEP
json.dump({"output": "hello"}, sys.stdout)
"""

HANGS_AFTER_FOUR = "time.sleep(600) if len(open(os.environ['PIDS']).readlines()) > 4 else None"


def with_stray(repo: Repo, sleep: str = "") -> Path:
    """An agent that leaves a daemon in a session of its own; the file where it notes the daemon's pid."""
    pids = repo.root / "pids"
    repo.agent(STRAY.replace("SLEEP", sleep), config=f"env: {{set: {{PIDS: '{pids}'}}}}")
    return pids


def noted(pids: Path) -> list[int]:
    return [int(line) for line in pids.read_text(encoding="utf-8").split()]


def test_a_daemon_that_left_its_session_is_ended_with_its_attempt(repo: Repo) -> None:
    pids = with_stray(repo)
    assert repo.run("run").code == 0
    assert len(noted(pids)) == 1
    assert not any(map(alive, noted(pids)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_keeps_finished_attempts_and_exits_130(repo: Repo, number: signal.Signals) -> None:
    pids = with_stray(repo, HANGS_AFTER_FOUR)
    process = repo.start("run", "--attempts", "12")
    wait_for(lambda: pids.exists() and repo.runs() and len(noted(pids)) >= 8, 20)
    time.sleep(0.5)
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130, err
    assert "interrupted; the" in err
    statuses = [attempt["status"] for attempt in repo.attempts()]
    assert statuses.count("passed") + statuses.count("cancelled") == len(statuses)
    assert "cancelled" in statuses
    assert f"the {statuses.count('passed')} finished attempt" in err
    assert f"{statuses.count('passed')} graded / 12 planned" in out
    assert not any(map(alive, noted(pids)))


def test_killing_the_tool_leaves_nothing_running_and_loses_nothing_finished(repo: Repo) -> None:
    pids = with_stray(repo, HANGS_AFTER_FOUR)
    process = repo.start("run", "--attempts", "12")
    wait_for(lambda: pids.exists() and len(noted(pids)) >= 8 and len(repo.attempts()) >= 4, 20)
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(alive, noted(pids))))
    assert len(repo.attempts()) >= 4
    done = repo.run("diff")
    assert done.code == 2
    assert "there is no finished run" in done.err


def test_every_attempt_has_an_empty_folder_of_its_own(repo: Repo) -> None:
    repo.agent(
        """
        import json, os
        found = os.listdir(".")
        open("notes.txt", "w").write("4471")
        print(json.dumps({"output": f"hello {found} {os.getcwd()}"}))
        """
    )
    repo.case("says-hello", "schema: 1\nid: alone\ninput: hi\noutcome: [{contains: 'hello []'}]\n")
    assert repo.run("run", "--attempts", "6").code == 0
    shown = repo.run("show", "alone", "--run", "latest", "--json").json["attempts"]
    folders = {item["transcript"]["transcript"]["output"].split()[-1] for item in shown}
    assert len(folders) == 6
    assert not any(Path(folder).exists() for folder in folders)
