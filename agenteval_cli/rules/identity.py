"""Rules over an ID's whole life: never reused, never gone without a word."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from agenteval_cli.rules.across import Facts, Finding
from agenteval_cli.rules.interface import Rule


class Lineage(Protocol):
    """One case that had an ID: see history.Lineage."""

    file: str
    born_in: str
    died_in: str | None


class Life(Protocol):
    """What these rules need to know of an ID's past: see history.Life."""

    id: str
    file: str
    died_in: str | None

    @property
    def lineages(self) -> Sequence[Lineage]: ...
    def lineage_of(self, asked: str | None) -> int | None: ...
    def other_case(self, asked: str | None) -> Lineage | None: ...


class Past(Protocol):
    """What became of all IDs, by their folded form: see history.Past."""

    @property
    def folder(self) -> str: ...
    @property
    def living(self) -> Collection[str]: ...
    @property
    def ended(self) -> Mapping[str, Life]: ...
    @property
    def present(self) -> Mapping[str, str | None]: ...
    @property
    def lives(self) -> Mapping[str, Life]: ...


def findings(known: Sequence[Facts], retired: Mapping[str, str], past: Past | None) -> Iterator[Finding]:
    """What is wrong with the IDs of `known`, the cases there are now; `retired` has folded IDs with their reasons.

    Without a past they are held against the retired ones only.
    """
    there = {facts.id.casefold() for facts in known if facts.id is not None}
    ended = past.ended if past else {}
    if retired or ended:
        for facts in known:
            folded = (facts.id or "").casefold()
            if folded in retired:
                words = f"the ID '{facts.id}' was retired ({retired[folded]}) and is never used again"
                yield Finding(facts.file, ("id",), "retired-id", f"{words}; give the case another")
            elif past and folded in ended:  # an ID that never died named one case only
                yield from _reused(facts, ended[folded], past.present)
    if past:
        yield from _vanished(known, there | retired.keys(), past)


def _reused(facts: Facts, life: Life, present: Mapping[str, str | None]) -> Iterator[Finding]:
    """An ID that was gone and is back must be the same case."""
    folded = str(facts.id).casefold()
    asked = facts.input
    if folded in present and life.lineage_of(asked) is None:
        asked = present[folded]  # edited since the last commit: the case that was committed is what counts
    elif asked is None:
        return
    other = life.other_case(asked)
    if other is not None:
        own = life.lineage_of(asked)
        since = f"since {life.lineages[own].born_in[:12]} " if own is not None else ""
        gone = f"though that case went away in {str(other.died_in)[:12]}"
        words = f"the ID '{facts.id}' once named another case ({other.file}) and names this one {since}{gone}"
        yield Finding(facts.file, ("id",), "reused-id", f"{words}; give it a new ID")


def _vanished(known: Sequence[Facts], accounted_for: Collection[str], past: Past) -> Iterator[Finding]:
    """The IDs that no case has and nobody retired; a file that cannot be read may still be the one that had it."""
    missing = [folded for ids in (past.living, past.ended) for folded in ids if folded not in accounted_for]
    if not missing:
        return
    unreadable = {facts.file for facts in known if facts.id is None}
    for folded in missing:
        life = past.lives[folded]
        if life.file in unreadable:
            continue
        gone = _how_it_went(life, past, committed=folded not in past.present)
        words = f"the case '{life.id}' went away {gone} without being retired; bring it back, or "
        yield Finding(life.file, (), "vanished-case", f"{words}`agenteval retire {life.id} --reason …`")


def _how_it_went(life: Life, past: Past, *, committed: bool) -> str:
    if life.died_in and committed:
        return f"in {life.died_in[:12]}"
    if not life.file.startswith(f"{past.folder}/"):
        return f"when {past.folder}/ became the folder of cases"
    return "in the working tree"


RULES = (
    Rule(
        name="retired-id",
        summary="an ID that the ledger has retired",
        why="Old runs and baselines know another case by it. IDs cost nothing: `agenteval new` makes one.",
    ),
    Rule(
        name="reused-id",
        summary="an ID that the git history held for another case",
        why="Runs are compared by ID, and the history of this case would begin with another's. A revert that brings "
        "the same case back is fine: it asks what some earlier version asked.",
    ),
    Rule(
        name="vanished-case",
        summary="a case that history had and that went away without being retired",
        why="A deleted case stops protecting what it protected, and its ID could be taken again. `agenteval retire` "
        "says why it went and keeps its ID.",
    ),
)
