"""Agents that misbehave, run by the installed command: it returns in time, tells the truth, and leaves nothing behind."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import AGENTEVAL, Done, Repo

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left running is looked up in /proc")

TIMEOUT = 1  # seconds that an agent may take which is to take longer
LONG = 8  # and one that is not, on a busy machine
# An agent that answers every request but the one to attack with hello. It notes the pids of what it leaves behind.
AGENT = """
import json, os, pathlib, shutil, signal, socket, subprocess, sys, time

def note(pid):
    with open(os.environ["NOTES"], "a") as notes:
        notes.write(f"{pid}\\n")

def answer():
    sys.stdout.write('{"output": "hello", "tool_calls": []}')
    sys.stdout.flush()

def daemon(*argv):
    "Fork twice, into a session of its own, and go on as this program. With `env -i` it has no environment either."
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note(os.getpid())
            os.closerange(0, 3)
            os.execvp(argv[0], argv)
        os._exit(0)
    os.wait()

request = json.load(sys.stdin)
if request["input"] != "attack":
    answer()
    sys.exit()
outside = os.environ["OUTSIDE"]
"""

BOMB = """
def bomb(depth):
    note(os.getpid())
    LEAVE
    for _ in range(3 if depth else 0):
        if os.fork() == 0:
            bomb(depth - 1)
    time.sleep(600)
if os.fork() == 0:
    bomb(4)
time.sleep(0.5)
answer()
"""
# What it does instead, and the status that its attempt ends in.
ATTACKS = {
    "a grandchild holds stdout open": ("note(subprocess.Popen(['sleep', '600']).pid); answer()", "passed"),
    "a grandchild floods stdout": ("note(subprocess.Popen(['cat', '/dev/zero']).pid); time.sleep(600)", "timeout"),
    "a grandchild talks on after the exit": (
        "answer(); note(subprocess.Popen(['sh', '-c', 'while :; do echo x; done']).pid)",
        None,
    ),
    "it ignores TERM": ("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)", "timeout"),
    "it ignores all signals": (
        "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 17, 19)]; time.sleep(600)",
        "timeout",
    ),
    "it stopped itself": ("os.kill(os.getpid(), signal.SIGSTOP)", "timeout"),
    "it stopped its children": (
        "child = subprocess.Popen(['sleep', '600']); note(child.pid); child.send_signal(signal.SIGSTOP); answer()",
        "passed",
    ),
    "it closes stdout and lives on": ("os.close(1); time.sleep(600)", "timeout"),
    "it closes everything and lives on": ("os.closerange(0, 100); time.sleep(600)", "timeout"),
    "it ends its own group": ("os.killpg(0, signal.SIGTERM); time.sleep(600)", "agent_error"),
    "a fork bomb of 121": (BOMB.replace("LEAVE", ""), "passed"),
    "a fork bomb of 121 that leave their session": (BOMB.replace("LEAVE", "os.setsid()"), "passed"),
    "a child in another group": (
        "if os.fork() == 0: os.setpgid(0, 0); note(os.getpid()); time.sleep(600)\ntime.sleep(0.2); answer()",
        "passed",
    ),
    "a daemon": ("daemon('sleep', '600'); answer()", "passed"),
    "a daemon without an environment": ("daemon('env', '-i', 'sleep', '600'); answer()", "passed"),
    "a daemon that starts daemons without an environment": (
        "daemon('env', '-i', 'NOTES=' + os.environ['NOTES'], 'sh', '-c',"
        " 'for i in 1 2 3; do setsid sleep 600 & echo $! >>$NOTES; done; exec sleep 600'); time.sleep(0.3); answer()",
        "passed",
    ),
    "a daemon of an agent that hangs": ("daemon('env', '-i', 'sleep', '600'); time.sleep(600)", "timeout"),
    "a daemon of an agent that dies": ("daemon('env', '-i', 'sleep', '600'); os.abort()", "agent_error"),
    "a child with a trace of its own": (
        f"os.environ['TRACEPARENT'] = '00-{'7' * 32}-{'7' * 16}-01'; daemon('sleep', '600'); answer()",
        "passed",
    ),
    "it kills the guardian": (
        """
