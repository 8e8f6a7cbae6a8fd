"""Amounts of money as people write them: `$1,234.50`, `1.234,50 €` and `EUR 1 234,50`, read exactly.

An amount in a text is a number with a currency beside it: a code of ISO 4217, a symbol or a word. `kr` and `¥` stand
for several currencies, and `1,234` for two values: what can mean two things is never taken for just one of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Any
from unicodedata import normalize

import msgspec

from agenteval_cli.mentions import judged
from agenteval_cli.numerals import DASHES, SCALE, SPACES, exact, plain, readings, scale_of

# The codes in use in ISO 4217:2015, amendments to 2025; funds, metals and test codes are left out.
_CODES = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS
INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP
MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR
SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV
WST XAF XCD XOF XPF YER ZAR ZMW ZWG
"""
CODES = frozenset(_CODES.split())
_SIGNS = """
$=USD; US$=USD; CA$=CAD; C$=CAD; A$=AUD; AU$=AUD; NZ$=NZD; HK$=HKD; S$=SGD; NT$=TWD; MX$=MXN; R$=BRL; €=EUR; £=GBP;
¥=JPY/CNY; CN¥=CNY; ₹=INR; ₩=KRW; ₽=RUB; ₺=TRY; ₪=ILS; ₫=VND; ฿=THB; ₴=UAH; ₦=NGN; ₱=PHP; ₡=CRC; ₲=PYG; ₸=KZT; ₾=GEL;
zł=PLN; Kč=CZK; Ft=HUF; Fr.=CHF; kr=SEK/NOK/DKK/ISK; kr.=SEK/NOK/DKK/ISK; euro=EUR; euros=EUR; dollar=USD; dollars=USD;
US dollars=USD; pounds=GBP; yen=JPY; yuan=CNY; rupees=INR
"""
# What stands beside a number, and the currencies that it can mean.
MARKS: Mapping[str, frozenset[str]] = MappingProxyType(
    {code: frozenset({code}) for code in CODES}
    | {
        sign.strip(): frozenset(codes.strip().split("/"))
        for sign, codes in (pair.split("=") for pair in _SIGNS.split(";"))
    }
)
KEYS = ("amount", "currency", "within", "decimal", "symbols")
SETTLE = "say what the decimal mark is with decimal: '.' or ','"
_SPACE = f"[{SPACES}]"
_BODY = rf"(?>[0-9]{{1,3}}(?:{_SPACE}[0-9]{{3}})+(?:[.,][0-9]+)?|[0-9]+(?:[.,'’][0-9]+)*)(?![0-9])"


class Amount(msgspec.Struct, frozen=True):
    """One amount in a text: how it is written, the values it can mean, and the currencies it can be in."""

    text: str
    readings: frozenset[Decimal]
    currencies: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """What was read, for failure texts: `1.234 EUR (1.234 or 1234)`."""
        values = " or ".join(plain(value) for value in sorted(self.readings))
        return f"{self.text.strip()!r} ({values} {'/'.join(sorted(self.currencies)) or 'of no currency'})"


class Wanted(msgspec.Struct, frozen=True):
    """What a case expects of an amount: a value, how far off it may be, the currency where it matters."""

    value: Decimal
    within: Decimal = Decimal(0)
    currency: str | None = None
    mark: str | None = None
    symbols: Mapping[str, str] = MappingProxyType({})

    def holds(self, amount: Amount, value: Decimal) -> bool:
        """Whether the amount, read as this value, is what is expected."""
        return abs(value - self.value) <= self.within and (self.currency is None or self.currency in amount.currencies)

    def __str__(self) -> str:
        margin = f" ± {plain(self.within)}" if self.within else ""
        return f"{plain(self.value)}{margin}{f' {self.currency}' if self.currency else ''}"


def wanted(operand: Any) -> Wanted:
    """What `129.00`, `129.00 EUR` or {amount, currency, within, decimal, symbols} asks for.

    Raises ValueError with the reason where it asks for nothing that can be checked.
    """
    if not isinstance(operand, Mapping):
        return _plainly(operand)
    unknown = next((key for key in operand if key not in KEYS), None)
    if unknown is not None:
        raise ValueError(f"unknown key '{unknown}'; known here: {', '.join(KEYS)}")
    if "amount" not in operand:
        raise ValueError("'amount' is missing")
    amount = _plainly(operand["amount"])
    within = exact(operand.get("within", 0))
    if within is None or within < 0:
        raise ValueError("within is an amount of at least 0, as '0.01'")
    currency = operand.get("currency", amount.currency)
    symbols = operand.get("symbols", {})
    if not isinstance(symbols, Mapping):
        raise ValueError("symbols gives each sign its currency, as {$: CAD}")  # noqa: TRY004  # it is about the case
    for code in (*([] if currency is None else [currency]), *symbols.values()):
        if code not in CODES:
            raise ValueError(f"{code!r} is not a currency code of ISO 4217, as EUR")
    if operand.get("decimal", ".") not in (".", ","):
        raise ValueError("decimal is the decimal mark of the answer, '.' or ','")
    return Wanted(amount.value, within, currency, operand.get("decimal"), dict(symbols))


