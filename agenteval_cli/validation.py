"""Validate: which files are looked at, what is known of them already, and what is wrong with them beside each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from agenteval_cli import forked, git, rules
from agenteval_cli.checking import Context, Facts, check
from agenteval_cli.config import FILE_NAME, config_from
from agenteval_cli.errors import UsageError
from agenteval_cli.escape import is_text
from agenteval_cli.fixtures import with_tools
from agenteval_cli.git import HistoryError
from agenteval_cli.history import History, history_of
from agenteval_cli.ledger import FILE_NAME as LEDGER
from agenteval_cli.problems import Problem, in_reading_order
from agenteval_cli.repository import Repository, case_files, check_file, context_of, read_ledger, submodules_not_there
from agenteval_cli.rules import across, identity, proof, reading
from agenteval_cli.rules.parts import subject
from agenteval_cli.sources import Index, Source, WorkingTree
from agenteval_cli.validation_cache import Cache

MANY = 200  # files that are worth a second process


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
    """What validate found. `notes` tell what could not be looked at."""

    files: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()

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
        repository = Repository(repository.root, config_from(FILE_NAME, source.raw(FILE_NAME)))
    listing = case_files(repository, source)
    asked = {_from_root(repository, source, start, name) for name in files} if files else None
    named_elsewhere = {name: "" for name in asked or () if name not in listing and not _is_no_case(repository, name)}
    context, problems = context_of(repository, source)
    known = facts_of(repository, source, context, {**listing, **named_elsewhere})
    problems += across.problems_of(source, known, asked)
    found, notes = _identity_problems(repository, source, known, asked)
    problems += found
    problems += (problem for facts in known if asked is None or facts.file in asked for problem in facts.problems)
    if choice.prove:
        problems += _unproved(source, context, asked or listing)
    told = in_reading_order(problem for problem in problems if choice.counts(problem))
    return Report(len(known) if asked is None else len(asked), tuple(told), (*notes, *_passed_over(repository, source)))


def _is_no_case(repository: Repository, name: str) -> bool:
    """Whether a named file is one of those that are looked at anyway: the ledger, a fixture, the configuration."""
    config = repository.config
    return name in (FILE_NAME, f"{config.cases}/{LEDGER}") or name.startswith(f"{config.fixtures}/")


def _passed_over(repository: Repository, source: Source) -> Iterator[str]:
    """What lies among the cases and was not looked at."""
    links = source.left_out if isinstance(source, WorkingTree) else set()
    yield from (f"{name} is a link to a folder and was not followed" for name in sorted(links))
    for name in submodules_not_there(repository, source):
        yield f"{name} is a submodule that is not checked out: `git submodule update --init`"
    if isinstance(source, Index):
        for name in git.submodules(repository.root, repository.config.cases):
            yield f"{name} is a submodule, whose cases the index of this repository does not have"


def _identity_problems(
    repository: Repository, source: Source, known: Sequence[Facts], asked: set[str] | None
) -> tuple[list[Problem], tuple[str, ...]]:
    """IDs held against the ledger and the git history; what vanished is told whichever files were asked about."""
    ledger, problems = read_ledger(repository, source)
    history, notes = _history(repository, known)
    retired = {known_id.casefold(): reason for known_id, reason in ledger.reasons.items()}
    lives, present = (history.lives, history.present) if history else ({}, {})
    for finding in identity.findings(known, retired, lives, present):
        if asked is None or finding.file in asked or finding.rule == "vanished-case":
            problems.append(across.located(source, finding))
    return problems, notes


def _history(repository: Repository, known: Sequence[Facts]) -> tuple[History | None, tuple[str, ...]]:
    """The history of IDs, and what kept it from being seen whole."""
    try:
        history = history_of(repository.root, repository.config.cases, known)
    except (HistoryError, UsageError) as error:
        return None, (f"{error}: IDs were not held against history",)
    if history is None:
        return None, ("not a git repository: IDs were not held against history",)
    if history.shallow:
        note = "history is shallow: IDs from before its cut were not seen; `git fetch --unshallow` brings them"
        return history, (note,)
    return history, ()


def _unproved(source: Source, context: Context, names: Iterable[str]) -> Iterator[Problem]:
    """Cases that an agent doing nothing would pass."""
    for name in sorted(names):
        _, document = check_file(source, context, name)
        if document is not None:
            for path, words in proof.nop_passes(subject(with_tools(document.data, context.fixtures))):
                yield document.problem(path, "nop-passes", words)


def _from_root(repository: Repository, source: Source, start: Path, name: str) -> str:
    path = os.path.relpath(start / name, repository.root)
    if not source.has(path):
        raise UsageError(f"{name} is not a file" + (" in git's index" if source.name == "index" else ""))
    return path


def facts_of(repository: Repository, source: Source, context: Context, listing: dict[str, str]) -> list[Facts]:
    """The facts of each file: as remembered where its stamp is the same, read again where not."""
    cache = Cache(repository.root, source.name, context)
    known = cache.facts(listing)
    unknown = [name for name in listing if name not in known]
    if unknown:
        known.update((facts.file, facts) for facts in _checked(source, context, unknown))
        cache.keep(listing, known)
    return [known[name] for name in listing]


def _checked(source: Source, context: Context, names: list[str]) -> list[Facts]:
    if isinstance(source, Index):
        source.fetch(names)
    odd = [name for name in names if not is_text(name)]  # these cannot travel between processes
    if odd:
        names = [name for name in names if is_text(name)]
        return [*(check_file(source, context, name)[0] for name in odd), *_checked(source, context, names)]
    if len(names) < MANY:
        return [check_file(source, context, name)[0] for name in names]
    check(context, "", b"")  # load what checking needs before there is a second process to load it again
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(list[Facts]).decode
    pieces = forked.split(names, os.cpu_count() or 1)
    done = forked.each(pieces, lambda piece: encode([check_file(source, context, name)[0] for name in piece]))
    return [facts for raw in done for facts in decode(raw)]
