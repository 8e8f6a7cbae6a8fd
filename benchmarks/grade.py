"""How long `agenteval grade --run` takes for a stored run of many attempts.

    python benchmarks/grade.py [--cases N] [--attempts N] [--rounds N] [--json]

The run is made of real record types in a fresh repository, without an agent: each case has four checks of the outcome,
three constraints on the path and two limits, each attempt an answer of its own and three calls; a tenth of them fail.
The command is a process of its own, measured by the clock; what counts is the best round.

Exit codes: 0 the target holds; 1 it is missed; 2 asked wrongly.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agenteval_cli.datasets import Answer
from agenteval_cli.grade_orders import GradeWishes, Source, order_of_answers
from agenteval_cli.records import AttemptRecord, RunRecord
from agenteval_cli.regrading import grade
from agenteval_cli.repository import load, open_repository
from agenteval_cli.transcript import ToolCall, Transcript, Usage

TARGET = 5.0  # seconds for 10,000 attempts
CASE = """schema: 1
id: order-{n}
tier: regression
tags: [bench, part-{part}]
input: Can I return order {order}? I bought it 12 days ago.
limits: {{steps: 12, tokens: 4000}}
outcome:
  - contains: "{order}"
  - contains: 30 days
  - not_contains: [guarantee, I think]
  - regex: order [0-9]+
trajectory:
  required: [get_order, {{tool: create_refund, arguments: {{order_id: "{order}"}}}}]
  forbidden: [delete_order]
  order: [{{first: get_order, then: create_refund}}]
"""


def main() -> int:
    """Measure, print; 1 where the target is missed."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _make_repository(root, options.cases)
        _make_run(root, options.attempts)
        rounds, processor = zip(*(_seconds(root) for _ in range(options.rounds)), strict=True)
    total = options.cases * options.attempts
    facts = {
        "cases": options.cases,
        "attempts": total,
        "best_s": round(min(rounds), 2),
        "rounds_s": [round(seconds, 2) for seconds in rounds],
        "processor_s": round(min(processor), 2),
        "attempts_per_second": round(total / min(rounds)),
        "peak_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "target_s": TARGET,
        "missed": min(rounds) > TARGET * total / 10_000,
        "python": platform.python_version(),
    }
    print(json.dumps(facts, indent=2) if options.json else _table(facts))
    return int(facts["missed"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, metavar="N", help="cases (default: 1000)")
    parser.add_argument("--attempts", type=int, default=10, metavar="N", help="attempts of each (default: 10)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    options = parser.parse_args()
    if min(options.cases, options.attempts, options.rounds) < 1:
        parser.error("--cases, --attempts and --rounds are 1 or more")
    return options


def _make_repository(root: Path, cases: int) -> None:
    (root / "agenteval.yaml").write_text('schema: 1\nagents:\n  main: {command: ["true"]}\n', encoding="utf-8")
    (root / "cases").mkdir()
    for n in range(cases):
        text = CASE.format(n=n, order=5000 + n, part=n % 7)
        (root / "cases" / f"order-{n}.yaml").write_text(text, encoding="utf-8")


def _make_run(root: Path, attempts: int) -> None:
    """A run of answers that were made up, as `agenteval grade --transcript` would make one."""
    repository = open_repository(root)
    loaded = load(repository)
    answers = [
        Answer(item, _transcript(int(item.case.id[6:]), number)) for item in loaded.cases for number in range(attempts)
    ]
    source = Source("transcripts", (), "1:bench")
    grade(order_of_answers(repository, source, answers, GradeWishes(), {}, loaded.cases), _Nobody())


def _transcript(n: int, number: int) -> Transcript:
    order = str(5000 + n)
    term = "30 days" if (n + number) % 10 else "two weeks"
    return Transcript(
        output=f"Yes: order {order} can be returned within {term} of purchase. "
        + "Thank you for waiting. " * (number % 9),
        tool_calls=(
            ToolCall(name="get_order", arguments={"order_id": order}, result={"total": "129.00", "paid": True}),
            ToolCall(name="get_policy", arguments={}, result="30 days"),
            ToolCall(name="create_refund", arguments={"order_id": order}, result={"refund_id": f"R-{number}"}),
        ),
        usage=Usage(300 + number, 40, 340 + number),
        latency_ms=700.0 + number,
    )


class _Nobody:
    """A watcher who does not look."""

    def start(self, record: RunRecord) -> None: ...

    def began(self, case: str, number: int, agent: str) -> None: ...

    def attempt(self, record: AttemptRecord) -> None: ...

    def note(self, text: str) -> None: ...

    def close(self) -> None: ...


def _seconds(root: Path) -> tuple[float, float]:
    """Seconds by the clock and of all processors, of one whole command, start-up and reading the cases included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    argv = [sys.executable, "-m", "agenteval_cli", "grade", "--run", "latest", "--quiet"]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode != 1:  # a tenth fails
        sys.exit(f"the command ended with {done.returncode}: {done.stderr}{done.stdout[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _table(facts: dict[str, Any]) -> str:
    names = {
        "cases": "cases",
        "attempts": "attempts",
        "best_s": "best, s",
        "processor_s": "processor, s",
        "attempts_per_second": "attempts a second",
        "peak_mb": "peak memory, MB",
    }
    head = f"| {' | '.join(names.values())} |\n|{' ---: |' * len(names)}"
    row = f"| {' | '.join(f'{facts[name]:,}' for name in names)} |"
    verdict = "missed" if facts["missed"] else "holds"
    return f"{head}\n{row}\n\nat most {TARGET:g} s for 10,000 attempts: {verdict}"


if __name__ == "__main__":
    sys.exit(main())
