"""Which IDs the git history has held, for which cases, and where they went. Cached by the commit it was read at.

An ID is born in a commit that has it and none of whose parents has, and dies where a commit lacks what a parent had.
What it asked from one birth on is a lineage; a birth that asks what an earlier lineage asked goes on with that one, as
a revert does. Two lineages of which one has died are two cases under one ID.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from agenteval_cli import forked, git, ledger, yaml_reader
from agenteval_cli.caches import FOLDER, write_cache
from agenteval_cli.checking import Facts
from agenteval_cli.config import FILE_NAME, folder_of_cases
from agenteval_cli.digests import digest_of_input
from agenteval_cli.escape import as_text
from agenteval_cli.git import Change, CommitChanges
from agenteval_cli.sources import is_yaml

MANY = 200  # blobs that are worth a second process
_BATCH = 1000  # blobs that are held at once
RECIPE = 6  # of the cache: raise it when what is kept, or how it is worked out, changes
_WHOLE, _BRIEF = "history.msgpack", "history-brief.msgpack"


class Version(msgspec.Struct, frozen=True, array_like=True):
    """What one blob was: a case's ID and the digest of what it asked, as far as it could be read."""

    id: str | None = None
    asked: str | None = None


class Lineage(msgspec.Struct, array_like=True, gc=False):
    """One case under an ID: its last file, the commits of its birth and last death, what it asked between them."""

    file: str
    born_in: str
    died_in: str | None = None
    asked: list[str] = []


class Life(msgspec.Struct, array_like=True, gc=False):
    """One ID through history: how it was written, its last file, its lineages in order, its last death."""

    id: str
    file: str
    lineages: list[Lineage] = []
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
    """All IDs, by their folded form, up to the commit `tip`; `present` is for those that ended once and that it has
    nonetheless, with what they ask. `folders` are where it was looked: the folder of cases, and those of old."""

    recipe: int
    folder: str
    folders: list[str]
    shallow: bool
    tip: str | None = None
    lives: dict[str, Life] = {}
    present: dict[str, str | None] = {}


class Brief(msgspec.Struct, array_like=True, frozen=True):
    """What of a history is needed where nothing is wrong: the IDs that never died, and the lives of the others."""

    recipe: int
    folder: str
    shallow: bool
    tip: str | None = None
    living: list[str] = []
    ended: dict[str, Life] = {}
    present: dict[str, str | None] = {}


Kept = TypeVar("Kept", History, Brief)


class Past:
    """What became of the IDs up to HEAD; `in_git` and `shallow` tell how much of that could be seen.

    Cases are looked for in the folder, and in every one that a committed configuration has ever named: who moves the
    folder does not leave its past behind.

    git is asked when this is made, and `follow` takes in what it says. Both raise git.HistoryError where git cannot
    tell. The lives of IDs that never died are read only when `lives` is asked for.
    """

    def __init__(self, root: Path, folder: str) -> None:
        self._root, self.folder = root, folder
        self._head, shallow = git.head_of(root)
        self.in_git, self.shallow = shallow is not None, bool(shallow)
        self._brief = Brief(RECIPE, folder, self.shallow)
        self._history: History | None = None
        self._unseen: git.Changes | None = None
        if self._head is None:
            return
        brief = _remembered(root / FOLDER / _BRIEF, Brief, folder)
        if brief is not None and (brief.tip, brief.shallow) == (self._head, self.shallow):
            self._brief = brief
        else:
            self._look_back(self._head)

    def _look_back(self, head: str) -> None:
        known = _remembered(self._root / FOLDER / _WHOLE, History, self.folder)
        if known is None or known.shallow != self.shallow or not _leads_to(self._root, known.tip, head):
            known = History(RECIPE, self.folder, [self.folder], self.shallow)
        if known.tip != head:
            folders = sorted({*known.folders, *_folders_named(self._root, known.tip, head)})
            if folders != known.folders:  # one that nobody has looked into yet
                known = History(RECIPE, self.folder, folders, self.shallow)
            self._unseen = git.Changes(self._root, folders, known.tip, head)
        self._history = known

    def follow(self, facts_known: Iterable[Facts] = ()) -> None:
        """Take in what is new. Blobs whose facts are known need not be read again."""
        history, head = self._history, self._head
        if history is None or head is None:
            return
        if self._unseen is not None:
            versions = {facts.blob: Version(facts.id, facts.input) for facts in facts_known if facts.blob}
            _follow(self._root, history, head, self._unseen, versions)
            self._unseen = None
            self._keep(_WHOLE, history)
        living = [folded for folded, life in history.lives.items() if life.died_in is None]
        ended = {folded: life for folded, life in history.lives.items() if life.died_in is not None}
        self._brief = Brief(RECIPE, self.folder, self.shallow, head, living, ended, history.present)
        self._keep(_BRIEF, self._brief)

    def _keep(self, name: str, value: History | Brief) -> None:
        with contextlib.suppress(OSError):
            write_cache(self._root / FOLDER / name, msgspec.msgpack.encode(value))

    @property
    def living(self) -> Collection[str]:
        """The folded IDs that never died."""
        return self._brief.living

    @property
    def ended(self) -> Mapping[str, Life]:
        """The lives of the IDs that died at least once."""
        return self._brief.ended

    @property
    def present(self) -> Mapping[str, str | None]:
        """Those of the ended that HEAD has nonetheless, with what they ask."""
        return self._brief.present

    @property
    def lives(self) -> Mapping[str, Life]:
        """The lives of all IDs."""
        if self._history is None and self._head is not None:
            self._look_back(self._head)
            self.follow()
        return self._history.lives if self._history else {}


