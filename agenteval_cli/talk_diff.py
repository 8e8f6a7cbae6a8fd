"""Where two conversations part: the first turn at which somebody says something else. Pure, over transcripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from agenteval_cli.compare import same
from agenteval_cli.phrases import as_text, count
from agenteval_cli.talk import STOPS, Talk
from agenteval_cli.transcript import Transcript


class Conversed(msgspec.Struct, frozen=True):
    """One attempt of several turns: its number, the user's side, and what the agent answered to each turn."""

    attempt: int
    talk: Talk
    turns: Sequence[Transcript]


class TalkDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation of the typical attempt of each side, and where they part.

    `turn` is the first turn (from 1) that is not the same, None where all are. `difference` says whose words differ
    there: same, user, agent, or end, where one side has no such turn or answer. `base` and `head` are those words, None
    where there are none.
    """

    base_attempt: int
    head_attempt: int
    base_turns: int
    head_turns: int
    difference: str = "same"
    turn: int | None = None
    words: str = "every turn is the same"
    base: str | None = None
    head: str | None = None


def talk_diff(base: Conversed, head: Conversed) -> TalkDiff:
    """The first turn at which two attempts part."""
    found = TalkDiff(
        base_attempt=base.attempt,
        head_attempt=head.attempt,
        base_turns=len(base.turns),
        head_turns=len(head.turns),
    )
    for turn, who, before, after in _side_by_side(base, head):
        if before is None or after is None:
            words = _ended(who, *(("base", base) if before is None else ("head", head)))
            return replace(found, difference="end", turn=turn, words=words, base=_text(before), head=_text(after))
        if not same(before[0], after[0]):
            words = f"the {who} {_VERBS[who]} something else"
            return replace(found, difference=who, turn=turn, words=words, base=_text(before), head=_text(after))
    if base.talk.stop != head.talk.stop:
        words = f"base: {_why(base)}, head: {_why(head)}"
        return replace(found, difference="end", turn=len(base.turns), words=words)
    return found


_VERBS = MappingProxyType({"user": "says", "agent": "answers"})
_Words = tuple[Any] | None  # what was said, which may be null, or nothing


def _side_by_side(base: Conversed, head: Conversed) -> Iterator[tuple[int, str, _Words, _Words]]:
    """The words of both sides, turn by turn, the user's before the agent's; not where both say nothing."""
    for turn in range(1, max(len(base.talk.said), len(head.talk.said)) + 1):
        for who in _VERBS:
            before, after = _said(base, who, turn), _said(head, who, turn)
            if before is not None or after is not None:
                yield turn, who, before, after


def _said(side: Conversed, who: str, turn: int) -> _Words:
    said = side.talk.said if who == "user" else [each.output for each in side.turns]
    return (said[turn - 1],) if turn <= len(said) else None


def _ended(who: str, name: str, side: Conversed) -> str:
    """Why a side says nothing where the other does."""
    if who == "agent":
        return f"in {name} the agent does not answer any more"
    return f"{name} ends after {count(len(side.turns), 'turn')}: {_why(side)}"


def _why(side: Conversed) -> str:
    return STOPS.get(side.talk.stop or "", "its words were over")


def _text(words: _Words) -> str | None:
    return None if words is None else as_text(words[0])
