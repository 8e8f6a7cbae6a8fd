"""What an attempt needs, as plain serialisable values, so that another machine could execute it."""

from __future__ import annotations

from typing import Any

import msgspec

from agenteval_cli.case import Limits
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Recorded


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to execute, at most `seconds` long.

    `request` is what the first turn asks, `later` what the user says after each answer. Where `user` plays a `role`,
    what it says is found turn by turn, and where something is `recorded` that is said again. A conversation that is
    over the `limits` goes no further. `files` maps names in the attempt's folder to the files they are copied from;
    with `look` the files that it leaves there are told of. `own_env` is of this attempt alone, so that an agent that
    stays for others does not get it.
    """

    request: dict[str, Any]
    later: tuple[Any, ...] = ()
    user: str = ""
    role: Role | None = None
    recorded: Recorded | None = None
    argv: tuple[str, ...]
    env: dict[str, str]
    own_env: dict[str, str] = {}
    protocol: str
    transcript_from: str = "stdout"
    transcript_format: str = "auto"
    seconds: float
    limits: Limits = Limits()
    files: dict[str, str]
    look: bool = False
