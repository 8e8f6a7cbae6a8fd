"""What the runs suggest to look at: flaky cases, cases that catch nothing, slices too thin to tell. Pure."""

from __future__ import annotations

import datetime as dt
import json
import math
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from agenteval_cli.records import PlannedCase
from agenteval_cli.statistics import Z95, wilson
from agenteval_cli.summary import enough
from agenteval_cli.tag_expression import as_term

QUARANTINE = "quarantine"
PAST = "quarantine_past"
NEVER_PASSED = "never_passed"
ALWAYS_PASSED = "always_passed"
THIN = "thin_slice"
SLOW = "slow"
DEAR = "dear"
KINDS = (QUARANTINE, PAST, NEVER_PASSED, ALWAYS_PASSED, THIN, SLOW, DEAR)

_COIN = 0.05  # a verdict that falls by chance as often as this in either direction says little
_FEWEST = 5  # attempts, below which nothing is said of a case
_FEWEST_RUNS = 3
_WIDEST = 0.2  # half the interval of a slice's pass rate, above which it tells little
_WANTED = 0.1  # half the interval that would tell something
_MANY_TIMES = 5  # the median, from which on a case is slow or dear
_NOTABLE = 0.05  # of the whole run


class CaseTotal(msgspec.Struct, frozen=True):
    """A case with one agent and one content over all runs. `planned`, `needed` and `quarantined` are the newest run's.

    `passed` of `graded` leave out attempts that were kept from an earlier run.
    """

    case: str
    agent: str
    version: str
    passed: int
    graded: int
    runs: int
    passed_runs: int
    failed_runs: int
    first_run: str
    last_run: str
    planned: int
    needed: float
    quarantined: bool


class Mixed(msgspec.Struct, frozen=True):
    """A case that of late both passed and failed with one content under one digest of its agent.

    That was so under `mixed` of the `digests` with which it passed at all, as `passed` of `graded` attempts did. One
    with which it never passed is left out: it may be broken.
    """

    case: str
    agent: str
    version: str
    mixed: int
    digests: int
    passed: int
    graded: int


class LatestResult(msgspec.Struct, frozen=True):
    """A case in the newest run; measures are means over its attempts, None where not reported."""

    case: str
    passed: int
    graded: int
    latency_ms: float | None
    cost: float | None
    tokens: float | None


