"""What was said so far: the customer's messages, read, and the desk's own answers, known again by their phrases."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Formatter

from support_desk.protocol import Message
from support_desk.reading import Reading, read
from support_desk.wording import wordings

NEVER_ALONE = ("day", "json_preface")  # parts of answers


@dataclass(frozen=True, slots=True)
class Said:
    phrase: str
    values: Mapping[str, str]


Entry = Reading | Said


def history_of(messages: Sequence[Message]) -> tuple[Entry, ...]:
    """Oldest first; the last one is what the customer says now."""
    entries: list[Entry] = []
    for message in messages:
        if message.role == "user":
            entries.append(read(message.content, is_address=last_said(entries) == "need_address"))
        elif message.role == "assistant":
            entries += said_in(message.content)
    return tuple(entries)


def last_said(entries: Sequence[Entry]) -> str | None:
    """The phrase that these end with; None where they end with something else."""
    match entries:
        case [*_, Said(phrase)]:
            return phrase
    return None


def said_in(answer: str) -> list[Said]:
    """The phrases of an answer, with what was filled into them; what the desk does not know again is left out."""
    return [said for part in answer.split("\n\n") if (said := _said(part)) is not None]


def _said(part: str) -> Said | None:
    found = ((phrase, words.fullmatch(part)) for phrase, words in _patterns())
    return next((Said(phrase, match.groupdict()) for phrase, match in found if match), None)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Those with the most words of their own come first: "is cancelled" also fits "is {status}"."""
    known = [(key, list(Formatter().parse(text))) for key, text in wordings() if key not in NEVER_ALONE]
    known.sort(key=lambda one: -sum(len(literal) for literal, *_ in one[1]))
    return tuple((key.removesuffix("_short"), re.compile("".join(map(_part, parts)))) for key, parts in known)


def _part(part: tuple[str, str | None, str | None, str | None]) -> str:
    literal, name, *_ = part
    return re.escape(literal) + (f"(?P<{name}>.+?)" if name else "")
