"""What a kind of check owes: how it decides, what is wrong with one before anything runs, and its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.finding import Finding
from agenteval_cli.transcript import Transcript

Path = tuple[str | int, ...]
Faults = Iterator[tuple[Path, str]]
TEXT_OPTIONS = frozenset({"ignore_case", "ignore_space", "fold", "normal_form"})
COMMON_OPTIONS = frozenset({"severity", "note", "turn"})


class Told(msgspec.Struct, frozen=True):
    """What was asked of others before grading, by the name of the check, since checks do no I/O.

    `answers` has what programs outside said, `scores` the highest cosine between embeddings, from -1 to 1.
    """

    answers: Mapping[str, Finding] = MappingProxyType({})
    scores: Mapping[str, float] = MappingProxyType({})


NOTHING_TOLD = Told()


class Evidence(msgspec.Struct, frozen=True):
    """All that a check may look at.

    `context` are the documents that the case gives, None where it gives none; `stop` is why a conversation with a
    simulated user stopped, None where there was none.
    """

    transcript: Transcript
    context: tuple[str, ...] | None = None
    told: Told = NOTHING_TOLD
    stop: str | None = None


def nothing_wrong(_item: Mapping[str, Any]) -> Faults:
    """For kinds whose operand the schema describes in full."""
    return iter(())


class Kind(msgspec.Struct, frozen=True):
    """One kind of check. `holds` completes "it holds when"; `options` are the keys that may stand beside it.

    `faults` gets the check as it stands in the case: (path inside it, sentence) of each, under validation's `rule`.
    """

    decide: Callable[[OutcomeCheck, Evidence], Finding]
    holds: str
    options: frozenset[str] = frozenset()
    faults: Callable[[Mapping[str, Any]], Faults] = nothing_wrong
    rule: str = "bad-check"
