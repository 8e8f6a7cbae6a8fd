"""Text in and text out: normal form, language, and the phrases of each language."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "phrases"
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
GERMAN = re.compile(
    r"[äöüß]|\b(ich|nicht|bitte|und|der|das|mein|meine|meiner|ist|wie|wo|wann|bestellung|rechnung"
    r"|hallo|guten|danke|mir|sie|noch|von|ja|nein|auch)\b"
)
ENGLISH = re.compile(
    r"\b(i|i'm|my|me|you|the|this|that|it|is|are|was|do|does|can|could|please|order|where|when|what|how|and|of|to"
    r"|hello|hi|thanks?|yes|no)\b"
)


def normalised(text: str) -> str:
    """Full-width and upper-case variants made alike, so that one pattern finds them all."""
    return unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()


def language_of(texts: Iterable[str]) -> str:
    """The language of the newest text that shows one; `texts` comes newest first."""
    return next((language for text in texts if (language := _language(normalised(text)))), "en")


def _language(text: str) -> str | None:
    patterns = (("ja", JAPANESE), ("de", GERMAN), ("en", ENGLISH))
    return next((language for language, pattern in patterns if pattern.search(text)), None)


@dataclass(frozen=True, slots=True)
class Phrases:
    table: dict[str, Any]
    short: bool
    seed: int

    def say(self, key: str, **values: object) -> str:
        wording = self.table.get(f"{key}_short") if self.short else None
        wording = wording or self.table[key]
        if isinstance(wording, list):
            wording = wording[self.seed % len(wording)]
        return str(wording).format(**values)

    def status(self, name: str) -> str:
        return str(self.table["statuses"].get(name, name))

    def day(self, iso: str) -> str:
        day = date.fromisoformat(iso)
        month = self.table["months"][day.month - 1]
        return str(self.table["day"]).format(day=day.day, month=month, year=day.year)


def load_phrases(language: str, *, short: bool, seed: int) -> Phrases:
    return Phrases(_table(language), short, seed)


def wordings() -> Iterator[tuple[str, str]]:
    """Every phrase of every language, under its key."""
    for path in sorted(FOLDER.glob("*.toml")):
        for key, wording in _table(path.stem).items():
            if isinstance(wording, str):
                yield key, wording
            elif isinstance(wording, list) and key != "months":
                yield from ((key, each) for each in wording)


def _table(language: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))
