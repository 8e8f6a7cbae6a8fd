"""The one place where values are compared: exact and typed.

`True` is not `1`; `1` equals `1.0` as numbers do; `null`, absent and empty are three things; NaN matches nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from unicodedata import normalize

import msgspec


class _Absent:
    """The value of what is not there: not null, not empty."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()


class Difference(msgspec.Struct, frozen=True):
    """The first place where two values part. `path` is relative to them, as `$.items[0].sku`."""

    path: str
    expected: Any
    actual: Any
    words: str = ""

    def __str__(self) -> str:
        place = "" if self.path == "$" else f"at {self.path}: "
        return f"{place}{self.words or f'expected {shown(self.expected)}, got {shown(self.actual)}'}"


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
_KINDS: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
    _Absent: "absent",
}


def kind_of(value: Any) -> str:
    """The JSON type of a value: null, boolean, number, string, array, object; or absent."""
    return _KINDS.get(type(value)) or _kind_of_another(value)


def _kind_of_another(value: Any) -> str:
    """The JSON type of a value of a subclass, or of another mapping or sequence."""
    kinds = (kind for base, kind in _KINDS.items() if isinstance(value, base))
    return next(kinds, "object" if isinstance(value, Mapping) else "array")


def same(expected: Any, actual: Any) -> bool:
    """Whether two JSON values are equal, type by type."""
    return first_difference(expected, actual) is None


def first_difference(expected: Any, actual: Any, path: str = "$") -> Difference | None:
    """Where two JSON values first differ, in the order of the expected one; None where they are equal."""
    kind = kind_of(expected)
    if kind != kind_of(actual):
        return Difference(path, expected, actual, _words_for_types(expected, actual))
    if kind == "object":
        return _object_difference(expected, actual, path)
    if kind == "array":
        return _array_difference(expected, actual, path)
    return None if expected == actual else Difference(path, expected, actual, _words_for_texts(expected, actual))


def _words_for_texts(expected: Any, actual: Any) -> str:
    """Words for texts that look the same and are not: matchers compare them as they are."""
    if not isinstance(expected, str) or normalize("NFC", expected) != normalize("NFC", actual):
        return ""
    at = next((at for at, pair in enumerate(zip(expected, actual, strict=False)) if pair[0] != pair[1]), 0)
    points = (" ".join(f"U+{ord(char):04X}" for char in text[at : at + 3]) for text in (expected, actual))
    return f"expected {shown(expected)}, got {shown(actual)}, which only looks the same ({' against '.join(points)})"


def _object_difference(expected: Mapping[str, Any], actual: Mapping[str, Any], path: str) -> Difference | None:
    for key, value in expected.items():
        if difference := first_difference(value, actual.get(key, ABSENT), child(path, key)):
            return difference
    extra = next((key for key in actual if key not in expected), None)
    return None if extra is None else Difference(child(path, extra), ABSENT, actual[extra])


def _array_difference(expected: list[Any], actual: list[Any], path: str) -> Difference | None:
    for index, value in enumerate(expected):
        item = actual[index] if index < len(actual) else ABSENT
        if difference := first_difference(value, item, f"{path}[{index}]"):
            return difference
    if len(actual) > len(expected):
        return Difference(f"{path}[{len(expected)}]", ABSENT, actual[len(expected)])
    return None


def child(path: str, key: str) -> str:
    """The path of a member: `$.name`, or `$["odd name"]`."""
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def shown(value: Any, limit: int = 120) -> str:
    """A value as compact JSON, cut to `limit` characters."""
    if value is ABSENT:
        return "nothing"
    text = _ENCODER.encode(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _words_for_types(expected: Any, actual: Any) -> str:
    if any(value is ABSENT or value is None for value in (expected, actual)):
        return ""
    return f"expected the {kind_of(expected)} {shown(expected)}, got the {kind_of(actual)} {shown(actual)}"
