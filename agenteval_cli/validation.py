"""Validate: which files are looked at, what is known of them already, and what is wrong with them beside each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agenteval_cli import forked, git, rules, yaml_reader
from agenteval_cli.checking import Context, Facts, check
from agenteval_cli.config import FILE_NAME, Config, config_from
from agenteval_cli.errors import InvalidFilesError, UsageError
from agenteval_cli.escape import is_text
from agenteval_cli.fixtures import with_tools
from agenteval_cli.git import HistoryError
from agenteval_cli.history import Past
from agenteval_cli.ledger import FILE_NAME as LEDGER
from agenteval_cli.phrases import count
from agenteval_cli.problems import Problem, in_reading_order
from agenteval_cli.repository import (
    Repository,
    case_files,
    check_file,
    context_of,
    look_alikes,
    read_ledger,
    submodules_not_there,
    unreadable,
)
from agenteval_cli.rules import across, identity, proof, reading
from agenteval_cli.rules.parts import subject
from agenteval_cli.sources import UNSETTLED, Index, Source, Stamp, WorkingTree
from agenteval_cli.validation_cache import Cache

if TYPE_CHECKING:
    from agenteval_cli.mutants import Mutation

MANY = 200  # files that are worth more than one process
_NAMED = 10  # files of one kind that notes tell one by one
_NOT_HELD = "IDs were not held against history"

_ALWAYS = frozenset({"schema", *(rule.name for rule in reading.RULES if rule.leaves_no_document)})


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """How to validate: git's index instead of the tree, the proof besides, and which rules count."""

    staged: bool = False
    prove: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def counts(self, problem: Problem) -> bool:
        """Whether a problem is told. A file that cannot be read as a case is an error whatever was selected."""
        if problem.rule in _ALWAYS:
            return True
        return problem.rule not in self.ignore and (not self.select or problem.rule in self.select)


EVERYTHING = Choice()


class Report(msgspec.Struct, frozen=True):
    """What validate found. `notes` tell what could not be looked at, `mutations` how strong cases are, where asked."""

    files: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    mutations: tuple[Mutation, ...] | None = None

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")


def validated(repository: Repository, start: Path, files: Sequence[str] = (), choice: Choice = EVERYTHING) -> Report:
    """All case files, or the named ones; each is held against every file of the repository in both cases.

    Raises UsageError where a named file is not there, or where there is nothing to look at.
    """
    rules.known_rules([*choice.select, *choice.ignore])
    source: Source = Index(repository.root) if choice.staged else WorkingTree(repository.root)
    if choice.staged and source.has(FILE_NAME):
        repository = Repository(repository.root, _config_in(source))
    listing = case_files(repository, source)
    asked = {_from_root(repository, source, start, name) for name in files} if files else None
    named_elsewhere = {
        name: UNSETTLED for name in asked or () if name not in listing and not _is_no_case(repository, name)
    }
    context, problems = context_of(repository, source)
    looking = Looking(repository, source, context, {**listing, **named_elsewhere})
    past, notes = _past(repository)  # git is asked while the files are looked at
    known = looking.facts()
    problems += across.problems_of(source, known, asked)
    found, more = _identity_problems(repository, source, known, asked, past)
    problems += found
    problems += (problem for facts in known if asked is None or facts.file in asked for problem in facts.problems)
    mutations: list[Mutation] = []
    if choice.prove:
        found, mutations = _proved(source, context, asked or listing)
        problems += found
    told = in_reading_order(problem for problem in problems if choice.counts(problem))
    return Report(
        len(known) if asked is None else len(asked),
        tuple(told),
        (*notes, *more, *_passed_over(repository, source, known)),
        tuple(mutations) if choice.prove else None,
    )


def _config_in(source: Source) -> Config:
    """The configuration as it is staged. Raises InvalidFilesError."""
    try:
        return config_from(FILE_NAME, source.raw(FILE_NAME))
    except OSError as error:
        raise InvalidFilesError([unreadable(FILE_NAME, error)]) from error


def _is_no_case(repository: Repository, name: str) -> bool:
    """Whether a named file is one of those that are looked at anyway: the ledger, a fixture, the configuration."""
    config = repository.config
    return name in (FILE_NAME, f"{config.cases}/{LEDGER}") or name.startswith(f"{config.fixtures}/")


def _passed_over(repository: Repository, source: Source, known: Sequence[Facts]) -> Iterator[str]:
    """What lies among the cases and was not looked at."""
    links = source.left_out if isinstance(source, WorkingTree) else set()
    yield from (f"{name} is a link to a folder and was not followed" for name in sorted(links))
    for name in submodules_not_there(repository, source):
        yield f"{name} is a submodule that is not checked out: `git submodule update --init`"
    if isinstance(source, Index):
        for name, mode in git.no_files(repository.root, repository.config.cases).items():
            if mode == git.SUBMODULE:
                yield f"{name} is a submodule, whose cases the index of this repository does not have"
            else:
                yield f"{name} is a link, and was not looked at: git's index has only where it leads"
    unread = look_alikes(repository, source, known)
    for name in unread[:_NAMED]:
        yield f"{name} was not looked at: the name of a case file ends in .yaml or .yml"
    if len(unread) > _NAMED:
        yield f"{count(len(unread) - _NAMED, 'more file')} whose names do not end so: not looked at either"


