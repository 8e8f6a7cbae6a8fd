"""What `agenteval diff` costs: two runs of many cases, written by the tool's own record types and compared.

    python benchmarks/diff.py [--cases N] [--attempts N] [--moved PERCENT] [--rounds N] [--json]

A case is seven lines of checks and two tool calls an attempt, and its rates moved in so many of a hundred cases. The
command that runs is that of this Python; time is from start to end, memory the peak of the process.

Exit codes: 0 the targets hold; 1 one is missed; 2 asked wrongly; 3 the command failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from agenteval_cli.attempt_records import Records
from agenteval_cli.digests import Digests, digest
from agenteval_cli.finding import CheckResult
from agenteval_cli.git import GitState
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    FINISHED,
    TRANSCRIPT_FORMAT,
    AgentRecord,
    AttemptRecord,
    PlannedCase,
    Platform,
    RunRecord,
    TranscriptPlace,
    TranscriptRecord,
)
from agenteval_cli.run_writer import RunWriter
from agenteval_cli.transcript import ToolCall, Transcript

SECONDS = 1.0
MEGABYTES = 300
_TIERS = ("smoke", "regression", "representative")
_BATCH = 2000
_CHECKS = ("outcome[0].contains", "outcome[1].not_contains", "trajectory.required[0]", "limits.tokens")


class Size(msgspec.Struct, frozen=True):
    """How much to write: `moved` of a hundred cases pass in half of their attempts."""

    cases: int
    attempts: int
    moved: float


class Cost(msgspec.Struct, frozen=True):
    """One call of the command: seconds on the clock and on the processor, peak memory in MB."""

    seconds: float
    processor: float
    megabytes: float


def write_run(runs: Path, run_id: str, size: Size, seed: int) -> None:
    """A finished run as `agenteval run` would have left it."""
    plan = tuple(_planned(number, size.attempts) for number in range(size.cases))
    record = RunRecord(
        id=run_id,
        tool_version="0.1.0",
        started_at="2026-11-30T09:00:00Z",
        finished_at="2026-11-30T09:10:00Z",
        status=FINISHED,
        git=GitState("c0ffee" * 6, "main", dirty=False),
        agents=(AgentRecord("main", ("python", "agent.py"), "json", digest(seed), {"model": f"m-{seed}"}),),
        platform=Platform("Linux", "x86_64", "3.11"),
        seed=seed,
        min_pass_rate=1.0,
        plan=plan,
        not_selected=(),
    )
    writer = RunWriter.create(runs / run_id, record)
    batch: list[Records] = []
    for records in _attempts(plan, size, random.Random(seed)):  # noqa: S311  # no secret
        batch.append(records)
        if len(batch) == _BATCH:
            writer.append(batch)
            batch = []
    writer.append(batch)
    writer.close()


def _planned(number: int, attempts: int) -> PlannedCase:
    name = f"case-{number:05}"
    return PlannedCase(
        case=name,
        file=f"cases/{number // 100:03}/{name}.yaml",
        title=f"Question {number} is answered as it should be",
        tier=_TIERS[number % 3],
        tags=("billing", f"team-{number % 7}"),
        agent="main",
        attempts=attempts,
        min_pass_rate=1.0,
        quarantined=False,
        digests=Digests(digest(["in", number]), digest(["out", number]), digest(number)),
        reason="run: --attempts",
        metadata={"owner": f"team-{number % 7}"},
    )


def _attempts(plan: tuple[PlannedCase, ...], size: Size, dice: random.Random) -> Iterator[Records]:
    unsteady = {planned.case for planned in plan if dice.random() * 100 < size.moved}
    for attempt in range(1, size.attempts + 1):
        for planned in plan:
            yield _attempt(planned, attempt, dice, passed=planned.case not in unsteady or dice.random() < 0.5)


def _attempt(planned: PlannedCase, number: int, dice: random.Random, *, passed: bool) -> Records:
    failing = CheckResult(_CHECKS[0], "outcome", "failed", 'the answer does not contain "30 days"')
    checks: tuple[CheckResult, ...] = (CheckResult(_CHECKS[0], "outcome", "passed") if passed else failing,)
    checks += tuple(CheckResult(name, name.partition("[")[0], "passed") for name in _CHECKS[1:])
    ended = "passed" if passed else "failed"
    attempt = AttemptRecord(
        format=ATTEMPT_FORMAT,
        case=planned.case,
        attempt=number,
        status=ended,
        outcome=ended,
        trajectory="passed",
        digests=planned.digests,
        seed=dice.randrange(2**31),
        started_at="2026-11-30T09:00:00.123Z",
        duration_ms=round(dice.uniform(500, 3000), 3),
        transcript=TranscriptPlace(0, 0),
        reason="" if passed else f"{failing.name}: {failing.message}",
        checks=checks,
        exit_code=0,
        latency_ms=round(dice.uniform(500, 3000), 3),
        steps=2,
        tool_calls=2,
        input_tokens=dice.randrange(400, 900),
        output_tokens=dice.randrange(20, 90),
        total_tokens=dice.randrange(420, 990),
        cost=f"0.00{dice.randrange(100, 999)}",
        model="m-1",
    )
    calls = (
        ToolCall(name="get_order", arguments={"order_id": planned.case}, result={"paid": True}),
        ToolCall(name="create_refund", arguments={"amount": str(dice.randrange(3))}, result={"ok": True}),
    )
    transcript = TranscriptRecord(
        format=TRANSCRIPT_FORMAT,
        case=planned.case,
        attempt=number,
        request={"messages": [{"role": "user", "content": "I want my money back. " * 5}]},
        transcript=Transcript(output=f"You get it within {dice.randrange(10, 60)} days. " * 5, tool_calls=calls),
    )
    return attempt, transcript


def cost_of(folder: Path, arguments: list[str]) -> Cost:
    """What one call costs. Raises SystemExit where it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "agenteval_cli", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(3)
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(seconds, used.ru_utime + used.ru_stime, kilobytes / 1024)


def main() -> int:
    """Write two runs, compare them, print the best of each measure, and say whether the targets hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--attempts", type=int, default=5)
    parser.add_argument("--moved", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "agenteval.yaml").write_text("schema: 1\nagents: {main: {command: [cat]}}\n", encoding="utf-8")
        size = Size(wanted.cases, wanted.attempts, wanted.moved)
        for seed in (1, 2):
            write_run(root / ".agenteval" / "runs", f"20261130T09000{seed}.000000Z-000{seed}", size, seed)
        costs: dict[str, list[Cost]] = {"agenteval --version": [], "agenteval diff": [], "agenteval diff --json": []}
        for _ in range(wanted.rounds):
            for name, found in costs.items():
                found.append(cost_of(root, name.split(" ")[1:]))
    best = {
        name: Cost(*(min(getattr(each, part) for each in found) for part in Cost.__struct_fields__))
        for name, found in costs.items()
    }
    missed = [name for name, cost in best.items() if cost.seconds > SECONDS or cost.megabytes > MEGABYTES]
    if wanted.json:
        sys.stdout.write(json.dumps({"best": msgspec.to_builtins(best), "missed": missed}, indent=2) + "\n")
        return 1 if missed else 0
    sys.stdout.write("| command | best, s | processor, s | peak memory, MB |\n| --- | ---: | ---: | ---: |\n")
    for name, cost in best.items():
        sys.stdout.write(f"| `{name}` | {cost.seconds:.2f} | {cost.processor:.2f} | {cost.megabytes:.0f} |\n")
    sys.stdout.write("".join(f"missed: {name}\n" for name in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
