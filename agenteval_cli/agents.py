"""A configured agent made ready: its command resolved, its environment scrubbed, its digest taken."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from agenteval_cli import formats
from agenteval_cli.config import FILE_NAME, Agent
from agenteval_cli.digests import digest, digest_of_bytes
from agenteval_cli.errors import UsageError
from agenteval_cli.protocols import PROTOCOLS

PASSED_TO_EVERY_AGENT = ("PATH", "HOME", "LANG", "TMPDIR")
_IGNORED = frozenset(
    {"__pycache__", ".git", ".agenteval", ".venv", "node_modules", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
_END_OF_NAME = re.compile(r"""[\s'";|&<>(),:]""")  # in a line for a shell, or in a list


class ReadyAgent(msgspec.Struct, frozen=True):
    """An agent that can be started. `secrets` are the values of the variables passed through."""

    agent: Agent
    argv: tuple[str, ...]
    env: dict[str, str]
    secrets: tuple[str, ...]
    digest: str


def made_ready(agent: Agent, root: Path, environment: Mapping[str, str]) -> ReadyAgent:
    """Resolve an agent against the repository and the environment. Raises UsageError where it cannot be started."""
    _refuse_what_is_not_supported(agent)
    env = _environment(agent, root, environment)
    program, *arguments = (part.replace("{root}", str(root)) for part in agent.command)
    found = _program(agent, program, root, env.get("PATH", os.defpath))
    named = [_absolute(argument, root) for argument in arguments]
    secrets = tuple(environment[name] for name in agent.env_pass if environment.get(name))
    return ReadyAgent(agent, (found, *named), env, secrets, _digest(agent, root))


def _refuse_what_is_not_supported(agent: Agent) -> None:
    if agent.protocol not in PROTOCOLS:
        raise UsageError(f"{FILE_NAME}: agents.{agent.name}.protocol: '{agent.protocol}' is not supported yet")
    if agent.protocol == "jsonl" and any("{input}" in part for part in agent.command):
        words = "a jsonl process answers many requests and reads them from stdin; {input} is never filled in"
        raise UsageError(f"{FILE_NAME}: agents.{agent.name}.command: {words}")
    place = f"{FILE_NAME}: agents.{agent.name}.transcript"
    if not formats.known(agent.transcript_format):
        raise UsageError(f"{place}.format: {formats.unknown_format_words(agent.transcript_format)}")
    if agent.transcript_from == "otlp" and agent.protocol == "jsonl":
        words = "one jsonl process answers for many attempts, whose spans cannot be told apart; use file"
        raise UsageError(f"{place}.from: {words}")


def _environment(agent: Agent, root: Path, environment: Mapping[str, str]) -> dict[str, str]:
    missing = [name for name in agent.env_pass if name not in environment]
    if missing:
        needed = ", ".join(missing)
        raise UsageError(f"{agent.kind} '{agent.name}' needs {needed} from the environment, which is not set")
    names = (*PASSED_TO_EVERY_AGENT, *agent.env_pass)
    env = {name: environment[name] for name in names if name in environment}
    env["NO_COLOR"] = "1"
    if _module(agent, root) is not None:
        env["PYTHONPATH"] = str(root)
    env.update({name: value.replace("{root}", str(root)) for name, value in agent.env_set.items()})
    return env


def _program(agent: Agent, program: str, root: Path, path: str) -> str:
    beside = root / program
    if "/" not in program:
        found = shutil.which(program, path=path) or (str(beside) if _is_executable(beside) else None)
    else:
        found = str(beside) if _is_executable(beside) else None
    if found is None:
        where = f"see {agent.kind}s.{agent.name} in {FILE_NAME}"
        raise UsageError(f"{agent.kind} '{agent.name}': {_why_not(program, beside)}; {where}")
    return found


def _is_executable(path: Path) -> bool:
    return _is_file(path) and os.access(path, os.X_OK)


def _why_not(program: str, beside: Path) -> str:
    if _is_file(beside):
        return f"{program} is not executable; make it so with chmod +x, or start it with its interpreter"
    where = "is not there" if "/" in program else "is neither on PATH nor in the repository"
    return f"the command {program} {where}"


def _absolute(argument: str, root: Path) -> str:
    """A file of the repository by its full path, since the agent starts in a folder of its own."""
    named = root / argument
    return str(named) if argument and _is_file(named) else argument


def _is_file(path: Path) -> bool:
    """Path.is_file raises where the path is too long for one, as a program after `-c` may be."""
    return os.path.isfile(path)  # noqa: PTH113  # which does not raise


def _module(agent: Agent, root: Path) -> Path | None:
    """The module or package of the repository that `-m` names, if it names one."""
    if "-m" not in agent.command[:-1]:
        return None
    name = agent.command[agent.command.index("-m") + 1].replace(".", "/")
    package, module = root / name, root / f"{name}.py"
    return package if package.is_dir() else module if module.is_file() else None


def _digest(agent: Agent, root: Path) -> str:
    """Changes with the command, the protocol, the settings and any file that the agent is made of."""
    parts = {
        "command": list(agent.command),
        "protocol": agent.protocol,
        "transcript": [agent.transcript_from, agent.transcript_format],
        "env": {"pass": list(agent.env_pass), "set": agent.env_set},
        "pins": agent.pins,
        "files": dict(_files(agent, root)),
    }
    return digest(parts)


def _files(agent: Agent, root: Path) -> Iterator[tuple[str, str]]:
    named = [path for part in agent.command for path in _named(part, root)]
    given = [root / path for path in agent.source]
    for path in given:
        if not path.exists():
            place = f"{FILE_NAME}: {agent.kind}s.{agent.name}.source"
            raise UsageError(f"{place}: {path.relative_to(root)} is not there")
    module = _module(agent, root)
    for path in (*named, *given, *([module] if module else [])):
        for file in _below(path, frozenset()):
            # What is outside of the repository is called as it is written, wherever the repository is checked out.
            name = file.relative_to(root) if file.is_relative_to(root) else file
            yield str(name), digest_of_bytes(file.read_bytes())


def _named(part: str, root: Path) -> Iterator[Path]:
    """What one part of a command names: all of it, or files in it, as `--config={root}/a.json` and `cd {root}/b; …`."""
    whole = root / part.replace("{root}/", "")
    if os.path.lexists(whole):
        yield whole
        return
    texts = (part.partition("=")[2], *part.split("{root}/")[1:])
    names = {name for text in texts for name in (text, _END_OF_NAME.split(text, maxsplit=1)[0]) if name}
    yield from sorted(root / name for name in names if _is_file(root / name))


def _below(path: Path, above: frozenset[str]) -> Iterator[Path]:
    """The file, or those in the folder: no links that lead nowhere or back, and no pipes, which never end."""
    if _is_file(path):
        yield path
    real = os.path.realpath(path)
    if not path.is_dir() or real in above:
        return
    for entry in sorted(path.iterdir()):
        if entry.name not in _IGNORED and not entry.name.endswith(".pyc"):
            yield from _below(entry, above | {real})
