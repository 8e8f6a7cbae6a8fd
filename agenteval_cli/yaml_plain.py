"""The quick way through a plain YAML file: no anchors, tags, merges or look-alikes, and nothing wrong with it.

Most case files are like that. For anything else it gives up, and the careful reader starts again: see yaml_reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from yaml.events import (
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
}
MAYBE_TYPED = frozenset("0123456789+-.~nNtTfF")
INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMBER = re.compile("|".join(f"(?:{pattern.pattern})" for pattern in (INT, FLOAT, NOT_FINITE)))
_SURE_INT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_SURE_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,8})\.[0-9]{0,8}[1-9]")


class NotPlainError(Exception):
    """The file has something that wants a careful look."""


def plain_document(get: Callable[[], Any], max_depth: int) -> Any:
    """The data of the only document. Raises NotPlainError, and yaml.YAMLError where the text is not YAML."""
    get()
    start = get()
    if type(start) is not DocumentStartEvent or start.version or start.tags:
        raise NotPlainError
    data = _node(get, get(), max_depth)
    get()
    if type(get()) is not StreamEndEvent:
        raise NotPlainError
    return data


def _node(get: Callable[[], Any], event: Any, room: int) -> Any:
    kind = type(event)
    if kind is ScalarEvent:
        if event.tag is not None or event.anchor is not None:
            raise NotPlainError
        text = event.value
        if event.style or (text and text[0] not in MAYBE_TYPED):
            return text
        return _plain(text)
    if not room or getattr(event, "tag", None) is not None or event.anchor is not None:
        raise NotPlainError
    return _mapping(get, room - 1) if kind is MappingStartEvent else _sequence(get, room - 1)


def _mapping(get: Callable[[], Any], room: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    event = get()
    while type(event) is not MappingEndEvent:
        if type(event) is not ScalarEvent or event.tag is not None or event.anchor is not None:
            raise NotPlainError
        key = event.value
        if key in found or key == "<<" or not key:
            raise NotPlainError
        found[key] = _node(get, get(), room)
        event = get()
    return found


def _sequence(get: Callable[[], Any], room: int) -> list[Any]:
    found = []
    event = get()
    while type(event) is not SequenceEndEvent:
        found.append(_node(get, event, room))
        event = get()
    return found


def _plain(text: str) -> Any:
    if text in CONSTANTS:
        return CONSTANTS[text]
    if _SURE_INT.fullmatch(text):
        return int(text)
    if _SURE_DECIMAL.fullmatch(text):
        return float(text)
    if _NUMBER.fullmatch(text):
        raise NotPlainError
    return text
