"""How far the words of an earlier conversation fit the answers of this one: pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agenteval_cli.compare import same, shown
from agenteval_cli.redaction import is_masked
from agenteval_cli.similarity import in_pieces, token_f1
from agenteval_cli.talk import MAX_TURNS, REPLAY_OVER, USER_DONE, USER_GAVE_UP, Exchange, Recorded
from agenteval_cli.users.interface import Spoken

ALIKE = 0.5  # token F1 of two answers that the same words can follow
Says = Callable[[Sequence[Exchange]], Spoken | None]


def apart(recorded: Recorded, talk: Sequence[Exchange], says: Says | None) -> tuple[int, str] | None:
    """The first turn (from 1) whose words do not fit the answer before it any more, and both answers in words.

    With `says`, what a user that goes by rules would say now, they fit where it says the same. Else they fit an answer
    that shares half of its words with the one they were said to; what is no text must be the same.
    """
    for turn in range(1, min(len(talk), len(recorded.said) - 1, len(recorded.answers)) + 1):
        was, is_now = recorded.answers[turn - 1], talk[turn - 1].agent
        if not (_alike(was, is_now) if says is None else _says(says, talk[:turn], recorded.said[turn])):
            return turn + 1, f"the answer to turn {turn} was {shown(was)}, and is now {shown(is_now)}"
    return None


def end_of(recorded: Recorded, talk: Sequence[Exchange], says: Says | None) -> str:
    """Why the user stops when all its recorded words were said, and it was the user that stopped then.

    A user that goes by rules is asked. Another one stops as it did only where it heard what it did then: nobody knows
    what it would have said to another answer, nor what would have come of words that it did not say.
    """
    if apart(recorded, talk, says) is not None:
        return REPLAY_OVER
    if says is not None and talk:
        goes_on = MAX_TURNS if recorded.stop == MAX_TURNS else REPLAY_OVER
        return _stop_of(says(talk[:-1]), last=True) or _stop_of(says(talk)) or goes_on
    heard = len(recorded.answers) >= len(talk) and _same_words(recorded.answers[len(talk) - 1], talk[-1].agent)
    return str(recorded.stop) if heard else REPLAY_OVER


def stop_in(spoken: Spoken) -> str | None:
    """Why the user says no more after this; None where it goes on."""
    if spoken.gives_up:
        return USER_GAVE_UP
    return USER_DONE if spoken.done or spoken.say is None else None


def _stop_of(spoken: Spoken | None, *, last: bool = False) -> str | None:
    """The stop in what is said; with `last` only where it comes with the last words."""
    return None if spoken is None or (last and spoken.say is None) else stop_in(spoken)


def _says(says: Says, talk: Sequence[Exchange], words: Any) -> bool:
    spoken = says(talk)
    return spoken is not None and spoken.say is not None and same(words, spoken.say)


def _same_words(was: Any, is_now: Any) -> bool:
    """Whether the user heard the same. What is masked is not known; half of the words may leave out a "not"."""
    if isinstance(was, str) and isinstance(is_now, str):
        return not is_masked(was) and was.split() == is_now.split()
    return not is_masked(was) and same(was, is_now)


def _alike(was: Any, is_now: Any) -> bool:
    if is_masked(was):
        return True  # what it was is not known any more
    if isinstance(was, str) and isinstance(is_now, str):
        return was.strip() == is_now.strip() or token_f1(in_pieces(was), in_pieces(is_now)) >= ALIKE
    return same(was, is_now)
