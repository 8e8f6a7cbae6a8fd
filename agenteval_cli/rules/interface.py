"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, str]]


Part = tuple[Path, Mapping[str, Any]]


class Subject(msgspec.Struct, frozen=True):
    """One valid case as rules look at it: its data, and the parts of it and of its turns, each with its path.

    `calls` are all that trajectories name, as mappings with their `tool`.
    """

    data: Mapping[str, Any]
    parts: list[Part]
    checks: list[Part]
    trajectories: list[Part]
    calls: list[Part]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A named rule: its severity, one line, why it exists and what to do, and how it looks at one valid case.

    `look` is None for rules that other parts apply: the reader, the schema, and what needs all files or git.
    """

    name: str
    summary: str
    why: str
    severity: str = "error"
    look: Callable[[Subject], Found] | None = None
