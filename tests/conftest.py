"""What the end-to-end tests stand on: real repositories in temporary folders and the installed command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

AGENTEVAL = Path(sys.executable).parent / "agenteval"
ROOT = Path(__file__).resolve().parent.parent

ECHO_AGENT = """
import json, sys
request = json.load(sys.stdin)
json.dump({"output": request["input"], "tool_calls": []}, sys.stdout)
"""

GOOD_CASE = """
schema: 1
id: {id}
tier: {tier}
input: hello
outcome:
  - contains: hello
"""

# How quick the machine is just now is no property of the code. In CI hypothesis knows that by itself, and draws no dice.
if not os.environ.get("CI"):
    settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("steady")

# A background job ignores interrupts, and hands that down to what it starts; our tests send them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Done:
    """A command that has ended: its exit code, what it printed, and that as JSON."""

    def __init__(self, process: subprocess.CompletedProcess[str]) -> None:
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Repo:
    """A repository of cases with an agent, in a folder of its own."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.env = {
            **{name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "COVERAGE_PROCESS_START")},
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        }

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def case(self, name: str, text: str = GOOD_CASE, *, tier: str = "smoke") -> Path:
        """A case file. `{id}` and `{tier}` in the text are filled in."""
        return self.write(f"cases/{name}.yaml", text.replace("{id}", name).replace("{tier}", tier))

    def agent(self, program: str = ECHO_AGENT, *, config: str = "") -> None:
        """A Python program as the agent, and lines for its entry in agenteval.yaml."""
        self.write("agent.py", program)
        more = textwrap.indent(textwrap.dedent(config).strip(), "    ")
        self.write(
            "agenteval.yaml", f"schema: 1\nagents:\n  main:\n    command: [{sys.executable}, agent.py]\n{more}\n"
        )

    def run(self, *arguments: str, cwd: Path | None = None, **env: str) -> Done:
        """The installed command, run in the repository."""
        return self.program(str(AGENTEVAL), *arguments, cwd=cwd, **env)

    def program(self, *command: str, cwd: Path | None = None, **env: str) -> Done:
        return Done(
            subprocess.run(
                command,
                cwd=cwd or self.root,
                env={**self.env, **env},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        )

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """The installed command, started and left running."""
        return subprocess.Popen(
            [str(AGENTEVAL), *arguments],
            cwd=self.root,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def git(self, *arguments: str) -> str:
        done = self.program("git", *arguments)
        assert done.code == 0, done
        return done.out

    def commit(self, message: str = "cases") -> str:
        """Everything committed, in a repository that is made where there is none; the commit's name."""
        if not (self.root / ".git").exists():
            self.git("init", "--quiet", "--initial-branch=main")
            self.write(".gitignore", ".agenteval/\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()

    def runs(self) -> list[Path]:
        return sorted((self.root / ".agenteval" / "runs").glob("*"))

    def attempts(self, run: Path | None = None) -> list[dict[str, Any]]:
        """The attempt records of a run; of the latest where none is given."""
        folder = run or self.runs()[-1]
        lines = (folder / "attempts.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one smoke case and an agent that says what it is told, in a folder with a space."""
    root, home = tmp_path / "my repo", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    made = Repo(root, home)
    made.agent()
    made.case("says-hello")
    return made


@pytest.fixture
def empty(tmp_path: Path) -> Repo:
    """A folder with nothing in it."""
    root, home = tmp_path / "empty", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    return Repo(root, home)
