"""Checks that are programs: real processes, in the repository's folder, with their verdicts and their faults."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build import answered, case, did

from agenteval_cli.case import Case
from agenteval_cli.checks import Told
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.finding import Finding
from agenteval_cli.grading import verdict_on
from agenteval_cli.orphans import Guardian
from agenteval_cli.outside import answers_to
from agenteval_cli.process import Cancel, Processes
from agenteval_cli.transcript import Transcript

FUNCTIONS = """
import sys

def is_polite(transcript):
    print("this is not the verdict")
    return "please" in transcript["output"]

def says(transcript, word, case):
    assert word in transcript["output"], f"{case['id']}: no {word}"
    return True

def pair(transcript):
    return False, "because"

def verdict(transcript):
    return {"result": "no_evidence", "message": "who knows", "actual": transcript["output"]}

def forgets(transcript):
    pass

def breaks(transcript):
    return transcript["nothing"]

def leaves(transcript):
    import os
    os._exit(0)

def loops(transcript):
    found = []
    found.append(found)
    return {"result": "passed", "actual": found}

def breaks_in_words(transcript):
    class Mute(Exception):
        def __str__(self):
            raise ValueError
    raise Mute

def exits(transcript):
    sys.exit(1)

class Rules:
    @staticmethod
    def short(transcript):
        return len(transcript["output"]) < 10
