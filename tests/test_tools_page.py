"""docs/tools.md: its files are valid, and do what the page says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from conftest import ROOT, Repo

from agenteval_cli import schemas

PAGE = (ROOT / "docs/tools.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```\w+ file=(\S+)\n(.*?)```", PAGE, re.DOTALL))

BUY_TWO = """
import json, os, urllib.error, urllib.request
for _ in range(2):
    try:
        print(urllib.request.urlopen(os.environ["AGENTEVAL_TOOLS_URL"] + "/buy", b"{}").read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
"""


@pytest.fixture
def page(repo: Repo) -> Repo:
    for name, text in FILES.items():
        if name != "agent.py":
            repo.write(name, text)
    return repo


def said_by(repo: Repo, case: str, program: str) -> str:
    """What a program prints that finds the tools of a case in its environment, as `agenteval tools` tells it."""
    server = repo.start("tools", case)
    assert server.stdout is not None
    told = dict(server.stdout.readline().strip().removeprefix("export ").split("=", 1) for _ in range(3))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], **told},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=10)
    return done.stdout


def test_the_files_of_the_page_are_valid(page: Repo) -> None:
    done = page.run("validate")
    assert done.code == 0, done


def test_the_agent_of_the_page_prints_what_the_page_says(page: Repo) -> None:
    (printed,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert said_by(page, "refund-inside-window", FILES["agent.py"]) == printed


def test_the_fake_of_the_page_sells_what_it_has(page: Repo) -> None:
    assert said_by(page, "last-one", BUY_TWO) == '{"left":0}\n409 {"error":"no kettle is left"}\n'


def test_a_tool_is_the_same_in_a_case_and_in_a_fixture() -> None:
    case, fixture = (schemas.load(name)["$defs"]["tool"]["properties"] for name in ("case", "fixture"))
    assert {name: value for name, value in case.items() if name != "use"} == fixture


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("{name: a, responses: [{error: {kind: rest}}]}", "did you mean 'reset'"),
        ("{name: a, responses: [{when: {}}]}", "give one of result, error or content"),
        ("{name: a, responses: [{content: [text]}]}", "tools[0].responses[0].content[0]"),
        ("{name: a, handler: not a function}", "tools[0].handler"),
        ("{name: a, handler: []}", "tools[0].handler"),
    ],
)
def test_a_tool_that_is_written_wrongly_is_told_where(repo: Repo, tool: str, words: str) -> None:
    repo.case("wrong", f"schema: 1\nid: wrong\ninput: hi\ntools: [{tool}]\noutcome: [{{contains: a}}]\n")
    done = repo.run("validate", "cases/wrong.yaml")
    assert done.code == 2
    assert words in done.out + done.err
