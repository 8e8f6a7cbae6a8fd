"""Which IDs the git history has held, for which cases, and where they went. Cached by the commit it was read at.

An ID is born in a commit that has it and none of whose parents has, and dies where a commit lacks what a parent had.
What it asked from one birth on is a lineage; a birth that asks what an earlier lineage asked goes on with that one, as
a revert does. Two lineages of which one has died are two cases under one ID.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from agenteval_cli import forked, git, ledger, yaml_reader
from agenteval_cli.caches import FOLDER, write_cache
from agenteval_cli.checking import Facts
from agenteval_cli.digests import digest_of_input
from agenteval_cli.escape import as_text
from agenteval_cli.git import Change, CommitChanges
from agenteval_cli.sources import is_yaml

MANY = 200  # blobs that are worth a second process
_BATCH = 1000  # blobs that are held at once
RECIPE = 4  # of the cache: raise it when what is kept, or how it is worked out, changes


class Version(msgspec.Struct, frozen=True, array_like=True):
    """What one blob was: a case's ID and the digest of what it asked, as far as it could be read."""

    id: str | None = None
    asked: str | None = None


class Lineage(msgspec.Struct, array_like=True):
    """One case under an ID: its last file, the commits of its birth and last death, what it asked between them."""

    file: str
    born_in: str
    died_in: str | None = None
    asked: set[str] = msgspec.field(default_factory=set)


class Life(msgspec.Struct, array_like=True):
    """One ID through history: how it was written, its last file, its lineages in order, its last death."""

    id: str
    file: str
    lineages: list[Lineage] = msgspec.field(default_factory=list)
    died_in: str | None = None

    def lineage_of(self, asked: str | None) -> int | None:
        """The lineage that asked this, or None."""
        return next((index for index, lineage in enumerate(self.lineages) if asked in lineage.asked), None)

    def other_case(self, asked: str | None) -> Lineage | None:
        """The other case that had the ID before the one that asks this; None where that is the first, or came back."""
        own = self.lineage_of(asked)
        for index, lineage in enumerate(self.lineages):
            came_back = own is not None and self.lineages[own].died_in is not None and own < index
            if lineage.died_in is not None and index != own and not came_back:
                return lineage
        return None


class History(msgspec.Struct, array_like=True):
    """All IDs, by their folded form, up to the commit `tip`; `present` are those that it has, with what they ask."""

    recipe: int
    folder: str
    tip: str | None = None
    lives: dict[str, Life] = msgspec.field(default_factory=dict)
    present: dict[str, str | None] = msgspec.field(default_factory=dict)
    shallow: bool = False


def history_of(root: Path, folder: str, facts_known: Iterable[Facts] = ()) -> History | None:
    """The history of the folder up to HEAD; None outside git. Empty where there is no commit yet.

    Blobs whose facts are known need not be read again. Raises git.HistoryError where git cannot tell.
    """
    head, shallow = git.head_of(root)
    if shallow is None:
        return None
    path = root / FOLDER / "history.msgpack"
    known = _remembered(path, folder)
    if head is None:
        return History(RECIPE, folder, shallow=shallow)
    if known is None or known.shallow != shallow or not _leads_to(root, known.tip, head):
        known = History(RECIPE, folder, shallow=shallow)
    if known.tip != head:
        versions = {facts.blob: Version(facts.id, facts.input) for facts in facts_known if facts.blob}
        _follow(root, known, head, versions)
        with contextlib.suppress(OSError):
            write_cache(path, msgspec.msgpack.encode(known))
    return known


def _leads_to(root: Path, tip: str | None, head: str) -> bool:
    return tip == head or (tip is not None and git.is_ancestor(root, tip, head))


def _remembered(path: Path, folder: str) -> History | None:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        known = msgspec.msgpack.decode(path.read_bytes(), type=History)
        if (known.recipe, known.folder) == (RECIPE, folder):
            return known
    return None


def _follow(root: Path, history: History, head: str, known_versions: Mapping[str, Version]) -> None:
    """Take in the commits from the tip to the head."""
    commits = git.changes(root, history.folder, history.tip, head)
    tree = {name: blob for name, blob in git.files_at(root, head, history.folder).items() if is_yaml(name)}
    tree.pop(f"{history.folder}/{ledger.FILE_NAME}", None)
    blobs = set(tree.values())
    for commit in commits:
        for change in (change for changes in commit.beside for change in changes if is_yaml(change.file)):
            blobs |= {blob for blob in (change.before, change.after) if blob}
    versions = {blob: known_versions[blob] for blob in blobs if blob in known_versions}
    versions.update(_read(root, [blob for blob in blobs if blob not in versions]))
    take_in(history.lives, commits, versions, lambda commit, file: git.has_file(root, commit, file))
    held = (versions.get(blob, Version()) for blob in tree.values())
    history.present = {version.id.casefold(): version.asked for version in held if version.id}
    history.tip = head


