"""How often `agenteval diff` cries wolf, and what it finds: simulated suites through the tool's own functions.

    python benchmarks/simulate_diff.py [--suites N] [--attempts N,N] [--confirm N] [--seed N] [--json]

A suite has 50 cases: 25 pass always, 10 at 95 %, 6 at 90 %, 4 at 70 %, 3 at 50 %, 2 at 20 %. Base and head run each
case so many times. In the first half nothing changed between them, and whatever the gate `significant` fails on is a
false alarm; in the second half one case that passed at 90 % passes at 30 %, and the gate should name it. Without
confirming the two runs are all there is; with it, the cases that fell get up to N fresh attempts on both sides.

Exit codes: 0 the targets hold; 1 one is missed; 2 asked wrongly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from agenteval_cli.confirming import LEVEL, Fall, Look, Seen, fresh_p, fresh_q, looks, next_look, to_confirm
from agenteval_cli.statistics import false_discovery, fisher_drop

RATES = [1.0] * 25 + [0.95] * 10 + [0.9] * 6 + [0.7] * 4 + [0.5] * 3 + [0.2] * 2
BROKEN = 35  # the first of those at 90 %
BROKEN_RATE = 0.3
MOST_FALSE_ALARMS = 0.05
FOUND_FROM = 3  # attempts, from which on confirming finds the broken case
FOUND = 0.8


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of suites in which the gate failed, or named the broken case; means of cases and attempts a side."""

    broken: bool
    attempts: int
    gate_failed: float
    found: float
    gate_failed_confirming: float
    found_confirming: float
    cases_confirmed: float
    fresh_attempts: float


def simulate(attempts: int, *, broken: bool, confirm: int, suites: int, seed: int) -> Row:
    """So many suites of one kind."""
    dice = np.random.default_rng(seed)
    base, head = np.array(RATES), np.array(RATES)
    if broken:
        head[BROKEN] = BROKEN_RATE
    before, after = (dice.binomial(attempts, rates, (suites, len(RATES))) for rates in (base, head))
    plan = looks(confirm)
    totals = np.zeros(6)
    for passed_before, passed_after in zip(before.tolist(), after.tolist(), strict=True):
        seen = list(zip(passed_before, passed_after, strict=True))
        p_values = [fisher_drop(was, attempts, now, attempts) for was, now in seen]
        q_values = false_discovery(p_values)
        fell = [case for case, (was, now) in enumerate(seen) if now < was]
        named = {case for case in fell if q_values[case] <= LEVEL}
        chosen = [int(fall.case) for fall in to_confirm([Fall(str(case), p_values[case], broke=True) for case in fell])]
        fresh = [_fresh(base[case], head[case], plan, len(chosen), dice) for case in chosen]
        sure = fresh_q([fresh_p(looks_at, plan) for looks_at in fresh])
        named_confirming = {case for case, q in zip(chosen, sure, strict=True) if q <= LEVEL} | (named - {*chosen})
        spent = sum(looks_at[-1].base_total for looks_at in fresh)
        totals += [
            *(bool(named), BROKEN in named),
            *(bool(named_confirming), BROKEN in named_confirming),
            *(len(chosen), spent),
        ]
    return Row(broken=broken, attempts=attempts, **dict(zip(Row.__struct_fields__[2:], totals / suites, strict=True)))


def _fresh(base: float, head: float, plan: Sequence[Look], cases: int, dice: np.random.Generator) -> list[Seen]:
    """The fresh attempts of one case, until it is clear."""
    seen: list[Seen] = []
    counts = [0, 0]
    done = 0
    while (look := next_look(seen, plan, cases)) is not None:
        more = look.attempts - done
        counts = [count + int(dice.binomial(more, rate)) for count, rate in zip(counts, (base, head), strict=True)]
        done = look.attempts
        seen.append(Seen(counts[0], done, counts[1], done))
    return seen


def misses(rows: Sequence[Row]) -> list[str]:
    """The targets that are not met, in words."""
    found = []
    for row in rows:
        if not row.broken and max(row.gate_failed, row.gate_failed_confirming) > MOST_FALSE_ALARMS:
            found.append(f"{row.attempts} attempts: more than {MOST_FALSE_ALARMS:.0%} false alarms")
        if row.broken and row.attempts >= FOUND_FROM and row.found_confirming < FOUND:
            found.append(f"{row.attempts} attempts: the broken case is found in less than {FOUND:.0%}")
    return found


def _table(rows: Sequence[Row], confirm: int) -> str:
    lines = []
    for broken, title in ((False, "nothing changed"), (True, "one case broke, 90 % to 30 %")):
        verb = "named the broken case" if broken else "the gate failed"
        lines += [
            f"| {title}: attempts a side | {verb} | with `--confirm {confirm}` | cases looked at | attempts a side |"
        ]
        lines += ["| ---: | ---: | ---: | ---: | ---: |"]
        for row in rows:
            if row.broken == broken:
                shares = (row.found, row.found_confirming) if broken else (row.gate_failed, row.gate_failed_confirming)
                cells = [f"{share:.1%}".replace("%", " %") for share in shares]
                lines.append(
                    f"| {row.attempts} | {' | '.join(cells)} | {row.cases_confirmed:.1f} | {row.fresh_attempts:.0f} |"
                )
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Simulate, print, and say whether the targets hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--suites", type=int, default=2000)
    parser.add_argument("--attempts", default="1,3,5,10,20")
    parser.add_argument("--confirm", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    sizes = [int(size) for size in wanted.attempts.split(",")]
    options: dict[str, Any] = {"confirm": wanted.confirm, "suites": wanted.suites, "seed": wanted.seed}
    rows = [simulate(size, broken=broken, **options) for broken in (False, True) for size in sizes]
    missed = misses(rows)
    if wanted.json:
        sys.stdout.write(json.dumps({"rows": msgspec.to_builtins(rows), "missed": missed}, indent=2) + "\n")
    else:
        sys.stdout.write(_table(rows, wanted.confirm) + "".join(f"missed: {words}\n" for words in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
