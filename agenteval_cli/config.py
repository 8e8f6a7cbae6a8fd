"""The configuration: agenteval.yaml as a frozen value."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

import msgspec

from agenteval_cli import schemas
from agenteval_cli.errors import InvalidFilesError, UsageError
from agenteval_cli.judge_config import Judging, judging_from
from agenteval_cli.problems import Problem, did_you_mean
from agenteval_cli.units import seconds
from agenteval_cli.user_config import Playing, playing_from, rule_faults
from agenteval_cli.yaml_reader import Document, read

FILE_NAME = "agenteval.yaml"
DEFAULT_TIMEOUT = 60.0
DEFAULT_CONCURRENCY = 4
TIER_ATTEMPTS = {"smoke": 1, "regression": 3, "representative": 5}


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A configured agent command. `timeout` in seconds; `concurrency` None is as many as the run has by default.

    `kind` is what it is called in messages: a judge's command is started like an agent's.
    """

    name: str
    kind: str = "agent"
    command: tuple[str, ...]
    protocol: str = "json"
    transcript_from: str = "stdout"
    transcript_format: str = "auto"
    env_pass: tuple[str, ...] = ()
    env_set: dict[str, str] = {}
    source: tuple[str, ...] = ()
    pins: dict[str, Any] = {}
    timeout: float = DEFAULT_TIMEOUT
    concurrency: int | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What agenteval.yaml says, with defaults filled in. Paths are relative to the repository root."""

    cases: str = "cases"
    fixtures: str = "fixtures"
    runs: str = ".agenteval/runs"
    agents: dict[str, Agent] = {}
    default_agent: str | None = None
    tier_attempts: dict[str, int] = msgspec.field(default_factory=TIER_ATTEMPTS.copy)
    min_pass_rate: float = 1.0
    on_diff: str = "broke"
    redact: tuple[str, ...] = ()
    judging: Judging = Judging()
    users: Playing = Playing()

    def agent(self, name: str | None) -> Agent:
        """The agent called `name`, or the default one. Raises UsageError where there is none."""
        wanted = name or self.default_agent
        if wanted is None:
            choice = f"; name one of {', '.join(self.agents)} with --agent" if self.agents else ""
            raise UsageError(f"{FILE_NAME} has no default_agent{choice}")
        if wanted not in self.agents:
            raise UsageError(f"no agent '{wanted}' in {FILE_NAME}{did_you_mean(wanted, self.agents)}")
        return self.agents[wanted]


def config_from(file: str, raw: bytes) -> Config:
    """The configuration in `raw`. Raises InvalidFilesError with every problem of the file."""
    reading = read(file, raw)
    if reading.document is None:
        raise InvalidFilesError(reading.problems)
    document = reading.document
    problems = schemas.problems_in(document, "config")
    problems = problems or list(_problems(document))
    if problems:
        raise InvalidFilesError(problems)
    return _config(document.data)


def folder_of_cases(raw: bytes) -> str | None:
    """The folder of cases that a configuration of any age names; None where it cannot be read, or names none below it.

    What else it says need not be valid now.
    """
    document = read(FILE_NAME, raw).document
    folder = document.data.get("cases", "cases") if document and isinstance(document.data, dict) else None
    return posixpath.normpath(folder) if isinstance(folder, str) and _is_below(folder) else None


def _is_below(folder: str) -> bool:
    first = posixpath.normpath(folder).split("/")[0]
    return first not in ("", ".", "..") and "\0" not in folder  # the first part of an absolute path is empty


def _problems(document: Document) -> list[Problem]:
    """What a schema cannot say."""
    from agenteval_cli.patterns import pattern_fault

    data = document.data
    found = []
    agents = data.get("agents", {})
    default = data.get("default_agent")
    if default is not None and default not in agents:
        words = f"no agent '{default}' under agents{did_you_mean(default, agents)}"
        found.append(document.problem(("default_agent",), "config", words))
    folder = data.get("cases", "cases")
    if not _is_below(folder):
        words = f"'{folder}' is not a folder below the one of {FILE_NAME}; put the cases into one, as cases"
        found.append(document.problem(("cases",), "config", words))
    for index, pattern in enumerate(data.get("redact", ())):
        if fault := pattern_fault(pattern):
            found.append(document.problem(("redact", index), "config", fault))
    found.extend(document.problem(path, "config", words) for path, words in rule_faults(data))
    return found


def _config(data: Mapping[str, Any]) -> Config:
    agents = {name: _agent(name, agent) for name, agent in data.get("agents", {}).items()}
    only = next(iter(agents)) if len(agents) == 1 else None
    given = {tier: item["attempts"] for tier, item in data.get("tiers", {}).items() if "attempts" in item}
    gate = data.get("gate", {})
    return Config(
        cases=posixpath.normpath(data.get("cases", "cases")),
        fixtures=posixpath.normpath(data.get("fixtures", "fixtures")),
        runs=data.get("runs", ".agenteval/runs"),
        agents=agents,
        default_agent=data.get("default_agent", only),
        tier_attempts={**TIER_ATTEMPTS, **given},
        min_pass_rate=float(gate.get("min_pass_rate", 1.0)),
        on_diff=gate.get("on_diff", "broke"),
        redact=tuple(data.get("redact", ())),
        judging=judging_from(data),
        users=playing_from(data),
    )


def _agent(name: str, data: Mapping[str, Any]) -> Agent:
    transcript = data.get("transcript", {})
    env = data.get("env", {})
    return Agent(
        name=name,
        command=tuple(data["command"]),
        protocol=data.get("protocol", "json"),
        transcript_from=transcript.get("from", "stdout"),
        transcript_format=transcript.get("format", "auto"),
        env_pass=tuple(env.get("pass", ())),
        env_set=dict(env.get("set", {})),
        source=tuple(data.get("source", ())),
        pins=dict(data.get("pins", {})),
        timeout=seconds(data["timeout"]) if "timeout" in data else DEFAULT_TIMEOUT,
        concurrency=data.get("concurrency"),
    )
