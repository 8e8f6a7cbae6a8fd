"""JSON values as YAML that the strict reader reads back as they are: quoted where they would be taken for another."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from agenteval_cli.errors import UsageError

WIDTH = 110
_LONGEST_KEY = 1000

# Not as they are: controls, separators, bidirectional overrides, byte order marks, what is no character.
_ESCAPED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
_SHORT_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", '"': '\\"', "\\": "\\\\"}
_PLAIN = re.compile(r"(?:[^\W\d_]|[_$/(]|\d+ [^\W\d_]).*")
_NOT_PLAIN = re.compile(r": | #|:$|\s$")
_FLOW_SIGNS = re.compile(r"[,\[\]{}]")
# Other parsers of YAML take these for something else, and so may people.
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


def document(data: Mapping[str, Any]) -> str:
    """A whole file."""
    return "".join(f"{line}\n" for key, value in data.items() for line in lines_for(key, value))


def lines_for(key: str, value: Any, column: int = 0) -> list[str]:
    """The lines of `key: value`, without line ends, the key at the column."""
    return _lines(f"{' ' * column}{_key(key, in_flow=False)}:", value, column)


def item_lines(value: Any, column: int, *, spread: bool = False) -> list[str]:
    """The lines of one item of a list, its dash at the column; `spread` gives each key of a mapping its own."""
    pad = " " * column
    if isinstance(value, dict) and value and (spread or len(value) == 1 or not _is_short(value, column)):
        inner = [line for key, item in value.items() for line in lines_for(key, item, column + 2)]
        return [f"{pad}- {inner[0].lstrip(' ')}", *inner[1:]]
    return _lines(f"{pad}-", value, column)


def flow(value: Any) -> str:
    """The value on one line, fit to stand inside brackets."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key, in_flow=True)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _scalar(value, in_flow=True)


def _lines(start: str, value: Any, column: int) -> list[str]:
    if isinstance(value, str) and _fits_a_block(value):
        chomping = "" if value.endswith("\n") else "-"
        inner = value.removesuffix("\n").split("\n")
        return [f"{start} |{chomping}", *(f"{' ' * (column + 2)}{line}" if line else "" for line in inner)]
    if not isinstance(value, dict | list):
        return [f"{start} {_scalar(value, in_flow=False)}"]
    if not value or (all(map(_is_scalar, _members(value))) and _is_short(value, len(start))):
        return [f"{start} {flow(value)}"]
    if isinstance(value, dict):
        return [start, *(line for key, item in value.items() for line in lines_for(key, item, column + 2))]
    return [start, *(line for item in value for line in item_lines(item, column + 2))]


def _members(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _is_short(value: Any, column: int) -> bool:
    """Whether the value reads well on one line: it fits, and no text in it has lines of its own."""
    return not _has_lines(value) and column + len(flow(value)) < WIDTH


def _has_lines(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_lines, _members(value)))
    return isinstance(value, str) and "\n" in value


def _fits_a_block(text: str) -> bool:
    """A text of several lines whose first is neither blank nor indented, with at most one break at its end."""
    first, _, rest = text.partition("\n")
    if not rest and not text.endswith("\n"):
        return False
    clean = not _ESCAPED.search(text.replace("\n", "").replace("\t", ""))
    return clean and bool(first) and not first[0].isspace() and not text.endswith("\n\n") and first.strip() != ""


def _key(key: str, *, in_flow: bool) -> str:
    text = _text(key, in_flow=in_flow)
    if len(text) > _LONGEST_KEY:
        raise UsageError(f"a key of {len(text):,} characters; YAML allows {_LONGEST_KEY:,}")
    return text


def _scalar(value: Any, *, in_flow: bool) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number(value)
    return _text(str(value), in_flow=in_flow)


def _number(value: float) -> str:
    """A whole number without its fraction: `2.0` looks like a version that lost its quotes."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise UsageError(f"{value} is not a number that a file can hold")
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else repr(value)


def _text(text: str, *, in_flow: bool) -> str:
    if re.search("[\ud800-\udfff]", text):
        raise UsageError(f"{text!r} is not a text in UTF-8")
    if _ESCAPED.search(text):
        return f'"{_escaped(text)}"'
    if _is_plain(text) and not (in_flow and _FLOW_SIGNS.search(text)):
        return text
    if '"' in text or "\\" in text:
        return "'" + text.replace("'", "''") + "'"
    return f'"{text}"'


def _is_plain(text: str) -> bool:
    return bool(_PLAIN.fullmatch(text)) and not _NOT_PLAIN.search(text) and text.casefold() not in _WORDS


def _escaped(text: str) -> str:
    return re.sub(rf'{_ESCAPED.pattern}|["\\]', lambda found: _escape(found[0]), text)


def _escape(sign: str) -> str:
    code = ord(sign)
    return _SHORT_ESCAPES.get(sign) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
