"""Which files `validate` looks at, and what it says of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agenteval_cli import rules
from agenteval_cli.errors import UsageError
from agenteval_cli.problems import Problem, in_reading_order
from agenteval_cli.repository import Loaded, Repository, case_files, load, load_all, read_documents


def validated(repository: Repository, start: Path, files: Sequence[str]) -> Loaded:
    """All case files, or the named ones; an ID is held against every file of the repository in both cases.

    Raises UsageError where a named file is not there, or where there is nothing to look at.
    """
    if not files:
        return load_all(repository)
    names = sorted({_from_root(repository, start, name) for name in files})
    loaded = load(repository, names)
    return msgspec.structs.replace(
        loaded, problems=tuple(in_reading_order({*loaded.problems, *_repeated_elsewhere(repository, names)}))
    )


def _from_root(repository: Repository, start: Path, name: str) -> str:
    path = start / name
    if not path.is_file():
        raise UsageError(f"{name} is not a file")
    return os.path.relpath(path, repository.root)


def _repeated_elsewhere(repository: Repository, names: Sequence[str]) -> list[Problem]:
    """Repeated IDs that concern the named files: a check across files must not depend on which ones were named."""
    everything = sorted({*case_files(repository), *names})
    documents, _ = read_documents(repository.root, everything)
    return list(rules.repeated_ids(documents, frozenset(names)))