class Quarantine(msgspec.Struct, frozen=True):
    """A case whose file puts it in quarantine; the day it ends, as 2026-12-01, None where it says none."""

    case: str
    until: str | None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """All that is looked at. IDs are folded; `plan` is that of the newest run, `today` as 2026-12-01."""

    today: str
    plan: tuple[PlannedCase, ...]
    totals: tuple[CaseTotal, ...]
    mixed: tuple[Mixed, ...]
    latest: tuple[LatestResult, ...]
    quarantines: tuple[Quarantine, ...] = ()


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """From how many runs over how many days on a case that always passed is worth a look."""

    runs: int = 20
    days: int = 30


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to look at: a case, or a slice as tag=billing; the evidence in words; the command that acts on it."""

    kind: str
    subject: str
    words: str
    command: str | None = None


def suggestions(history: History, bounds: Bounds = Bounds()) -> list[Suggestion]:  # noqa: B008  # frozen
    """Everything the runs suggest, in the order of KINDS."""
    names = {planned.case.casefold(): planned.case for planned in history.plan}
    current = _current(history, names)
    return [
        *_quarantines(history, current, names),
        *_past(history, names),
        *_never_passed(current, names),
        *_always_passed(current, names, bounds),
        *_thin(history),
        *_costly(history, names),
    ]


def _current(history: History, names: Mapping[str, str]) -> list[CaseTotal]:
    """The newest content of each case that the newest run has, with the agent it had there."""
    agents = {planned.case.casefold(): planned.agent for planned in history.plan}
    newest: dict[str, CaseTotal] = {}
    for total in history.totals:
        if total.case in names and total.agent == agents[total.case]:
            before = newest.get(total.case)
            newest[total.case] = total if before is None or total.last_run > before.last_run else before
    return [newest[case] for case in sorted(newest)]


# ---- flaky


def _quarantines(history: History, current: Sequence[CaseTotal], names: Mapping[str, str]) -> Iterator[Suggestion]:
    """Cases whose verdict is a throw of dice: with nothing changed it falls neither hardly ever nor nearly always."""
    seen = {(mixed.case, mixed.agent, mixed.version): mixed for mixed in history.mixed}
    for total in current:
        mixed = seen.get((total.case, total.agent, total.version))
        if mixed is None or total.quarantined or mixed.graded < _FEWEST:
            continue
        falls = chance_to_fail(mixed.passed / mixed.graded, total.planned, total.needed)
        if _COIN < falls < 1 - _COIN:
            counts, name = f"{mixed.passed}/{mixed.graded}", names[total.case]
            words = (
                f"with one content {counts} attempts passed, and both outcomes were seen under {mixed.mixed} of "
                f"{mixed.digests} versions of the agent: a run of {_attempts(total.planned)} fails it {falls:.0%} of "
                "the time with nothing changed"
            )
            command = f'agenteval quarantine add {name} --reason "flaky: {counts} with nothing changed"'
            yield Suggestion(kind=QUARANTINE, subject=name, words=words, command=command)


def chance_to_fail(rate: float, planned: int, needed: float) -> float:
    """How likely a case of that true pass rate fails, by its planned attempts and the rate it needs."""
    return math.fsum(
        math.comb(planned, k) * rate**k * (1 - rate) ** (planned - k)
        for k in range(planned + 1)
        if not enough(k, planned, needed)
    )


def _past(history: History, names: Mapping[str, str]) -> Iterator[Suggestion]:
    for held in sorted(history.quarantines, key=lambda each: (each.until or "", each.case)):
        if held.until is not None and held.until < history.today:
            name = names.get(held.case.casefold(), held.case)
            command = f"agenteval quarantine remove {name}"
            yield Suggestion(kind=PAST, subject=name, words=f"its quarantine ended on {held.until}", command=command)


# ---- cases that tell nothing


def _never_passed(current: Sequence[CaseTotal], names: Mapping[str, str]) -> Iterator[Suggestion]:
    for total in current:
        if total.passed == 0 and total.graded >= _FEWEST and total.runs >= _FEWEST_RUNS:
            words = f"none of {total.graded} attempts in {total.runs} runs passed: the case may ask for the impossible"
            name = names[total.case]
            yield Suggestion(
                kind=NEVER_PASSED, subject=name, words=words, command=f"agenteval show {name} --run latest"
            )


def _always_passed(current: Sequence[CaseTotal], names: Mapping[str, str], bounds: Bounds) -> Iterator[Suggestion]:
    for total in current:
        days = days_between(total.first_run, total.last_run)
        if total.passed == total.graded > 0 and total.passed_runs >= bounds.runs and days >= bounds.days:
            words = (
                f"all {total.graded} attempts in {total.runs} runs over {days} days passed: it has caught nothing yet"
            )
            yield Suggestion(kind=ALWAYS_PASSED, subject=names[total.case], words=words)


def days_between(first: str, last: str) -> int:
    """The days between two runs, by their IDs."""
    began, ended = (dt.date.fromisoformat(run[:8]) for run in (first, last))
    return (ended - began).days


# ---- slices


def _thin(history: History) -> Iterator[Suggestion]:
    """Slices of the newest run whose pass rate is known too badly, with how many attempts would do."""
    results = {result.case: result for result in history.latest}
    slices: dict[tuple[str, str], list[LatestResult]] = defaultdict(list)
    for planned in history.plan:
        result = results.get(planned.case.casefold())
        for key in _slices_of(planned) if result is not None and result.graded else ():
            slices[key].append(results[planned.case.casefold()])
    for (by, value), found in sorted(slices.items()):
        passed, graded = sum(each.passed for each in found), sum(each.graded for each in found)
        low, high = wilson(passed, graded)
        if (high - low) / 2 > _WIDEST:
            each = math.ceil(attempts_for(passed / graded, _WANTED) / len(found))
            words = (
                f"{passed}/{graded} attempts of {_cases(len(found))} passed, so its rate is between {low:.0%} and "
                f"{high:.0%}; {_attempts(each)} a case, or more cases, would tell it to within {_WANTED:.0%}"
            )
            selects = _selects(by, value)
            command = f"agenteval run {selects} --attempts {each}" if selects else None
            yield Suggestion(kind=THIN, subject=f"{by}={value}", words=words, command=command)


def _slices_of(planned: PlannedCase) -> Iterator[tuple[str, str]]:
    yield "tier", planned.tier
    for tag in planned.tags:
        yield "tag", tag
    for key, value in planned.metadata.items():
        yield f"metadata.{key}", value if isinstance(value, str) else json.dumps(value)  # as `--where` has it


def _selects(by: str, value: str) -> str | None:
    """The option that selects the slice, as a shell takes it; None where `--where` cannot name the key."""
    term = as_term(value) if by == "tag" else value if by == "tier" else None
    if term is not None:
        return f"--{by} {shlex.quote(term)}"
    path = "tags" if by == "tag" else by
    if path.count(".") > 1 or "=" in path:
        return None
    return f"--where {shlex.quote(f'{path}={value}')}"


def attempts_for(rate: float, half: float) -> int:
    """How many attempts have a score interval no wider than `half` to either side, at that pass rate."""
    attempts = 1
    while True:
        low, high = wilson(round(rate * attempts), attempts)
        if high - low <= 2 * half:
            return attempts
        attempts = max(attempts + 1, math.ceil(attempts * 1.02))
        if attempts > 4 * (Z95 / half) ** 2:
            return attempts


# ---- slow and dear


def _costly(history: History, names: Mapping[str, str]) -> Iterator[Suggestion]:
    attempts = {planned.case.casefold(): planned.attempts for planned in history.plan}
    for kind, unit, measure in ((SLOW, "time", "latency_ms"), (DEAR, "cost", "cost")):
        known = {
            result.case: value
            for result in history.latest
            if result.case in attempts and (value := getattr(result, measure)) is not None
        }
        whole = math.fsum(value * attempts[case] for case, value in known.items())
        usual = sorted(known.values())[len(known) // 2] if known else 0.0
        for case in sorted(known, key=lambda each: (-known[each], each)):
            share = known[case] * attempts[case] / whole if whole else 0.0
            if share >= _NOTABLE and usual and known[case] >= _MANY_TIMES * usual:
                words = f"{share:.0%} of the run's {unit}, and {known[case] / usual:.0f} times the usual case"
                yield Suggestion(kind=kind, subject=names[case], words=words)


def _attempts(number: int) -> str:
    return f"{number:,} attempt{'' if number == 1 else 's'}"


def _cases(number: int) -> str:
    return f"{number:,} case{'' if number == 1 else 's'}"
