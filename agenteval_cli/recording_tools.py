"""Records the tools of a case: runs it once in front of real ones, and writes what they answered into its file.

case → the same with tools that pass calls on → a run that is not kept → observed calls → responses → the case's file
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli import authoring, edits, yaml_reader
from agenteval_cli.case import Limits
from agenteval_cli.errors import IncompleteError, UsageError
from agenteval_cli.recorded_responses import Response, responses_of
from agenteval_cli.runner import Order, run
from agenteval_cli.store import read_run, read_transcript
from agenteval_cli.transcript import ToolCall
from agenteval_cli.watching import Watcher
from agenteval_cli.writing import replace

_PROCESS = (sys.executable, "-m", "agenteval_cli.recording_process")
_SECONDS_TO_LIST = 60
_GAVE_AN_ANSWER = ("passed", "failed", "ungraded", "over_limit")
Tool = dict[str, Any]


class Recording(msgspec.Struct, frozen=True):
    """What was recorded: the case and its file, how its attempt ended, and how many responses each tool has now."""

    case: str
    file: str
    status: str
    responses: Mapping[str, int]


def record(order: Order, target: str, ignored: Collection[str], watcher: Watcher) -> Recording:
    """Run the one case of an order against the tools at `target`, a URL or a command, and write their responses.

    Arguments named in `ignored` are not asked for in `when`. Raises UsageError where the case or the target is not
    fit for it, IncompleteError where nothing was recorded; the file is then as it was.
    """
    if len(order.cases) != 1:
        raise UsageError(f"--record-tools records one case at a time, not {len(order.cases)}; name it with --case")
    (loaded,) = order.cases.values()
    path = order.root / loaded.case.file
    argv = _argv(target)
    entries = _own_tools(path) or _listed(argv, order.root)
    names = [entry["name"] for entry in entries]
    resolved = {tool["name"]: tool for tool in loaded.case.data.get("tools", ())} or {
        tool["name"]: tool for tool in entries
    }
    status, calls = _observed(order, [_passed_on(resolved[name], argv) for name in names], watcher)
    variables = loaded.case.data.get("variables", ())
    responses = {
        name: responses_of([call for call in calls if call.name == name], ignored, variables) for name in names
    }
    _write(path, [_with_responses(entry, responses[entry["name"]]) for entry in entries])
    return Recording(
        loaded.case.id, loaded.case.file, status, {name: len(each) for name, each in responses.items() if each}
    )


def _argv(target: str) -> list[str]:
    try:
        argv = shlex.split(target)
    except ValueError as error:
        raise UsageError(f"--record-tools {target}: {error}") from None
    if not argv:
        raise UsageError("--record-tools needs a URL or a command")
    return argv


def _own_tools(path: Path) -> list[Tool]:
    """The tools as the file names them, `use` and all."""
    document = yaml_reader.read(path.name, path.read_bytes()).document
    entries: list[Tool] = [] if document is None else list(document.data.get("tools", ()))
    for entry in entries:
        if "name" not in entry:
            fixture = entry["use"]
            raise UsageError(
                f"{path.name}: say which tools of '{fixture}' are recorded, as {{use: {fixture}, name: …}}"
            )
    return entries


def _listed(argv: Sequence[str], root: Path) -> list[Tool]:
    """The inventory of the real tools, for a case that names none."""
    try:
        done = subprocess.run(
            [*_PROCESS, "--list", *argv], cwd=root, capture_output=True, timeout=_SECONDS_TO_LIST, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"{argv[0]} did not list its tools within {_SECONDS_TO_LIST} seconds") from None
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"the tools cannot be recorded: {words[-1] if words else argv[0]}")
    tools: list[Tool] = json.loads(done.stdout)
    if not tools:
        raise UsageError(f"{argv[0]} has no tools")
    return tools


def _passed_on(tool: Mapping[str, Any], argv: Sequence[str]) -> Tool:
    """The tool as it is told to the agent, with nothing recorded: each call goes on to the real one."""
    told = {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
    return {**told, "handler": [*_PROCESS, *argv]}


def _observed(order: Order, tools: list[Tool], watcher: Watcher) -> tuple[str, tuple[ToolCall, ...]]:
    """How one attempt ended, and its calls with secrets masked. The run is not kept: it is none of these files'."""
    cases = {
        name: msgspec.structs.replace(
            loaded, case=msgspec.structs.replace(loaded.case, data={**loaded.case.data, "tools": tools})
        )
        for name, loaded in order.cases.items()
    }
    plan = tuple(msgspec.structs.replace(planned, attempts=1) for planned in order.record.plan)
    once = msgspec.structs.replace(order.record, plan=plan)
    with tempfile.TemporaryDirectory(prefix="agenteval-recording-") as folder:
        place = Path(folder, order.record.id)
        run(
            msgspec.structs.replace(order, record=once, folder=place, cases=cases, earlier=None, kept=(), retries=0),
            watcher,
        )
        kept = read_run(place)
        if not kept.attempts:
            raise IncompleteError("nothing was recorded: the run was stopped")
        attempt = kept.attempts[-1]
        transcript = read_transcript(kept, attempt).transcript
    (loaded,) = order.cases.values()
    calls = _that_reached(() if transcript is None else transcript.tool_calls or (), loaded.case.limits)
    if attempt.status not in _GAVE_AN_ANSWER:
        raise IncompleteError(f"nothing was recorded: {attempt.status}: {attempt.reason}")
    if not calls:
        raise IncompleteError("nothing was recorded: the agent called no tool")
    return attempt.status, calls


def _that_reached(calls: tuple[ToolCall, ...], limits: Limits) -> tuple[ToolCall, ...]:
    """The calls that went on to the real tools. The others were refused here, which says nothing about the tools."""
    most = min((number for number in (limits.tool_calls, limits.steps) if number is not None), default=None)
    return tuple(call for call in calls[:most] if isinstance(call.arguments, Mapping))


def _with_responses(entry: Tool, responses: list[Response]) -> Tool:
    """The entry with new responses in place of its old ones; as it was where the tool was not called."""
    if not responses:
        return entry
    return {**{key: value for key, value in entry.items() if key != "responses"}, "responses": responses}


def _write(path: Path, tools: list[Tool]) -> None:
    replace(path, edits.with_key(path.read_bytes(), "tools", tools, authoring.order_of_keys()))
