"""A configured judge made ready: its command or its key looked up, its digest taken, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from agenteval_cli.digests import digest
from agenteval_cli.judge_config import CommandSettings, Endpoint, JudgeConfig
from agenteval_cli.questions import RECIPE
from agenteval_cli.readiness import endpoint_key, ready_command, what_decides


class ReadyJudge(msgspec.Struct, frozen=True):
    """A judge that can be asked. `secrets` are to be masked; `digest` changes with all that it is made of.

    `argv` and `env` are those of a command, `key` that of an endpoint.
    """

    config: JudgeConfig
    digest: str
    secrets: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    env: dict[str, str] = {}
    key: str | None = None


def made_ready(config: JudgeConfig, root: Path, environment: Mapping[str, str]) -> ReadyJudge:
    """Resolve a judge against the repository and the environment. Raises UsageError where it cannot be asked."""
    match config.asked:
        case CommandSettings():
            return _command(config, config.asked, root, environment)
        case Endpoint():
            key = endpoint_key(f"judges.{config.name}", config.asked, environment)
            decides = digest([RECIPE, what_decides(config.asked)])
            return ReadyJudge(config, decides, (key,) if key else (), key=key)


def embeddings_key(endpoint: Endpoint, environment: Mapping[str, str]) -> str | None:
    """The key of the embeddings endpoint, None where it needs none. Raises UsageError where it cannot be asked."""
    return endpoint_key("embeddings", endpoint, environment)


def _command(config: JudgeConfig, settings: CommandSettings, root: Path, environment: Mapping[str, str]) -> ReadyJudge:
    ready = ready_command("judge", config.name, settings, root, environment)
    return ReadyJudge(config, digest([RECIPE, ready.digest]), ready.secrets, ready.argv, ready.env)
