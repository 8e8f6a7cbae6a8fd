"""Agents that answer many requests: in step or told to be out of it, ended in time, nothing of theirs left running."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agenteval_cli.orphans import Guardian
from agenteval_cli.process import MAX_STDOUT, Cancel, Command, NotStartedError, Processes
from agenteval_cli.workers import Answer, Worker

Start = Callable[[str], Worker]

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
"""
# What a worker does for the request of this name, besides answering it.
ODD = """
import os, sys, time, signal
say = lambda text, to=sys.stdout: (to.write(text), to.flush())
for line in sys.stdin:
    match line.strip():
        case "twice": say("one\\ntwo\\n")
        case "twice, late": say("one\\n"); time.sleep(0.1); say("two\\n")
        case "half of another": say("one\\nha")
        case "blank lines": say("\\n \\r\\none\\r\\n\\n")
        case "stderr": say("x" * 100 + "oops\\n", sys.stderr); say("one\\n")
        case "much stderr": say("x" * 3_000_000 + "oops\\n", sys.stderr); say("one\\n")
        case "hang": say("hm", sys.stderr); say("par"); time.sleep(600)
        case "hang with helper": os.system("sleep 600 & echo $! >&2"); time.sleep(600)
        case "exit 3": say("bye", sys.stderr); say("par"); sys.exit(3)
        case "answer and exit": say("one\\n"); sys.exit(0)
        case "die": os.kill(os.getpid(), signal.SIGSEGV)
        case "close stdout": os.close(1); time.sleep(600)
        case "close stdin": os.close(0); say("one\\n"); time.sleep(600)
        case "too much": say("x" * 20_000_000 + "\\n")
        case "endless": [say("x" * 1_000_000) for _ in range(10_000)]
        case "bytes": sys.stdout.buffer.write(b"\\xff\\x00\\r\\xc3\\r\\n"); sys.stdout.flush()
        case "pid": say(f"{os.getpid()}\\n")
        case other: say(f"{other}\\n")
"""


@pytest.fixture
def processes() -> Iterator[Processes]:
    guardian, cancel = Guardian("TRACEPARENT=00-feedfacefeedface"), Cancel()
    yield Processes(guardian, cancel)
    guardian.dismiss()
    cancel.close()


@pytest.fixture
def start(processes: Processes) -> Iterator[Start]:
    """Starts a worker from a Python program; each is ended after the test, and must be gone then."""
    started: list[Worker] = []

    def started_from(program: str) -> Worker:
        argv = (sys.executable, "-S", "-c", program)
        worker = Worker(processes, Command(argv, {"PATH": os.environ["PATH"]}, "/", b"", 0.0))
        started.append(worker)
        return worker

    yield started_from
    for worker in started:
        worker.end()
        assert not is_there(worker.pid)
    assert processes.live == set()


@pytest.fixture
def odd(start: Start) -> Worker:
    worker = start(ODD)
    assert worker.send_and_wait(b"ready", 10).line == b"ready"
    return worker


