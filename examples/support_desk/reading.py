"""Reads a message: intents, order numbers, an amount, an address, a discount code."""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

from support_desk.wording import normalised

LEXICON = Path(__file__).parent / "lexicon.toml"
ORDER = re.compile(r"(?<![\d.,-])\d{4,6}(?!\d|[.,-]\d)")
AMOUNT = re.compile(r"(?<![\d.,])(\d+)[.,](\d{2})(?![\d.,]\d|\d)")
LIMIT = re.compile(r"(?:under|below|unter)\s*(?:€\s*)?(\d+)|(\d+)\s*(?:ユーロ)?以下")
CODE = re.compile(r"(?<![A-Za-z0-9])[A-Z]{3,}\d{1,3}(?![A-Za-z0-9])")
ADDRESS = re.compile(
    r"(?:new address(?: is)?|deliver it to|send it to|neue (?:liefer)?adresse(?: ist| lautet)?"
    r"|新しい住所は)\s*:?\s*(?P<address>[^\n]+?\d[^\n.。]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    text: str
    intents: tuple[str, ...]
    orders: tuple[str, ...]
    amount: Decimal | None
    limit: str | None
    address: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class Pattern:
    intent: str
    words: re.Pattern[str]
    instead_of: frozenset[str]


def read(message: str) -> Reading:
    text = normalised(message)
    plain = normalised(ADDRESS.sub(" ", message))
    return Reading(
        text=text,
        intents=_intents(text),
        orders=tuple(ORDER.findall(plain)),
        amount=_amount(plain),
        limit=_limit(plain),
        address=_address(message),
        code=_code(message),
    )


def _intents(text: str) -> tuple[str, ...]:
    """In the order in which the customer speaks of them."""
    found = {p: match.start() for p in _patterns() if (match := p.words.search(text))}
    hidden = {intent for pattern in found for intent in pattern.instead_of}
    spoken = sorted(found, key=lambda pattern: found[pattern])
    return tuple(pattern.intent for pattern in spoken if pattern.intent not in hidden)


@cache
def _patterns() -> tuple[Pattern, ...]:
    table = tomllib.loads(LEXICON.read_text("utf-8"))
    everything = frozenset(table)
    return tuple(
        Pattern(
            intent=intent,
            words=re.compile("|".join(entry["words"])),
            instead_of=everything - {intent} if entry.get("alone") else frozenset(entry.get("instead_of", ())),
        )
        for intent, entry in table.items()
    )


def _amount(text: str) -> Decimal | None:
    match = AMOUNT.search(text)
    return Decimal(f"{match[1]}.{match[2]}") if match else None


def _limit(text: str) -> str | None:
    match = LIMIT.search(text)
    return (match[1] or match[2]) if match else None


def _address(message: str) -> str | None:
    match = ADDRESS.search(message)
    return match["address"].strip() if match else None


def _code(message: str) -> str | None:
    match = CODE.search(unicodedata.normalize("NFKC", message))
    return match[0] if match else None