def take_in(
    lives: dict[str, Life],
    commits: Iterable[CommitChanges],
    versions: Mapping[str, Version],
    has_file: Callable[[str, str], bool],
) -> None:
    """Follow the commits, oldest first, and write down births, deaths and what each ID asked.

    `has_file` tells whether a commit has a file; it is asked only where an ID may have been in two files.
    """
    for commit in commits:
        beside = [_Section(changes, versions) for changes in commit.beside]
        for section in beside:
            for folded, (file, version) in section.after.items():
                born = all(other.bears(folded) for other in beside) and len(beside) >= commit.parents
                _seen(lives, file, version, section.before.get(folded), commit.commit, born=born)
        for section in beside:
            for folded, version in section.before.items():
                if folded not in section.after and folded in lives and lives[folded].file not in section.unreadable:
                    _gone(lives[folded], version, commit, has_file)


class _Section:
    """What a commit changed beside one parent, by ID."""

    def __init__(self, changes: list[Change], versions: Mapping[str, Version]) -> None:
        self.before: dict[str, Version] = {}
        self.after: dict[str, tuple[str, Version]] = {}
        self.unreadable: set[str] = set()
        for change in changes:
            old, new = versions.get(change.before or ""), versions.get(change.after or "")
            if old and old.id:
                self.before[old.id.casefold()] = old
            if new and new.id:
                self.after[new.id.casefold()] = (as_text(change.file), new)
            elif new:
                self.unreadable.add(as_text(change.file))

    def bears(self, folded: str) -> bool:
        return folded in self.after and folded not in self.before


def _seen(
    lives: dict[str, Life], file: str, version: Version, before: Version | None, commit: str, *, born: bool
) -> None:
    """One version of a case: at the birth of its ID, or as its lineage goes on."""
    assert version.id is not None  # noqa: S101  # only versions with an ID get here
    life = lives.setdefault(version.id.casefold(), Life(version.id, file))
    life.id, life.file = version.id, file
    own = life.lineage_of(version.asked)
    if own is None and not born:
        own = life.lineage_of(before.asked) if before else len(life.lineages) - 1
    if own is None or not life.lineages:
        life.lineages.append(Lineage(file, commit))
        own = -1
    life.lineages[own].file = file
    if version.asked:
        life.lineages[own].asked.add(version.asked)


def _gone(life: Life, version: Version, commit: CommitChanges, has_file: Callable[[str, str], bool]) -> None:
    """A case that a commit lacks: dead, unless a merge only took over its death, or it had its ID beside another."""
    own = life.lineage_of(version.asked)
    lineage = life.lineages[-1 if own is None else own] if life.lineages else None
    if lineage is None or (lineage.died_in is not None and commit.parents > 1):
        return
    others = [other for other in life.lineages if other is not lineage and other.died_in is None]
    if any(has_file(commit.commit, other.file) for other in others):
        life.lineages.remove(lineage)
    else:
        lineage.died_in = life.died_in = commit.commit


def _read(root: Path, blobs: list[str]) -> dict[str, Version]:
    """Read blobs that nobody knows, on all cores where there are many."""
    if len(blobs) < MANY:
        return dict(_versions(root, blobs))
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(dict[str, Version]).decode
    pieces = forked.split(blobs, os.cpu_count() or 1)
    done = forked.each(pieces, lambda piece: encode(dict(_versions(root, piece))))
    return {blob: version for part in done for blob, version in decode(part).items()}


def _versions(root: Path, blobs: list[str]) -> Iterator[tuple[str, Version]]:
    """Each blob with what it was, a batch at a time: no more than that is ever held."""
    for start in range(0, len(blobs), _BATCH):
        for blob, raw in git.contents(root, blobs[start : start + _BATCH]).items():
            yield blob, _version(raw)


def _version(raw: bytes) -> Version:
    """What a blob says it was. Old files need not be valid now; an ID and an input are enough."""
    document = yaml_reader.read("", raw).document
    if document is None or not isinstance(document.data, dict) or not isinstance(document.data.get("id"), str):
        return Version()
    with contextlib.suppress(TypeError, AttributeError, KeyError):
        return Version(document.data["id"], digest_of_input(document.data))
    return Version(document.data["id"])
