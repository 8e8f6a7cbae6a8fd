"""Where the words of an earlier conversation stop fitting the answers of this one: pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agenteval_cli.compare import same, shown
from agenteval_cli.similarity import token_f1
from agenteval_cli.talk import Exchange, Recorded

ALIKE = 0.5  # token F1 of two answers that the same words can follow
Says = Callable[[Sequence[Exchange]], Any]


def apart(recorded: Recorded, talk: Sequence[Exchange], says: Says | None) -> tuple[int, str] | None:
    """The first turn (from 1) whose words do not fit the answer before it any more, and both answers in words.

    With `says`, what a user that goes by rules would say now, they fit where it says the same. Else they fit an answer
    that shares half of its words with the one they were said to; what is no text must be the same. An answer that
    nothing follows cannot be replied to wrongly.
    """
    for turn in range(1, min(len(talk), len(recorded.said) - 1, len(recorded.answers)) + 1):
        was, is_now = recorded.answers[turn - 1], talk[turn - 1].agent
        fits = _alike(was, is_now) if says is None else says(talk[:turn]) == recorded.said[turn]
        if not fits:
            return turn + 1, f"the answer to turn {turn} was {shown(was)}, and is now {shown(is_now)}"
    return None


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.strip() == other.strip() or token_f1(one, other) >= ALIKE
    return same(one, other)
