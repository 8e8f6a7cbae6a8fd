"""How long agenteval takes to start, held against the least it could cost and against its nearest peer.

    python benchmarks/startup.py [--rounds N] [--json]

The wheel is built and installed as a user gets it, beside check-jsonschema, in a virtualenv of its own. The commands
take turns in one run, in a new order each round, so that a slow minute slows all of them alike. A ratio is the median
of the ratios within each round: on a busy computer that moves far less than the ratio of two medians.

Exit codes: 0 the targets hold; 1 one is missed; 2 asked wrongly; 3 nothing could be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

PROJECT = Path(__file__).resolve().parent.parent
CASE = "cases/refunds/refund-inside-window.yaml"
SCHEMA = "case.schema.json"
CONFIG = """\
schema: 1
agents:
  support:
    command: [python3, agent.py]
default_agent: support
"""
LEAST_ROUNDS = 15
DISTRIBUTIONS = ("typer", "check-jsonschema")


@dataclass(frozen=True)
class Command:
    """What is timed. The first word is looked up among the virtualenv's programs."""

    words: tuple[str, ...]
    reference: str | None = None
    limit: float | None = None  # times the reference, at most

    @property
    def name(self) -> str:
        """The command as one would type it, with FILE for the case."""
        return " ".join(f'"{word}"' if " " in word else "FILE" if word == CASE else word for word in self.words)


@dataclass(frozen=True)
class Timing:
    """The seconds one command took, round by round."""

    command: Command
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)

    def times(self, reference: Timing) -> float:
        """How many times as long as the reference it takes, each round compared within itself."""
        return statistics.median(mine / its for mine, its in zip(self.seconds, reference.seconds, strict=True))


@dataclass(frozen=True)
class Row:
    """A line of the result."""

    command: str
    median_ms: float
    best_ms: float
    reference: str | None
    ratio: float | None
    limit: float | None

    @property
    def missed(self) -> bool:
        return self.limit is not None and self.ratio is not None and self.ratio > self.limit


NOTHING = Command(("python", "-c", "pass"))
TYPER = Command(("python", "-c", "import typer"), NOTHING.name)
PEER = Command(("check-jsonschema", "--schemafile", SCHEMA, CASE), NOTHING.name)
COMMANDS = (
    NOTHING,
    TYPER,
    Command(("agenteval", "--version"), TYPER.name, 1.3),
    Command(("agenteval", "validate", CASE), PEER.name, 0.6),
    Command(("agenteval", "validate"), PEER.name),
    Command(("agenteval", "list"), PEER.name),
    PEER,
)


