"""How long `agenteval validate` takes on thousands of files, held against ajv-cli and check-jsonschema in one run.

    python benchmarks/validate.py [--files N] [--sizes N,N] [--rounds N] [--json]

The wheel is built and installed as a user gets it, beside check-jsonschema, in a virtualenv of its own; ajv-cli comes
from npm and is left out, with a word, where that cannot be. All commands run on the same valid case files, committed
to git and packed as in a clone. They take turns, in a new order each round. A ratio is the median of the ratios within
each round; a time that is held against seconds is the best one, which other work on the computer spoils least.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Any

from startup import CONFIG, PROJECT, SCHEMA, _environment, _install, _run, _say, _stop, _versions

FOLDERS = 50
SAMPLE = 500  # files for check-jsonschema, which would need minutes for all
COLD_TO_AJV = 1.0
WARM_SECONDS = 0.3
CHANGED_SECONDS = 0.2
LINEAR = 1.1  # times what the number of files alone would make of it, at most
FLAT = 1.1  # times the memory that fewer files take, at most
FLAT_UP_TO = 10_000
BYTES_OF_A_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss

# ---- the case files: a head, then one alternative of each block, so that neighbours differ in all of them


def _alternatives(text: str) -> list[Template]:
    return [Template(part) for part in text.split("---\n")]


HEAD = _alternatives("""\
# yaml-language-server: $$schema=../../case.schema.json
schema: 1
id: $topic-$number
title: $title, order $order
why: $why
tier: $tier
tags: [$topic, money, $language]
metadata: {intent: $topic, segment: consumer, language: $language, difficulty: $level, owner: $owner}
""")
ASKED = _alternatives("""\
input: Please refund order $order, it is too big for my stove. I paid $amount EUR in all.
---
conversation:
  - {role: user, content: "Good morning. I have a question about order $order."}
  - {role: assistant, content: "Good morning! What would you like to know?"}
  - {role: user, content: "Can I send it back, and will I get my $amount euros?"}
---
variables:
  - {name: customer_name, value: Ada}
input: >
  Hello, {{customer_name}} here. The kettle from order $order leaks and I do not want another one.
  Can I get a refund?
---
context:
  - Opening hours of the shop in the old town are ten to six.
  - Gifts bought between 1 November and 24 December can be returned within 60 days of purchase.
input: Ich möchte die Teekanne aus Bestellung $order zurückschicken. Wann ist das Geld auf meinem Konto?
---
conversation:
  - {role: user, content: 先週買ったケトルを返品したいのですが。}
  - {role: assistant, content: 承知しました。ご注文番号をお知らせください。}
  - {role: user, content: $order です。}
limits: {timeout: 30s, tool_calls: 8, tokens: 4000, cost: "0.05"}
""")
STATE = _alternatives("""\
state:
  customer: {id: C-$order, email: ada@example.org}
  orders:
    "$order":
      {customer: C-$order, total: "$amount", currency: EUR, status: delivered, paid: true, refunded: false, age: $days}
---
state:
  today: "2031-11-20"
  customer: {id: C-$order, name: Ada Quist, email: ada@example.org}
  orders:
    "$order":
      customer: C-$order
      items:
        - {name: Copper kettle, price: "$amount"}
        - {name: Tea towel, price: "9.50"}
      total: "$amount"
      currency: EUR
      status: delivered
      paid: true
      refunded: false
      days_since_purchase: $days
---
state:
  services: {payments: up}
  customer: {id: C-$order, email: ines@example.org}
  orders:
    "$order": {customer: C-$order, total: "$amount", currency: EUR, status: shipped, charges: ["$amount"]}
  refunds:
    R-1: {order: "5140", amount: "75.00", reason: return}
""")
CHECKS = _alternatives("""\
outcome:
  - contains: $amount EUR
  - regex: \\b5\\s+(working days|Werktage)
    note: the customer asked for it
  - state:
      orders: {"$order": {refunded: true}}
      refunds: {R-2: {order: "$order", amount: "$amount"}}
