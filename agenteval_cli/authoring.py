"""What the commands that write cases share: which IDs are known, and how files change."""

from __future__ import annotations

import datetime as dt
import secrets
import shlex
from collections.abc import Callable, Iterable, Mapping

import msgspec

from agenteval_cli import edits, schemas, yaml_reader
from agenteval_cli.checking import Context, Facts
from agenteval_cli.errors import InvalidFilesError, UsageError
from agenteval_cli.history import Life, history_of, staged_ids
from agenteval_cli.ledger import FILE_NAME, Ledger
from agenteval_cli.problems import Problem, did_you_mean
from agenteval_cli.repository import Repository, context_of, read_ledger
from agenteval_cli.sources import WorkingTree
from agenteval_cli.validation import facts_of

_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789"
_TRIES = 100
LEDGER_START = "# IDs that no case may ever have again; `agenteval retire` adds to them.\nschema: 1\n"


class Shelf(msgspec.Struct, frozen=True):
    """All cases there are and were: what a new one must fit in with. `staged` has folded IDs with their files."""

    repository: Repository
    source: WorkingTree
    context: Context
    facts: tuple[Facts, ...]
    ledger: Ledger
    lives: Mapping[str, Life]
    staged: Mapping[str, str] = {}

    @property
    def ledger_file(self) -> str:
        return f"{self.repository.config.cases}/{FILE_NAME}"


def shelf_of(repository: Repository) -> Shelf:
    """Read what is known. Raises InvalidFilesError where the ledger is broken: nobody knows then what it holds."""
    source = WorkingTree(repository.root)
    context, _ = context_of(repository, source)
    ledger, problems = read_ledger(repository, source)
    refuse_errors(problems)
    listing = source.listing(repository.config.cases)
    listing.pop(f"{repository.config.cases}/{FILE_NAME}", None)
    facts = tuple(facts_of(repository, source, context, listing))
    history = history_of(repository.root, repository.config.cases)
    staged = staged_ids(repository.root, repository.config.cases) if history else {}
    return Shelf(repository, source, context, facts, ledger, history.lives if history else {}, staged)


def today() -> str:
    """The day it is, UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def order_of_keys() -> list[str]:
    """The canonical order of a case's top-level keys: the schema's."""
    return list(schemas.load("case")["properties"])


def refusal(shelf: Shelf, case_id: str) -> str | None:
    """Why no new case may have this ID, or None."""
    folded = case_id.casefold()
    holder = next((facts.file for facts in shelf.facts if facts.id and facts.id.casefold() == folded), None)
    if holder is not None:
        return f"the ID '{case_id}' is that of {holder}; IDs are unique, ignoring case"
    reason = shelf.ledger.reason(case_id)
    if reason is not None:
        return f"the ID '{case_id}' was retired ({reason}) and is never used again"
    if folded in shelf.staged:
        file = shelf.staged[folded]
        words = f"the ID '{case_id}' is that of {file} as it is staged in git's index"
        name = shlex.quote(file)
        return f"{words}: `git restore {name}` brings that back, `git rm --cached {name}` gives it up"
    if folded in shelf.lives:
        was = f"the ID '{case_id}' once named a case, {shelf.lives[folded].file}; IDs are never used again"
        return f"{was}: bring that file back with git, or give another ID"
    return None


def fresh_id(shelf: Shelf, draw: Callable[[str], str] = secrets.choice) -> str:
    """`tc-` and 12 random signs that no case has or had."""
    for _ in range(_TRIES):
        case_id = "tc-" + "".join(draw(_SIGNS) for _ in range(12))
        if refusal(shelf, case_id) is None:
            return case_id
    raise UsageError("no free ID was found; name one with --id")


def found(shelf: Shelf, case_id: str) -> Facts | None:
    """The case file that has the ID; None where none has. Raises UsageError where several have it."""
    holders = [facts for facts in shelf.facts if facts.id and facts.id.casefold() == case_id.casefold()]
    if len(holders) > 1:
        raise UsageError(f"the ID '{case_id}' is that of {' and of '.join(facts.file for facts in holders)}")
    return holders[0] if holders else None


def unknown(shelf: Shelf, case_id: str, *, gone_too: bool = False) -> UsageError:
    """That there is no such case, with the nearest one; `gone_too` looks among those that vanished as well."""
    ids = [facts.id for facts in shelf.facts if facts.id]
    ids += [life.id for life in shelf.lives.values()] if gone_too else []
    broken = [facts.file for facts in shelf.facts if facts.id is None]
    may_be = f"; it may be in {broken[0]}, whose ID cannot be read: see `agenteval validate`" if broken else ""
    return UsageError(f"no case '{case_id}'{did_you_mean(case_id, ids) or may_be}")


def formatted(raw: bytes) -> bytes:
    """The file as `fmt` writes it. Raises UsageError where its keys cannot be moved."""
    return edits.tidied(edits.in_order(raw, order_of_keys()))


def unreadable(file: str, error: OSError) -> Problem:
    """That a file cannot be read."""
    return Problem(file=file, line=1, column=1, rule="file", message=f"cannot be read: {error.strerror}")


def refuse_errors(problems: Iterable[Problem]) -> None:
    """Raise InvalidFilesError with the errors among the problems, where there are any."""
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise InvalidFilesError(errors)


def ledger_with(raw: bytes | None, entry: Mapping[str, str]) -> bytes:
    """The ledger's file with one more entry; begun where there is none."""
    return edits.with_item(LEDGER_START.encode() if raw is None else raw, "retired", dict(entry))


def quarantined(raw: bytes, quarantine: Mapping[str, str]) -> bytes:
    """The case's file with a quarantine. One that is there keeps its first day, and what is not said anew."""
    document = yaml_reader.read("", raw).document
    before = document.data.get("quarantine", {}) if document else {}
    since = {"since": before["since"]} if "since" in before else {}
    merged = {**before, **quarantine, **since}
    order = ("reason", "since", "until", "issue", "owner")
    return edits.with_key(raw, "quarantine", {key: merged[key] for key in order if key in merged}, order_of_keys())


def day(text: str) -> str:
    """A day of the calendar that is not past. Raises UsageError for anything else."""
    try:
        read = dt.date.fromisoformat(text).isoformat()
    except ValueError:
        read = ""
    if read != text:
        raise UsageError(f"'{text}' is not a day; write it as 2026-12-01")
    if text < today():
        raise UsageError(f"{text} is past; say until when from now on")
    return text