"""


@pytest.fixture
def processes() -> Iterator[Processes]:
    guardian, cancel = Guardian("TRACEPARENT=00-feedfacefeedface"), Cancel()
    yield Processes(guardian, cancel)
    guardian.dismiss()
    cancel.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "__init__.py").write_text(FUNCTIONS, encoding="utf-8")
    return tmp_path


def asked(subject: Case, ending: Answered, processes: Processes, root: Path) -> dict[str, Finding]:
    env = {"PATH": os.environ["PATH"], "HOME": str(root)}
    return answers_to(subject, ending, processes.run, root, env)


def finding(check: dict[str, Any], processes: Processes, root: Path, output: str = "yes please") -> Finding:
    (found,) = asked(case(outcome=[check]), answered(did(output=output)), processes, root).values()
    return found


@pytest.mark.parametrize(
    ("call", "output", "result", "words"),
    [
        ("rules:is_polite", "yes please", "passed", ""),
        ("rules:is_polite", "no", "failed", ""),
        ("rules:pair", "", "failed", "because"),
        ("rules:verdict", "hm", "no_evidence", "who knows"),
        ("rules:Rules.short", "short", "passed", ""),
        ("rules:forgets", "", "error", "the function returned None; return True or False"),
        ("rules:breaks", "", "error", "rules:breaks: KeyError: 'nothing'"),
        ("rules:leaves", "", "error", "it gave no verdict"),
        ("rules:loops", "", "error", "rules:loops: its verdict is no JSON: Circular reference"),
        ("rules:breaks_in_words", "", "error", "rules:breaks_in_words: Mute: it has no words"),
        ("rules:exits", "", "failed", "the check's program exited with 1"),
        ("rules:nowhere", "", "error", "AttributeError"),
        ("nowhere:rule", "", "error", "ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_a_function_of_the_repository_decides(
    call: str, output: str, result: str, words: str, processes: Processes, root: Path
) -> None:
    found = finding({"code": call}, processes, root, output)
    assert found.result == result
    assert words in found.message


def test_a_function_gets_what_the_case_gives_it(processes: Processes, root: Path) -> None:
    check = {"code": {"call": "rules:says", "with": {"word": "please"}}}
    assert finding(check, processes, root).result == "passed"
    found = finding(check, processes, root, "no")
    assert (found.result, found.message) == ("failed", "greet: no please")


@pytest.mark.parametrize(
    ("script", "result", "words"),
    [
        ("grep -q please", "passed", ""),
        ("grep -q thanks", "failed", "the check's program exited with 1"),
        ("echo why >&2; exit 7", "failed", "exited with 7: why"),
        ("echo cannot say; exit 125", "no_evidence", "exited with 125: cannot say"),
        ("exit 124", "failed", "exited with 124"),
        ("no-such-program", "failed", "exited with 127"),
        ("exit 128", "error", "exited with 128"),
        ("kill -9 $$", "error", "was ended by signal 9"),
        ("""echo '{"result": "failed", "message": "too rude"}'""", "failed", "too rude"),
        ("""echo '{"result": true}'""", "passed", ""),
        ("""echo '{"result": "maybe"}'""", "error", 'the result "maybe" is none of passed, failed'),
        ("""echo '{"result": "passed"}'; exit 3""", "failed", "exited with 3"),
        ("""echo '{"result": "failed", "message": "too rude"}'; exit 3""", "failed", "too rude"),
        ("""echo '{"score": 1}'""", "passed", ""),
        ("echo false", "failed", ""),
        ("""echo checking; echo '{"result": "failed"}'""", "error", "its verdict cannot be read"),
        ("""echo '{"result": "failed", "result": "passed"}'""", "error", "its verdict cannot be read"),
        ("""echo '{"result": "failed",'""", "error", "its verdict cannot be read"),
    ],
)
def test_a_program_decides_by_its_words_or_its_exit_code(
    script: str, result: str, words: str, processes: Processes, root: Path
) -> None:
    found = finding({"command": ["/bin/sh", "-c", script]}, processes, root)
    assert found.result == result
    assert words in found.message


def test_a_program_reads_the_transcript_and_the_case(processes: Processes, root: Path) -> None:
    script = "import json, sys; d = json.load(sys.stdin); print(json.dumps({'result': 'failed', 'actual': d}))"
    check = {"command": {"run": [sys.executable, "-c", script], "with": [1, None]}}
    found = finding(check, processes, root)
    assert found.actual == {
        "protocol": 1,
        "check": "outcome[0].command",
        "case": {"schema": 1, "id": "greet", "input": "Hello"},
        "transcript": {"output": "yes please", "tool_calls": []},
        "with": [1, None],
    }


def test_r20_a_program_that_loops_is_ended_and_is_an_error(processes: Processes, root: Path) -> None:
    check = {"command": {"run": ["/bin/sh", "-c", "while :; do :; done"], "timeout": "200ms"}}
    found = finding(check, processes, root)
    assert (found.result, found.message) == ("error", "it took more than 0.2 s")


def test_a_program_that_is_not_there_is_an_error(processes: Processes, root: Path) -> None:
    found = finding({"command": ["./check.sh"]}, processes, root)
    assert found.result == "error"
    assert "check.sh cannot be started: No such file or directory" in found.message


def test_a_program_of_the_repository_is_found_from_its_root(processes: Processes, root: Path) -> None:
    (root / "check.sh").write_text("#!/bin/sh\ntest -d rules\n", encoding="utf-8")
    (root / "check.sh").chmod(0o755)
    assert finding({"command": ["./check.sh"]}, processes, root).result == "passed"


def test_programs_inside_other_checks_and_of_turns_are_asked_too(processes: Processes, root: Path) -> None:
    polite = {"code": "rules:is_polite"}
    subject = case(outcome=[{"not": polite}, {"any_of": [{"contains": "x"}, polite], "turn": 1}])
    turns = (Transcript(output="please"), Transcript(output="no"))
    ending = Answered(Facts(), turns[1], turns)
    answers = asked(subject, ending, processes, root)
    assert {name: found.result for name, found in answers.items()} == {
        "outcome[0].not.code": "failed",
        "outcome[1].any_of[1].code": "passed",
    }
    assert verdict_on(subject, ending, Told(answers=answers)).status == "passed"


def test_without_its_program_the_case_is_ungraded() -> None:
    found = verdict_on(case(outcome=[{"code": "rules:is_polite"}]), answered(did()))
    assert (found.status, found.reason) == (
        "ungraded",
        "outcome[0].code: its program was not run on this transcript",
    )