trajectory:
  required:
    - {tool: get_order, arguments: {order_id: "$order"}, status: ok}
    - {tool: create_refund, arguments: {order_id: "$order", amount: "$amount"}, times: 1, status: ok}
  order:
    - {first: get_order, then: create_refund}
---
outcome:
  - contains: payment provider
    ignore_case: true
  - not_contains: [is booked., within 5 working days]
  - state: {orders: {"$order": {refunded: false}}, refunds: {R-2: {absent: true}}}
trajectory:
  required: [get_order, {tool: escalate, times: 1, status: ok}]
  forbidden:
    - {tool: create_refund, arguments: {order_id: "$order", amount: {not: "$amount"}}}
---
attempts: 3
expected_output: is being looked at
match: contains
outcome:
  - not_contains: order number
    note: it was given already
  - contains: [the order, "$order"]
    severity: warning
trajectory:
  required: [{tool: get_order, arguments: {order_id: "$order"}}]
  only: [get_order, get_policy]
  max_repeats: 1
---
outcome:
  - contains: 30 days
  - state: {orders: {"$order": {refunded: false, total: {contains: "."}}}}
trajectory:
  required: [get_order, {tool: get_policy, arguments: {topic: returns}, status: ok}]
  forbidden: [create_refund, cancel_order]
criteria:
  - the answer says why the period has ended
  - {id: exchange, text: the answer offers an exchange instead, votes: 3}
