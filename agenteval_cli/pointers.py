"""`{$state: /orders/5678/total}` in a matcher: the value at that JSON pointer (RFC 6901) of the case's state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenteval_cli.compare import ABSENT, shown
from agenteval_cli.matchers import operator_of
from agenteval_cli.state_patches import POINTER_KEY, at, pointer_of

_OF_MATCHERS = frozenset({"not", "contains", "length"})  # operators whose operand is a matcher itself
Path = tuple[str | int, ...]


def resolved(matcher: Any, state: Any) -> Any:
    """The matcher with every pointer in it replaced. One that stands for a mapping or a list means `equals` it.

    A pointer to nothing stays as it is, and equals nothing; `faults` tells of it before anything runs.
    """
    pointer = pointer_of(matcher)
    if pointer is not None:
        value = at(state, pointer)
        if value is ABSENT:
            return matcher
        return {"equals": value} if isinstance(value, dict | list) else value
    operator = operator_of(matcher)
    if operator is not None:
        return {operator: _operand(operator, matcher[operator], state)}
    if isinstance(matcher, dict):
        return {key: resolved(value, state) for key, value in matcher.items()}
    return [resolved(item, state) for item in matcher] if isinstance(matcher, list) else matcher


def faults(matcher: Any, state: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Pointers to nothing, and what is meant for one and is none: (path inside the matcher, sentence)."""
    if isinstance(matcher, dict) and matcher.keys() == {POINTER_KEY}:
        pointer = pointer_of(matcher)
        if pointer is None:
            words = f"{shown(matcher[POINTER_KEY])} is not a JSON pointer; it starts with /, as /orders/5678/total"
            yield (*path, POINTER_KEY), words
        elif at(state, pointer) is ABSENT:
            yield (*path, POINTER_KEY), f"the case's state has nothing at {pointer}"
    elif isinstance(matcher, dict):
        for key, value in matcher.items():
            yield from faults(value, state, (*path, key))
    elif isinstance(matcher, list):
        for index, item in enumerate(matcher):
            yield from faults(item, state, (*path, index))


def _operand(operator: str, operand: Any, state: Any) -> Any:
    if operator in _OF_MATCHERS:
        return resolved(operand, state)
    if operator == "any_of" and isinstance(operand, list):
        return [resolved(item, state) for item in operand]
    return operand if operator == "schema" else _plain(operand, state)


def _plain(value: Any, state: Any) -> Any:
    """A value in which pointers stand for values, and nothing is a matcher."""
    pointer = pointer_of(value)
    if pointer is not None:
        found = at(state, pointer)
        return value if found is ABSENT else found
    if isinstance(value, dict):
        return {key: _plain(item, state) for key, item in value.items()}
    return [_plain(item, state) for item in value] if isinstance(value, list) else value
