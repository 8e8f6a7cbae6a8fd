"""What `agenteval run` costs beside the agents it starts, held against xargs and against its peers in one run.

    python benchmarks/run.py [--cases N] [--rounds N] [--concurrency N,N] [--peers] [--json]

Everything is on: a folder for each attempt, the journal synced to disk, checks. The agents are trivial programs: one in
C that reads its input and prints a fixed answer, the same as a Python script under `python -S`, and one in C that stays
and answers a line for a line (jsonl). The commands take turns, in a new order each round; a ratio is the median of the
ratios within each round. `--peers` installs pydantic-evals, deepeval, inspect-ai and promptfoo, each in a place of its
own, and has them do the same work; what cannot be installed is left out, with a word.

Exit codes: 0 the targets hold; 1 one is missed; 2 asked wrongly; 3 nothing could be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from startup import PROJECT, _environment, _install, _say, _versions

PEERS = PROJECT / "benchmarks" / "peers"
PYTHON_PEERS = {
    "pydantic-evals": "pydantic_evals_run.py",
    "deepeval": "deepeval_run.py",
    "inspect-ai": "inspect_run.py",
}
TIMES_XARGS_C = 4.0
TIMES_XARGS_PYTHON = 1.3
JSONL_A_SECOND = 2000
FLAT = 1.1  # times the memory of 1,000 attempts, for 20,000
LINEAR = 1.1  # times the time that the number of attempts alone would make of it
JSONL_MORE = 6  # attempts a case, to tell what an attempt costs from what starting costs

ANSWER = '{"output": "the answer is 42", "tool_calls": []}'
ONCE_C = f"""\
#include <stdio.h>
#include <unistd.h>
int main(void) {{ static char b[65536]; while (read(0, b, sizeof b) > 0); puts({json.dumps(ANSWER)}); return 0; }}
"""
LINES_C = f"""\
#include <stdio.h>
int main(void) {{
  static char b[1 << 20];
  while (fgets(b, sizeof b, stdin)) {{ puts({json.dumps(ANSWER)}); fflush(stdout); }}
  return 0;
}}
"""
ONCE_PYTHON = f"import sys\nsys.stdin.read()\nprint({ANSWER!r})\n"
CONFIG = """\
schema: 1
agents:
  c: {command: [./once]}
  python: {command: [PYTHON, -S, once.py]}
  lines: {command: [./lines], protocol: jsonl}
default_agent: c
"""
CASE = """\
schema: 1
id: question-{number:05}
title: Question {number}
why: a question must be answered
input: What is the answer to question {number}?
attempts: 1
outcome:
  - contains: "42"
  - not_contains: sorry
"""


@dataclass(frozen=True)
class Command:
    """What is timed; `work` is how many attempts it makes."""

    name: str
    concurrency: int
    line: tuple[str, ...]
    work: int


@dataclass
class Timing:
    """The seconds and the peak memory (bytes, of the largest process) of each round."""

    seconds: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.seconds)

    def times(self, other: Timing) -> float:
        return statistics.median(mine / its for mine, its in zip(self.seconds, other.seconds, strict=True))


@dataclass(frozen=True)
class Target:
    """A promise and what was found; at most the limit, or at least where `least`."""

    words: str
    found: float
    limit: float
    least: bool = False

    @property
    def missed(self) -> bool:
        return self.found < self.limit if self.least else self.found > self.limit

    def __str__(self) -> str:
        bound = "at least" if self.least else "at most"
        return f"- {self.words}: {self.found:,.2f}, {bound} {self.limit:g}: {'missed' if self.missed else 'holds'}"


def main() -> int:
    """Build, measure, print; 1 where a target is missed."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="agenteval-run-") as name:
        folder = Path(name)
        repository = _make_repository(folder, options.cases)
        programs = _install(folder)
        environment = _environment(programs, folder)
        commands = _commands(programs, options.cases, options.concurrency)
        if options.peers:
            commands += _peers(folder, repository, options.cases, max(options.concurrency))
        timings = _measure(commands, repository, environment, options.rounds)
        growth = _growth(programs, repository, environment, options.cases) if options.growth else {}
        versions = _versions(programs, environment)
    targets = _targets(timings, options, growth)
    if options.json:
        rows = [{"command": c.name, "concurrency": c.concurrency, "best_s": t.best} for c, t in timings.items()]
        print(json.dumps({"rows": rows, "targets": [vars(target) for target in targets]}, indent=2))
    else:
        print(_table(timings, growth))
        print(f"\n{options.cases:,} cases, best of {options.rounds} rounds; {', '.join(versions)}\n")
        print("\n".join(map(str, targets)))
    return 1 if any(target.missed for target in targets) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="default: 1000")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--concurrency", type=_numbers, default=[2, 8, 32], metavar="N,N", help="default: 2,8,32")
    parser.add_argument("--peers", action="store_true", help="install and measure the peers too")
    parser.add_argument("--growth", action="store_true", help="run 20 attempts a case too, for memory and time")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


