"""Numbers as people write them in a text, each with every value that it can mean.

`1,234` is 1234 to one reader and 1.234 to another: such a numeral has two readings, and the case must say which.
A number that is part of a word, a code, a date, a time, a version or a range (`v5`, `A-17`, `12:30`, `5-10`) is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

DASHES = "-\u2010\u2011\u2012–−－"  # models like to write the hyphen that does not break
SPACES = " \u00a0\u2007\u2009\u202f"
_GROUPERS = f"{SPACES[1:]}’'"  # no-break, figure, thin and narrow spaces, apostrophes
_SCALES: Mapping[str, int] = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
SCALE = rf"[{SPACES}-]?(?:{'|'.join(_SCALES)})(?!\w)"  # `5 million` is never 5
_BODY = rf"(?>[0-9]+(?:[.,{_GROUPERS}][0-9]+)*)"
_NUMERAL = re.compile(
    rf"(?<!\w)(?<!\w[{DASHES}/:.,'’])(?P<sign>[{DASHES}+])?(?P<body>{_BODY}|[.,][0-9]+)"
    rf"(?:(?P<power>[eE][-+]?[0-9]{{1,3}})|(?P<scale>{SCALE}))?(?P<percent>[{SPACES}]?%)?"
    rf"(?!\w)(?![{DASHES}/:.,'’]\w)(?!%)"
)


class Numeral(msgspec.Struct, frozen=True):
    """One number in a text: how it is written, where, and what it can mean."""

    text: str
    start: int
    end: int
    readings: frozenset[Decimal]
    percent: bool = False

    def __str__(self) -> str:
        values = " or ".join(plain(value) for value in sorted(self.readings))
        return self.text if values == self.text or self.percent else f"{self.text} ({values})"


def numerals_in(text: str, mark: str | None = None) -> list[Numeral]:
    """Every number in the text, in order. `mark` is the decimal mark, `.` or `,`, where the case says it."""
    found = []
    for match in _NUMERAL.finditer(text):
        sign = "-" if match["sign"] and match["sign"] in DASHES else ""
        values = readings(match["body"], mark, dot_is_decimal=True)
        if values:
            power = match["power"] or ""
            times = scale_of(match["scale"])
            signed = frozenset(Decimal(f"{sign}{value * times:f}{power}") for value in values)
            found.append(Numeral(match[0], match.start(), match.end(), signed, match["percent"] is not None))
    return found


def scale_of(written: str | None) -> int:
    """What ` million` after a number multiplies it by; 1 where nothing stands there."""
    return _SCALES[written.lstrip(f"{SPACES}-")] if written else 1


def readings(body: str, mark: str | None = None, *, dot_is_decimal: bool = False) -> frozenset[Decimal]:
    """What digits with separators can mean; nothing where they are no number. `dot_is_decimal` settles `1.234`."""
    body = _without_groupers(body)
    if not body:
        return frozenset()
    dots, commas = body.count("."), body.count(",")
    if not dots and not commas:
        return frozenset({Decimal(body)})
    if mark is not None:
        return _read(body, mark)
    if dots and commas:
        return _read(body, max(".,", key=body.rfind))
    separator, other = (".", ",") if dots else (",", ".")
    if dots == 1 and dot_is_decimal:
        return _read(body, ".")
    return _read(body, separator) | _read(body, other)


def _read(body: str, mark: str) -> frozenset[Decimal]:
    """The one value with this decimal mark, if what stands before it is grouped by threes or not at all."""
    whole, found, fraction = body.partition(mark)
    separator = "," if mark == "." else "."
    if not (fraction.isdigit() if found else True):
        return frozenset()
    if separator in whole:
        head, *groups = whole.split(separator)
        if not 1 <= len(head) <= 3 or head == "0" or not (_by_threes(groups) or _by_twos(head, groups)):
            return frozenset()
    digits = whole.replace(separator, "") or "0"
    return frozenset({Decimal(f"{digits}.{fraction}" if found else digits)})


def _by_threes(groups: Sequence[str]) -> bool:
    return all(len(group) == 3 for group in groups)


def _by_twos(head: str, groups: Sequence[str]) -> bool:
    """Grouped as in India: `1,00,000`, the last three digits and pairs before them."""
    *pairs, last = groups
    return len(head) <= 2 and bool(pairs) and len(last) == 3 and all(len(pair) == 2 for pair in pairs)


def _without_groupers(body: str) -> str:
    """The body without spaces and apostrophes between groups of three; empty where they part anything else."""
    if not any(char in body for char in f"{_GROUPERS} "):
        return body
    at = next((index for index, char in enumerate(body) if char in ".,"), len(body))
    whole, fraction = body[:at], body[at:]
    head, *groups = re.split(rf"[{_GROUPERS} ]", whole)
    if any(char in fraction for char in f"{_GROUPERS} ") or len(head) > 3 or any(len(group) != 3 for group in groups):
        return ""
    return head + "".join(groups) + fraction


def plain(value: Decimal) -> str:
    """A value as plain digits, every one kept: no exponent."""
    return f"{value:f}"


def exact(value: object) -> Decimal | None:
    """A JSON number, or decimal text such as `1234.50`, as an exact value; None for anything else, NaN included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?", text):
        return None
    return Decimal(text)
