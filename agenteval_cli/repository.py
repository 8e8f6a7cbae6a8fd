"""The repository of cases: the one module that reads case files and the configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from agenteval_cli import rules, schemas, yaml_reader
from agenteval_cli.case import Case, case_from
from agenteval_cli.config import FILE_NAME, Config, config_from
from agenteval_cli.digests import Digests, digest_of_bytes, digests_of
from agenteval_cli.errors import IncompleteError, UsageError
from agenteval_cli.problems import Problem, in_reading_order
from agenteval_cli.yaml_reader import Document

LEDGER = "retired.yaml"


class Repository(msgspec.Struct, frozen=True):
    """A folder with agenteval.yaml, and what that says."""

    root: Path
    config: Config

    @property
    def runs(self) -> Path:
        return self.root / self.config.runs


class LoadedCase(msgspec.Struct, frozen=True):
    """A valid case and what tells its content."""

    case: Case
    digests: Digests


class Loaded(msgspec.Struct, frozen=True):
    """All case files that were read. `files` counts them; a file with an error is not among the cases."""

    files: int
    cases: tuple[LoadedCase, ...]
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")


def open_repository(start: Path) -> Repository:
    """The repository that holds `start`: the nearest folder upwards with agenteval.yaml.

    Raises UsageError where there is none, InvalidFilesError where the configuration is not valid.
    """
    for folder in (start, *start.parents):
        path = folder / FILE_NAME
        if path.is_file():
            return Repository(folder, config_from(FILE_NAME, _read(path, FILE_NAME)))
    raise UsageError(f"no {FILE_NAME} in {start} or above it; `agenteval init` makes one")


def case_files(repository: Repository) -> list[str]:
    """Every case file, as a path from the root, sorted. Raises UsageError where there is no folder of cases."""
    folder = repository.root / repository.config.cases
    if not folder.is_dir():
        raise UsageError(f"no folder {repository.config.cases}/ in {repository.root}; `agenteval new` makes a case")
    found = sorted(os.path.relpath(path, repository.root) for path in _yaml_files(folder))
    ledger = os.path.join(repository.config.cases, LEDGER)  # noqa: PTH118  # a name, compared with names
    return [name for name in found if name != ledger]


def _yaml_files(folder: Path) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (f"{parent}/{name}" for name in names if name.endswith((".yaml", ".yml")))


def load(repository: Repository, files: Sequence[str]) -> Loaded:
    """Read the given case files; every problem of every file is in the result."""
    documents, problems = read_documents(repository.root, files)
    cases = []
    for document in documents:
        found, loaded = _load_one(repository, document)
        problems.extend(found)
        if loaded is not None:
            cases.append(loaded)
    problems.extend(rules.repeated_ids(documents))
    return Loaded(len(files), tuple(cases), tuple(in_reading_order(problems)))


def load_all(repository: Repository) -> Loaded:
    """Every case of the repository. Raises UsageError where there is none."""
    files = case_files(repository)
    if not files:
        raise UsageError(f"no case files under {repository.config.cases}/; `agenteval new` makes one")
    return load(repository, files)


def read_documents(root: Path, files: Iterable[str]) -> tuple[list[Document], list[Problem]]:
    """The documents that can be read, and the problems of reading."""
    documents, problems = [], []
    for name in files:
        try:
            raw = (root / name).read_bytes()
        except OSError as error:
            words = f"cannot be read: {error.strerror}"
            problems.append(Problem(file=name, line=1, column=1, rule="file", message=words))
            continue
        reading = yaml_reader.read(name, raw)
        problems.extend(problem for problem in reading.problems if not rules.number_is_meant(problem))
        if reading.document is not None:
            documents.append(reading.document)
    return documents, problems


def _load_one(repository: Repository, document: Document) -> tuple[list[Problem], LoadedCase | None]:
    problems = schemas.problems_in(document, "case")
    if problems:
        return problems, None
    problems = rules.problems_of(document)
    files, missing = _files_given(repository.root, document)
    problems.extend(missing)
    problems.extend(_agent_named(repository.config, document))
    if any(problem.severity == "error" for problem in problems):
        return problems, None
    case = case_from(document.file, document.data)
    return problems, LoadedCase(case, digests_of(case.data, document.raw, files))


def _files_given(root: Path, document: Document) -> tuple[dict[str, str], list[Problem]]:
    """The digests of the files that the case gives to its agent, and those that are not there."""
    digests, problems = {}, []
    for index, name in enumerate(document.data.get("files", ())):
        path = root / name
        if not path.resolve().is_relative_to(root.resolve()):
            problems.append(document.problem(("files", index), "missing-file", f"{name} is outside the repository"))
        elif not path.is_file():
            problems.append(document.problem(("files", index), "missing-file", f"{name} is not there"))
        else:
            digests[name] = digest_of_bytes(path.read_bytes())
    return digests, problems


def _agent_named(config: Config, document: Document) -> list[Problem]:
    name = document.data.get("agent")
    if name is None or name in config.agents:
        return []
    from agenteval_cli.problems import did_you_mean

    words = f"no agent '{name}' in {FILE_NAME}{did_you_mean(name, config.agents)}"
    return [document.problem(("agent",), "unknown-agent", words)]


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IncompleteError(f"{name} cannot be read: {error.strerror}") from error
