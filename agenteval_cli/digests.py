"""Digests: what a case is, told by its content.

`input_digest` covers all that the agent or its world can see, `grade_digest` all that decides the verdict,
`file_digest` the bytes of the file. The first two do not change with titles, tags, notes, comments, quarantine, key
order or quoting. The recipe's number stands in front, so that a changed recipe is never taken for a changed case.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

RECIPE = 1

_INPUT_KEYS = (
    "agent",
    "context",
    "conversation",
    "conversation_id",
    "input",
    "limits",
    "simulation",
    "state",
    "system_prompt",
    "tools",
)
_ASKED = ("agent", "context", "conversation", "files", "input", "simulation", "state", "system_prompt", "variables")
_GRADE_KEYS = ("criteria", "expected_output", "limits", "match", "min_pass_rate", "outcome", "trajectory")
_PROGRAMS = frozenset({"code", "command", "handler"})
_LONG = 256  # no file has a longer name, but a program after `-c` may be one


class Digests(msgspec.Struct, frozen=True):
    """The three digests of a case."""

    input: str
    grade: str
    file: str


def digests_of(
    data: Mapping[str, Any], raw: bytes, files: Mapping[str, str], programs: Mapping[str, str] = MappingProxyType({})
) -> Digests:
    """The digests of a case from its data and its file's bytes.

    `files` are the digests of the files that it gives to the agent, `programs` of those that its tools and checks run.
    """
    seen = {key: data[key] for key in _INPUT_KEYS if key in data}
    decides = {key: data[key] for key in _GRADE_KEYS if data.get(key) is not None}
    if decides.get("min_pass_rate") == 1:
        del decides["min_pass_rate"]  # what it is where it is absent
    if "criteria" in decides:
        decides["criteria"] = _listed(decides["criteria"])
    if "turns" in data:
        seen["turns"] = [turn["user"] for turn in data["turns"]]
        decides["turns"] = [{key: turn[key] for key in turn if key != "user"} for turn in data["turns"]]
    if "simulation" in data:
        seen["simulation"] = {key: value for key, value in data["simulation"].items() if key != "criteria"}
        if "criteria" in data["simulation"]:
            decides["simulation"] = {"criteria": _listed(data["simulation"]["criteria"])}
    if files:
        seen["files"] = dict(files)
    for whole, parts in ((seen, data.get("tools")), (decides, [data.get("outcome"), data.get("turns")])):
        if run := {name: programs[name] for name in programs_in(parts) if name in programs}:
            whole["programs"] = run
    return Digests(digest(seen), digest(decides), digest_of_bytes(raw))


def programs_in(value: Any) -> Iterator[str]:
    """Names that files of the repository may have which handlers of tools, or checks, run: modules and arguments."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            todo += part.values()
            for key in _PROGRAMS & part.keys():
                yield from _files_named(part[key])
        elif isinstance(part, list):
            todo += part


def _files_named(program: Any) -> Iterator[str]:
    """Of `module:function`, or of a command; either may stand under a key of its own."""
    if isinstance(program, dict):
        program = program.get("call", program.get("run"))
    if isinstance(program, str):
        module = program.partition(":")[0].replace(".", "/")
        yield from (f"{module}.py", f"{module}/__init__.py")
    elif isinstance(program, list):
        names = (posixpath.normpath(part) for part in program if isinstance(part, str) and len(part) < _LONG)
        yield from (name for name in names if not name.startswith(("/", "../")))


def _listed(criteria: Any) -> Any:
    """A single text is a list of one."""
    return [criteria] if isinstance(criteria, str) else criteria


def digest_of_input(data: Mapping[str, Any]) -> str:
    """A quick digest of what the user gives the agent, for finding two cases that ask the same thing."""
    asked = [data.get(key) for key in _ASKED]
    turns = [turn["user"] for turn in data.get("turns", ())]
    return hashlib.sha256(msgspec.json.encode([asked, turns], order="sorted")).hexdigest()


def blob_name(raw: bytes) -> str:
    """What git calls this content in a repository of SHA-1 objects."""
    return hashlib.sha1(b"blob %d\0%b" % (len(raw), raw), usedforsecurity=False).hexdigest()


def digest(value: Any) -> str:
    """The digest of a JSON value."""
    return digest_of_bytes(canonical(value))


def digest_of_bytes(raw: bytes) -> str:
    """`1:` and the SHA-256 in hex."""
    return f"{RECIPE}:{hashlib.sha256(raw).hexdigest()}"


def canonical(value: Any) -> bytes:
    """Canonical JSON: sorted keys, no spaces, whole numbers without a fraction (1.0 is 1), UTF-8."""
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
