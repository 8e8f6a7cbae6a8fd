"""Tool calls against the patterns that cases name them with, and the words for both."""

from __future__ import annotations

from agenteval_cli.case import CallPattern
from agenteval_cli.compare import ABSENT, Difference, shown
from agenteval_cli.matchers import mismatch
from agenteval_cli.transcript import ToolCall

Calls = tuple[ToolCall, ...]


def difference(pattern: CallPattern, call: ToolCall) -> Difference | None:
    """The first difference between a call and its pattern: tool, then arguments, then status. None where it fits."""
    if call.name != pattern.tool:
        return Difference("tool", pattern.tool, call.name)
    if pattern.arguments is not None:
        found = mismatch(pattern.arguments, call.arguments, exact=pattern.exact)
        if found:
            return found
    if pattern.status is not None and call.status != pattern.status:
        return Difference("status", pattern.status, call.status)
    return None


def fits(pattern: CallPattern, call: ToolCall) -> bool:
    """Whether the call is one that the pattern names."""
    return difference(pattern, call) is None


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


def nearest(pattern: CallPattern, calls: Calls) -> str:
    """Words about the call that comes nearest to a pattern that none fits."""
    same_tool = [(index, call) for index, call in enumerate(calls) if call.name == pattern.tool]
    if same_tool:
        index, call = min(same_tool, key=lambda item: _distance(pattern, item[1]))
        return f"nearest is {step(index, call)}: {difference(pattern, call)}"
    if not calls:
        return "no tool was called"
    return f"called were {', '.join(call.name for call in calls[:12])}"


def _distance(pattern: CallPattern, call: ToolCall) -> int:
    """How many of the expected arguments a call of the same tool has wrong, and its status."""
    wanted = pattern.arguments or {}
    got = call.arguments if isinstance(call.arguments, dict) else {}
    wrong = sum(mismatch(value, got.get(key, ABSENT)) is not None for key, value in wanted.items())
    return wrong + (pattern.status not in (None, call.status))