def main() -> int:
    """Build, measure, print; 1 where a target is missed."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="agenteval-startup-") as name:
        folder = Path(name)
        programs = _install(folder)
        repository = _make_repository(folder)
        environment = _environment(programs, folder)
        _say(f"measuring {options.rounds} rounds ...")
        rows = rows_of(_measure(programs, repository, environment, options.rounds))
        versions = _versions(programs, environment)
    missed = [row for row in rows if row.missed]
    if options.json:
        print(json.dumps(_facts(rows, versions, options.rounds), indent=2))
    else:
        print(_table(rows))
        print(f"\nMedians of {options.rounds} rounds; {', '.join(versions)}; FILE is {CASE}.\n")
        print(_verdicts(rows))
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=25, metavar="N", help=f"at least {LEAST_ROUNDS} (default: 25)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    options = parser.parse_args()
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds must be at least {LEAST_ROUNDS}: fewer say little on a busy computer")
    return options


def _install(folder: Path) -> Path:
    """A new virtualenv with the project's wheel and its peer; gives the folder of its programs.

    `-I` keeps PYTHONPATH and the like out; how pip finds packages is left as the user has it.
    """
    _say("building the wheel and installing it ...")
    home = folder / "venv"
    venv.create(home, with_pip=True, symlinks=True)
    programs = home / "bin"
    pip = (str(programs / "python"), "-I", "-m", "pip", "--quiet", "--disable-pip-version-check")
    _run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder / "wheels"), str(PROJECT)], folder)
    [wheel] = (folder / "wheels").glob("*.whl")
    _run([*pip, "install", "--compile", str(wheel), "check-jsonschema"], folder)
    return programs


def _make_repository(folder: Path) -> Path:
    """A git repository with a configuration and one case, committed; the schema lies beside them for the peer."""
    repository = folder / "repository"
    (repository / CASE).parent.mkdir(parents=True)
    shutil.copy(PROJECT / CASE, repository / CASE)
    shutil.copy(PROJECT / "schemas" / SCHEMA, repository / SCHEMA)
    (repository / "agenteval.yaml").write_text(CONFIG, encoding="utf-8")
    git = ("git", "-c", "user.name=benchmark", "-c", "user.email=benchmark@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--no-verify", "--message", "One case")):
        _run([*git, *words], repository)
    return repository


def _environment(programs: Path, folder: Path) -> dict[str, str]:
    """All that a measured command sees: nothing of the caller's that could slow it down or turn something on."""
    path = os.pathsep.join((str(programs), "/usr/local/bin", "/usr/bin", "/bin"))
    return {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8"}


def _measure(programs: Path, repository: Path, environment: Mapping[str, str], rounds: int) -> list[Timing]:
    """Every command once unmeasured, to see that it works and to fill the caches; then all of them, round by round."""
    lines = {command: [str(programs / command.words[0]), *command.words[1:]] for command in COMMANDS}
    for line in lines.values():
        _run(line, repository, environment)
    seconds: dict[Command, list[float]] = {command: [] for command in COMMANDS}
    for _ in range(rounds):
        for command in random.sample(COMMANDS, len(COMMANDS)):
            seconds[command].append(_seconds(lines[command], repository, environment))
    return [Timing(command, tuple(taken)) for command, taken in seconds.items()]


def _seconds(line: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    """How long one run takes, from before it is started until it has ended."""
    quiet = subprocess.DEVNULL
    start = time.perf_counter()
    done = subprocess.run(line, cwd=folder, env=environment, stdin=quiet, stdout=quiet, stderr=quiet, check=False)
    taken = time.perf_counter() - start
    if done.returncode:
        _stop(line, done.returncode, "though it worked before")
    return taken


def rows_of(timings: Sequence[Timing]) -> list[Row]:
    """The timings, each held against its reference."""
    by_name = {timing.command.name: timing for timing in timings}
    return [_row(timing, by_name.get(timing.command.reference or "")) for timing in timings]


def _row(timing: Timing, reference: Timing | None) -> Row:
    return Row(
        command=timing.command.name,
        median_ms=round(timing.median * 1000, 2),
        best_ms=round(timing.best * 1000, 2),
        reference=timing.command.reference,
        ratio=round(timing.times(reference), 3) if reference else None,
        limit=timing.command.limit,
    )


def _versions(programs: Path, environment: Mapping[str, str]) -> list[str]:
    """What the numbers depend on most."""
    code = "import importlib.metadata, sys; print(*map(importlib.metadata.version, sys.argv[1:]), sep='\\n')"
    found = _run([str(programs / "python"), "-c", code, *DISTRIBUTIONS], programs, environment).split()
    return [f"Python {platform.python_version()}", *map(" ".join, zip(DISTRIBUTIONS, found, strict=True))]


def _table(rows: Sequence[Row]) -> str:
    lines = ["| Command | Median, ms | Best, ms | Ratio to its reference |", "| --- | ---: | ---: | --- |"]
    for row in rows:
        ratio = f"{row.ratio:.2f} × `{row.reference}`" if row.ratio is not None else ""
        lines.append(f"| `{row.command}` | {row.median_ms:.0f} | {row.best_ms:.0f} | {ratio} |")
    return "\n".join(lines)


def _verdicts(rows: Sequence[Row]) -> str:
    """A line for each target."""
    return "\n".join(
        f"- `{row.command}`: {row.ratio:.2f} × `{row.reference}`, at most {row.limit}:"
        f" {'missed' if row.missed else 'holds'}"
        for row in rows
        if row.limit is not None
    )


def _facts(rows: Sequence[Row], versions: Sequence[str], rounds: int) -> dict[str, Any]:
    commands = [{**vars(row), "missed": row.missed} for row in rows]
    return {"rounds": rounds, "versions": versions, "commands": commands, "missed": any(row.missed for row in rows)}


def _run(line: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a step and give what it printed; where it fails, say what it said and stop."""
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        _stop(line, done.returncode, done.stdout + done.stderr)
    return done.stdout


def _stop(line: Sequence[str], code: int, words: str) -> NoReturn:
    _say(f"{' '.join(line)}: exit code {code}\n{words}".rstrip())
    raise SystemExit(3)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
