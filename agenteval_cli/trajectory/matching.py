"""Tool calls against the patterns that cases name them with, and the words for both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.compare import ABSENT, Difference, child, first_difference, shown
from agenteval_cli.constraints import CallPattern
from agenteval_cli.matchers import mismatch
from agenteval_cli.trajectory.evidence import Calls
from agenteval_cli.transcript import ToolCall

ANYTHING = "(not told)"  # arguments that are taken for those of any pattern, to see whether it matters
_MANY = 12  # names that a sentence has room for


def difference(pattern: CallPattern, call: ToolCall) -> Difference | None:
    """The first difference between a call and its pattern: tool, then arguments, then status. None where it fits."""
    if call.name != pattern.tool:
        return Difference("tool", pattern.tool, call.name)
    return next(iter(_differences(pattern, call)), None)


def fits(pattern: CallPattern, call: ToolCall) -> bool:
    """Whether the call is one that the pattern names."""
    return difference(pattern, call) is None


def may_fit(pattern: CallPattern, call: ToolCall) -> bool:
    """Whether the call could be one that the pattern names, for all that is not known of it.

    That is how it ended, or its arguments: nobody told them, or they are no names and values, as JSON that is broken or
    was cut off.
    """
    arguments = pattern.arguments if isinstance(call.arguments, Mapping) else None
    status = None if call.status == "unknown" else pattern.status
    return fits(msgspec.structs.replace(pattern, arguments=arguments, status=status), call)


def untold(index: int, call: ToolCall) -> str:
    """Words about what would have to be known of a call that may or may not fit."""
    place = f"step {index + 1}, {call.name}"
    if call.arguments is None:
        return f"nothing tells the arguments of {place}"
    if not isinstance(call.arguments, Mapping):
        return f"the arguments of {place}, cannot be read: {shown(call.arguments, 80)}"
    return f"nothing tells whether {place}, failed"


def together(one: ToolCall, other: ToolCall) -> bool:
    """Whether both are known to have been made at the same time, so that neither came before the other."""
    return one.group is not None and one.group == other.group


def unasked(pattern: CallPattern, call: ToolCall) -> list[str]:
    """The arguments of a call that its pattern leaves open."""
    if pattern.arguments is None or not isinstance(call.arguments, Mapping):
        return []
    return [key for key in call.arguments if key not in pattern.arguments and key not in pattern.ignore]


def step(index: int, call: ToolCall) -> str:
    """`step 2, create_refund({"order_id": "5678"})`."""
    return f"step {index + 1}, {call.name}({shown(call.arguments)})"


def named(pattern: CallPattern) -> str:
    """The pattern as a person would write it in one line."""
    parts = [pattern.tool]
    if pattern.arguments is not None:
        parts.append(f"with {'exactly ' if pattern.exact else ''}{shown(pattern.arguments)}")
    if pattern.status is not None:
        parts.append(f"with status {pattern.status}")
    return " ".join(parts)


def names(calls: Calls) -> str:
    """The tools of calls in a sentence."""
    more = f", and {len(calls) - _MANY} more" if len(calls) > _MANY else ""
    return f"called were {', '.join(call.name for call in calls[:_MANY])}{more}" if calls else "no tool was called"


def nearest(pattern: CallPattern, calls: Calls, among: Sequence[int] | None = None) -> str:
    """Words about the call that comes nearest to a pattern that none fits; `among` are the steps to choose from."""
    index = nearest_index(pattern, calls, range(len(calls)) if among is None else among)
    if index is None:
        return names(calls)
    return f"nearest is {step(index, calls[index])}: {difference(pattern, calls[index])}"


def nearest_index(pattern: CallPattern, calls: Calls, among: Sequence[int]) -> int | None:
    """The call of the same tool with the fewest differences, the first of several."""
    same_tool = [index for index in among if calls[index].name == pattern.tool]
    return min(same_tool, key=lambda index: len(list(_differences(pattern, calls[index]))), default=None)


def _differences(pattern: CallPattern, call: ToolCall) -> Iterable[Difference]:
    """Each argument that a call of the same tool has wrong, then its status."""
    if pattern.arguments is not None:
        yield from _wrong_arguments(pattern, pattern.arguments, call.arguments)
    if pattern.status is not None and call.status != pattern.status:
        yield Difference("status", pattern.status, call.status)


def _wrong_arguments(pattern: CallPattern, wanted: Mapping[str, Any], got: Any) -> Iterable[Difference]:
    """Names and values, one by one: an argument may be called `type` or `length` without being an operator."""
    if got is ANYTHING:
        return
    if not isinstance(got, Mapping):
        found = first_difference(wanted, got)
        yield from [found] if found else []
        return
    got = {**pattern.defaults, **got}
    wanted = {**pattern.defaults, **wanted} if pattern.exact else wanted
    for key, value in wanted.items():
        if key not in pattern.ignore:
            found = mismatch(value, got.get(key, ABSENT), exact=pattern.exact, path=child("$", key))
            yield from [found] if found else []
    for key, value in got.items() if pattern.exact else ():
        if key not in wanted and key not in pattern.ignore:
            yield Difference(child("$", key), ABSENT, value)
