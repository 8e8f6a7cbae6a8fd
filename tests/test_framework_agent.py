"""An agent of a framework is tested as it is: its tools come by an environment variable, its calls are seen there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import AGENTEVAL, ROOT, Repo

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: pip install 'pydantic-ai-slim[mcp]'")
pytestmark = pytest.mark.slow  # the framework takes seconds to import

CASE = "cases/refund-at-the-second-try.yaml"
PATH = f"{AGENTEVAL.parent}{os.pathsep}{os.environ['PATH']}"  # the Python that has the framework


@pytest.fixture
def clerk(empty: Repo) -> Repo:
    shutil.copytree(ROOT / "examples" / "framework_agent", empty.root, dirs_exist_ok=True)
    shutil.rmtree(empty.root / ".agenteval", ignore_errors=True)
    empty.commit()
    return empty


def test_it_looks_up_tries_again_and_passes_and_its_calls_are_those_that_were_seen(clerk: Repo) -> None:
    done = clerk.run("run", PATH=PATH)
    assert done.code == 0, done
    (attempt,) = clerk.attempts()
    assert attempt["status"] == "passed"
    shown = clerk.run("show", "refund-at-the-second-try", "--run", "latest")
    assert shown.code == 0, shown
    for words in ("get_order", "try again", "R-9"):
        assert words in shown.out


def test_the_case_fails_where_the_money_is_not_paid(clerk: Repo) -> None:
    case = clerk.root / CASE
    text = case.read_text(encoding="utf-8")
    assert "times: 1, error" in text
    case.write_text(text.replace("times: 1, error", "times: 2, error"), encoding="utf-8")
    assert clerk.run("run", PATH=PATH).code == 1
    (attempt,) = clerk.attempts()
    assert attempt["status"] == "failed"


def test_it_names_nothing_of_ours_but_the_variable() -> None:
    program = Path(ROOT, "examples", "framework_agent", "agent.py").read_text(encoding="utf-8")
    code = program.split('"""', 2)[2]
    assert code.lower().count("agenteval") == code.count("AGENTEVAL_MCP_CONFIG") == 1
