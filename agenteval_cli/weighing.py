"""How probable each rating of a scale was, from the probabilities of a judge's tokens: pure.

The rating is looked for where the verdict is: in the JSON object that begins with the nonce, under its key; the token
is the one that holds the number. Where that cannot be told beyond doubt there are no weights, and the rating counts as
it was said.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

MOST_CHOICES = 20  # alternatives of one token that are asked for; servers give no more
LEAST_MASS = 0.5  # what the ratings must have of the probability, so that they speak for what was likely
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(rb'[\s:"]*([0-9]{1,3})[\s,"}]*')


class Token(msgspec.Struct, frozen=True):
    """A token of a reply as its bytes, and what might have stood in its place, itself included: (bytes, log of p)."""

    text: bytes
    choices: tuple[tuple[bytes, float], ...]


def weights_of(
    reply: str, tokens: Sequence[Token], nonce: str, key: str, scale: tuple[int, int]
) -> dict[int, float] | None:
    """The probability of each rating that was among the choices; they add up to 1. None where they cannot be told."""
    token = _token_at(_place_of(reply, nonce, key), reply, tokens)
    if token is None:
        return None
    found: defaultdict[int, float] = defaultdict(float)
    for text, log in token.choices:
        number = _number_in(text)
        if number is not None and scale[0] <= number <= scale[1] and not math.isnan(log):
            found[number] += math.exp(min(0.0, log))
    mass = math.fsum(found.values())
    if mass < LEAST_MASS or _is_cut(found, scale):
        return None
    return {number: found[number] / mass for number in sorted(found)}


def mean_of(weights: Mapping[int, float]) -> float:
    """The rating that is expected: the sum of each times its probability (Liu et al., 2023, equation 1)."""
    return math.fsum(number * weight for number, weight in weights.items())


def _place_of(reply: str, nonce: str, key: str) -> tuple[int, int] | None:
    """Where the value of a key of the verdict stands, in bytes of the reply from and to; None where it is not found."""
    starts = [found.start() for found in re.finditer(rf'\{{\s*"nonce"\s*:\s*"{re.escape(nonce)}"', reply)]
    if len(starts) != 1:
        return None
    decode = json.JSONDecoder().raw_decode
    at = starts[0] + 1
    try:
        while True:
            name, at = decode(reply, _after_space(reply, at))
            colon = _after_space(reply, at)
            start = _after_space(reply, colon + 1)
            _, at = decode(reply, start)
            if name == key:
                return len(_bytes(reply[:start])), len(_bytes(reply[:at]))
            comma = _after_space(reply, at)
            if reply[comma : comma + 1] != ",":
                return None
            at = comma + 1
    except (ValueError, RecursionError):
        return None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # JSON may escape half a letter


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _token_at(place: tuple[int, int] | None, reply: str, tokens: Sequence[Token]) -> Token | None:
    """The one token that holds this place of the reply. Servers may leave out of the reply what stands around it."""
    said = b"".join(token.text for token in tokens)
    text = _bytes(reply)
    if place is None or said.count(text) != 1:
        return None
    start, end = (said.index(text) + edge for edge in place)
    at = 0
    for token in tokens:
        if at <= start < at + len(token.text):
            return token if end <= at + len(token.text) else None
        at += len(token.text)
    return None


def _number_in(token: bytes) -> int | None:
    """The number that a token is, with nothing but a comma, a brace or space around it."""
    found = _NUMBER.fullmatch(token)
    return int(found[1]) if found else None


def _is_cut(found: Mapping[int, float], scale: tuple[int, int]) -> bool:
    """Whether 1 may be the start of 10: where no choice has two digits, the model may write them one by one."""
    if any(number > 9 for number in found):
        return False
    longer = {str(number)[0] for number in range(max(10, scale[0]), scale[1] + 1)}
    return any(str(number) in longer for number in found)