for pid in filter(str.isdigit, os.listdir('/proc')):
    words = pathlib.Path('/proc', pid, 'cmdline').read_bytes() if os.path.exists(f'/proc/{pid}') else b''
    if b'agenteval' in words and b'agent.py' not in words and os.getsid(int(pid)) == int(pid):
        parent = pathlib.Path('/proc', pid, 'stat').read_text().rpartition(')')[2].split()[1]
        if int(parent) == os.getppid():
            os.kill(int(pid), 9); note(pid)
daemon('sleep', '600'); answer()
""",
        "passed",
    ),
    "it removes its folder": ("shutil.rmtree(os.getcwd()); answer()", "passed"),
    "a link stands where its folder was": (
        "here = os.getcwd(); os.rmdir(here); os.symlink(outside, here); answer()",
        "passed",
    ),
    "a file stands where its folder was": ("here = os.getcwd(); os.rmdir(here); open(here, 'w'); answer()", "passed"),
    "links, pipes and sockets in its folder": (
        """
os.symlink(outside, 'link'); os.symlink(outside + '/keep.txt', 'file'); os.symlink('loop', 'loop')
os.link(outside + '/keep.txt', 'hard'); os.mkfifo('fifo'); socket.socket(socket.AF_UNIX).bind('socket')
open(b'\\xff\\n', 'w'); open('-rf', 'w'); answer()
""",
        "passed",
    ),
    "a folder that may not be entered": (
        """
os.makedirs('a/b/c'); open('a/b/c/file', 'w'); os.symlink(outside, 'a/b/link')
os.chmod('a/b/c', 0); os.chmod('a/b', 0); os.chmod('a', 0o400); os.chmod('.', 0); answer()
""",
        "passed",
    ),
    "a tree deeper than paths can be": (
        "for _ in range(3000): os.mkdir('deeper-and-deeper'); os.chdir('deeper-and-deeper')\nanswer()",
        "passed",
    ),
}


class Field(Repo):
    """A repository whose agent attacks in one case and is good in another, with a folder for temporary files."""

    def __init__(self, root: Path, home: Path) -> None:
        super().__init__(root, home)
        self.notes, self.outside, self.tmp = (home / name for name in ("notes", "outside", "tmp"))
        self.outside.mkdir()
        self.tmp.mkdir()
        (self.outside / "keep.txt").write_text("kept", encoding="utf-8")
        self.env["TMPDIR"] = str(self.tmp)

    def attacked(self, attack: str, *, timeout: str = f"{TIMEOUT}s", at_once: int = 4) -> None:
        """Have the agent do this."""
        self.agent(AGENT + attack, config=f"timeout: {timeout}\nconcurrency: {at_once}\n{self.names}")

    @property
    def names(self) -> str:
        return f"env: {{set: {{NOTES: '{self.notes}', OUTSIDE: '{self.outside}'}}}}"

    @property
    def noted(self) -> list[int]:
        return [int(line) for line in self.notes.read_text(encoding="utf-8").split()] if self.notes.exists() else []

    @property
    def statuses(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for attempt in self.attempts():
            found.setdefault(attempt["case"], []).append(attempt["status"])
        return found

    def left_running(self) -> list[str]:
        """What runs on of the noted processes, and of all that have the mark of a run or this field's variables."""
        marks = [b"NOTES=" + bytes(self.notes)]
        return [
            f"{pid}: {words!r}" for pid, words, env in processes() if pid in self.noted or any(m in env for m in marks)
        ]

    def assert_nothing_is_left(self) -> None:
        assert self.left_running() == []
        assert list(self.tmp.iterdir()) == []
        assert [path.name for path in self.outside.iterdir()] == ["keep.txt"]
        assert (self.outside / "keep.txt").read_text(encoding="utf-8") == "kept"


