"""What `agenteval report` costs: a run of many cases, written by the tool's own record types, in every format.

    python benchmarks/report.py [--cases N] [--attempts N] [--moved PERCENT] [--rounds N] [--json]

The cases are those of benchmarks/diff.py. Time is from start to end of the command, memory the peak of the process.

Exit codes: 0 the targets for HTML and JSON hold; 1 one is missed; 2 asked wrongly; 3 the command failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import msgspec
from diff import Cost, Size, cost_of, write_run

from agenteval_cli.reports import REPORTS

SECONDS = {"html": 3.0, "json": 1.5}


def main() -> int:
    """Write a run, report on it, print the best of each measure, and say whether the targets hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--attempts", type=int, default=5)
    parser.add_argument("--moved", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    best: dict[str, Cost] = {}
    sizes: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "agenteval.yaml").write_text("schema: 1\nagents: {main: {command: [cat]}}\n", encoding="utf-8")
        size = Size(wanted.cases, wanted.attempts, wanted.moved)
        write_run(root / ".agenteval" / "runs", "20261130T090001.000000Z-0001", size, 1)
        for name in REPORTS:
            costs = [cost_of(root, ["report", "--format", name, "-o", name]) for _ in range(wanted.rounds)]
            best[name] = Cost(*(min(getattr(cost, part) for cost in costs) for part in Cost.__struct_fields__))
            sizes[name] = (root / name).stat().st_size
    missed = [name for name, limit in SECONDS.items() if best[name].seconds > limit]
    if wanted.json:
        sys.stdout.write(json.dumps({"best": msgspec.to_builtins(best), "bytes": sizes, "missed": missed}) + "\n")
        return int(bool(missed))
    sys.stdout.write("| format | best, s | processor, s | peak memory, MB | size, MB |\n")
    sys.stdout.write("| --- | ---: | ---: | ---: | ---: |\n")
    for name, cost in best.items():
        row = f"{cost.seconds:.2f} | {cost.processor:.2f} | {cost.megabytes:.0f} | {sizes[name] / 1e6:.1f}"
        sys.stdout.write(f"| {name} | {row} |\n")
    sys.stdout.write("".join(f"missed: {name}\n" for name in missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
