"""Dates as people write them, each with every day that it can mean: `2026-11-02`, `2 November 2026`, `02/11/2026`.

`03/04/2026` is a day in March to one reader and in April to another: it has two readings, and it is for the case to say
which. Month names are read in seven languages. A year has four digits; `in two weeks` and `02/11` are no dates.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any
from unicodedata import normalize

import msgspec

from agenteval_cli.mentions import judged

ORDERS = ("dmy", "mdy")
KEYS = ("on", "from", "to", "order")
SETTLE = "say how it is to be read with order: dmy or mdy"
_NAMES = """
January February March April May June July August September October November December
Januar Februar März April Mai Juni Juli August September Oktober November Dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec
"""
_MONTHS: Mapping[str, int] = {
    name.casefold(): index % 12 + 1 for index, name in enumerate(_NAMES.split())
} | {"sept": 9}  # fmt: skip
_PLAIN = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2010": "-", "\u2011": "-"})
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    rf"""(?<![\w.,/-])(?:
    (?P<iso>[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:(?=T[0-9])|(?![\w-]))
    | (?P<y>[0-9]{{4}})[./](?P<ym>[0-9]{{1,2}})[./](?P<yd>[0-9]{{1,2}})(?![\w/-]|\.[0-9])
    | (?P<one>[0-9]{{1,2}})(?P<by>[./-])[ ]?(?P<two>[0-9]{{1,2}})(?P=by)[ ]?(?P<year>[0-9]{{4}})(?![\w/-]|\.[0-9])
    | (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|er|\.|º)?[ ](?:of[ ]|de[ ])?(?P<month>{_NAME})\.?,?[ ](?:de[ ])?
      (?P<dyear>[0-9]{{4}})(?!\w)
    | (?P<mmonth>{_NAME})\.?[ ](?P<mday>[0-9]{{1,2}})(?:st|nd|rd|th)?,?[ ](?P<myear>[0-9]{{4}})(?!\w)
    )""",
    re.VERBOSE | re.IGNORECASE,
)


class Written(msgspec.Struct, frozen=True):
    """One date in a text: how it is written, where, and the days that it can mean."""

    text: str
    start: int
    end: int
    readings: frozenset[dt.date]

    def __str__(self) -> str:
        days = " or ".join(sorted(map(str, self.readings)))
        return self.text if days == self.text else f"{self.text} ({days})"


class Wanted(msgspec.Struct, frozen=True):
    """What a case expects of a date: the first and the last day that it may be, either may be open."""

    earliest: dt.date | None
    latest: dt.date | None
    order: str | None = None

    def holds(self, _written: Written, day: dt.date) -> bool:
        return (self.earliest is None or self.earliest <= day) and (self.latest is None or day <= self.latest)

    def __str__(self) -> str:
        if self.earliest == self.latest:
            return str(self.earliest)
        parts = [f"from {self.earliest}"] * (self.earliest is not None) + [f"to {self.latest}"] * (
            self.latest is not None
        )
        return f"a date {' '.join(parts)}"


def wanted(operand: Any) -> Wanted:
    """What `2026-11-02`, or {on | from | to, order}, asks for. Raises ValueError where it is nothing to be checked."""
    given = operand if isinstance(operand, Mapping) else {"on": operand}
    unknown = next((key for key in given if key not in KEYS), None)
    if unknown is not None:
        raise ValueError(f"unknown key '{unknown}'; known here: {', '.join(KEYS)}")
    if given.get("order") not in (None, *ORDERS):
        raise ValueError(f"order is one of {', '.join(ORDERS)}")
    days = {key: _own_day(key, given[key]) for key in ("on", "from", "to") if key in given}
    if not days or ("on" in days and len(days) > 1):
        raise ValueError("give `on`, or `from` and `to` or one of them, each as 2026-11-02")
    found = Wanted(days.get("on", days.get("from")), days.get("on", days.get("to")), given.get("order"))
    if found.earliest and found.latest and found.earliest > found.latest:
        raise ValueError("`from` is later than `to`")
    return found


def mismatch(operand: Any, actual: Any) -> str | None:
    """Why a JSON value, the text of a date, is not what is expected; None where it is."""
    want = wanted(operand)
    date = date_of(actual, want.order) if isinstance(actual, str) else None
    return judged([] if date is None else [date], want.holds, which="any", noun="date", wanted=str(want), settle=SETTLE)


def _own_day(key: str, value: Any) -> dt.date:
    found = day(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{key}: {value!r} is not a day; write it as 2026-11-02")
    return found


def dates_in(text: str, order: str | None = None) -> list[Written]:
    """Every date in the text that is in the calendar, in order. `order` says how `03/04/2026` is to be read."""
    text = normalize("NFC", text.translate(_PLAIN))
    found = (
        Written(match[0], match.start(), match.end(), frozenset(_days(match, order))) for match in _DATE.finditer(text)
    )
    return [date for date in found if date.readings]


def date_of(text: str, order: str | None = None) -> Written | None:
    """The text as one date, a time of day after it or not, and nothing else; None where it is none."""
    text = normalize("NFC", text.strip())
    found = dates_in(text, order)
    rest = text[found[0].end :] if len(found) == 1 and found[0].start == 0 else "?"
    return (
        found[0]
        if not rest or re.fullmatch(r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9:]{4,6})?", rest)
        else None
    )


def day(text: str) -> dt.date | None:
    """The day of an ISO date, `2026-11-02`; None where it is none."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    return next(_day(*map(int, text.split("-"))), None)


def _days(match: re.Match[str], order: str | None) -> Iterator[dt.date]:
    if match["iso"]:
        yield from _day(*map(int, match["iso"].split("-")))
    elif match["y"]:
        yield from _day(int(match["y"]), int(match["ym"]), int(match["yd"]))
    elif match["month"]:
        yield from _day(int(match["dyear"]), _MONTHS[match["month"].casefold()], int(match["day"]))
    elif match["mmonth"]:
        yield from _day(int(match["myear"]), _MONTHS[match["mmonth"].casefold()], int(match["mday"]))
    else:
        one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
        if order != "mdy":
            yield from _day(year, two, one)
        if order == "mdy" or (order is None and match["by"] != "."):
            yield from _day(year, one, two)


def _day(year: int, month: int, number: int) -> Iterator[dt.date]:
    """The day, if the calendar has it."""
    try:
        yield dt.date(year, month, number)
    except ValueError:
        return
