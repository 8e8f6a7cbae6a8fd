"""required: each of these calls came, as often as it says; one call answers one requirement only."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.case import CallPattern, Trajectory
from agenteval_cli.compare import shown
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.matchers import mismatch
from agenteval_cli.pairing import paired
from agenteval_cli.trajectory.calls import Calls, fits, named, nearest


def required(constraints: Trajectory, calls: Calls) -> Iterator[tuple[str, Finding]]:
    """Pair the least number of calls that each requirement needs, then hold the count of each against `times`."""
    patterns = constraints.required or ()
    slots = [index for index, pattern in enumerate(patterns) for _ in range(_least(pattern, len(calls)))]
    partners = paired([patterns[index] for index in slots], calls, fits)
    short = {index for index, partner in zip(slots, partners, strict=True) if partner is None}
    for index, pattern in enumerate(patterns):
        count = sum(fits(pattern, call) for call in calls)
        yield f"required[{index}]", _finding(pattern, calls, count, short=index in short)


def _least(pattern: CallPattern, most: int) -> int:
    """The smallest count that `times` allows; one more than there are calls where none of them would do."""
    if pattern.times is None:
        return 1
    return next((count for count in range(most + 1) if mismatch(pattern.times, count) is None), most + 1)


def _finding(pattern: CallPattern, calls: Calls, count: int, *, short: bool) -> Finding:
    wanted = {"call": named(pattern), "times": {"gte": 1} if pattern.times is None else pattern.times}
    wrong_count = pattern.times is not None and mismatch(pattern.times, count)
    if count == 0 and (short or wrong_count):
        return Finding(FAILED, f"{named(pattern)} was never called; {nearest(pattern, calls)}", wanted, 0)
    if wrong_count:
        return Finding(FAILED, f"{named(pattern)} came {count} times, not {shown(pattern.times)}", wanted, count)
    if short:
        words = f"{named(pattern)}: each call that fits already answers another requirement"
        return Finding(FAILED, words, wanted, count)
    return OK
