"""Where what can be worked out again is kept: .agenteval/cache, which may be deleted at any time."""

from __future__ import annotations

import secrets
from pathlib import Path

FOLDER = ".agenteval/cache"


def write_cache(path: Path, raw: bytes) -> None:
    """Write beside and move into place, in a folder that git ignores. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ignore = path.parent / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        beside.write_bytes(raw)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
