"""Which IDs the git history has held, for which cases, and where they went. Cached by the commit it was read at.

An ID is born in a commit that has it and whose parents have not, and dies the other way round. Born again after a
death, it must be the same case: one whose input some earlier version had. A revert brings the same case back; another
case under an old ID would be compared with the verdicts of the first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

import msgspec

from agenteval_cli import forked, git, ledger, yaml_reader
from agenteval_cli.caches import FOLDER, write_cache
from agenteval_cli.digests import digest_of_input
from agenteval_cli.escape import as_text
from agenteval_cli.git import Change

MANY = 200  # blobs that are worth a second process
RECIPE = 1  # of the cache: raise it when what is kept, or how it is worked out, changes


class Version(msgspec.Struct, frozen=True, array_like=True):
    """What one blob was: a case's ID and the digest of what it asked, as far as it could be read."""

    id: str | None = None
    asked: str | None = None


class Life(msgspec.Struct, array_like=True):
    """One ID through history: how it was written, what it asked, its last file, its last death, its reuse."""

    id: str
    file: str
    asked: set[str] = msgspec.field(default_factory=set)
    died_in: str | None = None
    reused_in: str | None = None


class History(msgspec.Struct, array_like=True):
    """All IDs, by their folded form, up to the commit `tip`; `present` are those that it has."""

    recipe: int
    folder: str
    tip: str | None = None
    lives: dict[str, Life] = msgspec.field(default_factory=dict)
    present: set[str] = msgspec.field(default_factory=set)
    shallow: bool = False


def history_of(root: Path, folder: str, known_versions: Mapping[str, Version] | None = None) -> History | None:
    """The history of the folder up to HEAD; None outside git. Empty where there is no commit yet.

    `known_versions` are blobs that need not be read again.
    """
    head, shallow = git.head_of(root)
    if shallow is None:
        return None
    path = root / FOLDER / "history.msgpack"
    known = _remembered(path, folder)
    if head is None:
        return History(RECIPE, folder, shallow=shallow)
    if known is None or (known.tip != head and not (known.tip and git.is_ancestor(root, known.tip, head))):
        known = History(RECIPE, folder)
    if known.tip != head or known.shallow != shallow:
        _follow(root, known, head, known_versions or {})
        known.shallow = shallow
        with contextlib.suppress(OSError):
            write_cache(path, msgspec.msgpack.encode(known))
    return known


def _remembered(path: Path, folder: str) -> History | None:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        known = msgspec.msgpack.decode(path.read_bytes(), type=History)
        if (known.recipe, known.folder) == (RECIPE, folder):
            return known
    return None


def _follow(root: Path, history: History, head: str, known_versions: Mapping[str, Version]) -> None:
    """Take in the commits from the tip to the head."""
    found = git.changes(root, history.folder, history.tip, head)
    changes = [
        msgspec.structs.replace(change, file=as_text(change.file))
        for change in found
        if _is_case(change.file, history.folder)
    ]
    tree = {
        name: blob for name, blob in git.files_at(root, head, history.folder).items() if _is_case(name, history.folder)
    }
    blobs = {blob for change in changes for blob in (change.before, change.after) if blob} | set(tree.values())
    versions = {blob: known_versions[blob] for blob in blobs if blob in known_versions}
    versions.update(_read(root, [blob for blob in blobs if blob not in versions]))
    take_in(history.lives, changes, versions)
    history.present = {
        version.id.casefold() for blob in tree.values() if (version := versions.get(blob)) and version.id
    }
    history.tip = head


def take_in(lives: dict[str, Life], changes: Iterable[Change], versions: Mapping[str, Version]) -> None:
    """Follow the changes, oldest first, and write down births, deaths and what each ID asked."""
    for commit, group in groupby(changes, key=lambda change: change.commit):
        of_commit = list(group)
        before = {version.id.casefold() for _, version in _held(of_commit, versions, before=True) if version.id}
        after = [(file, version) for file, version in _held(of_commit, versions, before=False) if version.id]
        for file, version in after:
            _seen(lives, str(version.id), file, version.asked, commit, born=str(version.id).casefold() not in before)
        for gone in before - {str(version.id).casefold() for _, version in after}:
            if gone in lives:
                lives[gone].died_in = commit


def _held(changes: list[Change], versions: Mapping[str, Version], *, before: bool) -> Iterator[tuple[str, Version]]:
    for change in changes:
        blob = change.before if before else change.after
        if blob and blob in versions:
            yield change.file, versions[blob]


def _seen(lives: dict[str, Life], case_id: str, file: str, asked: str | None, commit: str, *, born: bool) -> None:
    life = lives.setdefault(case_id.casefold(), Life(case_id, file))
    if born and life.died_in and asked and asked not in life.asked:
        life.reused_in = commit
    life.id, life.file = case_id, file
    if asked:
        life.asked.add(asked)


def _read(root: Path, blobs: list[str]) -> dict[str, Version]:
    """Read blobs that nobody knows, on all cores where there are many."""
    raws = list(git.contents(root, blobs).items())
    if len(raws) < MANY:
        return {blob: _version(raw) for blob, raw in raws}
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(dict[str, Version]).decode
    pieces = forked.split(raws, os.cpu_count() or 1)
    done = forked.each(pieces, lambda piece: encode({blob: _version(raw) for blob, raw in piece}))
    return {blob: version for part in done for blob, version in decode(part).items()}


def _is_case(name: str, folder: str) -> bool:
    return name.endswith((".yaml", ".yml")) and name != f"{folder}/{ledger.FILE_NAME}"


def _version(raw: bytes) -> Version:
    """What a blob says it was. Old files need not be valid now; an ID and an input are enough."""
    document = yaml_reader.read("", raw).document
    if document is None or not isinstance(document.data, dict) or not isinstance(document.data.get("id"), str):
        return Version()
    with contextlib.suppress(TypeError, AttributeError, KeyError):
        return Version(document.data["id"], digest_of_input(document.data))
    return Version(document.data["id"])
