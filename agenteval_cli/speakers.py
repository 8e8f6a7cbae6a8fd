"""Who speaks for the user in an attempt: the case's own words, a simulated user, or the words of an earlier run.

Each is asked before every turn for what is said next, from what was said and answered so far.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from agenteval_cli.asking import NoAnswerError
from agenteval_cli.breaking_role import is_loop, role_broken
from agenteval_cli.replaying import Says, apart, end_of, stop_in
from agenteval_cli.simulation import Role
from agenteval_cli.talk import LOOP, MAX_TURNS, USER_DONE, USER_GAVE_UP, Exchange, Recorded, Replay, UserCall
from agenteval_cli.users.interface import NoRuleLeftError, Spoken, User


class Words(msgspec.Struct, frozen=True):
    """What the user says. Where these are its last words, `stop` is why it stops once it has heard the answer."""

    content: Any
    stop: str | None = None


class Stop(msgspec.Struct, frozen=True):
    """Nothing more is said; `why` is one of talk.STOPS, None where a script is over."""

    why: str | None


class Broken(msgspec.Struct, frozen=True):
    """The user cannot go on through a fault of its own. `no_rule` says that only its rules have nothing left."""

    reason: str
    no_rule: bool = False


Line = Words | Stop | Broken
_BY_THE_USER = (USER_DONE, USER_GAVE_UP, MAX_TURNS)


class Speaker(Protocol):
    """The user of one attempt. `user` is its name, empty for a script; `calls` what it was asked so far."""

    @property
    def user(self) -> str: ...

    @property
    def calls(self) -> tuple[UserCall, ...]: ...

    def next(self, talk: Sequence[Exchange]) -> Line:
        """What the user says after these turns."""
        ...

    def replay(self, talk: Sequence[Exchange]) -> Replay | None:
        """Whose words were said, and whether they still fitted; None where they are its own."""
        ...


class Script:
    """The turns that the case itself gives."""

    user = ""
    calls: tuple[UserCall, ...] = ()

    def __init__(self, said: Sequence[Any]) -> None:
        self._said = said

    def next(self, talk: Sequence[Exchange]) -> Line:
        return Words(self._said[len(talk)]) if len(talk) < len(self._said) else Stop(None)

    def replay(self, talk: Sequence[Exchange]) -> None:
        """A script is its own."""


class Simulated:
    """A user that answers the agent, held to its role at every turn."""

    def __init__(self, name: str, role: Role, player: User, seed: int) -> None:
        self.user = name
        self.calls: tuple[UserCall, ...] = ()
        self._role = role
        self._player = player
        self._seed = seed

    def next(self, talk: Sequence[Exchange]) -> Line:
        """Its next words. After the last turn it is asked only whether it has what it wanted."""
        if not talk and self._role.opening is not None:
            return Words(self._role.opening)
        if is_loop(talk):
            return Stop(LOOP)
        spoken = self._asked(talk)
        if len(talk) >= self._role.max_turns:
            return _at_the_end(spoken)
        return spoken if isinstance(spoken, Broken) else self._held_to_role(talk, spoken)

    def replay(self, talk: Sequence[Exchange]) -> None:
        """Its words are its own."""

    def _held_to_role(self, talk: Sequence[Exchange], spoken: Spoken) -> Line:
        if spoken.say is None:
            return Stop(stop_in(spoken))
        if is_loop(talk, spoken.say):
            return Stop(LOOP)
        fault = role_broken(self._role, talk, spoken.say)
        return Words(spoken.say, stop_in(spoken)) if fault is None else Broken(fault)

    def _asked(self, talk: Sequence[Exchange]) -> Spoken | Broken:
        """What it says, or why it says nothing; either is kept as a call, but for what a script says."""
        began = time.monotonic()
        turn = len(talk) + 1
        try:
            spoken = self._player.speak(self._role, talk, self._seed)
        except NoAnswerError as fault:
            seconds = round(time.monotonic() - began, 3)
            self.calls += (UserCall(turn=turn, reply=fault.reply, fault=str(fault), seconds=seconds),)
            return Broken(str(fault), isinstance(fault, NoRuleLeftError))
        if spoken.reply:
            self.calls += (_call(turn, spoken, time.monotonic() - began),)
        return spoken


class Replayed:
    """The words that the user of an earlier attempt said, whatever the agent answers now.

    `says` tells what the user would say now, where it is one that goes by the same rules as then.
    """

    calls: tuple[UserCall, ...] = ()

    def __init__(self, recorded: Recorded, says: Says | None) -> None:
        self.user = recorded.user
        self._recorded = recorded
        self._says = says

    def next(self, talk: Sequence[Exchange]) -> Line:
        """Its words in order. Where the agent of then ended the conversation, nobody knows what it had said next."""
        recorded = self._recorded
        if len(talk) < len(recorded.said):
            return Words(recorded.said[len(talk)])
        if recorded.stop not in _BY_THE_USER:
            return Broken(recorded.missing or "its recorded words are over, since its agent of then broke off there")
        return Stop(end_of(recorded, talk, self._says))

    def replay(self, talk: Sequence[Exchange]) -> Replay:
        parted = apart(self._recorded, talk, self._says)
        return Replay(self._recorded.run, self._recorded.attempt, *(parted or ()))


def says_by_rules(user: User, role: Role, talk: Sequence[Exchange]) -> Spoken | None:
    """What a user that goes by rules says next; None where it has no rule left."""
    try:
        return user.speak(role, talk, 0)
    except NoAnswerError:
        return None


def _at_the_end(spoken: Spoken | Broken) -> Line:
    """After the last turn: whether the user has what it wanted. One that goes by rules may have none for that."""
    if isinstance(spoken, Broken):
        return Stop(MAX_TURNS) if spoken.no_rule else spoken
    return Stop(stop_in(spoken) or MAX_TURNS)


def _call(turn: int, spoken: Spoken, seconds: float) -> UserCall:
    return UserCall(
        turn=turn,
        reply=spoken.reply,
        seconds=round(seconds, 3),
        model=spoken.model,
        input_tokens=spoken.input_tokens,
        output_tokens=spoken.output_tokens,
        cost=spoken.cost,
    )