def processes() -> list[tuple[int, bytes, bytes]]:
    """pid, arguments and environment of whatever runs; the dead that nobody has reaped yet are not listed."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
            if state != "Z":
                found.append((int(path.name), (path / "cmdline").read_bytes(), (path / "environ").read_bytes()))
        except OSError:
            continue
    return found


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.02)


@pytest.fixture
def field(tmp_path: Path) -> Field:
    root, home = tmp_path / "repo", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    made = Field(root, home)
    made.case("good")
    made.case("attacked", "schema: 1\nid: {id}\ntier: {tier}\ninput: attack\noutcome: [{contains: hello}]\n")
    return made


def without_root_powers() -> None:
    """Before the command is executed: permissions bind it, whoever it is."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def run_bound_by_permissions(field: Field, *arguments: str) -> Done:
    return Done(
        subprocess.run(
            [str(AGENTEVAL), "run", *arguments],
            cwd=field.root,
            env=field.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
            preexec_fn=without_root_powers,
        )
    )


QUICK = {
    "it ignores TERM",
    "a child in another group",
    "a daemon without an environment",
    "a folder that may not be entered",
}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ATTACKS]
)
def test_an_attack_costs_its_own_attempt_and_leaves_nothing_behind(field: Field, name: str) -> None:
    attack, status = ATTACKS[name]
    timeout = TIMEOUT if status == "timeout" else LONG
    field.attacked(attack, timeout=f"{timeout}s")
    limit = timeout + 60  # what hangs would do so for ten minutes
    began = time.monotonic()
    done = run_bound_by_permissions(field, "--attempts", "2")
    assert time.monotonic() - began < limit
    field.assert_nothing_is_left()
    found = field.statuses
    assert found["good"] == ["passed", "passed"], done
    assert len(found["attacked"]) == 2
    if status is not None:
        assert found["attacked"] == [status, status], done
    assert done.code == (0 if found["attacked"] == ["passed", "passed"] else 1), done


@pytest.mark.slow
def test_attacks_all_at_once_do_not_disturb_each_other(field: Field) -> None:
    attacks = {name: attack for name, (attack, _) in ATTACKS.items() if "guardian" not in name}
    field.attacked(f"exec({attacks!r}[request['state']['attack']])", timeout="8s", at_once=8)
    for number, name in enumerate(attacks):
        case = {"schema": 1, "id": f"attack-{number}", "input": "attack", "state": {"attack": name}, "attempts": 1}
        field.write(f"cases/attack-{number}.yaml", json.dumps({**case, "outcome": [{"contains": "hello"}]}))
    (field.root / "cases" / "attacked.yaml").unlink()
    done = run_bound_by_permissions(field)
    assert done.code == 1, done
    field.assert_nothing_is_left()
    wanted = {f"attack-{number}": ATTACKS[name][1] for number, name in enumerate(attacks)}
    found = {case: status for case, (status,) in field.statuses.items()}
    assert {case: status for case, status in found.items() if wanted.get(case)} == {
        case: status for case, status in wanted.items() if status
    }, done
    assert found["good"] == "passed"


def test_an_agent_that_removes_the_folders_of_the_run_harms_no_later_attempt(field: Field) -> None:
    field.attacked("shutil.rmtree(os.path.dirname(os.getcwd())); answer()", at_once=1)
    assert field.run("run", "--attempts", "3").code == 0
    field.assert_nothing_is_left()


@pytest.mark.slow
def test_what_may_not_be_removed_by_anyone_costs_no_attempt(field: Field) -> None:
    field.attacked("subprocess.run(['chattr', '+i', '.'], stderr=subprocess.DEVNULL); answer()")
    try:
        assert field.run("run").code == 0
    finally:
        subprocess.run(["chattr", "-R", "-i", str(field.tmp)], stderr=subprocess.DEVNULL, check=False)


# ---- what an agent is given


def test_an_agent_has_three_descriptors_a_session_of_its_own_and_no_terminal(field: Field) -> None:
    field.agent(
        """
        import json, os, sys
        open_ones = sorted(os.listdir("/proc/self/fd"), key=int)[:-1]
        own = os.getsid(0) == os.getpgid(0) == os.getpid()
        try:
            open("/dev/tty", "w").write("\\x1b[2J boo")
        except OSError as error:
            said = error.strerror
        print(json.dumps({"output": f"hello {open_ones} {own} {said}"}))
        """
    )
    field.case(
        "attacked",
        """
        schema: 1
        id: {id}
        input: hi
        outcome: [{contains: "['0', '1', '2'] True No such device or address"}]
        """,
    )
    code, shown = on_a_terminal(field, "run")
    assert code == 0, shown
    assert b"boo" not in shown


