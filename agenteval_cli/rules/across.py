"""Rules over all the cases together, or over the calendar: what one file alone cannot say."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

import msgspec

from agenteval_cli import yaml_reader
from agenteval_cli.problems import Problem, shown_path
from agenteval_cli.rules.interface import Rule

# Where a number is what is wanted, 1.0 is not a text that lost its quotes: keys of the case, operators, schemas.
_NUMBER_KEYS = r"min_pass_rate|attempts|limits\.\w+|criteria\[\d+\]\.(threshold|votes)"
_NUMBER_OPERATORS = r"(gt|gte|lt|lte|between\[\d\]|approx\.(value|within))"
_NUMBER_OF_SCHEMA = (
    r"(json_schema|parameters|schema)(\..+)?\.(minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf)"
)
_NUMBER_IS_MEANT = re.compile(
    rf"{_NUMBER_KEYS}|.*\.{_NUMBER_OPERATORS}|.*\.{_NUMBER_OF_SCHEMA}|trajectory\.required\[\d+\]\.times(\..+)?"
)


def number_is_meant(problem: Problem) -> bool:
    """Whether a warning about a number that could have been text is beside the point where it stands."""
    return problem.rule == "yaml-number" and _NUMBER_IS_MEANT.fullmatch(problem.path) is not None


class Source(Protocol):
    """Where the files are: see sources.Source."""

    def raw(self, name: str) -> bytes: ...
    def has(self, name: str) -> bool: ...


class Facts(Protocol):
    """What these rules need to know of a case file: see checking.Facts."""

    @property
    def file(self) -> str: ...
    @property
    def id(self) -> str | None: ...
    @property
    def input(self) -> str | None: ...
    @property
    def files(self) -> tuple[str, ...]: ...
    @property
    def until(self) -> str | None: ...


def problems_of(source: Source, known: Sequence[Facts], asked: Collection[str] | None = None) -> list[Problem]:
    """What is wrong with cases beside each other, told of the files in `asked`, or of all."""
    findings = (
        *_repeated_ids(known),
        *_repeated_inputs(known),
        *_missing_files(source, known),
        *_past_quarantines(known),
    )
    return [located(source, finding) for finding in findings if asked is None or finding.file in asked]


class Finding(msgspec.Struct, frozen=True):
    """A problem without its line and column."""

    file: str
    path: tuple[str | int, ...]
    rule: str
    message: str
    severity: str = "error"


def located(source: Source, finding: Finding) -> Problem:
    """The finding with its line and column: the file is read again, which only a file with a finding costs."""
    try:
        document = yaml_reader.read(finding.file, source.raw(finding.file)).document
    except OSError:
        document = None
    if document is None:
        path = shown_path(finding.path)
        return Problem(
            file=finding.file,
            line=1,
            column=1,
            rule=finding.rule,
            message=finding.message,
            path=path,
            severity=finding.severity,
        )
    return document.problem(finding.path, finding.rule, finding.message, severity=finding.severity)


def _alike(known: Sequence[Facts], keys: Sequence[str | None]) -> Iterator[tuple[Facts, Facts]]:
    """Each file that shares its key with another, and the first such other."""
    given = [key for key in keys if key is not None]
    if len(set(given)) == len(given):
        return
    shared: dict[str, list[Facts]] = {}
    for facts, key in zip(known, keys, strict=True):
        if key is not None:
            shared.setdefault(key, []).append(facts)
    for same in shared.values():
        for index, facts in enumerate(same if len(same) > 1 else ()):
            yield facts, same[1] if index == 0 else same[0]


def _repeated_ids(known: Sequence[Facts]) -> Iterator[Finding]:
    for facts, other in _alike(known, [facts.id.casefold() if facts.id else None for facts in known]):
        words = f"the ID '{facts.id}' is also that of {other.file}; IDs are unique, ignoring case"
        yield Finding(facts.file, ("id",), "duplicate-id", words)


def _repeated_inputs(known: Sequence[Facts]) -> Iterator[Finding]:
    for facts, other in _alike(known, [facts.input for facts in known]):
        words = f"asks exactly what {other.file} asks; merge the two, or say in one what differs"
        yield Finding(facts.file, (), "duplicate-input", words, "warning")


def _missing_files(source: Source, known: Sequence[Facts]) -> Iterator[Finding]:
    for facts in (facts for facts in known if facts.files):
        for index, name in enumerate(facts.files):
            if name.startswith("/") or ".." in name.split("/"):
                yield Finding(facts.file, ("files", index), "missing-file", f"{name} is outside the repository")
            elif source.has(name):
                yield from _markers(source, facts, index)
            else:
                yield Finding(facts.file, ("files", index), "missing-file", f"{name} is not there")


def _markers(source: Source, facts: Facts, index: int) -> Iterator[Finding]:
    """Merge conflict markers in a file that the agent gets would become part of what it is asked."""
    try:
        line = yaml_reader.conflict_line(source.raw(facts.files[index]))
    except OSError:
        return
    if line is not None:
        words = f"merge conflict markers in {facts.files[index]}, line {line}"
        yield Finding(facts.file, ("files", index), "conflict-markers", words)


def _past_quarantines(known: Sequence[Facts]) -> Iterator[Finding]:
    ends = [facts for facts in known if facts.until]
    if not ends:
        return
    import datetime as dt

    today = dt.datetime.now(dt.UTC).date().isoformat()
    for facts in ends:
        if str(facts.until) < today:
            words = f"the quarantine ended on {facts.until}; mend the case, retire it, or say until when"
            yield Finding(facts.file, ("quarantine", "until"), "quarantine-past", words, "warning")


RULES = (
    Rule(
        name="duplicate-id",
        summary="two files have the same ID, ignoring case",
        why="Runs are joined by ID. Two branches that each took the next number merge cleanly; give the younger case a "
        "new ID, as `agenteval new` makes them.",
    ),
    Rule(
        name="duplicate-input",
        summary="two cases ask the agent exactly the same",
        why="Both will change together, and count twice. Merge their checks, or say in one of them what differs.",
        severity="warning",
    ),
    Rule(
        name="quarantine-past",
        summary="a quarantine past its date",
        why="A case that never gates protects nothing. The date was set so that somebody looks again.",
        severity="warning",
    ),
)
