"""Rules over an ID's whole life: never reused, never gone without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def findings(
    known: Sequence[Facts], retired: Mapping[str, str], lives: Mapping[str, Life], present: Mapping[str, str | None]
) -> Iterator[Finding]:
    """What is wrong with the IDs of `known`, the cases there are now.

    `retired` has folded IDs with their reasons, `lives` all that history held, `present` those that HEAD has.
    """
    for facts in known:
        if facts.id is None:
            continue
        folded = facts.id.casefold()
        if folded in retired:
            words = (
                f"the ID '{facts.id}' was retired ({retired[folded]}) and is never used again; give the case another"
            )
            yield Finding(facts.file, ("id",), "retired-id", words)
        elif (life := lives.get(folded)) and life.died_in:  # an ID that never died named one case only
            yield from _reused(facts, life, present)
    yield from _vanished(known, retired, lives, present)


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


def _vanished(
    known: Sequence[Facts], retired: Mapping[str, str], lives: Mapping[str, Life], present: Mapping[str, str | None]
) -> Iterator[Finding]:
    there = {facts.id.casefold() for facts in known if facts.id is not None}
    unreadable = {facts.file for facts in known if facts.id is None}
    for folded, life in lives.items():
        if folded in there or folded in retired or life.file in unreadable:
            continue
        gone = f"in {life.died_in[:12]}" if life.died_in and folded not in present else "in the working tree"
        words = f"the case '{life.id}' went away {gone} without being retired; bring it back, or "
        yield Finding(life.file, (), "vanished-case", f"{words}`agenteval retire {life.id} --reason …`")


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
