"""Judges and the embeddings endpoint as agenteval.yaml names them, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agenteval_cli.units import seconds

DEFAULT_JUDGE = "default"
MIN_KAPPA = 0.6


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A model behind an OpenAI-compatible endpoint.

    `timeout` in seconds; `price` is decimal text, for a million tokens in and out; `parameters` go into each request as
    they are.
    """

    base_url: str
    model: str
    api_key_env: str | None = None
    temperature: float = 0.0
    max_tokens: int | None = None
    json_schema: bool = True
    parameters: dict[str, Any] = {}
    timeout: float = 60.0
    price: tuple[str, str] | None = None


class CommandSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A judge or a user that is a command; as for agents, nothing but `env` is passed to it."""

    command: tuple[str, ...]
    env_pass: tuple[str, ...] = ()
    env_set: dict[str, str] = {}
    source: tuple[str, ...] = ()
    timeout: float = 60.0


class JudgeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A configured judge. `retries` is how often one question is asked again; `cache` keeps answers between runs."""

    name: str
    asked: CommandSettings | Endpoint
    concurrency: int = 4
    retries: int = 2
    cache: bool = False


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """All that agenteval.yaml says of judging.

    `min_kappa` is the agreement with people below which a judge may not gate.
    """

    judges: dict[str, JudgeConfig] = {}
    embeddings: Endpoint | None = None
    min_kappa: float = MIN_KAPPA

    @property
    def default(self) -> str | None:
        """The judge of criteria that name none: the only one, or the one called default."""
        if len(self.judges) == 1:
            return next(iter(self.judges))
        return DEFAULT_JUDGE if DEFAULT_JUDGE in self.judges else None


def judging_from(data: Mapping[str, Any]) -> Judging:
    """What a valid agenteval.yaml says of judging."""
    return Judging(
        judges={name: _judge(name, item) for name, item in data.get("judges", {}).items()},
        embeddings=_endpoint(data["embeddings"]) if "embeddings" in data else None,
        min_kappa=float(data.get("calibration", {}).get("min_kappa", MIN_KAPPA)),
    )


def asked_from(data: Mapping[str, Any]) -> CommandSettings | Endpoint:
    """The command or the endpoint of a judge or of a user that plays."""
    return _command(data) if "command" in data else _endpoint(data)


def _judge(name: str, data: Mapping[str, Any]) -> JudgeConfig:
    given = {key: data[key] for key in ("concurrency", "retries", "cache") if key in data}
    return JudgeConfig(name=name, asked=asked_from(data), **given)


def _command(data: Mapping[str, Any]) -> CommandSettings:
    env = data.get("env", {})
    return CommandSettings(
        command=tuple(data["command"]),
        env_pass=tuple(env.get("pass", ())),
        env_set=dict(env.get("set", {})),
        source=tuple(data.get("source", ())),
        **_timeout(data),
    )


def _endpoint(data: Mapping[str, Any]) -> Endpoint:
    keys = ("base_url", "model", "api_key_env", "temperature", "max_tokens", "json_schema", "parameters")
    price = data.get("price")
    return Endpoint(
        **{key: data[key] for key in keys if key in data},
        price=(price["input"], price["output"]) if price else None,
        **_timeout(data),
    )


def _timeout(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"timeout": seconds(data["timeout"])} if "timeout" in data else {}
