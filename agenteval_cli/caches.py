"""Where what can be worked out again is kept: .agenteval/cache, which may be deleted at any time."""

from __future__ import annotations

import secrets
from pathlib import Path

FOLDER = ".agenteval/cache"


def ignored_folder(folder: Path) -> None:
    """Make the folder, with a .gitignore of its own that hides it from git."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


def write_cache(path: Path, raw: bytes) -> None:
    """Write beside and move into place, in a folder that git ignores. Raises OSError."""
    ignored_folder(path.parent)
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        beside.write_bytes(raw)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
