"""Secrets are masked before anything is written or shown. A help, not a guarantee: see docs/runs.md."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[redacted]"
SHORTEST_SECRET = 6  # masking shorter values would blank half of every text, and protect nothing


class Redactor:
    """Masks the given values, in plain, JSON, URL and base64 form, and whatever the patterns match."""

    def __init__(self, secrets: Iterable[str], patterns: Iterable[str] = ()) -> None:
        import regex

        forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
        parts = [re.escape(form) for form in forms]
        self._patterns = [regex.compile(pattern) for pattern in patterns]
        self._literal = re.compile("|".join(parts)) if parts else None

    @property
    def active(self) -> bool:
        return self._literal is not None or bool(self._patterns)

    def text(self, text: str) -> str:
        if self._literal is not None:
            text = self._literal.sub(MASK, text)
        for pattern in self._patterns:
            text = pattern.sub(MASK, text)
        return text

    def bytes(self, raw: bytes) -> bytes:
        if not self.active:
            return raw
        return self.text(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def value(self, value: Any) -> Any:
        """JSON data with every text in it masked, keys included."""
        if not self.active:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list | tuple) else value


def _forms(secret: str) -> Iterator[str]:
    if len(secret) < SHORTEST_SECRET:
        return
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="")
    yield quote_plus(secret)
    for variant in (base64.b64encode, base64.urlsafe_b64encode):
        yield from _inside_base64(secret.encode(), variant)


def _inside_base64(secret: bytes, encode: Any) -> Iterator[str]:
    """The secret as it looks inside longer base64, at each of the three alignments, without the mixed edge letters."""
    for offset in range(3):
        encoded: str = encode(b"\0" * offset + secret).decode().rstrip("=")
        start = -(-offset * 8 // 6)
        end = (offset + len(secret)) * 8 // 6
        yield encoded[start:end]
