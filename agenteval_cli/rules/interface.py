"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, str]]


Part = tuple[Path, Mapping[str, Any]]


class Subject(msgspec.Struct, frozen=True):
    """One valid case as rules look at it: its data, and the parts of it and of its turns, each with its path.

    `tools` is the inventory with fixtures resolved, while `data` has the case's own as they were written; `calls` are
    all that trajectories name, as mappings with their `tool`. `faults` are those that the checks find in themselves,
    each under the name of its rule.
    """

    data: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any]]
    parts: list[Part]
    checks: list[Part]
    trajectories: list[Part]
    calls: list[Part]
    faults: list[tuple[str, Path, str]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A named rule: its severity, one line, why it exists and what to do, and how it looks at one valid case.

    `leaves_no_document` marks those after which there is no case to look at. `look` is None for rules that other parts
    apply: the reader, the schema, and what needs all files or git.
    """

    name: str
    summary: str
    why: str
    severity: str = "error"
    leaves_no_document: bool = False
    look: Callable[[Subject], Found] | None = None
