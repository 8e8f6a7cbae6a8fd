"""Secrets are masked before anything is written or shown. A help, not a guarantee: see docs/runs.md."""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, get_args
from urllib.parse import quote, quote_plus

import msgspec

Struct = TypeVar("Struct", bound=msgspec.Struct)

MASK = "[redacted]"
SHORTEST_SECRET = 6  # masking shorter values would blank half of every text, and protect nothing
SHORTEST_LINE = 12  # of a secret of several lines, a key say, each line is masked for itself
_LONGEST_END = 10_000  # characters at the end of an excerpt in which quotations are looked at
_WHERE_IT_WAS_CUT = re.compile(r"""\Z|['"…]|\.\.\.""")
_DEEPEST_QUOTING = 3  # JSON in a text in JSON, as the arguments of calls often are, in the message of a check
_SECONDS = 2.0  # that a pattern may search one text


class Redactor:
    """Masks the given values, in plain, JSON, repr, URL and base64 form, and whatever the patterns match.

    An excerpt is a text that begins, ends or quotes something in the middle of a value, perhaps: what it shows of the
    value is masked as well, from SHORTEST_SECRET characters on.
    """

    def __init__(self, secrets: Iterable[str], patterns: Iterable[str] = ()) -> None:
        import regex

        self._forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
        self._patterns = [regex.compile(pattern) for pattern in patterns]
        self._heads = tuple(sorted({form[:SHORTEST_SECRET] for form in self._forms}))

    @property
    def active(self) -> bool:
        return bool(self._forms or self._patterns)

    def text(self, text: str, *, excerpt: bool = False) -> str:
        found = tuple(form for form in self._forms if form in text)  # much quicker than one pattern for all
        if found:
            text = _any_of(found).sub(MASK, text)
        if excerpt:
            end = max(0, len(text) - _LONGEST_END)
            text = self._without_a_cut_start(text[:end] + self._without_cut_ends(text[end:]))
        for pattern in self._patterns:
            try:
                text = pattern.sub(_mask, text, timeout=_SECONDS)
            except TimeoutError:  # the pattern is slow on what an agent made up: better nothing than a secret
                return MASK
        return text

    def bytes(self, raw: bytes, *, excerpt: bool = False) -> bytes:
        if not self.active:
            return raw
        text = raw.decode("utf-8", "surrogateescape")
        return self.text(text, excerpt=excerpt).encode("utf-8", "surrogateescape")

    def value(self, value: Any, *, excerpts: bool = False, numbers: bool = False) -> Any:
        """JSON data, however deep, with every text in it masked, keys included. Tuples become lists.

        With `excerpts` every text is taken for one. With `numbers`, a number that reads like a whole secret becomes
        the mask as well, which is text.
        """
        if not self.active:
            return value
        top = [value]
        todo: list[Any] = [top]
        while todo:
            container = todo.pop()
            for key, item in list(container.items() if isinstance(container, dict) else enumerate(container)):
                masked = self._one(item, excerpts=excerpts, numbers=numbers)
                if isinstance(masked, list | dict):
                    todo.append(masked)
                container[key] = masked
        return top[0]

    def struct(self, value: Struct, *fields: str, excerpts: bool = False, numbers: bool = False) -> Struct:
        """The same value with these fields of it masked, and all that is in them. Names of fields never are."""
        if not self.active:
            return value
        return msgspec.structs.replace(
            value,
            **{
                name: self._field(getattr(value, name), kind, excerpts=excerpts, numbers=numbers)
                for name, kind in _kinds(type(value)).items()
                if name in fields
            },
        )

    def _field(self, value: Any, kind: Any, *, excerpts: bool, numbers: bool) -> Any:
        if isinstance(value, msgspec.Struct):
            return self.struct(value, *value.__struct_fields__, excerpts=excerpts, numbers=numbers)
        if isinstance(value, tuple):
            return tuple(self._field(item, kind, excerpts=excerpts, numbers=numbers) for item in value)
        may_become_text = isinstance(value, list | dict) or Any in (kind, *get_args(kind))
        return self.value(value, excerpts=excerpts, numbers=numbers and may_become_text)

    def _one(self, value: Any, *, excerpts: bool, numbers: bool) -> Any:
        """A text masked, a list or mapping copied with what is in it as it was."""
        if isinstance(value, str):
            return self.text(value, excerpt=excerpts)
        if isinstance(value, dict):
            return {self.text(key, excerpt=excerpts): item for key, item in value.items()}
        if isinstance(value, list | tuple):
            return list(value)
        is_number = numbers and isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if is_number and self.text(json.dumps(value)) == MASK else value

    def _without_cut_ends(self, text: str) -> str:
        """Without what is the start of a secret and then the end of the text, or of a quotation in it."""
        heads = tuple(head for head in self._heads if head in text)
        if not heads:
            return text
        pieces = []
        kept = 0
        for head in _any_of(heads).finditer(text):
            end = head.start() + max(_length_in_common(form, text, head.start()) for form in self._forms)
            if head.start() >= kept and _WHERE_IT_WAS_CUT.match(text, end):
                pieces += [text[kept : head.start()], MASK]
                kept = end
        return "".join((*pieces, text[kept:]))

    def _without_a_cut_start(self, text: str) -> str:
        """Without the end of a secret that the text starts with."""
        start = text[:SHORTEST_SECRET]
        for form in self._forms if len(start) == SHORTEST_SECRET else ():
            at = form.find(start)
            while at >= 0:
                rest = form[at:]
                if text.startswith(rest) or rest.startswith(text):
                    return MASK + text[len(rest) :]
                at = form.find(start, at + 1)
        return text


@functools.cache
def _kinds(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The type of each field."""
    return {field.name: field.type for field in msgspec.structs.fields(struct)}


@functools.lru_cache(64)
def _any_of(literals: tuple[str, ...]) -> re.Pattern[str]:
    """Of two that begin at the same place, the one that is named first."""
    return re.compile("|".join(map(re.escape, literals)))


def _mask(found: Any) -> str:
    """A pattern that matches nothing at all masks nothing."""
    return MASK if found[0] else ""


def _length_in_common(form: str, text: str, start: int) -> int:
    length = 0
    while length < len(form) and text.startswith(form[length], start + length):
        length += 1
    return length


def _forms(secret: str) -> Iterator[str]:
    if len(secret) < SHORTEST_SECRET:
        return
    lines = secret.splitlines()
    for part in (secret, *(line for line in lines if len(lines) > 1 and len(line) >= SHORTEST_LINE)):
        in_text = {part, repr(part)[1:-1], repr(part + "'\"")[1:-4]}  # the last as it is between quotes of both kinds
        for _ in range(_DEEPEST_QUOTING):
            in_text |= {
                json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in in_text for ascii_only in (True, False)
            }
        yield from in_text
        yield from (quote(part), quote(part, safe=""), quote_plus(part))
        for variant in (base64.b64encode, base64.urlsafe_b64encode):
            yield from _inside_base64(part.encode(), variant)


def _inside_base64(secret: bytes, encode: Any) -> Iterator[str]:
    """The secret as it looks inside longer base64, at each of the three alignments, without the mixed edge letters."""
    for offset in range(3):
        encoded: str = encode(b"\0" * offset + secret).decode().rstrip("=")
        start = -(-offset * 8 // 6)
        end = (offset + len(secret)) * 8 // 6
        yield encoded[start:end]


def is_masked(value: Any) -> bool:
    """Whether something stands masked in a JSON value."""
    return MASK.encode() in msgspec.json.encode(value)