def on_a_terminal(field: Field, *arguments: str) -> tuple[int, bytes]:
    """The command with a terminal of its own as stdin, stdout and stderr: its exit code and all that was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(field.root)
        os.execve(AGENTEVAL, [str(AGENTEVAL), *arguments], {**field.env, "TERM": "xterm"})  # noqa: S606  # no shell
    shown = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            chunk = b""
        if not chunk:
            break
        shown += chunk
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


# ---- what an agent prints


MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_gigabyte_is_counted_and_needs_no_memory(field: Field, stream: str) -> None:
    redirect = ">&2" if stream == "stderr" else ""
    field.attacked(f"subprocess.run('head -c 1000000000 /dev/zero {redirect}', shell=True); answer()", timeout="60s")
    # Linux counts what a process was before its exec as its own, so a small one must start the command.
    words = [sys.executable, "-S", "-c", MEASURED, str(AGENTEVAL), "run", "--case", "attacked", "--attempts", "2"]
    done = field.program(*words)
    assert done.code == (1 if stream == "stdout" else 0), done
    assert int(done.err.split()[-1]) < 200 * 1024, "kilobytes"
    shown = field.run("show", "attacked", "--run", "latest", "--json").json["attempts"]
    sizes = [attempt["transcript"][f"{stream}_size"] for attempt in shown]
    assert [size // 1_000_000_000 for size in sizes] == [1, 1]
    assert sum(path.stat().st_size for path in field.runs()[-1].iterdir()) < 20_000_000
    field.assert_nothing_is_left()


def test_an_answer_between_gusts_of_stderr_is_whole(field: Field) -> None:
    field.attacked(
        """
for piece in ('{"out', 'put": "he', 'llo", "tool', '_calls": []}'):
    sys.stderr.write("log " * 40_000); sys.stderr.flush()
    sys.stdout.write(piece); sys.stdout.flush()
