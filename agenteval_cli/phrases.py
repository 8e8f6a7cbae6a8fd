"""Counts, spans of time and values as people say them, the same on the console and in every report."""

from __future__ import annotations

import json
from typing import Any


def count(number: int, noun: str) -> str:
    """`1 case`, `3 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def lasting(seconds: float, *, whole: bool = False) -> str:
    """A span of time as people say it: `5 ms`, `1.2 s`, `48 s`, `2m 05s`, `1h 20m`; `whole` is in whole seconds."""
    if not whole and seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if not whole and seconds < 9.95:
        return f"{seconds:.1f} s"
    full = int(seconds) if whole else round(seconds)
    if full < 60:
        return f"{full} s"
    if full < 3600:
        return f"{full // 60}m {full % 60:02}s"
    return f"{full // 3600}h {full % 3600 // 60:02}m"


def as_text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
