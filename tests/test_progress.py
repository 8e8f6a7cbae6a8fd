"""What a run shows while it is on: on real terminals, in logs, and where nobody reads."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from build import LETTERS, attempt, steady, tried
from build import run as run_of
from conftest import AGENTEVAL, Repo
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from terminal import Terminal

from agenteval_cli.cli.live_table import frame
from agenteval_cli.cli.progress import Progress
from agenteval_cli.cli.progress_view import Running, Sight, Tally, one_line, seconds_left, words_left
from agenteval_cli.phrases import lasting

WAITS = """
import json, os, sys, time
request = json.load(sys.stdin)
while request["input"] != "quick" and not os.path.exists(os.environ["GO"]):
    time.sleep(0.02)
json.dump({"output": "hello", "tool_calls": []}, sys.stdout)
"""

CASE = """
schema: 1
id: {id}
tier: smoke
input: INPUT
outcome: [{contains: EXPECTED}]
"""

Watch = Callable[..., Terminal]


@pytest.fixture
def waiting(repo: Repo) -> Repo:
    """Two cases that end at once, one of them in a failure, and three that wait until there is a file `go`."""
    go = json.dumps(str(repo.root / "go"))
    repo.agent(WAITS, config=f"concurrency: 8\ntimeout: 20s\nenv: {{set: {{GO: {go}}}}}")
    repo.case("says-hello", CASE.replace("INPUT", "quick").replace("EXPECTED", "hello"))
    repo.case("says-goodbye", CASE.replace("INPUT", "quick").replace("EXPECTED", "goodbye"))
    for name in ("waits-a", "waits-b", "waits-c"):
        repo.case(name, CASE.replace("INPUT", "slow").replace("EXPECTED", "hello"))
    return repo


@pytest.fixture
def watch(waiting: Repo) -> Iterator[Watch]:
    """`watch("--verbose", columns=40, CI="1")`: a run on a terminal of its own."""
    opened: list[Terminal] = []

    def start(*arguments: str, columns: int = 80, rows: int = 24, **env: str) -> Terminal:
        command = (str(AGENTEVAL), "run", *arguments)
        opened.append(Terminal(*command, cwd=waiting.root, env={**waiting.env, **env}, columns=columns, rows=rows))
        return opened[-1]

    yield start
    (waiting.root / "go").touch()
    for terminal in opened:
        terminal.close()


def go(repo: Repo) -> None:
    (repo.root / "go").touch()


# ---- on a terminal


def test_a_terminal_shows_how_far_the_run_is_and_what_is_running(waiting: Repo, watch: Watch) -> None:
    terminal = watch()
    terminal.wait_for(lambda: " 2/5" in terminal.text and "1 s" in terminal.text)
    assert terminal.lines[0].startswith("run 2")
    assert terminal.lines[0].endswith("5 cases, 5 attempts with main")
    assert "passed 1  failed 1  errors 0  incomplete 0" in terminal.text
    assert "pass rate 1/2, 50% (9% to 91%)" in terminal.text
    assert "left" not in terminal.text, "two of eight at once are no evidence of how long the rest takes"
    rows = [line.split() for line in terminal.lines[-3:]]
    assert sorted(row[0] for row in rows) == ["waits-a", "waits-b", "waits-c"]
    assert [row[1:3] for row in rows] == [["#1", "main"]] * 3
    go(waiting)
    assert terminal.ended() == 1
    assert "4 of 5 cases passed, 1 failed" in terminal.text
    assert "waits-a" not in terminal.text, "the table is gone when the summary comes"
    assert "passed 1  failed 1" not in terminal.text
    assert terminal.colours == {"green", "red"} & terminal.colours
    assert terminal.shows_its_cursor


def test_a_small_window_shows_the_oldest_and_how_many_more(waiting: Repo, watch: Watch) -> None:
    terminal = watch(columns=40, rows=8)
    terminal.wait_for(lambda: " 2/5" in terminal.text and "and " in terminal.text)
    assert "and 2 more" in terminal.text
    assert sum("waits-" in line for line in terminal.lines) == 1
    assert "main" not in terminal.lines[-2], "there is no room for the agent"
    go(waiting)
    assert terminal.ended() == 1


@pytest.mark.parametrize(("columns", "rows"), [(30, 24), (120, 40), (80, 5)])
def test_a_window_that_changes_its_size_shows_one_table(waiting: Repo, watch: Watch, columns: int, rows: int) -> None:
    terminal = watch()
    terminal.wait_for(lambda: " 2/5" in terminal.text)
    terminal.resize(columns, rows)
    seen = len(terminal.said)
    terminal.wait_for(lambda: len(terminal.said) > seen + 1500)
    assert sum(" 2/5" in line for line in terminal.lines) == 1, terminal.text
    go(waiting)
    assert terminal.ended() == 1


def test_no_color_is_live_without_colour(waiting: Repo, watch: Watch) -> None:
    terminal = watch(NO_COLOR="1")
    terminal.wait_for(lambda: " 2/5" in terminal.text and "waits-a" in terminal.text)
    assert terminal.colours == set()
    go(waiting)
    terminal.ended()
    assert not any(f"\x1b[{code}m".encode() in terminal.said for code in (31, 32, 33))


@pytest.mark.parametrize("env", [{"CI": "true"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_where_lines_cannot_be_written_over_none_is(waiting: Repo, watch: Watch, env: dict[str, str]) -> None:
    go(waiting)
    terminal = watch(**env)
    terminal.ended()
    assert b"5 cases, 5 attempts with main" in terminal.said
    assert not any(sign in terminal.said for sign in (b"\x1b[?25l", b"\x1b[J", b"\x1b[K", b"\r\x1b"))


def test_what_is_told_stands_above_the_table(waiting: Repo, watch: Watch) -> None:
    terminal = watch("--verbose")
    terminal.wait_for(lambda: " 2/5" in terminal.text and "says-goodbye #1 failed" in terminal.text)
    told = [index for index, line in enumerate(terminal.lines) if "says-" in line]
    table = next(index for index, line in enumerate(terminal.lines) if " 2/5" in line)
    assert len(told) == 2
    assert max(told) < table


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
def test_the_cursor_is_there_however_the_run_ends(waiting: Repo, watch: Watch, number: signal.Signals) -> None:
    terminal = watch()
    terminal.wait_for(lambda: " 2/5" in terminal.text)
    terminal.process.send_signal(number)
    terminal.ended()
    assert terminal.shows_its_cursor
    assert terminal.said.count(b"\x1b[?25l") == terminal.said.count(b"\x1b[?25h") > 0


def test_a_terminal_that_hangs_up_does_not_end_the_run(waiting: Repo, watch: Watch) -> None:
    terminal = watch()
    terminal.wait_for(lambda: " 2/5" in terminal.text)
    run = waiting.runs()[-1]
    terminal.hang_up()
    assert terminal.process.wait(10) is not None
    assert len(waiting.attempts(run)) >= 2


# ---- elsewhere


def test_a_log_gets_whole_lines_and_no_signs(waiting: Repo) -> None:
    go(waiting)
    done = waiting.run("run", "--verbose")
    lines = done.err.splitlines()
    assert lines[0].endswith("5 cases, 5 attempts with main")
    assert 'says-goodbye #1 failed: outcome[0].contains: the answer does not contain "goodbye"' in lines
    assert "\x1b" not in done.err
    assert "\r" not in done.err


def test_quiet_says_nothing_of_it_on_a_terminal_either(waiting: Repo, watch: Watch) -> None:
    (waiting.root / "cases" / "says-goodbye.yaml").unlink()
    go(waiting)
    terminal = watch("--quiet")
    assert terminal.ended() == 0
    assert terminal.said == b""


def test_a_run_whose_talk_nobody_reads_ends_as_it_should(waiting: Repo) -> None:
    go(waiting)
    process = subprocess.Popen(
        [str(AGENTEVAL), "run", "--verbose"],
        cwd=waiting.root,
        env=waiting.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stdout is not None
    process.stderr.close()
    with process, process.stdout as out:
        assert "4 of 5 cases passed, 1 failed" in out.read()
    assert process.returncode == 1


def test_a_reader_that_stands_still_does_not_hold_up_the_run() -> None:
    reading, writing = os.pipe()
    stream = io.TextIOWrapper(io.FileIO(writing, "w"), write_through=True)
    progress = Progress(stream, quiet=False, verbose=True)
    progress.start(run_of(tried("greet", "PPP")).record)
    progress.began("greet", 1, "support")
    began = time.monotonic()
    for number in range(1, 20_000):
        progress.attempt(attempt("greet", number, "failed"))
    assert time.monotonic() - began < 60
    drained = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(reading, 1 << 16), b"")])
    drained.start()
    progress.close()
    stream.close()
    drained.join(10)
    os.close(reading)
    assert not drained.is_alive()


def test_what_agents_say_cannot_act_on_the_terminal(waiting: Repo, watch: Watch) -> None:
    waiting.agent(r"import sys; sys.exit('\x1b]0;owned\x07\x1b[2J\u202eevil')")
    terminal = watch("--verbose")
    terminal.ended()
    assert r"\x1b]0;owned\x07\x1b[2J\u202eevil" in terminal.text
    for sign in (b"\x1b]0", b"\x1b[2J", "\u202e".encode()):
        assert sign not in terminal.said


def test_closing_twice_or_before_the_start_is_fine() -> None:
    stream = io.StringIO()
    progress = Progress(stream, quiet=False, verbose=False)
    progress.note("a sentence\x1b[2J")
    progress.close()
    progress.close()
    assert stream.getvalue() == "a sentence\\x1b[2J\n"


# ---- counting


def test_a_retry_takes_the_place_of_the_error_before_it() -> None:
    tally = Tally()
    tally.start(run_of(tried("greet", "PP")).record)
    tally.began("greet", 1, "support")
    tally.began("greet", 1, "support")  # the retry has begun before the first try is written
    tally.attempt(attempt("greet", 1, "agent_error"))
    assert [item.case for item in tally.sight().running] == ["greet"]
    tally.attempt(attempt("greet", 1, "passed"))
    sight = tally.sight()
    assert (sight.ended, sight.passed, sight.errors, sight.running) == (1, 1, 0, ())


@given(st.lists(st.sampled_from(sorted(LETTERS.values())), max_size=30))
def test_what_is_shown_adds_up_to_what_ended(statuses: list[str]) -> None:
    tally = Tally()
    tally.start(run_of(tried("greet", "P", planned=40)).record)
    for number, status in enumerate(statuses, start=1):
        tally.attempt(attempt("greet", number, status))
    sight = tally.sight()
    assert sight.ended == len(statuses)
    assert sight.passed == statuses.count("passed")
    assert sight.left is None, "none of these has begun in this run, so nothing is known of its pace"


@pytest.mark.parametrize(
    ("worked_off", "remaining", "elapsed", "at_once", "left"),
    [
        (2, 10, 60.0, 1, None),  # too few
        (7, 10, 60.0, 8, None),  # not even one round
        (8, 10, 1.0, 8, None),  # too soon
        (8, 0, 60.0, 8, None),  # nothing is left
        (8, 16, 60.0, 8, 120.0),
        (100, 50, 10.0, 4, 5.0),
    ],
)
def test_the_time_left_needs_evidence(
    worked_off: int, remaining: int, elapsed: float, at_once: int, left: float | None
) -> None:
    assert seconds_left(worked_off, remaining, elapsed, at_once) == left


def test_the_time_left_is_no_finer_than_it_can_be_known() -> None:
    assert [words_left(seconds) for seconds in (0.2, 41.0, 3601.0)] == [
        "about 5 s left",
        "about 45 s left",
        "about 1h 00m left",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0 ms"), (0.9996, "1.0 s"), (9.94, "9.9 s"), (59.6, "1m 00s"), (125, "2m 05s"), (4800, "1h 20m")],
)
def test_times_are_told_as_people_say_them(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def sight(**changes: object) -> Sight:
    usual = {
        "planned": 120,
        "passed": 30,
        "failed": 3,
        "errors": 1,
        "incomplete": 2,
        "elapsed": 65.0,
        "left": 160.0,
        "running": (),
        "now": 1000.0,
    }
    return Sight(**{**usual, **changes})  # type: ignore[arg-type]


def test_a_log_line_says_all_of_it() -> None:
    running = (Running("greet", 2, "support", 988.0), Running("part", 1, "support", 999.0))
    assert one_line(sight(running=running)) == (
        "36/120 attempts: 30 passed, 3 failed, 1 error, 2 incomplete; pass rate 30/34, 88% (73% to 95%); 1m 05s; "
        "about 2m 40s left; 2 running, the longest greet #2 for 12 s"
    )


names = st.text(st.sampled_from("ab-界é\x1b\u202e"), min_size=1, max_size=200) | st.just("x" * 200)
running = st.lists(st.builds(Running, names, st.integers(1, 10**6), names, st.floats(0, 1000)), max_size=40).map(tuple)


@steady
@given(running, st.integers(1, 150), st.integers(1, 50), st.integers(0, 10**7), st.booleans())
def test_no_line_is_wider_and_no_table_higher_than_the_window(
    running: tuple[Running, ...], width: int, height: int, passed: int, ascii_only: bool
) -> None:
    lines = frame(sight(running=running, passed=passed), width, height, ascii_only=ascii_only)
    assert len(lines) <= height
    assert all(cell_len(line.plain) <= width for line in lines)
    assert not any("\x1b" in line.plain or "\u202e" in line.plain for line in lines)
    shown = sum("#" in line.plain and not line.plain.startswith("#") for line in lines)
    if height > 12 and width > 60 and not ascii_only:
        more = [line.plain for line in lines if line.plain.startswith("  and ")]
        assert bool(more) == (shown < len(running))


def test_the_live_table_costs_nothing_where_there_is_none() -> None:
    """rich's console takes 20 ms to import; a log does not pay for it."""
    script = "import sys; from agenteval_cli.cli.progress import Progress; Progress(sys.stderr, quiet=False, verbose=False); print('rich.console' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path("/"))
    assert done.stdout == "False\n"
