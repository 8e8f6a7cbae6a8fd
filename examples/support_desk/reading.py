"""Reads a message: intents, order numbers, an amount, an address, a discount code, a yes or a no."""

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    r"|新しい住所は)(?!\s*(?:for|für|zu)\b)\s*:?\s*(?P<address>[^\n]+?\d[^\n.。]*)",
    re.IGNORECASE,
)
# What an address looks like where one was asked for.
ADDRESS_ALONE = re.compile(r"(?=.*\d)(?=.*(?:,|、|[都道府県].*[市区町村])).+", re.DOTALL)
YES = re.compile(r"(?:yes|yeah|sure|ok(?:ay)?|please do|go ahead|ja|gern|はい|お願い)(?!\w*[a-zäöü])")
NO = re.compile(r"(?:no|nope|not|don't|nein|nicht|いいえ|いや)(?!\w*[a-zäöü])")
OTHER = re.compile(r"\bother (?:one|order)|\b(?:die|der) andere|もう一[つ方]|別の注文")


@dataclass(frozen=True, slots=True)
class Reading:
    message: str
    text: str
    intents: tuple[str, ...]
    orders: tuple[str, ...]
    amount: Decimal | None
    limit: str | None
    address: str | None
    code: str | None
    agrees: bool
    declines: bool
    other: bool

    @property
    def has_details(self) -> bool:
        return bool(self.orders or self.other or self.amount or self.address or self.code)


@dataclass(frozen=True, slots=True)
class Pattern:
    intent: str
    words: re.Pattern[str]
    instead_of: frozenset[str]


def read(message: str, *, is_address: bool = False) -> Reading:
    """With `is_address` the desk has just asked for one, and a message that looks like one is nothing else."""
    text = normalised(message)
    intents = _intents(text)
    alone = is_address and not intents and ADDRESS_ALONE.fullmatch(message) is not None
    plain = "" if alone else normalised(ADDRESS.sub(" ", message))
    return Reading(
        message=message,
        text=text,
        intents=intents,
        orders=orders_in(plain),
        amount=_amount(plain),
        limit=_limit(plain),
        address=message.strip() if alone else _address(message),
        code=_code(message),
        agrees=YES.match(text) is not None,
        declines=NO.match(text) is not None,
        other=OTHER.search(text) is not None,
    )


def orders_in(text: str) -> tuple[str, ...]:
    return tuple(ORDER.findall(text))


def merged(readings: Sequence[Reading]) -> Reading:
    """Several messages read as one: all their words, and of each detail the newest."""
    *earlier, now = readings
    for reading in reversed(earlier):
        now = replace(
            now,
            message=f"{reading.message}\n{now.message}",
            text=f"{reading.text}\n{now.text}",
            amount=now.amount or reading.amount,
            limit=now.limit or reading.limit,
            address=now.address or reading.address,
            code=now.code or reading.code,
        )
    return now


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
