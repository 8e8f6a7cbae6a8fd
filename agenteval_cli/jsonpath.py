"""JSONPath as RFC 9535 has it. A path of plain names and indices is walked here; a library reads all the others.

Its functions `match` and `search` are ours: the same patterns (RFC 9485), with a time limit on all that one path asks.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from agenteval_cli.compare import ABSENT
from agenteval_cli.patterns import SECONDS, PatternTimeoutError, spans

_PLAIN = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[(?:0|[1-9][0-9]{0,9})\])*")
_now = threading.local()  # the deadline of the search that this thread is at
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]")


def values_at(path: str, data: Any) -> list[Any]:
    """The values that the JSONPath selects in the data.

    Raises ValueError for data nested too deeply, PatternTimeoutError for a pattern in it that took too long.
    """
    steps = _steps(path)
    return _found_by(path, data) if steps is None else _walked(steps, data)


def path_fault(path: str) -> str | None:
    """Why `path` is not a JSONPath, or None."""
    if _steps(path) is not None:
        return None
    import jsonpath_rfc9535

    try:
        _compiled(path)
    except jsonpath_rfc9535.JSONPathError as error:
        return f"'{path}' is not a JSONPath: {error}".splitlines()[0]
    return None


@lru_cache(maxsize=512)
def _steps(path: str) -> tuple[str | int, ...] | None:
    """The names and indices of a plain path such as `$.items[0].sku`; None for any other."""
    if not _PLAIN.fullmatch(path):
        return None
    return tuple(name or int(index) for name, index in _STEP.findall(path))


def _walked(steps: tuple[str | int, ...], data: Any) -> list[Any]:
    for step in steps:
        if isinstance(step, str):
            data = data.get(step, ABSENT) if isinstance(data, dict) else ABSENT
        else:
            data = data[step] if isinstance(data, list) and step < len(data) else ABSENT
        if data is ABSENT:
            return []
    return [data]


def _found_by(path: str, data: Any) -> list[Any]:
    import jsonpath_rfc9535

    _now.deadline = time.monotonic() + SECONDS
    try:
        return list(_compiled(path).find(data).values())
    except (jsonpath_rfc9535.JSONPathRecursionError, RecursionError) as error:
        raise ValueError("the answer is nested too deeply to search") from error


@lru_cache(maxsize=512)
def _compiled(path: str) -> Any:
    return _environment().compile(path)


@cache
def _environment() -> Any:
    """The library's own, with other functions for patterns: those of the library search without a limit."""
    import jsonpath_rfc9535
    from jsonpath_rfc9535.function_extensions import ExpressionType, FilterFunction

    class Pattern(FilterFunction):
        arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012  # so the library declares it
        return_type = ExpressionType.LOGICAL

        def __init__(self, decide: Callable[[str, str], bool]) -> None:
            self._decide = decide

        def __call__(self, text: object, pattern: object) -> bool:
            if time.monotonic() > _now.deadline:
                raise PatternTimeoutError(f"the patterns of a JSONPath took more than {SECONDS:g} s in all")
            return isinstance(text, str) and isinstance(pattern, str) and self._decide(text, pattern)

    environment = jsonpath_rfc9535.JSONPathEnvironment()
    environment.function_extensions |= {"match": Pattern(_matches), "search": Pattern(_is_in)}
    return environment


def _matches(text: str, pattern: str) -> bool:
    known = _as_regex(pattern)
    return known is not None and any(True for _ in spans(known, text, full=True))


def _is_in(text: str, pattern: str) -> bool:
    known = _as_regex(pattern)
    return known is not None and any(True for _ in spans(known, text))


@lru_cache(maxsize=512)
def _as_regex(pattern: str) -> str | None:
    """An I-Regexp as the library of patterns reads it; None where it is none, which then matches nothing."""
    from iregexp_check import check

    return _with_plain_dots(pattern) if check(pattern) else None


def _with_plain_dots(pattern: str) -> str:
    """A dot outside of a class is any character but a line feed and a carriage return (RFC 9485, section 5.3)."""
    made = []
    in_class = escaped = False
    for sign in pattern:
        made.append(r"[^\n\r]" if sign == "." and not in_class and not escaped else sign)
        in_class = not escaped and (sign == "[" or (in_class and sign != "]"))
        escaped = not escaped and sign == "\\"
    return "".join(made)