""")
TOPICS = ("refund", "return", "duplicate-charge", "exchange", "broken-item", "late-parcel", "gift")
WHY = (
    "a valid refund is the most common request; it must be paid once, in full",
    "the order says what was paid, not the customer",
    "people hate to repeat themselves, and every look-up is a paid call to the warehouse",
)


def case_text(number: int) -> str:
    """The case with this number: another file, ID and question than every other's."""
    values = {
        "number": f"{number:06}",
        "order": str(20_000 + number),
        "amount": f"{10 + number % 190}.{number % 90 + 10}",
        "days": str(number % 29 + 1),
        "topic": TOPICS[number % len(TOPICS)],
        "title": ("Refund inside the window", "Zwei Buchungen für eine Bestellung", "返品の相談")[number % 3],
        "why": WHY[number // 3 % len(WHY)],
        "tier": ("smoke", "regression", "representative")[number // 2 % 3],
        "language": ("en", "de", "ja")[number % 3],
        "level": ("easy", "medium", "hard")[number // 5 % 3],
        "owner": ("support", "finance", "security", "logistics")[number // 7 % 4],
    }
    blocks = (kind[number % len(kind)] for kind in (HEAD, ASKED, STATE, CHECKS))
    return "".join(block.substitute(values) for block in blocks)


def case_name(number: int) -> str:
    return f"cases/area-{number % FOLDERS:02}/case-{number:06}.yaml"


# ---- what is measured


@dataclass(frozen=True)
class Use:
    """What one run took: seconds, processor seconds (user and system), bytes of its largest process."""

    seconds: float
    cpu: float
    memory: float


Beforehand = Callable[[Sequence[str], Path, Mapping[str, str]], AbstractContextManager[None]]


@dataclass(frozen=True)
class Command:
    """What is timed, in a repository of so many files that is brought into the right state before each run."""

    name: str
    files: int
    line: tuple[str, ...]
    beforehand: Beforehand


@dataclass(frozen=True)
class Row:
    """A command with its runs, round by round. `note` says what is no plain measurement."""

    name: str
    files: int
    uses: tuple[Use, ...]
    note: str = ""

    @property
    def best(self) -> float:
        return min(use.seconds for use in self.uses)

    @property
    def median(self) -> float:
        return statistics.median(use.seconds for use in self.uses)

    @property
    def cpu(self) -> float:
        return min(use.cpu for use in self.uses)

    @property
    def memory(self) -> float:
        return statistics.median(use.memory for use in self.uses)

    def times(self, other: Row) -> float:
        """How many times as long as the other it takes, each round compared within itself."""
        pairs = zip(self.uses, other.uses, strict=True)
        return statistics.median(mine.seconds / its.seconds for mine, its in pairs)


@dataclass(frozen=True)
class Target:
    """A promise and whether it was kept; `found` is None where it could not be held against anything."""

    words: str
    found: float | None
    limit: float

    @property
    def missed(self) -> bool:
        return self.found is not None and self.found > self.limit

    def __str__(self) -> str:
        if self.found is None:
            return f"- {self.words}: not measured"
        return f"- {self.words}: {self.found:.2f}, at most {self.limit:g}: {'missed' if self.missed else 'holds'}"


@contextmanager
def _cold(line: Sequence[str], repository: Path, environment: Mapping[str, str]) -> Iterator[None]:  # noqa: ARG001  # all ways are called alike
    """Nothing is remembered."""
    shutil.rmtree(repository / ".agenteval", ignore_errors=True)
    yield


@contextmanager
def _warm(line: Sequence[str], repository: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Everything is remembered: a run before this one saw the same files."""
    _run(line, repository, environment)
    yield


@contextmanager
def _changed(line: Sequence[str], repository: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Everything is remembered, but for one file that was written since."""
    path = repository / case_name(0)
    before, facts = path.read_bytes(), path.stat()
    _run(line, repository, environment)
    path.write_bytes(before + b"# looked at again\n")
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def _untouched(*_: object) -> AbstractContextManager[None]:
    return nullcontext()


COLD, WARM, CHANGED = "agenteval validate, cold", "agenteval validate, warm", "agenteval validate, one file changed"
AJV, PEER = "ajv validate", "check-jsonschema"
PEER_ONE = "check-jsonschema, one file"


def main() -> int:
    """Build, measure, print; 1 where a target is missed."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="agenteval-validate-") as name:
        folder = Path(name)
        repositories = {size: _make_repository(folder, size) for size in sorted({*options.sizes, options.files})}
        programs = _install(folder)  # takes longer than files need to count as settled
        environment = _environment(programs, folder)
        commands = _commands(programs, _ajv(folder), options.files, options.sizes)
        for repository in repositories.values():
            _hold_valid(programs, repository, environment)
        measured = _measure(commands, repositories, environment, options.rounds)
        versions = _versions(programs, environment)
    rows = _rows(measured, options.files)
    targets = _targets(rows, options.files, options.sizes)
    if options.json:
        print(json.dumps(_facts(rows, targets, versions), indent=2))
    else:
        print(_report(rows, targets, versions, options))
    return 1 if any(target.missed for target in targets) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=count, default=10_000, metavar="N", help="to compare on (default: 10000)")
    parser.add_argument(
        "--sizes", type=sizes, default=[1_000, 10_000], metavar="N,N", help="to grow over (default: 1000,10000)"
    )
    parser.add_argument("--rounds", type=count, default=5, metavar="N", help="default: 5")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    return parser.parse_args()


def count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def sizes(text: str) -> list[int]:
    return sorted({count(part) for part in text.split(",")})


def _make_repository(folder: Path, size: int) -> Path:
    """A git repository with so many cases, committed and packed; the schema lies beside them for the peers."""
    _say(f"writing and committing {size:,} case files ...")
    repository = folder / f"repository-{size}"
    for number in range(min(FOLDERS, size)):
        (repository / case_name(number)).parent.mkdir(parents=True)
    for number in range(size):
        (repository / case_name(number)).write_text(case_text(number), encoding="utf-8")
    shutil.copy(PROJECT / "schemas" / SCHEMA, repository / SCHEMA)
    (repository / "agenteval.yaml").write_text(CONFIG, encoding="utf-8")
    git = ("git", "-c", "user.name=benchmark", "-c", "user.email=benchmark@example.org", "-c", "commit.gpgsign=false")
    commit = ("-c", "gc.auto=0", "commit", "--quiet", "--no-verify", "--message", "Cases")
    for words in (("init", "--quiet"), ("add", "."), commit, ("repack", "-a", "-d", "-q")):
        _run([*git, *words], repository)
    return repository


def _ajv(folder: Path) -> list[str]:
    """How ajv-cli is started, installed for this run; nothing where that is not possible."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        _say("ajv-cli is left out: npm is not there")
        return []
    _say("installing ajv-cli ...")
    line = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder / "npm"), "ajv-cli"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        _say(f"ajv-cli is left out: npm failed\n{done.stderr}".rstrip())
        return []
    return [node, str(folder / "npm" / "node_modules" / ".bin" / "ajv")]


def _commands(programs: Path, ajv: Sequence[str], files: int, sizes: Sequence[int]) -> list[Command]:
    validate = (str(programs / "agenteval"), "validate")
    peer = (str(programs / "check-jsonschema"), "--schemafile", SCHEMA)
    sample = [case_name(number) for number in range(0, files, max(1, files // SAMPLE))][:SAMPLE]
    commands = [Command(COLD, size, validate, _cold) for size in sorted({*sizes, files})]
    commands += [Command(WARM, size, validate, _warm) for size in sorted({*sizes, files})]
    commands.append(Command(CHANGED, files, validate, _changed))
    if ajv:
        # One process reads all files; its pattern is its own, no shell's, and .yaml is read as YAML.
        words = ("validate", "--spec=draft2020", "-s", SCHEMA, "-d", "cases/**/*.yaml")
        commands.append(Command(AJV, files, (*ajv, *words), _untouched))
    commands.append(Command(PEER, files, (*peer, *sample), _untouched))
    commands.append(Command(PEER_ONE, files, (*peer, *sample[:1]), _untouched))
    return commands


def _hold_valid(programs: Path, repository: Path, environment: Mapping[str, str]) -> None:
    """Only files without any problem tell what checking costs."""
    line = [str(programs / "agenteval"), "validate", "--json"]
    problems = json.loads(_run(line, repository, environment))["problems"]
    if problems:
        _stop(line, 0, f"{len(problems)} problems in the made-up cases, the first: {problems[0]}")


def _measure(
    commands: Sequence[Command], repositories: Mapping[int, Path], environment: Mapping[str, str], rounds: int
) -> dict[Command, list[Use]]:
    """All commands, round by round."""
    uses: dict[Command, list[Use]] = {command: [] for command in commands}
    for number in range(1, rounds + 1):
        _say(f"measuring, round {number} of {rounds} ...")
        for command in random.sample(commands, len(commands)):
            repository = repositories[command.files]
            with command.beforehand(command.line, repository, environment):
                uses[command].append(_use(command.line, repository, environment))
    return uses


def _use(line: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Use:
    """What one run takes, from before it is started until it has ended."""
    quiet = subprocess.DEVNULL
    start = time.perf_counter()
    process = subprocess.Popen(line, cwd=folder, env=environment, stdin=quiet, stdout=quiet, stderr=quiet)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        _stop(line[:4], process.returncode, "it failed on files that are valid")
    return Use(taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * BYTES_OF_A_UNIT)


# ---- what is told of it


def _rows(measured: Mapping[Command, Sequence[Use]], files: int) -> list[Row]:
    """A row for each command; the two of check-jsonschema make one, as all files would have taken it."""
    rows = [Row(command.name, command.files, tuple(uses)) for command, uses in measured.items()]
    *others, sample, one = rows
    size = min(SAMPLE, files)
    if size == 1:
        return [*others, sample]
    uses = tuple(map(partial(_extrapolated, size=size, files=files), sample.uses, one.uses))
    note = f"extrapolated from {size} files and one; memory of {size}" if files > size else ""
    return [*others, Row(PEER, files, uses if note else sample.uses, note)]


def _extrapolated(sample: Use, one: Use, size: int, files: int) -> Use:
    """What all files would take: one file with the start-up, and the others at the price they have in the sample."""
    more = (files - 1) / (size - 1)
    seconds = one.seconds + (sample.seconds - one.seconds) * more
    return Use(seconds, one.cpu + (sample.cpu - one.cpu) * more, sample.memory)


def _targets(rows: Sequence[Row], files: int, sizes: Sequence[int]) -> list[Target]:
    by_name = {(row.name, row.files): row for row in rows}
    cold, ajv = by_name[COLD, files], by_name.get((AJV, files))
    targets = [
        Target(f"{COLD}, {files:,} files, times ajv-cli", cold.times(ajv) if ajv else None, COLD_TO_AJV),
        Target(f"{WARM}, {files:,} files, seconds", by_name[WARM, files].best, WARM_SECONDS),
        Target(f"{CHANGED}, {files:,} files, seconds", by_name[CHANGED, files].best, CHANGED_SECONDS),
    ]
    for less, more in pairwise(sizes):
        targets += _growth(by_name[COLD, less], by_name[COLD, more])
    return targets


def _growth(less: Row, more: Row) -> Iterator[Target]:
    """Time grows as the files do (processor time, which other work spoils least), memory hardly at all."""
    span = f"from {less.files:,} to {more.files:,} files"
    grown = more.cpu / less.cpu * less.files / more.files
    yield Target(f"{COLD}, processor time per file {span}, times", grown, LINEAR)
    if more.files <= FLAT_UP_TO:
        yield Target(f"{COLD}, peak memory {span}, times", more.memory / less.memory, FLAT)


def _report(
    rows: Sequence[Row], targets: Sequence[Target], versions: Sequence[str], options: argparse.Namespace
) -> str:
    compared = [row for row in rows if row.files == options.files]
    grown = [row for row in rows if row.name in (COLD, WARM) and row.files in options.sizes]
    notes = [f"`{row.name}`: {row.note}." for row in compared if row.note]
    return "\n".join(
        [
            f"{options.files:,} files\n",
            _table(compared),
            f"\nRounds: {options.rounds}; {', '.join(versions)}.",
            "Processor time is user and system time, helper processes included.",
            "Memory is that of the largest process; helpers are forked and are not added to it.",
            *notes,
            "\nGrowth\n",
            _growth_table(grown),
            "\nTargets\n",
            *map(str, targets),
        ]
    )


def _table(rows: Sequence[Row]) -> str:
    ajv = next((row for row in rows if row.name == AJV), None)
    lines = [
        "| Command | Best, s | Median, s | Processor, s | Peak memory, MB | Times ajv-cli |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        ratio = f"{row.times(ajv):.2f}" if ajv else ""
        mark = " (extrapolated)" if row.note else ""
        numbers = f"{row.best:.2f} | {row.median:.2f} | {row.cpu:.2f} | {row.memory / 1e6:.0f}"
        lines.append(f"| `{row.name}`{mark} | {numbers} | {ratio} |")
    return "\n".join(lines)


def _growth_table(rows: Sequence[Row]) -> str:
    lines = [
        "| Command | Files | Best, s | Processor, s | Processor, ms per file | Peak memory, MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        numbers = f"{row.best:.2f} | {row.cpu:.2f} | {row.cpu / row.files * 1000:.3f} | {row.memory / 1e6:.0f}"
        lines.append(f"| `{row.name}` | {row.files:,} | {numbers} |")
    return "\n".join(lines)


def _facts(rows: Sequence[Row], targets: Sequence[Target], versions: Sequence[str]) -> dict[str, Any]:
    return {
        "versions": versions,
        "commands": [asdict(row) for row in rows],
        "targets": [{**asdict(target), "missed": target.missed} for target in targets],
        "missed": any(target.missed for target in targets),
    }


if __name__ == "__main__":
    sys.exit(main())