def _make_repository(folder: Path, cases: int) -> Path:
    repository = folder / "repository"
    (repository / "cases").mkdir(parents=True)
    for number in range(cases):
        (repository / "cases" / f"case-{number:05}.yaml").write_text(CASE.format(number=number))
    (repository / "agenteval.yaml").write_text(CONFIG.replace("PYTHON", sys.executable))
    (repository / "once.py").write_text(ONCE_PYTHON)
    (repository / "numbers").write_text("".join(f"{number}\n" for number in range(cases)))
    for program, source in (("once", ONCE_C), ("lines", LINES_C)):
        (repository / f"{program}.c").write_text(source)
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O2", "-o", str(repository / program), str(repository / f"{program}.c")], check=True)
    return repository


def _commands(programs: Path, cases: int, concurrencies: Sequence[int]) -> list[Command]:
    agenteval = (str(programs / "agenteval"), "run", "--quiet")
    commands = []
    for number in concurrencies:
        at_once = ("--concurrency", str(number))
        for name, agent in (("c", "./once"), ("python", f"{sys.executable} -S once.py")):
            xargs = f"xargs -P {number} -n 1 {agent} < numbers > /dev/null"
            commands.append(Command(f"xargs, {name}", number, ("sh", "-c", xargs), cases))
            commands.append(Command(f"agenteval, {name}", number, (*agenteval, *at_once, "--agent", name), cases))
        lines = (*agenteval, *at_once, "--agent", "lines")
        commands.append(Command("agenteval, jsonl", number, lines, cases))
        more = (*lines, "--attempts", str(JSONL_MORE))
        commands.append(Command(f"agenteval, jsonl x {JSONL_MORE}", number, more, cases * JSONL_MORE))
    most = max(concurrencies)
    threads = (sys.executable, str(PEERS / "threads.py"), "./once", str(cases), str(most))
    commands.append(Command("python threads, c", most, threads, cases))
    return commands


def _peers(folder: Path, repository: Path, cases: int, concurrency: int) -> list[Command]:
    """The peers that can be installed, each in an environment of its own, with the same C agent."""
    found = []
    words = ("./once", str(cases), str(concurrency))
    for distribution, script in PYTHON_PEERS.items():
        place = folder / f"peer-{distribution}"
        steps = ([sys.executable, "-m", "venv", str(place)], [str(place / "bin/pip"), "install", "-q", distribution])
        if _installed(distribution, steps):
            line = (str(place / "bin/python"), str(PEERS / script), *words)
            found.append(Command(f"{distribution}, c", concurrency, line, cases))
    npm = shutil.which("npm")
    place = folder / "peer-promptfoo"
    if npm is None:
        _say("promptfoo is left out: npm is not there")
    elif _installed("promptfoo", ([npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), "promptfoo"],)):
        (repository / "promptfoo.json").write_text(json.dumps(_promptfoo(repository, cases)))
        program = str(place / "node_modules/.bin/promptfoo")
        options = ("-c", "promptfoo.json", "--no-cache", "--no-table", "--no-progress-bar", "-j", str(concurrency))
        found.append(Command("promptfoo, c", concurrency, (program, "eval", *options), cases))
    return found


def _installed(name: str, steps: Sequence[Sequence[str]]) -> bool:
    _say(f"installing {name} ...")
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            _say(f"{name} is left out: {last}")
            return False
    return True


def _promptfoo(repository: Path, cases: int) -> dict[str, object]:
    tests = [{"vars": {"question": f"question {number}"}} for number in range(cases)]
    check = {"assert": [{"type": "contains", "value": "42"}]}
    provider = f"exec:{repository / 'once'}"
    return {"prompts": ["{{question}}"], "providers": [provider], "defaultTest": check, "tests": tests}


