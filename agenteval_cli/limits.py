"""Limits checked on the transcript. A missing measurement is no evidence, never a pass; going over is over_limit."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from agenteval_cli.case import Limits
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, PASSED, CheckResult, Finding
from agenteval_cli.transcript import Transcript
from agenteval_cli.units import amount

_COUNTED = frozenset({"steps", "tool_calls", "tokens", "cost"})


def checked(limits: Limits, transcript: Transcript, seconds: float, turns: int | None = None) -> Iterator[CheckResult]:
    """Every limit of the case on an attempt that answered after `seconds` in all.

    `turns` is how many there were; None where the case asks once, and what the agent reports tells.
    """
    calls = None if transcript.tool_calls is None else len(transcript.tool_calls)
    tokens = transcript.usage.total if transcript.usage else None
    cost = None if transcript.cost is None else amount(transcript.cost)
    no_amount = None if transcript.cost is None or cost is not None else f"{transcript.cost[:40]!r}"
    # Agents report all that was said so far at every turn; where the conversation was ours the count is known.
    users = sum(message.get("role") == "user" for message in transcript.messages or ()) if turns is None else turns
    measured: dict[str, tuple[Any, Any]] = {
        "timeout": (limits.timeout, round(seconds, 3)),
        "steps": (limits.steps, transcript.steps),
        "tool_calls": (limits.tool_calls, calls),
        "tokens": (limits.tokens, tokens),
        "cost": (None if limits.cost is None else Decimal(limits.cost), cost),
        "turns": (limits.turns, max(users, 1)),
    }
    for name, (limit, actual) in measured.items():
        if limit is not None:
            told = no_amount if name == "cost" else None
            finding = _finding(name, limit, actual, told)
            if finding.result == PASSED and name in _lower_bounds(transcript):
                words = f"{actual} {name.replace('_', ' ')} at least: a part of the transcript is broken"
                finding = Finding(NO_EVIDENCE, words, _plain(limit))
            yield finding.named(f"limits.{name}", "trajectory")


def _lower_bounds(transcript: Transcript) -> frozenset[str]:
    """What may be more than was counted, since a part of the transcript could not be read."""
    if not transcript.partial:
        return frozenset()
    return _COUNTED - {"tool_calls"} if transcript.observed else _COUNTED


def _finding(name: str, limit: Any, actual: Any, unreadable: str | None) -> Finding:
    words = name.replace("_", " ")
    if unreadable is not None:
        return Finding(NO_EVIDENCE, f"the {words} that the agent reported, {unreadable}, is no amount", _plain(limit))
    if actual is None:
        return Finding(NO_EVIDENCE, f"the agent did not report its {words}", _plain(limit))
    if actual > limit:
        return Finding(FAILED, f"{actual} {words}; the limit is {limit}", _plain(limit), _plain(actual))
    return OK


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
