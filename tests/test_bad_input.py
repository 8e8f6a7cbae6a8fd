"""Bad input: each kind gets one clear sentence and the right exit code, and nothing is lost."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from conftest import AGENTEVAL, Repo

SLOW_AGENT = """
import json, sys, time
request = json.load(sys.stdin)
time.sleep(0.3)
json.dump({"output": request["input"], "tool_calls": []}, sys.stdout)
"""


def test_no_configuration(empty: Repo) -> None:
    for command in ("validate", "run", "list", "diff"):
        done = empty.run(command)
        assert done.code == 2
        assert done.err == (f"agenteval: no agenteval.yaml in {empty.root} or above it; `agenteval init` makes one\n")


def test_a_folder_that_is_not_there(empty: Repo) -> None:
    done = empty.run("validate", "-C", "nowhere")
    assert (done.code, done.err) == (2, "agenteval: -C nowhere: No such file or directory\n")


def test_no_git_repository_is_said_and_does_no_harm(repo: Repo) -> None:
    assert not (repo.root / ".git").exists()
    assert repo.run("run").code == 0
    assert repo.run("validate").code == 0


def test_no_folder_of_cases(repo: Repo) -> None:
    shutil.rmtree(repo.root / "cases")
    done = repo.run("run")
    assert done.code == 2
    assert "no case files under cases/" in done.err


def test_no_cases(repo: Repo) -> None:
    (repo.root / "cases" / "says-hello.yaml").unlink()
    for command in ("validate", "run", "list"):
        done = repo.run(command)
        assert done.code == 2
        assert "no case files under cases/" in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "schema: 1\nagents: {main: {comand: [x]}}\n",
            "2:17: agents.main.comand: unknown key 'comand'; did you mean 'command'?",
        ),
        ("schema: 1\nagents: {main: {command: run me}}\n", "'run me' is text; expected a list"),
        ("schema: 1\ndefault_agent: man\nagents: {main: {command: [x]}}\n", "did you mean 'main'?"),
        ("schema: 1\nredact: ['[a-']\n", "is not a pattern: "),
        ("schema: 1\nagents: [\n", "not valid YAML"),
        ("schema: 7\n", "this version reads format 1, not 7"),
        ("", "the file is empty"),
    ],
)
def test_a_configuration_that_is_not_valid(repo: Repo, text: str, said: str) -> None:
    repo.write("agenteval.yaml", text)
    for command in ("validate", "run", "list"):
        done = repo.run(command)
        assert done.code == 2, done
        assert "agenteval.yaml:" in done.err
        assert said in done.err


def test_an_agent_command_that_does_not_exist(repo: Repo) -> None:
    repo.write("agenteval.yaml", "schema: 1\nagents:\n  main: {command: [no-such-agent]}\n")
    done = repo.run("run")
    assert done.code == 2
    assert "agent 'main': the command no-such-agent is neither on PATH nor in the repository" in done.err
    assert repo.runs() == []


def test_an_agent_file_that_is_not_executable(repo: Repo) -> None:
    repo.write("agenteval.yaml", "schema: 1\nagents:\n  main: {command: [./agent.py]}\n")
    done = repo.run("run")
    assert done.code == 2
    assert "./agent.py is not executable; make it so with chmod +x" in done.err


def test_an_agent_that_is_not_a_program(repo: Repo) -> None:
    repo.write("tool", "\x00\x01").chmod(0o755)
    repo.write("agenteval.yaml", "schema: 1\nagents:\n  main: {command: [./tool]}\n")
    done = repo.run("run")
    assert done.code == 1
    assert "cannot be started: Exec format error" in done.out
    assert repo.attempts()[0]["status"] == "agent_error"


def test_an_environment_variable_that_is_not_set(repo: Repo) -> None:
    repo.agent(config="env: {pass: [OPENAI_API_KEY]}")
    done = repo.run("run")
    assert (done.code, done.err) == (
        2,
        "agenteval: agent 'main' needs OPENAI_API_KEY from the environment, which is not set\n",
    )


PRINTS = {
    "nothing": ("pass", "the agent printed nothing"),
    "garbage": ("print('Sure! Here you go.')", "the answer is not JSON"),
    "logs before the JSON": ("print('INFO start'); print('{\"output\": \"hello\"}')", "the answer is not JSON"),
    "two documents": ('print(\'{"output": "hello"}\' * 2)', "the agent printed two JSON documents"),
    "text after it": ('print(\'{"output": "hello"} bye\')', "text follows the JSON document: 'bye'"),
    "JSON that is no answer": ("print('[1, 2]')", "expected a mapping"),
    "an answer without output": ("print('{\"tool_calls\": []}')", "'output' is missing"),
    "200 MB": (
        "import sys\nfor _ in range(200): sys.stdout.write('x' * 1_000_000)",
        "the agent printed 200,000,000 bytes; the limit is 16,777,216",
    ),
    "a crash": ("raise SystemExit('no model')", "the agent exited with code 1; it said: no model"),
    "a signal": ("import os; os.abort()", "the agent was killed by SIGABRT"),
    "a signal without a name": ("import os; os.kill(os.getpid(), 37)", "the agent was killed by signal 37"),
    "more tokens than there are": (
        'print(\'{"output": "hello", "usage": {"input_tokens": 1e300}}\')',
        "usage.input_tokens: 1e+300 must be at most",
    ),
    "a latency that no clock shows": (
        'print(\'{"output": "hello", "latency_ms": %s}\' % ("9" * 400))',
        "latency_ms: ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", PRINTS)
def test_an_agent_that_prints(repo: Repo, what: str) -> None:
    program, said = PRINTS[what]
    repo.agent(program)
    done = repo.run("run")
    assert done.code == 1, done
    assert said in done.out
    (attempt,) = repo.attempts()
    assert (attempt["status"], attempt["outcome"], attempt["trajectory"]) == (
        "agent_error",
        "not_checked",
        "not_checked",
    )


def test_a_program_in_the_command_may_be_longer_than_any_name_of_a_file(repo: Repo) -> None:
    script = "cat > request; " + "true; " * 200 + "echo hello"
    repo.write("agenteval.yaml", f"schema: 1\nagents: {{main: {{command: [sh, -c, '{script}'], protocol: text}}}}\n")
    done = repo.run("run")
    assert done.code == 0, done


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * 131_072, "the input has 131,072 bytes, too long for {input} in argv; let the agent read stdin"),
        ("x" * 131_070, "the input has 131,070 bytes, too long for {input} in argv; let the agent read stdin"),
        ("a\0b", "the input has a NUL character, which is not possible for {input} in argv; let the agent read stdin"),
    ],
)
def test_a_text_that_no_argument_can_carry_is_not_the_agents_fault(repo: Repo, text: str, said: str) -> None:
    command = f"[{sys.executable}, -c, 'print(1)', '--say={{input}}']"
    repo.write("agenteval.yaml", f"schema: 1\nagents: {{main: {{command: {command}, protocol: text}}}}\n")
    case = {"schema": 1, "id": "says", "tier": "smoke", "input": text, "outcome": [{"contains": "1"}]}
    repo.case("says-hello", json.dumps(case))
    assert repo.run("run").code == 3
    (attempt,) = repo.attempts()
    assert (attempt["status"], attempt["reason"]) == ("harness_error", said)


def test_an_input_that_a_jsonl_agent_would_never_see_in_its_command_is_refused(repo: Repo) -> None:
    repo.write("agenteval.yaml", "schema: 1\nagents: {main: {command: [cat, '{input}'], protocol: jsonl}}\n")
    done = repo.run("run")
    assert (done.code, "agents.main.command: a jsonl process answers many requests" in done.err) == (2, True), done


@pytest.mark.slow
def test_whole_numbers_with_a_decimal_point_are_read_back(repo: Repo) -> None:
    call = '{"name": "look", "result": 1, "group": 1.0}'
    usage = '{"input_tokens": 12.0, "output_tokens": 1e2}'
    answer = f'{{"output": "hello", "tool_calls": [{call}], "usage": {usage}}}'
    repo.agent(f"print('{answer}')")
    assert repo.run("run").code == 0
    assert repo.attempts()[0]["total_tokens"] == 112
    assert repo.run("show", "says-hello", "--run", "latest").code == 0
    assert repo.run("run", "--since", "latest").code == 0


def test_of_thousands_of_unknown_keys_a_few_are_told(repo: Repo) -> None:
    repo.agent(
        "import json; print(json.dumps({'output': 'hello', 'x' * 5000: 1, **{f'k{n}': n for n in range(3000)}}))"
    )
    assert repo.run("run").code == 0
    notes = repo.attempts()[0]["notes"]
    assert notes[-1] == "2981 more keys of the response are not known and were left aside"
    assert len("".join(notes)) < 3000


@pytest.mark.slow
@pytest.mark.parametrize("cost", ["-5", "1e999999", "9" * 400])
def test_a_cost_that_nobody_pays_keeps_within_no_limit_and_breaks_no_report(repo: Repo, cost: str) -> None:
    repo.agent(f'import json; print(json.dumps({{"output": "hello", "cost": "{cost}"}}))')
    text = "schema: 1\nid: dear\ntier: smoke\ninput: hi\noutcome: [{contains: hello}]\nlimits: {cost: '1'}\n"
    repo.case("says-hello", text)
    assert repo.run("run").code == 3
    assert repo.attempts()[0]["status"] == "ungraded"
    assert repo.run("report", "--format", "html", "--output", "page.html").code == 0


def test_an_agent_that_never_answers_is_not_green_because_nothing_forbidden_was_said(repo: Repo) -> None:
    repo.agent("import sys; sys.exit(1)")
    repo.case("says-hello", "schema: 1\nid: no-leak\ninput: hi\noutcome: [{not_contains: hunter2}]\n")
    assert repo.run("run").code == 1
    repo.agent("pass", config="protocol: text")
    assert repo.run("run").code == 1


def test_bytes_that_are_not_utf8_are_shown_kept_and_match_nothing(repo: Repo) -> None:
    repo.agent(r"import sys; sys.stdout.buffer.write(b'r\xe9sultat: 12 \xff\n')", config="protocol: text")
    repo.case(
        "says-hello",
        "schema: 1\nid: result\ntier: smoke\ninput: hi\noutcome: [{contains: '12'}, {not_contains: '\ufffd'}]\n",
    )
    done = repo.run("run", LC_ALL="C")
    assert done.code == 0, done
    (attempt,) = repo.attempts()
    assert attempt["notes"] == ["the output has bytes that are not UTF-8; they are shown as U+FFFD and match nothing"]
    shown = repo.run("show", "result", "--run", "latest", "--json").json["attempts"][0]["transcript"]
    assert base64.b64decode(shown["stdout_base64"]) == b"r\xe9sultat: 12 \xff\n"
    assert shown["transcript"]["output"] == "r\ufffdsultat: 12 \ufffd"


def test_colour_codes_and_terminal_queries_around_an_answer_are_taken_off(repo: Repo) -> None:
    repo.agent(r"""print('\x1b]11;?\x1b\\\x1b[6n{"output":"\x1b[32mDONE\x1b[0m: ticket \x1b[1m8841\x1b[0m"}\r')""")
    repo.case("says-hello", "schema: 1\nid: ticket\ninput: hi\noutcome: [{contains: 'DONE: ticket 8841'}]\n")
    assert repo.run("run").code == 0
    repo.agent(r"print('\x1b[32mDONE\x1b[0m: ticket \x1b[1m8841\x1b[0m')", config="protocol: text")
    assert repo.run("run").code == 0


def without_override(*command: str) -> list[str]:
    """The command without root's power to write where modes forbid it."""
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all", *command]


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root, and no setpriv to give that up")
def test_a_runs_folder_that_cannot_be_written(repo: Repo) -> None:
    runs = repo.root / ".agenteval" / "runs"
    runs.mkdir(parents=True)
    runs.chmod(0o555)
    done = repo.program(*without_override(str(AGENTEVAL), "run"))
    runs.chmod(0o755)
    assert done.code == 3, done
    assert f"agenteval: cannot write the run to {runs}" in done.err
    assert "Permission denied" in done.err