def history_of(root: Path, folder: str, facts_known: Iterable[Facts] = ()) -> Past | None:
    """The past of the folder up to HEAD, followed; None outside git. Raises git.HistoryError where git cannot tell."""
    past = Past(root, folder)
    past.follow(facts_known)
    return past if past.in_git else None


def staged_ids(root: Path, folder: str) -> dict[str, str]:
    """The folded IDs that git's index has otherwise than HEAD, each with its file: the next commit will hold them.

    Raises git.HistoryError where git cannot tell.
    """
    staged = {file: blob for file, blob in git.newly_staged(root, folder).items() if is_yaml(file)}
    versions = dict(_versions(root, list(set(staged.values()))))
    held = ((versions[blob].id, file) for file, blob in staged.items())
    return {case_id.casefold(): file for case_id, file in held if case_id is not None}


def _folders_named(root: Path, since: str | None, until: str) -> set[str]:
    """The folders of cases that the configurations of these commits name."""
    commits = git.Changes(root, [FILE_NAME], since, until)
    blobs = [change.after for commit in commits for changes in commit.beside for change in changes if change.after]
    named = (folder_of_cases(raw) for raw in git.contents(root, blobs).values())
    return {folder for folder in named if folder is not None}


def _leads_to(root: Path, tip: str | None, head: str) -> bool:
    return tip == head or (tip is not None and git.is_ancestor(root, tip, head))


def _remembered(path: Path, kind: type[Kept], folder: str) -> Kept | None:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        known = msgspec.msgpack.decode(path.read_bytes(), type=kind)
        if (known.recipe, known.folder) == (RECIPE, folder):
            return known
    return None


def _follow(
    root: Path, history: History, head: str, commits: Iterable[CommitChanges], known_versions: Mapping[str, Version]
) -> None:
    """Take in the commits from the tip to the head."""
    versions = dict(known_versions)
    changed = (change for commit in commits for changes in commit.beside for change in changes if is_yaml(change.file))
    versions.update(_read(root, {blob for change in changed for blob in (change.before, change.after)}, versions))
    take_in(history.lives, commits, versions, lambda commit, file: git.has_file(root, commit, file))
    if any(life.died_in is not None for life in history.lives.values()):
        history.present = _present(root, history, head, versions)
    history.tip = head


def _present(root: Path, history: History, head: str, versions: dict[str, Version]) -> dict[str, str | None]:
    """The IDs that ended once and that the head has nonetheless, with what they ask there."""
    tree = {name: blob for name, blob in git.files_at(root, head, *history.folders).items() if is_yaml(name)}
    tree.pop(f"{history.folder}/{ledger.FILE_NAME}", None)
    versions.update(_read(root, set(tree.values()), versions))
    in_order = sorted(tree, key=lambda name: name.startswith(f"{history.folder}/"))  # what lies there now has the word
    held = ((version.id.casefold(), version.asked) for name in in_order if (version := versions[tree[name]]).id)
    return {folded: asked for folded, asked in held if history.lives[folded].died_in is not None}


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
        in_all = len(beside) >= commit.parents
        for section in beside:
            for folded, (file, version) in section.after.items():
                born = in_all and all(other.bears(folded) for other in beside)
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
    if version.asked and version.asked not in life.lineages[own].asked:
        life.lineages[own].asked.append(version.asked)


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


def _read(root: Path, blobs: Iterable[str | None], known: Mapping[str, Version]) -> dict[str, Version]:
    """Read the blobs that are not known, on all cores where there are many."""
    unknown = [blob for blob in blobs if blob and blob not in known]
    if len(unknown) < MANY:
        return dict(_versions(root, unknown))
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(dict[str, Version]).decode
    done = forked.each(
        forked.pieces_of(unknown, MANY),
        lambda piece: encode(dict(_versions(root, piece))),
        begin=yaml_reader.read_light_events,
    )
    return {blob: version for _, raw in done for blob, version in decode(raw).items()}


def _versions(root: Path, blobs: Sequence[str]) -> Iterator[tuple[str, Version]]:
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
