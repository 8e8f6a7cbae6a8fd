"""Durations and amounts as people write them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

_NO_AMOUNT = Decimal(10) ** 15
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """`30s`, `500ms`, `2m` or `1h` in seconds. The text has passed the schema's pattern."""
    unit = "ms" if text.endswith("ms") else text[-1]
    return float(text.removesuffix(unit)) * _SECONDS[unit]


def amount(text: str) -> Decimal | None:
    """A decimal amount from zero up; None where an agent's text is none. Nothing is paid by the quadrillion."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() and 0 <= value < _NO_AMOUNT else None