@pytest.mark.slow
def test_a_full_disk_keeps_what_was_finished(repo: Repo) -> None:
    repo.agent(SLOW_AGENT, config="concurrency: 1")
    done = repo.program("bash", "-c", f"ulimit -f 8; exec {str(AGENTEVAL)!r} run --attempts 60")
    assert done.code == 3, done
    assert "cannot write the run to" in done.err
    kept = repo.attempts()
    assert 0 < len(kept) < 60
    assert f"{len(kept)} finished attempts are kept there" in done.err
    assert all(attempt["status"] == "passed" for attempt in kept)


def test_a_case_file_that_goes_away_during_the_run(repo: Repo) -> None:
    case = repo.root / "cases" / "says-hello.yaml"
    repo.agent(f"import json, os; os.unlink({str(case)!r}); print(json.dumps({{'output': 'hello'}}))")
    done = repo.run("run")
    assert done.code == 0, done
    assert "cases/says-hello.yaml went away during the run; its verdict is of the file as it was" in done.err


def test_a_file_for_the_agent_that_goes_away_during_the_run(repo: Repo) -> None:
    receipt = repo.write("receipt.txt", "paid")
    repo.case("reads", "schema: 1\nid: reads\ninput: hello\nfiles: [receipt.txt]\noutcome: [{contains: hello}]\n")
    repo.agent(
        f"""
        import json, os
        if os.path.exists({str(receipt)!r}): os.unlink({str(receipt)!r})
        print(json.dumps({{"output": "hello"}}))
        """,
        config="concurrency: 1",
    )
    done = repo.run("run", "--case", "reads", "--attempts", "2")
    assert done.code == 3, done
    assert "No such file or directory" in done.out
    assert sorted(attempt["status"] for attempt in repo.attempts()) == ["harness_error", "passed"]