"""
    )
    assert field.run("run").code == 0
    (attempt,) = field.run("show", "attacked", "--run", "latest", "--json").json["attempts"]
    assert attempt["transcript"]["stderr_size"] == 640_000
    assert attempt["transcript"]["stdout"] == '{"output": "hello", "tool_calls": []}'


TEXTS = {
    "crlf": (b"one\r\nhello\r\n", "one\r\nhello", None),
    "nul": (b"a\0hello\0", "a\0hello\0", None),
    "not utf-8": (b"caf\xe9 hello \xff\n", "caf\ufffd hello \ufffd", b"caf\xe9 hello \xff\n"),
    "cut in a character": (b"hello \xe2\x82", "hello \ufffd", b"hello \xe2\x82"),
    "utf-16": ("hello".encode("utf-16"), "\ufffd\ufffdh\0e\0l\0l\0o\0", "hello".encode("utf-16")),
}


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_odd_bytes_are_read_leniently_and_kept_as_they_were(field: Field, locale: str) -> None:
    table = {name: raw for name, (raw, _, _) in TEXTS.items()}
    field.agent(f"import sys\nsys.stdout.buffer.write({table!r}[sys.stdin.read()])", config="protocol: text")
    (field.root / "cases" / "good.yaml").unlink()
    (field.root / "cases" / "attacked.yaml").unlink()
    for name in TEXTS:
        field.case(name.replace(" ", "-"), f"schema: 1\nid: {{id}}\ninput: {name}\noutcome: [{{regex: h}}]\n")
    done = field.run("run", "--attempts", "1", LC_ALL=locale, LANG=locale)
    assert done.code == 0, done
    for name, (raw, text, kept) in TEXTS.items():
        (attempt,) = field.run("show", name.replace(" ", "-"), "--run", "latest", "--json").json["attempts"]
        stored = attempt["transcript"]
        assert stored["transcript"]["output"] == text
        if kept is None:
            assert stored["stdout"].encode() == raw
        else:
            assert base64.b64decode(stored["stdout_base64"]) == kept
            assert any("not UTF-8" in note for note in attempt["attempt"]["notes"])


@pytest.mark.parametrize(
    "program",
    ["os.close(0)", "os.read(0, 1)", "os.read(0, 1); os.close(0); time.sleep(0.3)", "pass"],
)
def test_an_agent_that_does_not_read_a_large_request_may_answer(field: Field, program: str) -> None:
    field.agent(f'import os, time\n{program}\nprint(\'{{"output": "hello"}}\')')
    field.write(
        "cases/good.yaml",
        json.dumps(
            {"schema": 1, "id": "good", "input": "x" * 2_000_000, "attempts": 2, "outcome": [{"contains": "hello"}]}
        ),
    )
    done = field.run("run", "--case", "good")
    assert done.code == 0, done


# ---- signals to the tool

STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN); note(os.getpid()); daemon('env', '-i', 'sleep', '600'); time.sleep(600)"


@pytest.fixture
def stubborn(field: Field) -> Field:
    """Attempts of which some answer, and some ignore TERM and have a daemon, for minutes."""
    field.attacked(STUBBORN, timeout="60s", at_once=6)
    return field


def stopped(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What the command says while it ends, which must be long before its agents would."""
    return process.communicate(timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_many_run_keeps_what_has_ended_and_leaves_nothing(
    stubborn: Field, number: signal.Signals
) -> None:
    process = stubborn.start("run", "--attempts", "4")
    wait_for(lambda: len(stubborn.noted) == 8 and len(stubborn.attempts()) == 4)
    process.send_signal(number)
    _, err = stopped(process)
    assert process.returncode == 130, err
    assert stubborn.statuses == {"good": ["passed"] * 4, "attacked": ["cancelled"] * 4}
    stubborn.assert_nothing_is_left()


def test_a_second_interrupt_does_not_wait_for_the_grace(stubborn: Field) -> None:
    process = stubborn.start("run", "--attempts", "4")
    wait_for(lambda: len(stubborn.noted) == 8 and len(stubborn.attempts()) == 4)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = stopped(process)
    assert process.returncode == 130, err
    assert stubborn.statuses == {"good": ["passed"] * 4, "attacked": ["cancelled"] * 4}
    stubborn.assert_nothing_is_left()


def test_many_signals_are_like_two(stubborn: Field) -> None:
    process = stubborn.start("run", "--attempts", "2")
    wait_for(lambda: len(stubborn.noted) == 4 and len(stubborn.attempts()) == 2)
    for turn in range(20):
        if process.poll() is None:
            process.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[turn % 3])
        time.sleep(0.01)
    _, err = stopped(process)
    # The last of them may come when the run is over and only the interpreter is left to be ended.
    assert process.returncode in (130, -signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP), err
    assert json.loads((stubborn.runs()[-1] / "run.json").read_text(encoding="utf-8"))["status"] == "interrupted"
    assert stubborn.statuses["good"] == ["passed"] * 2
    stubborn.assert_nothing_is_left()


def test_an_interrupt_in_the_last_attempt_cancels_only_that(stubborn: Field) -> None:
    stubborn.attacked(STUBBORN, timeout="60s", at_once=1)
    process = stubborn.start("run", "--attempts", "1")
    wait_for(lambda: len(stubborn.noted) == 2)
    process.send_signal(signal.SIGINT)
    _, err = stopped(process)
    assert process.returncode == 130, err
    assert stubborn.statuses["attacked"] == ["cancelled"]
    stubborn.assert_nothing_is_left()


def test_who_asked_not_to_be_hung_up_on_is_not(field: Field) -> None:
    """nohup, and background jobs of a script, start a program with the signal ignored."""
    field.attacked("time.sleep(0.8); answer()", timeout="60s")
    command = f"trap '' HUP INT; exec '{AGENTEVAL}' run --attempts 1"
    with subprocess.Popen(["/bin/sh", "-c", command], cwd=field.root, env=field.env, stderr=subprocess.PIPE) as process:
        wait_for(lambda: field.runs() and field.left_running())
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert field.statuses == {"good": ["passed"], "attacked": ["passed"]}


