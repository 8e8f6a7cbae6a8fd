"""What a step is told by GitHub's runner, and what it tells the runner: inputs, the event, annotations, outputs."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

USAGE = 2
INCOMPLETE = 3


class StopError(Exception):
    """Why the action cannot go on, in a sentence, with the exit code; the same codes as those of `agenteval`."""

    def __init__(self, words: str, code: int = USAGE) -> None:
        super().__init__(words)
        self.code = code


@dataclass(frozen=True)
class Inputs:
    """The inputs of action.yml. `selection` are the arguments of `agenteval run` that both sides get."""

    base: str
    folder: str
    selection: tuple[str, ...]
    confirm: str
    gate: str
    prepare: str
    comment: bool
    token: str
    install: tuple[str, ...]


@dataclass(frozen=True)
class Runner:
    """Where the step runs and for what: `request` is the number of the pull request, None where it runs for none."""

    workspace: Path
    temp: Path
    action: Path
    event: Mapping[str, Any]
    repository: str
    api: str
    run_url: str

    @property
    def request(self) -> int | None:
        number = self.event.get("pull_request", {}).get("number")
        return number if isinstance(number, int) else None


def inputs_from(env: Mapping[str, str]) -> Inputs:
    """The inputs as the environment has them. Raises StopError for one that means nothing."""
    given = {name: env.get(f"INPUT_{name}", "").strip() for name in _NAMES}
    _refuse(given, "GATE", ("", "broke", "significant"))
    _refuse(given, "COMMENT", ("true", "false"))
    if given["CONFIRM"] and given["BASE"] == "baseline":
        raise StopError("confirm: a baseline has no agent that could try again; leave one of confirm and base out")
    return Inputs(
        base=given["BASE"],
        folder=given["WORKING_DIRECTORY"] or ".",
        selection=_selection(given),
        confirm=given["CONFIRM"],
        gate=given["GATE"],
        prepare=given["PREPARE"],
        comment=given["COMMENT"] == "true",
        token=given["TOKEN"],
        install=tuple(given["INSTALL"].split()) or (".",),
    )


_NAMES = (
    *("BASE", "WORKING_DIRECTORY", "TIER", "ARGS", "AGENT", "ATTEMPTS", "CONFIRM", "GATE", "PREPARE", "COMMENT"),
    *("TOKEN", "INSTALL"),
)


def _refuse(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> None:
    if given[name] not in allowed:
        choice = " or ".join(f"`{word}`" for word in allowed if word)
        raise StopError(f"{name.lower()}: '{given[name]}' is not {choice}")


def _selection(given: Mapping[str, str]) -> tuple[str, ...]:
    try:
        more = shlex.split(given["ARGS"])
    except ValueError as error:
        raise StopError(f"args: {given['ARGS']} cannot be read as a shell would: {error}") from error
    tiers = [f"--tier={tier}" for tier in given["TIER"].replace(",", " ").split()]
    single = [f"--{name.lower()}={given[name]}" for name in ("AGENT", "ATTEMPTS") if given[name]]
    return (*tiers, *single, *more)


def runner_from(env: Mapping[str, str]) -> Runner:
    """What the runner's own variables say. Raises StopError where they are not there."""
    try:
        event = json.loads(Path(env["GITHUB_EVENT_PATH"]).read_bytes())
        where = f"{env['GITHUB_SERVER_URL']}/{env['GITHUB_REPOSITORY']}/actions/runs/{env['GITHUB_RUN_ID']}"
        return Runner(
            workspace=Path(env["GITHUB_WORKSPACE"]),
            temp=Path(env["RUNNER_TEMP"]),
            action=Path(env["GITHUB_ACTION_PATH"]),
            event=event,
            repository=env["GITHUB_REPOSITORY"],
            api=env["GITHUB_API_URL"],
            run_url=where,
        )
    except KeyError as error:
        raise StopError(f"{error.args[0]} is not set; this is a step of a GitHub workflow") from error
    except (OSError, ValueError) as error:
        raise StopError(f"GITHUB_EVENT_PATH: {env['GITHUB_EVENT_PATH']} cannot be read: {error}") from error


def without_inputs(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for what the step starts, which has no business with the token."""
    return {name: value for name, value in env.items() if not name.startswith("INPUT_")}


# ---- to the runner


def annotate(level: str, words: str) -> None:
    """An annotation of the run; foreign words in it give no command."""
    escaped = words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=agenteval::{escaped}", flush=True)


@contextlib.contextmanager
def group(title: str) -> Iterator[None]:
    """What is printed meanwhile, folded in the log."""
    print(f"::group::{title}", flush=True)
    try:
        yield
    finally:
        print("::endgroup::", flush=True)


def put_out(name: str, value: str) -> None:
    """An output of the step, on one line."""
    _append("GITHUB_OUTPUT", f"{name}={' '.join(value.split())}\n")


def summarize(markdown: str) -> None:
    """More of the step's summary."""
    _append("GITHUB_STEP_SUMMARY", f"{markdown}\n\n")


def _append(variable: str, text: str) -> None:
    name = os.environ.get(variable)
    if name:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(text)
