"""What `agenteval history` and `agenteval review` cost with many runs, which are written and indexed in turn.

    python benchmarks/history.py [--runs N] [--cases N] [--attempts N] [--rounds N] [--json]

Each run is one commit with an agent of its own digest, one a day; one case in twenty passes half of the time. Once the
index has a run, its attempts are cut off, so that the disk holds run.json files and 20 whole runs at most. The command
that runs is that of this Python; time is from start to end, memory the peak of the process.

Exit codes: 0 the targets hold; 1 one is missed; 2 asked wrongly; 3 the command failed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from diff import Cost, cost_of

from agenteval_cli.digests import Digests, digest
from agenteval_cli.git import GitState
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    FINISHED,
    AgentRecord,
    AttemptRecord,
    PlannedCase,
    Platform,
    RunRecord,
    TranscriptPlace,
)
from agenteval_cli.run_index import open_index

SECONDS = 0.3
_AT_ONCE = 20
_TIERS = ("smoke", "regression", "representative")


def plan_of(cases: int, attempts: int) -> tuple[PlannedCase, ...]:
    """So many cases."""
    return tuple(
        PlannedCase(
            case=f"case-{number:05}",
            file=f"cases/case-{number:05}.yaml",
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
        for number in range(cases)
    )


def write_run(folder: Path, number: int, plan: tuple[PlannedCase, ...], dice: random.Random) -> None:
    """A finished run without transcripts."""
    began = dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=number)
    record = RunRecord(
        id=f"{began:%Y%m%dT%H%M%S}.000000Z-{number:04x}",
        tool_version="0.1.0",
        started_at=began.isoformat(),
        status=FINISHED,
        git=GitState(f"{number:040x}", "main", dirty=False),
        agents=(AgentRecord("main", ("python", "agent.py"), "json", digest(number), {}),),
        platform=Platform("Linux", "x86_64", "3.11"),
        seed=number,
        min_pass_rate=1.0,
        plan=plan,
        not_selected=(),
    )
    run = folder / record.id
    run.mkdir(parents=True)
    with (run / "attempts.jsonl").open("wb") as file:
        for index, planned in enumerate(plan):
            for attempt in range(1, planned.attempts + 1):
                passed = index % 20 != 0 or dice.random() < 0.5
                file.write(msgspec.json.encode(_attempt(planned, attempt, dice, passed=passed)) + b"\n")
    (run / "run.json").write_bytes(msgspec.json.encode(record))


def _attempt(planned: PlannedCase, number: int, dice: random.Random, *, passed: bool) -> AttemptRecord:
    status = "passed" if passed else "failed"
    return AttemptRecord(
        format=ATTEMPT_FORMAT,
        case=planned.case,
        attempt=number,
        status=status,
        outcome=status,
        trajectory="passed",
        digests=planned.digests,
        seed=1,
        started_at="2026-11-30T09:00:00.123Z",
        duration_ms=900.0,
        transcript=TranscriptPlace(0, 0),
        latency_ms=round(dice.uniform(500, 3000), 3),
        total_tokens=dice.randrange(420, 990),
        cost=f"0.00{dice.randrange(100, 999)}",
    )


def filled(root: Path, runs: int, plan: tuple[PlannedCase, ...]) -> float:
    """Write and index all runs. Returns the seconds that indexing took."""
    folder = root / ".agenteval" / "runs"
    dice = random.Random(1)  # noqa: S311  # no secret
    spent = 0.0
    for number in range(runs):
        write_run(folder, number, plan, dice)
        if (number + 1) % _AT_ONCE == 0 or number + 1 == runs:
            began = time.perf_counter()
            with open_index(root, folder):
                spent += time.perf_counter() - began
            for attempts in folder.glob("*/attempts.jsonl"):
                attempts.write_bytes(b"")
    return spent


def main() -> int:
    """Write the runs, ask, print the best of each measure, and say whether the targets hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "agenteval.yaml").write_text("schema: 1\nagents: {main: {command: [cat]}}\n", encoding="utf-8")
        plan = plan_of(wanted.cases, wanted.attempts)
        for planned in plan:
            path = root / planned.file
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"schema: 1\nid: {planned.case}\ninput: hi\noutcome: [contains: a]\n", encoding="utf-8")
        indexing = filled(root, wanted.runs, plan)
        size = (root / ".agenteval" / "cache" / "runs.sqlite").stat().st_size / 1e6
        costs: dict[str, list[Cost]] = {
            "agenteval --version": [],
            "agenteval history case-00020": [],
            "agenteval review": [],
        }
        for _ in range(wanted.rounds):
            for name, found in costs.items():
                found.append(cost_of(root, name.split(" ")[1:]))
    best = {name: min(found, key=lambda cost: cost.seconds) for name, found in costs.items()}
    holds = all(cost.seconds <= SECONDS for cost in best.values())
    if wanted.json:
        facts = {name: msgspec.to_builtins(cost) for name, cost in best.items()}
        sys.stdout.write(json.dumps({"holds": holds, "indexing": indexing, "megabytes": size, "best": facts}) + "\n")
    else:
        sys.stdout.write(f"indexing {indexing / wanted.runs * 1000:.1f} ms a run, index {size:.0f} MB\n")
        for name, cost in best.items():
            words = f"{cost.seconds * 1000:.0f} ms, processor {cost.processor * 1000:.0f} ms, {cost.megabytes:.0f} MB"
            sys.stdout.write(f"{name}: {words}\n")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