def test_a_newest_run_that_is_broken_is_told_and_no_older_one_answers_for_it(repo: Repo) -> None:
    for _ in range(2):
        repo.run("run")
    broken = max(repo.runs()) / "run.json"
    broken.write_bytes(b"")
    for command in (("report", "latest", "--gate"), ("baseline", "accept"), ("diff",)):
        done = repo.run(*command)
        assert done.code == 2, done
        assert f"{broken} cannot be read" in done.err
        assert "name the run that you mean by its ID" in done.err
    listed = repo.run("runs", "list")
    assert (listed.code, len(listed.out.splitlines())) == (0, 2)
    assert f"not listed: {broken} cannot be read" in listed.err


def test_whole_numbers_and_times_of_any_size_break_nothing(repo: Repo) -> None:
    big = 12345678901234567890123
    tool = f"{{name: look, responses: [{{result: {{serial: {big}}}}}]}}"
    repo.write("fixtures/tools.yaml", f"schema: 1\nid: desk\ntools: [{tool}]\n")
    used = "schema: 1\nid: waits-long\ninput: hello\ntools: [{use: desk}]\nlimits: {timeout: 700h}\noutcome: [{contains: hello}]\n"
    repo.case("waits-long", used)
    for _ in range(2):  # the second time from what is remembered
        assert repo.run("validate").code == 0
    for timeout in ("700h", "9999999999999999999h"):
        repo.case("waits-long", used.replace("700h", timeout))
        done = repo.run("run", "--case", "waits-long")
        assert done.code == 0, done


