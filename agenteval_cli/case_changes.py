"""What changed in an edited case: its file as each run had it, key by key."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli import git
from agenteval_cli.compare import ABSENT, first_difference, shown
from agenteval_cli.digests import digest_of_bytes
from agenteval_cli.records import PlannedCase, RunRecord

INPUT = "input"
TOOLS = "tools"
CHECKS = "checks"
_CHECK_KEYS = frozenset({"outcome", "trajectory", "criteria", "expected_output", "match", "min_pass_rate"})
_UNSEEN = frozenset({"schema", "id", "title", "why", "tier", "tags", "metadata", "provenance", "quarantine", "notes"})
_NOT_DIGESTED = _UNSEEN | {"attempts", "recording"}


class CaseChange(msgspec.Struct, frozen=True):
    """A key of the case that is not what it was: `part` is input, tools or checks, `words` the first difference."""

    part: str
    key: str
    words: str


class Files:
    """Case files as runs had them, as far as the working tree or a commit of one of the runs still has them so."""

    def __init__(self, root: Path, names: Sequence[str], *runs: RunRecord) -> None:
        self._root = root
        commits = dict.fromkeys(run.git.commit for run in runs if run.git.commit is not None) if names else {}
        self._committed: dict[str, list[bytes]] = defaultdict(list)
        for commit in commits:
            self._fetch(commit, set(names))

    def _fetch(self, commit: str, names: AbstractSet[str]) -> None:
        """What the commit has of the files, read at once; nothing where it is not in this clone."""
        with contextlib.suppress(git.HistoryError):
            blobs = {name: blob for name, blob in git.files_at(self._root, commit, ".").items() if name in names}
            contents = git.contents(self._root, blobs.values())
            for name, blob in blobs.items():
                self._committed[name].append(contents[blob])

    def data_of(self, planned: PlannedCase) -> Mapping[str, Any] | None:
        """The data of the case as its run had it; None where that can no longer be told."""
        for raw in self._candidates(planned.file):
            if digest_of_bytes(raw) == planned.digests.file:
                from agenteval_cli import yaml_reader  # 50 ms that most comparisons do without

                reading = yaml_reader.read(planned.file, raw)
                return reading.document.data if reading.document else None
        return None

    def _candidates(self, file: str) -> Iterator[bytes]:
        with contextlib.suppress(OSError, ValueError):
            yield (self._root / file).read_bytes()
        yield from self._committed[file]


def changes_between(base: Mapping[str, Any], head: Mapping[str, Any]) -> tuple[CaseChange, ...]:
    """What differs of all that the agent gets or that decides the verdict, key by key, in the order of the file."""
    keys = dict.fromkeys((*head, *base))
    return tuple(
        CaseChange(_part(key), key, _words(base.get(key, ABSENT), head.get(key, ABSENT)))
        for key in keys
        if key not in _NOT_DIGESTED and first_difference(base.get(key, ABSENT), head.get(key, ABSENT)) is not None
    )


def _part(key: str) -> str:
    if key == TOOLS:
        return TOOLS
    return CHECKS if key in _CHECK_KEYS else INPUT


def _words(before: Any, after: Any) -> str:
    if before is ABSENT:
        return f"added: {shown(after)}"
    if after is ABSENT:
        return f"removed: {shown(before)}"
    difference = first_difference(before, after)
    if difference is None:
        return ""
    place = "" if difference.path == "$" else f"{difference.path.removeprefix('$').removeprefix('.')}: "
    return f"{place}{_value(difference.expected)} → {_value(difference.actual)}"


def _value(value: Any) -> str:
    return "absent" if value is ABSENT else shown(value)