def is_there(pid: int) -> bool:
    """Whether the process is there, and not just a zombie that its parent has yet to reap."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def ask(worker: Worker, what: str, seconds: float = 10.0) -> Answer:
    return worker.send_and_wait(what.encode(), seconds)


def test_one_process_answers_request_after_request(start: Start) -> None:
    worker = start(ECHO)
    answers = [ask(worker, f"request {number}") for number in range(100)]
    assert [answer.line for answer in answers] == [f"request {number}".encode() for number in range(100)]
    assert all(answer.in_step and answer.why == "answered" for answer in answers)
    assert worker.answered == 100


def test_lines_larger_than_a_pipe_go_both_ways_at_once(start: Start) -> None:
    line = b"0123456789" * 300_000
    worker = start("import os\nwhile chunk := os.read(0, 4096): os.write(1, chunk)")
    for _ in range(2):
        answer = worker.send_and_wait(line, 20)
        assert (answer.why, answer.line == line) == ("answered", True)


def test_a_request_that_the_worker_does_not_read_is_no_trouble(start: Start) -> None:
    worker = start("import time\nprint('one', flush=True); time.sleep(600)")
    time.sleep(0.5)
    assert ask(worker, "x" * 5_000_000).why == "stray"


def test_bytes_come_as_they_were_printed_but_for_the_line_end(odd: Worker) -> None:
    assert ask(odd, "bytes").line == b"\xff\x00\r\xc3"


def test_blank_lines_are_no_answers(odd: Worker) -> None:
    assert [ask(odd, what).line for what in ("blank lines", "two", "blank lines")] == [b"one", b"two", b"one"]


# ---- out of step


def test_a_second_line_for_one_request_is_told_with_the_answer(odd: Worker) -> None:
    answer = ask(odd, "twice")
    assert (answer.why, answer.line, answer.stray, answer.in_step) == ("answered", b"one", b"two\n", False)


def test_a_second_line_that_comes_later_is_never_the_answer_to_the_next_request(odd: Worker) -> None:
    assert ask(odd, "twice, late").line == b"one"
    time.sleep(0.4)
    answer = ask(odd, "next")
    assert (answer.why, answer.line, answer.stray, answer.sent) == ("stray", b"", b"two\n", False)


def test_a_line_before_any_request_is_no_answer(start: Start) -> None:
    worker = start("print('Loading the model', flush=True)\n" + ECHO)
    time.sleep(0.5)
    answer = ask(worker, "hello")
    assert (answer.why, answer.stray, answer.sent) == ("stray", b"Loading the model\n", False)


def test_text_without_a_line_end_begins_the_next_answer(odd: Worker) -> None:
    assert ask(odd, "half of another").in_step
    assert ask(odd, "nd in hand").line == b"hand in hand"


def test_a_line_that_is_too_long_is_cut_and_ends_the_waiting(odd: Worker) -> None:
    answer = ask(odd, "too much")
    assert (answer.why, answer.in_step, len(answer.line)) == ("too_much", False, MAX_STDOUT)


def test_a_line_that_never_ends_is_not_waited_for(odd: Worker) -> None:
    began = time.monotonic()
    assert ask(odd, "endless", 30).why == "too_much"
    assert time.monotonic() - began < 25


# ---- stderr


def test_each_answer_has_its_own_stderr(odd: Worker) -> None:
    first, second, third = ask(odd, "stderr"), ask(odd, "two"), ask(odd, "stderr")
    assert (first.stderr, first.stderr_size) == (b"x" * 100 + b"oops\n", 105)
    assert (second.stderr, second.stderr_size) == (b"", 0)
    assert third.stderr == first.stderr


def test_of_much_stderr_the_end_is_kept_and_all_is_counted(odd: Worker) -> None:
    answer = ask(odd, "much stderr")
    assert (answer.line, answer.stderr_size, len(answer.stderr)) == (b"one", 3_000_005, 1024 * 1024)
    assert answer.stderr.endswith(b"oops\n")


# ---- ends


def test_a_hung_worker_costs_its_deadline_and_what_it_said_is_kept(odd: Worker) -> None:
    answer = ask(odd, "hang", 0.3)
    assert (answer.why, answer.line, answer.stderr, answer.sent) == ("timeout", b"par", b"hm", True)
    assert 0.3 <= answer.seconds < 30


def test_a_hung_worker_is_ended_with_its_helpers_in_good_time(odd: Worker) -> None:
    helper = int(ask(odd, "hang with helper", 6).stderr)
    began = time.monotonic()
    odd.end()
    assert time.monotonic() - began < 60
    assert not is_there(helper)


def test_a_worker_that_ignores_term_is_killed(start: Start) -> None:
    worker = start("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ODD)
    ask(worker, "ready")
    ask(worker, "hang", 0.1)
    began = time.monotonic()
    worker.end()
    assert time.monotonic() - began < 60


def test_a_worker_in_order_may_finish_its_work(start: Start, tmp_path: Path) -> None:
    worker = start(ECHO + f"open({str(tmp_path / 'bye')!r}, 'w').close()")
    ask(worker, "hello")
    worker.end()
    assert (tmp_path / "bye").exists()


@pytest.mark.parametrize(
    ("what", "exit_code", "number", "line"), [("exit 3", 3, None, b"par"), ("die", None, signal.SIGSEGV, b"")]
)
def test_a_crash_is_told_with_its_code_or_signal_and_last_words(
    odd: Worker, what: str, exit_code: int | None, number: int | None, line: bytes
) -> None:
    answer = ask(odd, what)
    assert (answer.why, answer.exit_code, answer.signal, answer.line) == ("exited", exit_code, number, line)
    assert answer.sent
    assert answer.stderr == (b"bye" if exit_code else b"")


def test_an_answer_before_the_exit_counts_and_the_next_request_is_not_spent(odd: Worker) -> None:
    assert ask(odd, "answer and exit").in_step
    time.sleep(0.3)
    answer = ask(odd, "next")
    assert (answer.why, answer.exit_code, answer.sent) == ("exited", 0, False)


def test_a_worker_that_dies_at_its_start_says_why(start: Start) -> None:
    worker = start("raise SystemExit('no key')")
    time.sleep(0.5)
    answer = ask(worker, "hello")
    assert (answer.why, answer.exit_code, answer.stderr, answer.sent) == ("exited", 1, b"no key\n", False)


def test_a_worker_that_closed_its_stdout_is_not_waited_for(odd: Worker) -> None:
    answer = ask(odd, "close stdout", 30)
    assert (answer.why, answer.seconds < 2) == ("closed", True)


def test_a_worker_that_closed_its_stdin_is_not_waited_for(odd: Worker) -> None:
    assert ask(odd, "close stdin").line == b"one"
    answer = ask(odd, "next", 30)
    assert (answer.why, answer.seconds < 2) == ("closed", True)


def test_a_cancelled_run_stops_waiting_at_once(processes: Processes, odd: Worker) -> None:
    threading.Timer(0.3, processes.cancel.request).start()
    answer = ask(odd, "hang", 30)
    assert (answer.why, answer.seconds < 2) == ("cancelled", True)
    assert ask(odd, "next").why == "cancelled"


def test_a_program_that_is_not_there_never_started(processes: Processes) -> None:
    with pytest.raises(NotStartedError, match="No such file"):
        Worker(processes, Command(("/no/such/program",), {}, "/", b"", 0.0))
    assert processes.live == set()


def test_no_descriptor_is_left_open(start: Start) -> None:
    before = descriptors()
    for what in ("ready", "exit 3", "close stdout"):
        worker = start(ODD)
        ask(worker, what)
        worker.end()
    assert descriptors() == before
