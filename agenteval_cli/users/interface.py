"""What a simulated user owes."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Any

import msgspec

from agenteval_cli.asking import NoAnswerError
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """What a user says next; `say` None is nothing more.

    With `done` these are its last words, and with `gives_up` too, where it leaves without what it wanted. `reply` is
    what it answered word for word; `cost` is decimal text. What it does not tell of itself is None.
    """

    say: Any = None
    done: bool = False
    gives_up: bool = False
    reply: str = ""
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: str | None = None


class NoRuleLeftError(NoAnswerError):
    """A user that goes by rules has none for what the agent said."""


class User(typing.Protocol):
    """Plays any number of roles at the same time, and keeps nothing between two calls."""

    def speak(self, role: Role, talk: Sequence[Exchange], seed: int) -> Spoken:
        """What the user of that role says after these turns, which do not include those of `role.before`.

        `seed` is that of the attempt. Raises NoAnswerError where it says nothing that could be used.
        """
        ...

    def close(self) -> None:
        """Leave nothing open. Never raises."""
        ...
