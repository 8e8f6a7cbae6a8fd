"""A configured user made ready: its command or its key looked up, its digest taken, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli.digests import digest
from agenteval_cli.judge_config import CommandSettings, Endpoint
from agenteval_cli.readiness import endpoint_key, ready_command, what_decides
from agenteval_cli.user_config import Scripted, UserConfig
from agenteval_cli.users.ready import ReadyUser

RECIPE = 1  # raise it with every change of what users are asked, or of how their rules are read


def made_ready(config: UserConfig, root: Path, environment: Mapping[str, str]) -> ReadyUser:
    """Resolve a user against the repository and the environment. Raises UsageError where it cannot play."""
    match config.played:
        case Scripted(rules=rules):
            return ReadyUser(config, _digest("scripted", msgspec.to_builtins(rules)))
        case CommandSettings() as settings:
            ready = ready_command("user", config.name, settings, root, environment)
            return ReadyUser(config, _digest("command", ready.digest), ready.secrets, ready.argv, ready.env)
        case Endpoint() as endpoint:
            key = endpoint_key(f"users.{config.name}", endpoint, environment)
            return ReadyUser(config, _digest("endpoint", what_decides(endpoint)), (key,) if key else (), key=key)


def _digest(form: str, decides: Any) -> str:
    return digest([RECIPE, form, decides])
