"""A configured user that is ready to play."""

from __future__ import annotations

import msgspec

from agenteval_cli.user_config import UserConfig


class ReadyUser(msgspec.Struct, frozen=True):
    """A user that can be asked. `secrets` are to be masked; `digest` changes with all that decides what it says.

    `argv` and `env` are those of a command, `key` that of an endpoint.
    """

    config: UserConfig
    digest: str
    secrets: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    env: dict[str, str] = {}
    key: str | None = None
