"""JSON values: copied, checked, and made so that they do not change; amounts as decimal text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from agenteval_cli.yaml_reader import MAX_DEPTH


def json_value(
    value: Any,
    place: str,
    of_mapping: Callable[[dict[str, Any]], Any] = dict,
    of_list: Callable[[list[Any]], Any] = list,
    depth: int = 0,
) -> Any:
    """A deep copy of a JSON value, its mappings and lists (tuples are lists) made by the two functions.

    Raises TypeError for what JSON does not have; ValueError for numbers that it does not, and for endless nesting.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"{place} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        keys = [_key(key, place) for key in value]
        items = zip(keys, value.values(), strict=True)
        return of_mapping({k: json_value(v, f"{place}.{k}", of_mapping, of_list, depth + 1) for k, v in items})
    if isinstance(value, list | tuple):
        found = enumerate(value)
        return of_list([json_value(v, f"{place}[{i}]", of_mapping, of_list, depth + 1) for i, v in found])
    return _scalar(value, place)


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{place}: the key {key!r} is {kind_of(key)}; keys are texts")
    return str.__str__(key)


def _scalar(value: Any, place: str) -> Any:
    """A text, a number, a boolean or None; of a subclass (an enum, say) what it is underneath."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise ValueError(f"{place}: {value} is not a number that JSON has")
    raise TypeError(f"{place} is {kind_of(value)}; give a JSON value: text, number, boolean, None, list or mapping")


def decimal_text(value: Any, place: str) -> str:
    """An amount as plain decimal text, every digit kept: a text, a Decimal, a whole number, or a float as it prints.

    Raises TypeError for what is no amount; ValueError for one that is none, below 0 or endless.
    """
    if isinstance(value, bool) or not isinstance(value, str | Decimal | int | float):
        raise TypeError(f"{place} is {kind_of(value)}; give a decimal text such as '0.05', or a Decimal")
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{place}: {value!r} is not an amount; give a decimal text such as '0.05'") from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{place}: {value!r} is not an amount of 0 or more")
    return value if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) else f"{abs(amount):f}"


def kind_of(value: Any) -> str:
    """What kind of thing a value is, with its article."""
    if value is None:
        return "None"
    name = type(value).__name__.strip("_").removeprefix("Frozen").lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def frozen(value: Any, place: str) -> Any:
    """A deep copy of a JSON value that refuses to be changed; raises as json_value does."""
    return json_value(value, place, _FrozenDict, _FrozenList)


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("what a TestCase holds does not change; make another with replace()")


class _FrozenDict(dict[str, Any]):
    """A dict that refuses to be changed."""

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


class _FrozenList(list[Any]):
    """A list that refuses to be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self),)
