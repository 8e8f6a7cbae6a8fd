"""Commands and endpoints of agenteval.yaml that judge or play users: looked up before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agenteval_cli.agents import ReadyAgent, made_ready
from agenteval_cli.config import FILE_NAME, Agent
from agenteval_cli.errors import UsageError
from agenteval_cli.judge_config import CommandSettings, Endpoint


def ready_command(
    kind: str, name: str, settings: CommandSettings, root: Path, environment: Mapping[str, str]
) -> ReadyAgent:
    """The command as an agent's is made ready; `kind` is what it is in messages. Raises UsageError."""
    agent = Agent(
        name=name,
        kind=kind,
        command=settings.command,
        env_pass=settings.env_pass,
        env_set=settings.env_set,
        source=settings.source,
        timeout=settings.timeout,
    )
    return made_ready(agent, root, environment)


def endpoint_key(place: str, endpoint: Endpoint, environment: Mapping[str, str]) -> str | None:
    """The key of an endpoint, None where it needs none. Raises UsageError where it cannot be asked."""
    if find_spec("openai") is None:
        raise UsageError(f"{FILE_NAME}: {place} needs the openai client: pip install 'agenteval-cli[judge]'")
    if endpoint.api_key_env is None:
        return None
    if not environment.get(endpoint.api_key_env):
        raise UsageError(f"{FILE_NAME}: {place} needs {endpoint.api_key_env} from the environment, which is not set")
    return environment[endpoint.api_key_env]


def what_decides(endpoint: Endpoint) -> dict[str, Any]:
    """What decides the answers of an endpoint: not keys, prices and patience."""
    names = ("base_url", "model", "temperature", "max_tokens", "json_schema", "parameters")
    return {name: getattr(endpoint, name) for name in names}