def _past(repository: Repository) -> tuple[Past | None, list[str]]:
    """The past of the IDs, and what kept it from being seen whole."""
    try:
        past = Past(repository.root, repository.config.cases)
    except (HistoryError, UsageError) as error:
        return None, [f"{error}: {_NOT_HELD}"]
    if not past.in_git:
        return None, [f"not a git repository: {_NOT_HELD}"]
    if past.shallow:
        return past, ["history is shallow: IDs from before its cut were not seen; `git fetch --unshallow` brings them"]
    return past, []


def _identity_problems(
    repository: Repository, source: Source, known: Sequence[Facts], asked: set[str] | None, past: Past | None
) -> tuple[list[Problem], list[str]]:
    """IDs held against the ledger and the past; what vanished is told whichever files were asked about."""
    ledger, problems = read_ledger(repository, source)
    retired = {known_id.casefold(): reason for known_id, reason in ledger.reasons.items()}
    notes = []
    try:
        if past is not None:
            past.follow(known)
        findings = list(identity.findings(known, retired, past))
    except HistoryError as error:
        notes.append(f"{error}: {_NOT_HELD}")
        findings = list(identity.findings(known, retired, None))
    if any(problem.severity == "error" for problem in problems):  # nobody knows what a broken ledger has retired
        findings = [one for one in findings if one.rule != "vanished-case"]
    if isinstance(source, WorkingTree) and any(one.rule == "vanished-case" for one in findings):
        outside = git.not_checked_out(repository.root, repository.config.cases)
        findings = [one for one in findings if one.rule != "vanished-case" or one.file not in outside]
        if outside:
            notes.append(f"{count(len(outside), 'file')} outside the sparse checkout: not looked at")
    told = (one for one in findings if asked is None or one.file in asked or one.rule == "vanished-case")
    return problems + [across.located(source, finding) for finding in told], notes


def _proved(source: Source, context: Context, names: Iterable[str]) -> tuple[list[Problem], list[Mutation]]:
    """Cases that an agent doing nothing would pass, and what became of the changes of each recording."""
    from agenteval_cli.proving import mutation_of_recording

    problems: list[Problem] = []
    mutations: list[Mutation] = []
    for name in sorted(names):
        _, document = check_file(source, context, name)
        if document is None:
            continue
        data = with_tools(document.data, context.fixtures)
        problems += [document.problem(path, "nop-passes", words) for path, words in proof.nop_passes(subject(data))]
        mutation = mutation_of_recording(data)
        if mutation is not None:
            mutations.append(mutation)
            problems += [
                document.problem(path, "weak-case", words, severity="warning") for path, words in proof.weak(mutation)
            ]
    return problems, mutations


def _from_root(repository: Repository, source: Source, start: Path, name: str) -> str:
    """The path from the root, however a link above it makes the file be named."""
    path = os.path.relpath(start / name, repository.root)
    if path.startswith(os.pardir):
        path = os.path.relpath((start / name).parent.resolve() / Path(name).name, repository.root.resolve())
    if not source.has(path):
        raise UsageError(f"{name} is not a file" + (" in git's index" if source.name == "index" else ""))
    return path


def facts_of(repository: Repository, source: Source, context: Context, listing: dict[str, Stamp]) -> list[Facts]:
    """The facts of each file: as remembered where its stamp is the same, read again where not."""
    return Looking(repository, source, context, listing).facts()


class Looking:
    """A look at files that is begun with this, in other processes where there are many, and ended by `facts`."""

    def __init__(self, repository: Repository, source: Source, context: Context, listing: dict[str, Stamp]) -> None:
        self._listing = listing
        self._cache = Cache(repository.root, source.name, context)
        self._known = self._cache.facts(listing)
        self._unknown = [name for name in listing if name not in self._known]
        self._checked = _checked(source, context, self._unknown)

    def facts(self) -> list[Facts]:
        """The facts of each file, in the order of the listing."""
        if self._unknown:
            self._known.update((facts.file, facts) for facts in self._checked)
            self._cache.keep(self._listing, self._known, self._unknown)
        return [self._known[name] for name in self._listing]


def _checked(source: Source, context: Context, names: Sequence[str]) -> Iterator[Facts]:
    """The facts of each file, in any order. Where there are many files, the work on them begins with this call."""
    if isinstance(source, Index):
        source.fetch(names)
    if len(names) < MANY:
        return (check_file(source, context, name)[0] for name in names)
    check(context, "", b"")  # load what checking needs before there are processes to load it each
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(list[Facts]).decode
    able = [name for name in names if is_text(name)]  # others cannot travel between processes
    done = forked.each(
        forked.pieces_of(able),
        lambda piece: encode([check_file(source, context, name)[0] for name in piece]),
        begin=yaml_reader.read_light_events,
    )
    odd = (check_file(source, context, name)[0] for name in names if not is_text(name))
    return chain((facts for _, raw in done for facts in decode(raw)), odd)
