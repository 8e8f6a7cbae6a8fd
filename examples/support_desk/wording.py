"""Text in and text out: normal form, language, and the phrases of each language."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "phrases"
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
GERMAN = re.compile(
    r"[äöüß]|\b(ich|nicht|bitte|und|der|das|mein|meine|meiner|ist|wie|wo|wann|bestellung|rechnung"
    r"|hallo|guten|danke|mir|sie|noch|von)\b"
)


def normalised(text: str) -> str:
    """Full-width and upper-case variants made alike, so that one pattern finds them all."""
    return unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()


def language_of(texts: Iterable[str]) -> str:
    """The language of the newest text that has words; `texts` comes newest first."""
    worded = (text for text in texts if re.search(r"[^\W\d_]{2}", text))
    text = normalised(next(worded, ""))
    if JAPANESE.search(text):
        return "ja"
    return "de" if GERMAN.search(text) else "en"


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
    table = tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))
    return Phrases(table, short, seed)
