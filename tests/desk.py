"""An agent of a few lines of shell that notes each call it gets and waits where it is told to, so that runs can be stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from conftest import Repo

# It notes what it was asked, waits while more was asked than it has patience for, and says what it was asked.
PATIENT = """
said=$(cat)
echo "$said" >> "$DESK/calls"
until [ "$(wc -l < "$DESK/calls")" -le "$(cat "$DESK/patience")" ]; do sleep 0.02; done
echo "$said"
"""

CASE = """
schema: 1
id: {id}
tier: {tier}
attempts: 2
input: hello {id}
outcome: [{contains: hello}]
"""

ENDLESS = 10**6


class Desk:
    """Where the agent notes its calls: outside the repository, so that no note changes what the agent is made of."""

    def __init__(self, repo: Repo, program: str = PATIENT, *, config: str = "") -> None:
        self.folder = repo.root.parent / "desk"
        self.folder.mkdir(exist_ok=True)
        self.answers(ENDLESS)
        self._repo = repo
        self.works_by(program, config=config)

    def works_by(self, program: str, *, config: str = "") -> None:
        """The agent's program, and lines for its entry in agenteval.yaml."""
        self._repo.write("agent.sh", program)
        lines = ["command: [sh, agent.sh]", "protocol: text", f"env: {{set: {{DESK: '{self.folder}'}}}}"]
        given = {line.partition(":")[0] for line in config.splitlines()}
        lines = [line for line in lines if line.partition(":")[0] not in given] + config.splitlines()
        self._repo.write("agenteval.yaml", "schema: 1\nagents:\n  main:\n" + "".join(f"    {line}\n" for line in lines))

    def answers(self, calls: int) -> None:
        """So many calls are answered; whoever asks more waits."""
        beside = self.folder / "patience.new"
        beside.write_text(str(calls), encoding="utf-8")
        beside.replace(self.folder / "patience")

    @property
    def calls(self) -> list[str]:
        """What the agent was asked so far."""
        path = self.folder / "calls"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def forget(self) -> None:
        (self.folder / "calls").unlink(missing_ok=True)


def somebody_waits(folder: Path) -> bool:
    """Whether more was asked at this desk than it answers."""
    asked = (folder / "calls").read_text(encoding="utf-8").count("\n")
    return asked > int((folder / "patience").read_text(encoding="utf-8"))


def cases(repo: Repo, number: int, text: str = CASE) -> list[str]:
    """So many cases, and none beside them; their IDs."""
    for path in (repo.root / "cases").glob("*.yaml"):
        path.unlink()
    ids = [f"case-{index}" for index in range(1, number + 1)]
    for name in ids:
        repo.case(name, text)
    return ids


def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until something holds; a test that waits in vain fails."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"not within {seconds:g} s"
        time.sleep(0.01)


def processes_with(text: str) -> list[int]:
    """The processes that have a text in their environment (Linux only)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if text.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def written(run: Path) -> int:
    """How many attempts of a run are on disk."""
    path = run / "attempts.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