def mismatch(operand: Any, actual: Any) -> str | None:
    """Why a JSON value, a number or the text of an amount, is not what is expected; None where it is."""
    want = wanted(operand)
    number = None if isinstance(actual, str) else exact(actual)
    if number is not None:
        amount: Amount | None = Amount(plain(number), frozenset({number}))
    else:
        amount = amount_of(actual, want.mark, want.symbols) if isinstance(actual, str) else None
    return judged(
        [] if amount is None else [amount], want.holds, which="any", noun="amount", wanted=str(want), settle=SETTLE
    )


def _plainly(operand: Any) -> Wanted:
    value = exact(operand)
    if value is not None:
        return Wanted(value)
    amount = amount_of(operand, ".") if isinstance(operand, str) else None
    if amount is None or len(amount.currencies) > 1 or "," in str(operand):
        raise ValueError(f"{operand!r} is not an amount; write it as '1234.50' or '1234.50 EUR'")
    return Wanted(next(iter(amount.readings)), currency=next(iter(amount.currencies), None))


def amounts_in(text: str, mark: str | None = None, symbols: Mapping[str, str] | None = None) -> list[Amount]:
    """Every amount in the text, in order. `mark` is the decimal mark, `symbols` has the currencies of signs."""
    marks = {**MARKS, **{sign: frozenset({code}) for sign, code in (symbols or {}).items()}}
    text = normalize("NFC", text)
    found = (_amount(match, mark, marks) for match in _pattern(tuple(marks)).finditer(text))
    return [amount for amount in found if amount.readings]


def amount_of(text: str, mark: str | None = None, symbols: Mapping[str, str] | None = None) -> Amount | None:
    """The text as one amount and nothing else, with a currency or without; None where it is none."""
    text = normalize("NFC", text.strip())
    found = amounts_in(text, mark, symbols)
    if len(found) == 1 and found[0].text == text:
        return found[0]
    bare = re.fullmatch(rf"([{DASHES}]?)({_BODY})", text)
    values = _values(bare[2], mark, bare[1]) if bare else frozenset()
    return Amount(text, values) if values else None


@cache
def _pattern(marks: tuple[str, ...]) -> re.Pattern[str]:
    """A mark and a number, in either order; the longest mark first, so that `US$` is not read as `$`."""
    names = "|".join(re.escape(name) for name in sorted(marks, key=len, reverse=True))
    after = rf"{_SPACE}?(?P<{{}}>{names})(?!\w)"
    begin = rf"(?<!\w)(?<!\w[{DASHES}.,'’/:])"
    first = (
        rf"(?P<minus>[{DASHES}]?)(?P<before>{names}){_SPACE}?(?P<inner>[{DASHES}]?)(?P<body>{_BODY})(?P<scale>{SCALE})?"
    )
    second = rf"(?P<sign>[{DASHES}]?)(?P<number>{_BODY})(?P<times>{SCALE})?{after.format('after')}"
    return re.compile(rf"{begin}(?:{first}(?:{after.format('both')}|(?!\w|[{DASHES}][0-9]))|{second})")


def _amount(match: re.Match[str], mark: str | None, marks: Mapping[str, frozenset[str]]) -> Amount:
    if match["number"]:
        return Amount(match[0], _values(match["number"], mark, match["sign"], match["times"]), marks[match["after"]])
    currencies = marks[match["before"]]
    if match["both"]:  # `$5 CAD`: a code says more than the sign before it
        second = marks[match["both"]]
        currencies = currencies & second or (second if match["both"] in CODES else currencies)
    sign = match["minus"] or match["inner"]
    return Amount(match[0], _values(match["body"], mark, sign, match["scale"]), currencies)


def _values(body: str, mark: str | None, sign: str, scale: str | None = None) -> frozenset[Decimal]:
    """What a number with its sign, and with ` million` after it, can mean."""
    times = -scale_of(scale) if sign else scale_of(scale)
    return frozenset(value * times for value in readings(body, mark))
