"""A configured judge made ready: its command or its key looked up, its digest taken, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from agenteval_cli.agents import made_ready as command_made_ready
from agenteval_cli.config import FILE_NAME, Agent
from agenteval_cli.digests import digest
from agenteval_cli.errors import UsageError
from agenteval_cli.judge_config import CommandSettings, Endpoint, JudgeConfig
from agenteval_cli.questions import RECIPE


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
            key = _key(f"judges.{config.name}", config.asked, environment)
            return ReadyJudge(config, _digest_of(config.asked), (key,) if key else (), key=key)


def embeddings_key(endpoint: Endpoint, environment: Mapping[str, str]) -> str | None:
    """The key of the embeddings endpoint, None where it needs none. Raises UsageError where it cannot be asked."""
    return _key("embeddings", endpoint, environment)


def _command(config: JudgeConfig, settings: CommandSettings, root: Path, environment: Mapping[str, str]) -> ReadyJudge:
    agent = Agent(
        name=config.name,
        kind="judge",
        command=settings.command,
        env_pass=settings.env_pass,
        env_set=settings.env_set,
        source=settings.source,
        timeout=settings.timeout,
    )
    ready = command_made_ready(agent, root, environment)
    return ReadyJudge(config, digest([RECIPE, ready.digest]), ready.secrets, ready.argv, ready.env)


def _key(place: str, endpoint: Endpoint, environment: Mapping[str, str]) -> str | None:
    if find_spec("openai") is None:
        raise UsageError(f"{FILE_NAME}: {place} needs the openai client: pip install 'agenteval-cli[judge]'")
    if endpoint.api_key_env is None:
        return None
    if not environment.get(endpoint.api_key_env):
        raise UsageError(f"{FILE_NAME}: {place} needs {endpoint.api_key_env} from the environment, which is not set")
    return environment[endpoint.api_key_env]


def _digest_of(endpoint: Endpoint) -> str:
    """Of what decides the answers: not of keys, prices and patience."""
    decides = ("base_url", "model", "temperature", "max_tokens", "json_schema", "parameters")
    return digest([RECIPE, {name: getattr(endpoint, name) for name in decides}])
