"""The answer as the text checks see it, and the form in which texts are compared.

Both sides are brought to Unicode normal form C, escape sequences are taken out of what the agent said, and "ignore
case" is case folding. Whatever else is to make no difference is asked for by the case. Stored text is never rewritten.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.finding import FAILED, Finding
from agenteval_cli.mentions import Ambiguous
from agenteval_cli.transcript import REPLACEMENT, Transcript, without_escapes

_CARRIED = re.compile(r"\x1b[]PX^_]([^\x07\x1b]+)")
_LOOKED_FOR = ("contains", "contains_any", "contains_all", "in_order", "not_contains", "starts_with", "ends_with")
FOLDS = ("quotes", "dashes", "spaces")
NORMAL_FORMS = ("NFC", "NFKC", "none")
_QUOTES = {**dict.fromkeys("‘’‚‛′ʼ＇", "'"), **dict.fromkeys("“”„‟″«»＂", '"')}
_DASHES = dict.fromkeys("\u2010\u2011‒–—―−－", "-")
_SPACES = dict.fromkeys(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
)
_PLAIN = {"quotes": _QUOTES, "dashes": _DASHES, "spaces": _SPACES}


def answer_text(transcript: Transcript) -> str | None:
    """The answer as text: JSON where the agent answered with other data, None where it gave no answer."""
    output = transcript.output
    if output is None:
        return None
    return without_escapes(output) if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def hidden_texts(transcript: Transcript) -> list[str]:
    """The texts in terminal sequences that carry some, as titles and links: they were said as well."""
    output = transcript.output
    return _CARRIED.findall(output) if isinstance(output, str) and "\x1b" in output else []


def no_answer(check: OutcomeCheck, words: str = "there is no answer") -> Finding:
    """The failure of a check that has nothing to look at."""
    return Finding(FAILED, words, check.expected, None, missing=True)


def not_meant(words: str, check: OutcomeCheck, answer: str) -> Finding:
    """The failure of a check whose mentions are not what it expects; what is ambiguous shows nothing."""
    return Finding(FAILED, str(words), check.expected, excerpt(answer), missing=isinstance(words, Ambiguous))


def in_form(text: str, check: OutcomeCheck) -> str:
    """The text in the form in which this check compares."""
    if text.isascii():
        if not check.ignore_case and not check.ignore_space:
            return text
    else:
        text = folded(text, check.fold)
        if check.normal_form == "NFKC":
            text = unicodedata.normalize("NFKC", text)
        elif check.normal_form != "none":
            text = unicodedata.normalize("NFC", text)
    if check.ignore_case:
        text = unicodedata.normalize("NFC", text.casefold()) if not text.isascii() else text.lower()
    return " ".join(text.split()) if check.ignore_space else text


def folded(text: str, folds: Iterable[str]) -> str:
    """The text with typographic signs of these sorts, of FOLDS, as their plain forms."""
    for name in folds:
        plain = _PLAIN[name]
        text = text.translate({ord(sign): to for sign, to in plain.items()})
    return text


def blank_faults(item: Mapping[str, Any]) -> Iterator[tuple[tuple[str], str]]:
    """What is wrong with texts to look for that `ignore_space` leaves nothing of: every answer has them."""
    if item.get("ignore_space"):
        name = next(key for key in item if key in _LOOKED_FOR)
        for text in expected_texts(item[name]):
            if not text.strip():
                yield (name,), f"{text!r} is white space only, of which ignore_space leaves nothing to look for"


def holds(needle: str, answer: str, transcript: Transcript) -> bool:
    """Whether the answer contains the text. A mark that stands for undecodable bytes is not something to match."""
    return needle in answer and not is_damaged(needle, transcript)


def is_damaged(text: str, transcript: Transcript) -> bool:
    """Whether a part of the answer has a mark that stands for bytes that could not be decoded."""
    return transcript.bytes_replaced and REPLACEMENT in text


def excerpt(text: str, limit: int = 300) -> str:
    """The text, or its beginning and how much there is."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def code_points(text: str) -> str:
    """The code points of a short text that is not plain ASCII, for texts that only look the same."""
    return " ".join(f"U+{ord(char):04X}" for char in text[:12])


def expected_texts(expected: str | list[str]) -> list[str]:
    """One text or several, as a list."""
    return [expected] if isinstance(expected, str) else list(expected)