def _measure(
    commands: Sequence[Command], repository: Path, environment: Mapping[str, str], rounds: int
) -> dict[Command, Timing]:
    """All commands, round by round. A command that fails in the first round is left out, with a word."""
    timings = {command: Timing() for command in commands}
    quiet = {
        **environment,
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "PATH": f"{environment['PATH']}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }
    for number in range(1, rounds + 1):
        _say(f"measuring, round {number} of {rounds} ...")
        for command in random.sample(list(timings), len(timings)):
            shutil.rmtree(repository / ".agenteval", ignore_errors=True)
            before = time.perf_counter()
            done = subprocess.run(
                command.line,
                cwd=repository,
                env=quiet,
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            seconds = time.perf_counter() - before
            if done.returncode:
                last = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["nothing"])[-1]
                _say(f"{command.name} is left out: exit code {done.returncode}; it said: {last}")
                del timings[command]
                continue
            timings[command].seconds.append(seconds)
    return {command: timing for command, timing in timings.items() if timing.seconds}


def _growth(
    programs: Path, repository: Path, environment: Mapping[str, str], cases: int
) -> dict[int, tuple[float, int]]:
    """Seconds and peak memory of the tool itself for 1 and for 20 attempts a case of the C agent."""
    found = {}
    for attempts in (1, 20):
        _say(f"running {cases * attempts:,} attempts ...")
        line = [str(programs / "agenteval"), "run", "-q", "-j", "8", "--agent", "c", "--attempts", str(attempts)]
        before = time.perf_counter()
        process = subprocess.Popen(
            line, cwd=repository, env=environment, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        unit = 1 if sys.platform == "darwin" else 1024
        found[cases * attempts] = (time.perf_counter() - before, usage.ru_maxrss * unit)
    return found


def _targets(
    timings: Mapping[Command, Timing], options: argparse.Namespace, growth: Mapping[int, tuple[float, int]]
) -> list[Target]:
    by_name = {(command.name, command.concurrency): timing for command, timing in timings.items()}
    targets = []
    for number in options.concurrency:
        for agent, limit in (("c", TIMES_XARGS_C), ("python", TIMES_XARGS_PYTHON)):
            ratio = by_name[f"agenteval, {agent}", number].times(by_name[f"xargs, {agent}", number])
            targets.append(Target(f"{agent} agent, {number} at once: times xargs", ratio, limit))
        once, more = by_name["agenteval, jsonl", number].best, by_name[f"agenteval, jsonl x {JSONL_MORE}", number].best
        rate = options.cases * (JSONL_MORE - 1) / max(more - once, 1e-9)
        targets.append(Target(f"jsonl, {number} at once: attempts a second", rate, JSONL_A_SECOND, least=True))
    most = max(options.concurrency)
    if ("pydantic-evals, c", most) in by_name:
        ratio = by_name["agenteval, c", most].times(by_name["pydantic-evals, c", most])
        targets.append(Target(f"c agent, {most} at once: times pydantic-evals", ratio, 1.0))
    if growth:
        (few, (few_s, few_memory)), (many, (many_s, many_memory)) = sorted(growth.items())
        targets.append(Target(f"memory of {many:,} attempts, times that of {few:,}", many_memory / few_memory, FLAT))
        targets.append(
            Target(
                f"time of {many:,} attempts, times {many // few} x that of {few:,}",
                many_s / (few_s * many / few),
                LINEAR,
            )
        )
    return targets


def _table(timings: Mapping[Command, Timing], growth: Mapping[int, tuple[float, int]]) -> str:
    lines = ["| command | at once | best, s | attempts a second |", "| --- | ---: | ---: | ---: |"]
    for command, timing in sorted(timings.items(), key=lambda item: (item[0].concurrency, item[1].best)):
        rate = f"{command.work / timing.best:,.0f}"
        lines.append(f"| {command.name} | {command.concurrency} | {timing.best:.2f} | {rate} |")
    if growth:
        lines += ["", "| attempts | s | peak memory, MB |", "| ---: | ---: | ---: |"]
        lines += [f"| {n:,} | {s:.1f} | {memory / 1e6:.0f} |" for n, (s, memory) in sorted(growth.items())]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
