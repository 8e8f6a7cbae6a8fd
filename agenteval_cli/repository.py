"""The repository of cases: the one module that reads case files and the configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from agenteval_cli import git, ledger, rules, schemas, yaml_reader
from agenteval_cli.case import Case, case_from, filled
from agenteval_cli.checking import Context, Facts, check
from agenteval_cli.config import FILE_NAME, Config, config_from
from agenteval_cli.digests import Digests, digest_of_bytes, digests_of, programs_in
from agenteval_cli.errors import IncompleteError, UsageError
from agenteval_cli.fixtures import Fixture, fixture_from, with_tools
from agenteval_cli.ledger import Ledger
from agenteval_cli.problems import Problem, in_reading_order
from agenteval_cli.rules import across
from agenteval_cli.sources import Source, Stamp, WorkingTree
from agenteval_cli.yaml_reader import Document


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
    other = start / FILE_NAME.replace(".yaml", ".yml")
    remedy = f"{other.name} is there; rename it" if other.is_file() else "`agenteval init` makes one"
    raise UsageError(f"no {FILE_NAME} in {start} or above it; {remedy}")


def case_files(repository: Repository, source: Source) -> dict[str, Stamp]:
    """Every case file with its stamp, sorted. Nothing to look at is a UsageError, never a good result."""
    files = source.listing(repository.config.cases)
    files.pop(f"{repository.config.cases}/{ledger.FILE_NAME}", None)
    if not files:
        empty = submodules_not_there(repository, source)
        unread = look_alikes(repository, source)
        if empty:
            hint = f"{empty[0]} is a submodule that is not checked out"
        else:
            hint = f"{unread[0]} does not end in .yaml or .yml" if unread else "`agenteval new` makes one"
        raise UsageError(f"no case files under {repository.config.cases}/; {hint}")
    return files


def look_alikes(repository: Repository, source: Source, known: Iterable[Facts] = ()) -> list[str]:
    """The files among the cases that were probably meant as cases and are not read, as their names do not end in .yaml.

    Those that a known case gives to its agent are none of them.
    """
    inside = f"{repository.config.cases}/"
    unread = {name for name in source.look_alikes if name.startswith(inside)}
    return sorted(unread.difference(*(facts.files for facts in known))) if unread else []


def submodules_not_there(repository: Repository, source: Source) -> list[str]:
    """Submodules among the cases whose folder is empty: their cases were not looked at."""
    empty = source.empty_folders if isinstance(source, WorkingTree) else set()
    return sorted(empty & set(git.submodules(repository.root, repository.config.cases))) if empty else []


def load(repository: Repository, files: Sequence[str] | None = None, source: Source | None = None) -> Loaded:
    """Read the given case files, or all, and make them Cases; every problem of every file is in the result."""
    source = source or WorkingTree(repository.root)
    context, problems = context_of(repository, source)
    cases, known = [], []
    for name in case_files(repository, source) if files is None else files:
        facts, document = check_file(source, context, name)
        known.append(facts)
        if document is not None:
            cases.append(_loaded(source, context, document))
    problems += across.problems_of(source, known)
    problems += (problem for facts in known for problem in facts.problems)
    spoilt = {problem.file for problem in problems if problem.severity == "error"}
    good = tuple(loaded for loaded in cases if loaded.case.file not in spoilt)
    return Loaded(len(known), good, tuple(in_reading_order(problems)))


def check_file(source: Source, context: Context, name: str) -> tuple[Facts, Document | None]:
    """Read and check one case file."""
    try:
        raw = source.raw(name)
    except OSError as error:
        return Facts(name, problems=(unreadable(name, error),)), None
    return check(context, name, raw)


def unreadable(name: str, error: OSError) -> Problem:
    """The problem of a file that the operating system, or git, does not give."""
    return Problem(file=name, line=1, column=1, rule="file", message=f"cannot be read: {error.strerror}")


def read_ledger(repository: Repository, source: Source) -> tuple[Ledger, list[Problem]]:
    """The ledger of retired IDs, empty where there is none, and what is wrong with it."""
    name = f"{repository.config.cases}/{ledger.FILE_NAME}"
    if not source.has(name):
        return Ledger(), []
    try:
        raw = source.raw(name)
    except OSError as error:
        return Ledger(), [unreadable(name, error)]
    return ledger.ledger_from(name, raw)


def context_of(repository: Repository, source: Source) -> tuple[Context, list[Problem]]:
    """What the cases are checked against, and the problems of the fixtures."""
    found: dict[str, Fixture] = {}
    problems: list[Problem] = []
    for name in source.listing(repository.config.fixtures):
        fixture, faults = _fixture(source, name)
        problems += faults
        if fixture is None:
            continue
        if fixture.id in found:
            words = f"the fixture ID '{fixture.id}' is also that of {found[fixture.id].file}"
            problems.append(Problem(file=name, line=1, column=1, rule="duplicate-id", message=words))
        found[fixture.id] = fixture
    users = repository.config.users
    return Context(tuple(repository.config.agents), found, users.facts, users.default), problems


def _fixture(source: Source, name: str) -> tuple[Fixture | None, list[Problem]]:
    try:
        raw = source.raw(name)
    except OSError as error:
        return None, [unreadable(name, error)]
    reading = yaml_reader.read(name, raw)
    problems = list(reading.problems)
    if reading.document is None:
        return None, problems
    broken = schemas.problems_in(reading.document, "fixture")
    if broken:
        return None, [*problems, *broken]
    return fixture_from(name, reading.document.data), [*problems, *rules.problems_of_fixture(reading.document)]


def _loaded(source: Source, context: Context, document: Document) -> LoadedCase:
    data = with_tools(filled(document.data), context.fixtures)
    files = {name: digest_of_bytes(source.raw(name)) for name in data.get("files", ()) if source.has(name)}
    run = programs_in([data.get(key) for key in ("tools", "outcome", "turns")])
    programs = {name: digest_of_bytes(source.raw(name)) for name in run if source.has(name)}
    return LoadedCase(case_from(document.file, data), digests_of(data, document.raw, files, programs))


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IncompleteError(f"{name} cannot be read: {error.strerror}") from error
