"""required: each of these calls came, as often as it says; one call answers one requirement only."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.compare import shown
from agenteval_cli.constraints import CallPattern, Trajectory
from agenteval_cli.finding import FAILED, OK, PASSED, Finding
from agenteval_cli.matchers import mismatch
from agenteval_cli.pairing import paired
from agenteval_cli.trajectory.evidence import Calls, Evidence
from agenteval_cli.trajectory.matching import difference, fits, may_fit, named, nearest, step, unasked

_ORDINALS = {1: "first", 2: "second", 3: "third", -1: "last"}


def required(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """Pair the least number of calls that each requirement needs, then hold the count of each against `times`."""
    calls, patterns = evidence.calls, constraints.required or ()
    slots = [index for index, pattern in enumerate(patterns) for _ in range(_least(pattern, len(calls)))]
    partners = paired([patterns[index] for index in slots], calls, fits)
    partner_of = dict(zip(reversed(slots), reversed(partners), strict=True))  # of several the first one
    short = {index for index, partner in zip(slots, partners, strict=True) if partner is None}
    for index, pattern in enumerate(patterns):
        finding = OK if pattern.occurrence is None else _placed(pattern, pattern.occurrence, calls)
        if finding is OK and (pattern.occurrence is None or pattern.times is not None):
            finding = _counted(pattern, calls, partner_of.get(index), short=index in short)
        yield f"required[{index}]", finding


def depend_on_untold(constraints: Trajectory, calls: Calls) -> frozenset[str]:
    """The requirements whose `times` hold for some, and not for all, of the counts that untold arguments leave open."""
    places = set()
    for index, pattern in enumerate(constraints.required or ()):
        if pattern.times is not None:
            least, most = sum(fits(pattern, call) for call in calls), sum(may_fit(pattern, call) for call in calls)
            if len({mismatch(pattern.times, count) is None for count in range(least, most + 1)}) > 1:
                places.add(f"required[{index}]")
    return frozenset(places)


def held_by_more(constraints: Trajectory) -> frozenset[str]:
    """The requirements that one more call cannot break: no upper count, and no place among the others."""
    return frozenset(
        f"required[{index}]"
        for index, pattern in enumerate(constraints.required or ())
        if pattern.occurrence is None
        and (pattern.times is None or (isinstance(pattern.times, dict) and pattern.times.keys() <= {"gte", "gt"}))
    )


def _least(pattern: CallPattern, most: int) -> int:
    """The smallest count that `times` allows; one more than there are calls where none of them would do.

    A requirement with an occurrence says which call it is about, and takes none from the others.
    """
    if pattern.occurrence is not None:
        return 0
    if pattern.times is None:
        return 1
    return next((count for count in range(most + 1) if mismatch(pattern.times, count) is None), most + 1)


def _placed(pattern: CallPattern, occurrence: int, calls: Calls) -> Finding:
    same_tool = [index for index, call in enumerate(calls) if call.name == pattern.tool]
    which = f"the {_ORDINALS.get(occurrence, f'{occurrence}th')} call of {pattern.tool}"
    wanted = {"call": named(pattern), "occurrence": occurrence}
    if len(same_tool) < max(occurrence, 1):
        words = f"{which} never came; {_times(len(same_tool))}"
        return Finding(FAILED, words, wanted, len(same_tool))
    at = same_tool[occurrence - 1 if occurrence > 0 else occurrence]
    found = difference(pattern, calls[at])
    return Finding(FAILED, f"{step(at, calls[at])}, is {which}: {found}", wanted, calls[at].arguments) if found else OK


def _times(count: int) -> str:
    return {0: "it was never called", 1: "it was called once"}.get(count, f"it was called {count} times")


def _counted(pattern: CallPattern, calls: Calls, partner: int | None, *, short: bool) -> Finding:
    count = sum(fits(pattern, call) for call in calls)
    wanted = {"call": named(pattern), "times": {"gte": 1} if pattern.times is None else pattern.times}
    wrong_count = pattern.times is not None and mismatch(pattern.times, count)
    if count == 0 and (short or wrong_count):
        return Finding(FAILED, f"{named(pattern)} was never called; {nearest(pattern, calls)}", wanted, 0)
    if wrong_count:
        return Finding(FAILED, f"{named(pattern)} came {count} times, not {shown(pattern.times)}", wanted, count)
    if short:
        words = f"{named(pattern)}: each call that fits already answers another requirement"
        return Finding(FAILED, words, wanted, count)
    more = [] if partner is None else unasked(pattern, calls[partner])
    return Finding(PASSED, f"step {(partner or 0) + 1} has more arguments: {', '.join(more)}") if more else OK
