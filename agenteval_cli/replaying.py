"""Where the words of an earlier conversation stop fitting the answers of this one: pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agenteval_cli.compare import same, shown
from agenteval_cli.similarity import token_f1

ALIKE = 0.5  # token F1 of two answers that the same words can follow


def apart(before: Sequence[Any], now: Sequence[Any], said: int) -> tuple[int, str] | None:
    """The first turn (from 1) whose words were said to another answer than is there now, and both answers in words.

    `said` is how many turns there are words for: an answer that nothing follows cannot be replied to wrongly. Two
    answers are alike where they share half of their words; what is no text must be the same.
    """
    for index, (was, is_now) in enumerate(zip(before, now, strict=False)):
        if index + 1 < said and not _alike(was, is_now):
            return index + 2, f"the answer to turn {index + 1} was {shown(was)}, and is now {shown(is_now)}"
    return None


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.strip() == other.strip() or token_f1(one, other) >= ALIKE
    return same(one, other)
