"""The state of an attempt as its tools change and show it. Values are shared, so nothing here changes what it is given.

Effects are JSON merge patches (RFC 7396); `{$state: /orders/5678}` stands for what is there (RFC 6901), and
`{$literal: VALUE}` for the value as it is, whatever it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agenteval_cli.compare import ABSENT

POINTER_KEY = "$state"
LITERAL_KEY = "$literal"
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


class NoStateError(Exception):
    """The pointer leads to nothing in the state as it is now."""


def patched(target: Any, patch: Any) -> Any:
    """The target with a merge patch applied: objects merge, null removes, everything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


def at(document: Any, pointer: str) -> Any:
    """What a JSON pointer leads to; ABSENT where that is nothing. The empty pointer is the whole document."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(key, ABSENT)
        elif isinstance(document, list) and _INDEX.fullmatch(key) and int(key) < len(document):
            document = document[int(key)]
        else:
            return ABSENT
    return document


def pointer_of(value: Any) -> str | None:
    """The pointer of `{$state: /json/pointer}`; None for every other value."""
    if isinstance(value, Mapping) and len(value) == 1:
        pointer = value.get(POINTER_KEY)
        if isinstance(pointer, str) and (not pointer or pointer.startswith("/")):
            return pointer
    return None


def is_literal(value: Any) -> bool:
    """Whether it is `{$literal: VALUE}`."""
    return isinstance(value, Mapping) and len(value) == 1 and LITERAL_KEY in value


def points(value: Any) -> bool:
    """Whether anything in a value stands for something else: a pointer, or a literal."""
    if is_literal(value) or pointer_of(value) is not None:
        return True
    if isinstance(value, Mapping):
        return any(map(points, value.values()))
    return isinstance(value, list) and any(map(points, value))


def resolved(value: Any, state: Any) -> Any:
    """The value with every pointer in it replaced by what it leads to, and every literal by what it holds.

    Raises NoStateError where a pointer leads to nothing.
    """
    if is_literal(value):
        return value[LITERAL_KEY]
    pointer = pointer_of(value)
    if pointer is not None:
        found = at(state, pointer)
        if found is ABSENT:
            raise NoStateError(f"the state has nothing at '{pointer}'")
        return found
    if isinstance(value, Mapping):
        return {key: resolved(item, state) for key, item in value.items()}
    return [resolved(item, state) for item in value] if isinstance(value, list) else value


def literally(value: Any, is_read: Callable[[str], bool]) -> Any:
    """What `resolved` makes this value of: all that it would read, and each text that `is_read` by others."""
    if is_literal(value) or pointer_of(value) is not None or (isinstance(value, str) and is_read(value)):
        return {LITERAL_KEY: value}
    if isinstance(value, Mapping):
        return {key: literally(item, is_read) for key, item in value.items()}
    return [literally(item, is_read) for item in value] if isinstance(value, list) else value