def test_usage_errors_say_what_to_type(repo: Repo) -> None:
    assert repo.run("validat").err == "agenteval: no command 'validat'; did you mean 'validate'?\n"
    done = repo.run("run", "--teir", "smoke")
    assert done.code == 2
    assert "No such option: --teir" in done.err
    assert "see `agenteval run --help`" in done.err


def test_errors_are_json_too_where_json_was_asked_for(repo: Repo) -> None:
    done = repo.run("run", "--case", "nobody", "--json")
    assert (done.code, done.json["exit_code"]) == (2, 2)
    assert done.json["error"] == "no case 'nobody'"


def test_a_reader_that_goes_away_is_no_error(repo: Repo) -> None:
    done = repo.program("bash", "-o", "pipefail", "-c", f"{str(AGENTEVAL)!r} list --json | true")
    assert done.code == 0, done


def test_a_bug_of_ours_looks_like_one(repo: Repo) -> None:
    broken = "import agenteval_cli.repository as r; r.load = None; from agenteval_cli.cli import run; raise SystemExit(run(['list']))"
    done = repo.program(sys.executable, "-c", broken)
    assert done.code == 4
    assert "this is a bug in agenteval, not in your cases" in done.err


def test_odd_file_names_are_cases_like_others(repo: Repo) -> None:
    for index, name in enumerate(["café/prix élevé", 'a "b"', " leading space", "-dash", "two\nlines"]):
        repo.case(name, f"schema: 1\nid: odd-{index}\ninput: hello\noutcome: [{{contains: hello}}]\n")
    assert "6 case files valid" in repo.run("validate").err
    assert repo.run("run", "--case", "odd-4").code == 0
    assert "two\\nlines.yaml" in repo.run("list", "--verbose").out
    assert repo.run("validate", "--", "cases/-dash.yaml").code == 0
    assert Path(repo.root, "cases", "two\nlines.yaml").exists()
