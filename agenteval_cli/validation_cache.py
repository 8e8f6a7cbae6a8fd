"""What validate remembers of files between two calls: .agenteval/cache, which may be deleted at any time."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from agenteval_cli import __version__
from agenteval_cli.caches import FOLDER, write_cache
from agenteval_cli.checking import Context, Facts
from agenteval_cli.escape import is_text
from agenteval_cli.sources import Stamp

_FEW = 10  # of so many remembered files one may be written beside the others; more than that are written anew


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """Facts with the stamps that their files had."""

    made_from: str
    stamps: list[Stamp] = []
    facts: list[Facts] = []


class Cache:
    """Facts by file and stamp, good for one version of the tool and one context. Losing it costs time, nothing else.

    What was learnt since is kept in a file of its own, so that one changed file does not make thousands be written.
    """

    def __init__(self, root: Path, source: str, context: Context) -> None:
        self._path = root / FOLDER / f"validation-{source}.msgpack"
        self._newer_path = self._path.with_suffix(".newer.msgpack")
        self._made_from = _digest(context)
        self._old = _read(self._path, self._made_from)
        self._newer = _read(self._newer_path, self._made_from)

    def facts(self, listing: Mapping[str, Stamp]) -> dict[str, Facts]:
        """What is known of the files whose stamp has not changed."""
        found: dict[str, Facts] = {}
        for kept in (self._old, self._newer):
            pairs = zip(kept.stamps, kept.facts, strict=True)
            found.update((facts.file, facts) for stamp, facts in pairs if listing.get(facts.file) == stamp)
        return found

    def keep(self, listing: Mapping[str, Stamp], known: Mapping[str, Facts], fresh: Sequence[str]) -> None:
        """Remember what is known, of which `fresh` was learnt just now. Where it cannot be written, it is lost."""
        learnt = [name for name in fresh if listing[name] and is_text(name)]
        if not learnt:
            return
        with contextlib.suppress(OSError):
            if (len(learnt) + len(self._newer.facts)) * _FEW < len(self._old.facts):
                also = [facts.file for facts in self._newer.facts if known.get(facts.file) is facts]
                self._write(self._newer_path, listing, known, also + learnt)
            else:
                names = [name for name, stamp in listing.items() if stamp and is_text(name)]
                self._write(self._path, listing, known, names)
                self._newer_path.unlink(missing_ok=True)

    def _write(self, path: Path, listing: Mapping[str, Stamp], known: Mapping[str, Facts], names: list[str]) -> None:
        kept = _Kept(self._made_from, [listing[name] for name in names], [known[name] for name in names])
        write_cache(path, msgspec.msgpack.encode(kept))


def _read(path: Path, made_from: str) -> _Kept:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        kept = msgspec.msgpack.decode(path.read_bytes(), type=_Kept)
        if kept.made_from == made_from and len(kept.stamps) == len(kept.facts):
            return kept
    return _Kept(made_from)


def _digest(context: Context) -> str:
    """Changes with the tool, with its code where that is being worked on, and with what cases are checked against."""
    # As JSON: a fixture may hold whole numbers of any size, which MessagePack does not know.
    code = sorted(f"{path.name}{path.stat().st_mtime_ns}" for path in _code())
    return hashlib.sha256(msgspec.json.encode([__version__, code, context], order="sorted")).hexdigest()


def _code() -> list[Path]:
    from agenteval_cli import schemas

    package = Path(__file__).parent
    folders = (package, package / "rules", package / "checks", package / "trajectory", schemas.folder())
    return [
        Path(entry.path) for folder in folders for entry in os.scandir(folder) if entry.name.endswith((".py", ".json"))
    ]
