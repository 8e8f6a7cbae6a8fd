"""The user's side of a conversation: what was said turn by turn, who said it, and why it stopped."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import msgspec

USER_DONE = "user_done"
USER_GAVE_UP = "user_gave_up"
MAX_TURNS = "max_turns"
AGENT_ENDED = "agent_ended"
LOOP = "loop"
REPLAY_OVER = "replay_over"
STOPS = MappingProxyType(
    {
        USER_DONE: "the user was done",
        USER_GAVE_UP: "the user gave up",
        MAX_TURNS: "there were as many turns as there may be",
        AGENT_ENDED: "the agent ended it",
        LOOP: "it went round in a loop",
        REPLAY_OVER: "the words to be replayed were over",
    }
)


class Exchange(msgspec.Struct, frozen=True):
    """One turn: what the user said, and what the agent answered."""

    user: Any
    agent: Any


class UserCall(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One time a simulated user was asked, before which turn (from 1), and its reply word for word.

    `fault` is why the reply was none. `cost` is decimal text; what the user does not tell of itself is None.
    """

    turn: int
    reply: str = ""
    fault: str = ""
    seconds: float = 0.0
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: str | None = None


class Replay(msgspec.Struct, frozen=True, omit_defaults=True):
    """The attempt of another run whose user's words were said again.

    `apart_at` is the first turn (from 1) whose words may not fit any more, since the answer before it is another one
    than they were said to; `why` tells both. None where all of them fit.
    """

    run: str
    attempt: int
    apart_at: int | None = None
    why: str = ""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of an earlier run whose user's words are to be said again, with what was answered to each.

    `by_rules` says that they follow from rules that are still the same, `missing` why there are none.
    """

    run: str
    attempt: int
    user: str
    said: tuple[Any, ...]
    answers: tuple[Any, ...]
    stop: str | None = None
    by_rules: bool = False
    missing: str = ""


class Talk(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The user's side of several turns.

    `said` has one entry a turn, the last of them perhaps without an answer. `user` names who was simulated, and is
    empty where the case has a script. `stop` is one of STOPS for a simulated user that came to an end.
    """

    said: tuple[Any, ...] = ()
    user: str = ""
    stop: str | None = None
    calls: tuple[UserCall, ...] = ()
    replay: Replay | None = None
