"""What validate remembers of files between two calls: .agenteval/cache, which may be deleted at any time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from agenteval_cli import __version__
from agenteval_cli.caches import FOLDER, write_cache
from agenteval_cli.checking import Context, Facts
from agenteval_cli.escape import is_text

_SETTLED = 2.0  # seconds; a file that was written just before it was read may change again within its time stamp


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    made_from: str
    files: dict[str, tuple[str, Facts]]


class Cache:
    """Facts by file and stamp, good for one version of the tool and one context. Losing it costs time, nothing else."""

    def __init__(self, root: Path, source: str, context: Context) -> None:
        self._path = root / FOLDER / f"validation-{source}.msgpack"
        self._made_from = _digest(context)
        self._kept: dict[str, tuple[str, Facts]] = {}
        with contextlib.suppress(OSError, msgspec.DecodeError):
            kept = msgspec.msgpack.decode(self._path.read_bytes(), type=_Kept)
            if kept.made_from == self._made_from:
                self._kept = kept.files

    def facts(self, listing: Mapping[str, str]) -> dict[str, Facts]:
        """What is known of the files whose stamp has not changed."""
        kept = self._kept
        return {name: kept[name][1] for name, stamp in listing.items() if name in kept and kept[name][0] == stamp}

    def keep(self, listing: Mapping[str, str], known: Mapping[str, Facts]) -> None:
        """Remember the facts of settled files. Where that cannot be written, the next call works it out again."""
        limit = str(int((time.time() - _SETTLED) * 1e9))
        settled = {
            name: (stamp, known[name])
            for name, stamp in listing.items()
            if stamp and ("-" not in stamp or stamp < limit) and is_text(name)
        }
        with contextlib.suppress(OSError):
            write_cache(self._path, msgspec.msgpack.encode(_Kept(self._made_from, settled)))


def _digest(context: Context) -> str:
    """Changes with the tool, with its code where that is being worked on, and with what cases are checked against."""
    code = sorted(f"{path.name}{path.stat().st_mtime_ns}" for path in _code())
    return hashlib.sha256(msgspec.msgpack.encode([__version__, code, context], order="sorted")).hexdigest()


def _code() -> list[Path]:
    from agenteval_cli import schemas

    package = Path(__file__).parent
    folders = (package, package / "rules", package / "checks", package / "trajectory", schemas.folder())
    return [
        Path(entry.path) for folder in folders for entry in os.scandir(folder) if entry.name.endswith((".py", ".json"))
    ]
