"""How many deterministic checks of an outcome one core decides in a second, on answers of the usual size.

    python benchmarks/checks.py [--rounds N] [--json]

The mix is contains, not_contains, equals, regex, json_schema and field on twelve answers: prose of 100 to 1,200
characters, and JSON of 5 to 23 keys. Answers are new objects in every round, as in a run, so that nothing is remembered
of them from the round before. What counts is the best round, in processor time.

Exit codes: 0 the target holds; 1 it is missed; 2 asked wrongly.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import Counter
from typing import Any

from agenteval_cli.case import OutcomeCheck, case_from
from agenteval_cli.checks import checked
from agenteval_cli.transcript import Transcript

TARGET = 100_000  # checks a second
ATTEMPTS = 200  # of each answer, in a round

PROSE = "Thank you for waiting. Your order {n} is on its way and will reach you within 30 days of purchase. "
OF_PROSE: list[dict[str, Any]] = [
    {"contains": "30 days"},
    {"contains": ["order", "purchase"], "ignore_case": True},
    {"not_contains": ["guarantee", "I think", "as an AI"]},
    {"equals": "Your order is on its way."},
    {"regex": "order [0-9]{4,}"},
]
OF_JSON: list[dict[str, Any]] = [
    {"json_schema": {"type": "object", "required": ["id", "items"], "properties": {"id": {"type": "integer"}}}},
    {"field": {"path": "$.total", "equals": "129.00"}},
    {"field": {"path": "$.items[0].sku", "regex": "^k[0-9]+$"}},
    {"equals": {"id": 1, "total": "129.00"}},
    {"contains": "total"},
]


def main() -> int:
    """Measure, print; 1 where the target is missed."""
    options = _options()
    work = [(check, answer) for answers, checks in _work() for answer in answers for check in checks]
    best = min(_seconds(work) for _ in range(options.rounds))
    rate = len(work) * ATTEMPTS / best
    facts = {
        "checks_per_second": round(rate),
        "target": TARGET,
        "missed": rate < TARGET,
        "by_kind_us": _by_kind(work, options.rounds),
        "python": platform.python_version(),
    }
    print(json.dumps(facts, indent=2) if options.json else _table(facts))
    return int(rate < TARGET)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="at least 3 (default: 10)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    options = parser.parse_args()
    if options.rounds < 3:
        parser.error("--rounds must be at least 3: fewer say little on a busy computer")
    return options


def _work() -> list[tuple[list[str], list[OutcomeCheck]]]:
    prose = [PROSE.format(n=5678 + size) * size for size in (1, 2, 3, 6, 12)]
    prose.append("Très bien: votre commande 5678 arrive dans les 30 jours. " * 4)
    orders = [
        json.dumps({"id": size, "total": "129.00", "items": [{"sku": f"k{n}", "price": n / 2} for n in range(size)]})
        for size in (1, 1, 2, 3, 5, 10)
    ]
    return [(prose, _checks(OF_PROSE)), (orders, _checks(OF_JSON))]


def _checks(items: list[dict[str, Any]]) -> list[OutcomeCheck]:
    data = {"schema": 1, "id": "bench", "input": "Hello", "outcome": items}
    return list(case_from("cases/bench.yaml", data).outcome)


def _seconds(work: list[tuple[OutcomeCheck, str]]) -> float:
    """Processor seconds for all checks on all answers, every answer a new text for each attempt."""
    total = 0.0
    for attempt in range(ATTEMPTS):
        fresh = {answer: Transcript(output=f"{answer}{' ' * (attempt % 50 + 1)}") for _, answer in work}
        pairs = [(check, fresh[answer]) for check, answer in work]
        begin = time.process_time()
        for check, transcript in pairs:
            checked(check, transcript)
        total += time.process_time() - begin
    return total


def _by_kind(work: list[tuple[OutcomeCheck, str]], rounds: int) -> dict[str, float]:
    """Microseconds for one check of each kind, on average over its answers."""
    counts = Counter(check.kind for check, _ in work)
    return {
        kind: round(
            min(_seconds([pair for pair in work if pair[0].kind == kind]) for _ in range(rounds))
            / (count * ATTEMPTS)
            * 1e6,
            1,
        )
        for kind, count in counts.items()
    }


def _table(facts: dict[str, Any]) -> str:
    lines = ["| check | µs each |", "| --- | ---: |"]
    lines += [f"| `{kind}` | {took} |" for kind, took in facts["by_kind_us"].items()]
    verdict = "missed" if facts["missed"] else "holds"
    lines += ["", f"{facts['checks_per_second']:,} checks a second, at least {facts['target']:,}: {verdict}"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
