"""A file that an attempt left in its folder, as a fact that can be kept and checked."""

from __future__ import annotations

import msgspec


class FileFact(msgspec.Struct, frozen=True, omit_defaults=True):
    """One regular file: its path from the attempt's folder with `/`, its size in bytes, the SHA-256 of it in hex.

    `text` is its content where that is UTF-8 and not longer than what is kept; None where it is not known.
    """

    path: str
    size: int
    digest: str
    text: str | None = None
