"""Numbers and values as reports say them."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import msgspec

from agenteval_cli import phrases
from agenteval_cli.records import RunRecord
from agenteval_cli.summary import RunSummary

_JOINER = "\u200d"
_SHORT = 100


def lasting(milliseconds: float | None) -> str:
    """As phrases.lasting says it; a dash where it is not known."""
    return "–" if milliseconds is None else phrases.lasting(milliseconds / 1000)


def rate(passed: int, graded: int) -> str:
    """`67%`; a dash of none."""
    return f"{passed / graded:.0%}" if graded else "–"


def interval(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:.0%} to {bounds[1]:.0%}"


def one_line(value: Any) -> str:
    """A text as it is, another value as JSON on one line."""
    return value if isinstance(value, str) else _as_json(value, 0)


def in_full(value: Any) -> str:
    """A text as it is, another value as JSON: on one line where it is short."""
    line = one_line(value)
    if isinstance(value, str) or len(line) <= _SHORT:
        return line
    return _as_json(value, 2)


def _as_json(value: Any, indent: int) -> str:
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()
    except UnicodeEncodeError:  # a lone surrogate, which only escapes can carry
        return json.dumps(msgspec.to_builtins(value), indent=indent or None)


def cut(text: str, limit: int) -> str:
    """At most so many characters, never ending within one that is made of several; says that it was cut."""
    if len(text) <= limit:
        return text
    at = limit - 1
    while at and (unicodedata.combining(text[at]) or _JOINER in text[at - 1 : at + 1]):
        at -= 1
    return f"{text[:at]}…"


def verdict_of(summary: RunSummary) -> str:
    """`3 of 5 cases passed, 1 failed, 1 incomplete, 1 in quarantine`."""
    gating = len(summary.cases) - summary.cases_quarantined
    words = [f"{summary.cases_passed:,} of {phrases.count(gating, 'case')} passed"]
    words += [f"{summary.cases_failed:,} failed"] if summary.cases_failed else []
    words += [f"{summary.cases_incomplete:,} incomplete"] if summary.cases_incomplete else []
    words += [f"{summary.cases_quarantined:,} in quarantine"] if summary.cases_quarantined else []
    return ", ".join(words)


def sums_of(summary: RunSummary) -> str:
    """`9 passed / 12 graded / 15 planned (9 passed, 3 failed, 3 skipped)`."""
    statuses = ", ".join(f"{number:,} {status}" for status, number in summary.statuses.items())
    return f"{summary.passed:,} passed / {summary.graded:,} graded / {summary.planned:,} planned ({statuses})"


def about(record: RunRecord) -> str:
    """`run 2026… with support, commit c0ffee with changes, interrupted`; names are not escaped."""
    words = [f"run {record.id} with {', '.join(agent.name for agent in record.agents)}"]
    if record.git.commit:
        words.append(f"commit {record.git.commit[:12]}{' with changes' if record.git.dirty else ''}")
    words += [record.status] if record.status != "finished" else []
    words += [f"stopped early by {record.stopped}"] if record.stopped else []
    return ", ".join(words)
