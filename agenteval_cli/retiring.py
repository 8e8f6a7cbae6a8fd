"""A case retired: its ID goes into the ledger, then its file goes."""

from __future__ import annotations

import msgspec

from agenteval_cli import git, ledger, writing, yaml_reader
from agenteval_cli.authoring import Shelf, found, ledger_with, refuse_errors, unknown
from agenteval_cli.errors import UsageError
from agenteval_cli.history import Life


class Retirement(msgspec.Struct, frozen=True):
    """What is to be done: the entry for the ledger, None where it has the ID, and the file to remove."""

    id: str
    entry: dict[str, str] | None
    file: str | None


def retirement_of(shelf: Shelf, case_id: str, reason: str, day: str, replaced_by: str | None = None) -> Retirement:
    """What retiring the case takes. Raises UsageError for an unknown ID, one that is retired, and an unknown successor.

    A retired ID whose file is still there was interrupted between the two steps: what is left is to remove the file.
    """
    facts, life = found(shelf, case_id), shelf.lives.get(case_id.casefold())
    before = shelf.ledger.reason(case_id)
    if facts is None and before is not None:
        raise UsageError(f"'{case_id}' is retired already ({before})")
    if facts is not None and facts.id is not None:
        name, file, title = facts.id, facts.file, _title(shelf.source.raw(facts.file), facts.id)
    elif life is not None:
        _refuse_unreadable(shelf, life)
        name, file, title = life.id, None, _title_then(shelf, life)
    else:
        raise unknown(shelf, case_id, gone_too=True)
    successor = None if replaced_by is None else _successor(shelf, name, replaced_by)
    said = {"id": name, "reason": reason, "on": day, "title": title, "replaced_by": successor}
    entry = {key: text for key, text in said.items() if text is not None}
    return Retirement(name, entry if before is None else None, file)


def carry_out(shelf: Shelf, retirement: Retirement) -> None:
    """The ledger first: where this is interrupted, the ID is known and doing it again removes the file."""
    root, name = shelf.repository.root, shelf.ledger_file
    if retirement.entry is not None:
        raw = shelf.source.raw(name) if shelf.source.has(name) else None
        after = ledger_with(raw, retirement.entry)
        refuse_errors(ledger.ledger_from(name, after)[1])
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        writing.replace(root / name, after)
    if retirement.file is not None:
        writing.remove(root / retirement.file)


def _successor(shelf: Shelf, name: str, replaced_by: str) -> str:
    facts = found(shelf, replaced_by)
    if facts is None or facts.id is None:
        raise unknown(shelf, replaced_by)
    if facts.id.casefold() == name.casefold():
        raise UsageError(f"'{name}' cannot be replaced by itself")
    return facts.id


def _refuse_unreadable(shelf: Shelf, life: Life) -> None:
    """A file whose ID cannot be read may still be the case that history knows."""
    if any(facts.file == life.file and facts.id is None for facts in shelf.facts):
        raise UsageError(f"{life.file} is there, but its ID cannot be read; mend it or delete it first")


def _title(raw: bytes, case_id: str) -> str | None:
    """The title in a file of that case."""
    document = yaml_reader.read("", raw).document
    data = document.data if document and isinstance(document.data, dict) else {}
    title, said = data.get("title"), data.get("id")
    return title if isinstance(title, str) and isinstance(said, str) and said.casefold() == case_id.casefold() else None


def _title_then(shelf: Shelf, life: Life) -> str | None:
    """The title that a case had when history last had it, as far as git can still tell."""
    root = shelf.repository.root
    for commit in ("HEAD", *([f"{life.died_in}^"] if life.died_in else [])):
        for raw in git.contents(root, git.files_at(root, commit, life.file).values()).values():
            if title := _title(raw, life.id):
                return title
    return None
