"""The `agenteval` command: installed apart from what the agent needs, and started."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow import INCOMPLETE, Runner, StopError, without_inputs

NONE = ("none",)
_LAST_LINES = 3


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit code, what it printed where that was kept, and the last it said on stderr."""

    code: int
    out: str
    said: str

    @property
    def json(self) -> Mapping[str, Any]:
        """The JSON document that it printed, before one on an error; empty where there is none."""
        try:
            found, _ = json.JSONDecoder().raw_decode(self.out)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


class Tool:
    """`agenteval`, at a path."""

    def __init__(self, path: str) -> None:
        self._path = path

    def shown(self, *arguments: str, folder: Path) -> Ran:
        """Run it there, with all that it prints in the log."""
        return _ran([self._path, *arguments], folder)

    def kept(self, *arguments: str, folder: Path, quiet: bool = False) -> Ran:
        """Run it there and keep what it prints; what it says is in the log, unless `quiet`."""
        with tempfile.TemporaryFile() as out:
            done = _ran([self._path, *arguments], folder, out.fileno(), quiet=quiet)
            out.seek(0)
            return Ran(done.code, out.read().decode(errors="replace"), done.said)


def installed(packages: tuple[str, ...], runner: Runner) -> Tool:
    """The command, from a virtual environment of its own. Raises StopError where it cannot be had."""
    if packages == NONE:
        found = shutil.which("agenteval")
        if found is None:
            raise StopError("install: none: there is no agenteval on PATH")
        return Tool(found)
    wanted = [_package(name, runner.action) for name in packages]
    name = hashlib.sha256(json.dumps([sys.executable, wanted]).encode()).hexdigest()[:12]
    place = runner.temp / f"agenteval-{name}"
    if not (place / "bin" / "agenteval").exists():
        _run_or_stop([sys.executable, "-m", "venv", str(place)])
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run_or_stop([*pip, *wanted])
    return Tool(str(place / "bin" / "agenteval"))


def _package(name: str, action: Path) -> str:
    """What pip is told: `.`, with extras or without, is the action's own folder."""
    return f"{action}{name[1:]}" if name == "." or name.startswith(".[") else name


def _run_or_stop(command: list[str]) -> None:
    done = _ran(command, Path.cwd())
    if done.code != 0:
        raise StopError(f"install: agenteval could not be installed: {done.said}", INCOMPLETE)


def prepare_command(command: str) -> list[str]:
    """A command of the workflow's own, as bash is told to run it."""
    return ["bash", "-eo", "pipefail", "-c", command]


def prepared(command: str, folder: Path) -> Ran:
    """That command, run there."""
    return _ran(prepare_command(command), folder)


def _ran(command: list[str], folder: Path, out: int | None = None, *, quiet: bool = False) -> Ran:
    last: list[str] = []
    with subprocess.Popen(
        command,
        cwd=folder,
        env=without_inputs(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stderr or ():
            if not quiet:
                sys.stderr.write(line)
                sys.stderr.flush()
            if line.strip():
                last = [*last, line.strip()][-_LAST_LINES:]
    return Ran(process.returncode, "", " ".join(last))
