"""The quick way through a plain YAML file: no anchors, tags, merges or look-alikes, and nothing wrong with it.

Most case files are like that. For anything else it gives up, and the careful reader starts again: see yaml_reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
from yaml import _yaml, events

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

Get = Callable[[], Any]
Reader = Callable[[Get, int], Any]


class NotPlainError(Exception):
    """The file has something that wants a careful look."""


def _reader(of: ModuleType | SimpleNamespace) -> Reader:  # noqa: C901  # a function for each kind of node
    """A reader of events that are of the classes in yaml.events, or of others with their names."""
    scalar_event, mapping_end, sequence_end = of.ScalarEvent, of.MappingEndEvent, of.SequenceEndEvent
    mapping_start = of.MappingStartEvent

    def document(get: Get, max_depth: int) -> Any:
        get()
        start = get()
        if type(start) is not events.DocumentStartEvent or start.version or start.tags:
            raise NotPlainError
        data = node(get, get(), max_depth)
        get()
        if type(get()) is not events.StreamEndEvent:
            raise NotPlainError
        return data

    def node(get: Get, event: Any, room: int) -> Any:
        if type(event) is scalar_event:
            return scalar(event)
        if not room or getattr(event, "tag", None) is not None or event.anchor is not None:
            raise NotPlainError
        return mapping(get, room - 1) if type(event) is mapping_start else sequence(get, room - 1)

    def mapping(get: Get, room: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            event = get()
            if type(event) is not scalar_event:
                if type(event) is mapping_end:
                    return found
                raise NotPlainError
            key = event.value
            if key in found or key == "<<" or not key or event.tag is not None or event.anchor is not None:
                raise NotPlainError
            event = get()
            found[key] = scalar(event) if type(event) is scalar_event else node(get, event, room)

    def sequence(get: Get, room: int) -> list[Any]:
        found: list[Any] = []
        while True:
            event = get()
            if type(event) is sequence_end:
                return found
            found.append(node(get, event, room))

    def scalar(event: Any) -> Any:
        if event.tag is not None or event.anchor is not None:
            raise NotPlainError
        text = event.value
        return text if event.style or (text and text[0] not in MAYBE_TYPED) else _plain(text)

    return document


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


# ---- events that cost less: PyYAML makes each of libyaml's events an object with a Python __init__ and a __dict__,
# which takes longer than libyaml and this reader together. These have the same attributes, made in C.


class _Scalar(msgspec.Struct, gc=False):
    anchor: Any
    tag: Any
    implicit: Any
    value: Any
    start_mark: Any = None
    end_mark: Any = None
    style: Any = None


class _MappingStart(msgspec.Struct, gc=False):
    anchor: Any
    tag: Any
    implicit: Any
    start_mark: Any = None
    end_mark: Any = None
    flow_style: Any = None


class _SequenceStart(_MappingStart, gc=False):
    pass


class _MappingEnd(msgspec.Struct, gc=False):
    start_mark: Any = None
    end_mark: Any = None


class _SequenceEnd(_MappingEnd, gc=False):
    pass


_LIGHT = {
    "ScalarEvent": _Scalar,
    "MappingStartEvent": _MappingStart,
    "MappingEndEvent": _MappingEnd,
    "SequenceStartEvent": _SequenceStart,
    "SequenceEndEvent": _SequenceEnd,
}
_light_reader = _reader(SimpleNamespace(**_LIGHT))

_full_reader = _reader(events)


def plain_document(get: Get, max_depth: int) -> Any:
    """The data of the only document. Raises NotPlainError, and yaml.YAMLError where the text is not YAML."""
    return _full_reader(get, max_depth)


def light_document(get: Get, max_depth: int) -> Any:
    """As plain_document, a quarter quicker: for a process of our own in which nothing else uses PyYAML meanwhile."""
    kept = {name: getattr(_yaml, name) for name in _LIGHT}
    try:
        for name, light in _LIGHT.items():
            setattr(_yaml, name, light)
        return _light_reader(get, max_depth)
    finally:
        for name, heavy in kept.items():
            setattr(_yaml, name, heavy)
