"""The shop: an in-memory SQLite database made from a state, and turned back into one."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

Record = dict[str, Any]
COLLECTIONS = ("customers", "orders", "products", "discounts", "tickets", "refunds", "mails")

TABLES = """
CREATE TABLE settings (id TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE records (
    collection TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (collection, id)
);
"""
ONE = "SELECT body FROM records WHERE collection = ? AND id = ?"
ALL = "SELECT id, body FROM records WHERE collection = ? ORDER BY rowid"
ADD = "INSERT INTO records VALUES (?, ?, ?)"
CHANGE = "UPDATE records SET body = json_patch(body, ?) WHERE collection = ? AND id = ?"


class Shop:
    def __init__(self, state: Mapping[str, Any]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.executescript(TABLES)
        self._given = {name: _is_collection(name, value) for name, value in state.items()}
        for name, value in state.items():
            self._load(name, value)

    def get(self, collection: str, key: str) -> Record | None:
        row = self._db.execute(ONE, (collection, key)).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def rows(self, collection: str) -> dict[str, Record]:
        return {key: json.loads(body) for key, body in self._db.execute(ALL, (collection,))}

    def add(self, collection: str, prefix: str, record: Record) -> str:
        """Store under the next free number, as in R-1, and say under which."""
        taken = self.rows(collection)
        number = 1
        while (key := f"{prefix}-{number}") in taken:
            number += 1
        self._db.execute(ADD, (collection, key, _text(record)))
        return key

    def change(self, collection: str, key: str, **changes: object) -> None:
        self._db.execute(CHANGE, (_text(changes), collection, key))

    def setting(self, name: str) -> Any:
        row = self._db.execute("SELECT body FROM settings WHERE id = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def state(self) -> Record:
        """The state as it is now: what was given, in its order, then what came into being."""
        tables = {name: rows for name in COLLECTIONS if (rows := self.rows(name))}
        given = {
            name: self.rows(name) if is_collection else self.setting(name)
            for name, is_collection in self._given.items()
        }
        return given | {name: rows for name, rows in tables.items() if name not in given}

    def _load(self, name: str, value: Any) -> None:
        if self._given[name]:
            rows = ((name, key, _text(record)) for key, record in value.items())
            self._db.executemany(ADD, rows)
        else:
            self._db.execute("INSERT INTO settings VALUES (?, ?)", (name, _text(value)))


def _is_collection(name: str, value: object) -> bool:
    if name not in COLLECTIONS or not isinstance(value, Mapping):
        return False
    return all(isinstance(row, Mapping) for row in value.values())


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