@pytest.mark.slow
def test_a_killed_tool_leaves_no_process_and_no_folder(stubborn: Field) -> None:
    process = stubborn.start("run", "--attempts", "4")
    wait_for(lambda: len(stubborn.noted) == 8 and len(stubborn.attempts()) == 4)
    time.sleep(1.5)  # by then it has seen the daemons that nothing but their parent tells to be ours
    process.kill()
    process.communicate()
    wait_for(lambda: not stubborn.left_running() and not list(stubborn.tmp.iterdir()), 5)
    assert stubborn.statuses == {"good": ["passed"] * 4}


def test_an_agent_that_kills_the_tool_does_not_outlive_it(field: Field) -> None:
    field.attacked("daemon('sleep', '600'); os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)")
    process = field.start("run", "--case", "attacked", "--attempts", "1")
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGKILL
    wait_for(lambda: not field.left_running() and not list(field.tmp.iterdir()), 5)


def test_no_room_for_folders_is_told_and_incomplete(field: Field) -> None:
    field.attacked("answer()")
    field.env["TMPDIR"] = "/proc/nowhere"
    program = (
        "import tempfile; tempfile.gettempdir = lambda: '/proc/nowhere'; from agenteval_cli.cli import main; main()"
    )
    done = field.program(sys.executable, "-c", program, "run")
    assert done.code == 3, done
    assert "no room for the folders that agents work in: No such file or directory" in done.err


# ---- agents that stay


@pytest.mark.slow
def test_a_hung_and_a_crashed_worker_cost_their_own_attempts(field: Field) -> None:
    field.agent(
        """
        import json, os, subprocess, sys, time
        for line in sys.stdin:
            said = json.loads(line)["input"]
            if said == "hang":
                subprocess.Popen(["sleep", "600"], start_new_session=True)
                time.sleep(600)
            if said == "crash":
                os.abort()
            if said == "chatter":
                print("Thinking…", flush=True)
            print(json.dumps({"output": said}), flush=True)
        """,
        config=f"protocol: jsonl\ntimeout: 2s\nconcurrency: 3\n{field.names}",
    )
    (field.root / "cases" / "attacked.yaml").unlink()
    for name in ("hang", "crash", "chatter"):
        field.case(name, f"schema: 1\nid: {{id}}\ninput: {name}\nattempts: 1\noutcome: [{{contains: {name}}}]\n")
    done = field.run("run", "--attempts", "3")
    assert done.code == 1, done
    assert field.statuses == {
        "good": ["passed"] * 3,
        "hang": ["timeout"] * 3,
        "crash": ["agent_error"] * 3,
        "chatter": ["agent_error"] * 3,
    }, done
    field.assert_nothing_is_left()


def test_a_late_answer_that_names_its_attempt_is_not_taken_for_that_of_the_next(field: Field) -> None:
    field.agent(
        """
        import json, sys, time
        late = None
        for line in sys.stdin:
            request = json.loads(line)
            if late:
                print(late, flush=True)
                time.sleep(600)
            late = json.dumps({"attempt": request["attempt"], "output": "hello"})
            print(late, flush=True)
        """,
        config="protocol: jsonl\ntimeout: 20s\nconcurrency: 1",
    )
    (field.root / "cases" / "attacked.yaml").unlink()
    done = field.run("run", "--attempts", "2")
    assert done.code == 1, done
    assert field.statuses == {"good": ["passed", "agent_error"]}
    assert "the agent answered another attempt than the one it was asked for" in done.out


@pytest.mark.slow
def test_many_stubborn_workers_are_ended_together(field: Field) -> None:
    field.agent(
        """
        import json, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for line in sys.stdin:
            time.sleep(0.3)
            print(json.dumps({"output": "hello"}), flush=True)
        time.sleep(600)
        """,
        config=f"protocol: jsonl\nconcurrency: 8\n{field.names}",
    )
    (field.root / "cases" / "attacked.yaml").unlink()
    began = time.monotonic()
    assert field.run("run", "--attempts", "16").code == 0
    assert time.monotonic() - began < 60
    field.assert_nothing_is_left()
