"""JSONPath as RFC 9535 has it. A path of plain names and indices is walked here; a library reads all the others."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from agenteval_cli.compare import ABSENT

_PLAIN = re.compile(r"\$(?:\.[A-Za-z_][A-Za-z0-9_]*|\[(?:0|[1-9][0-9]{0,9})\])*")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]")


def values_at(path: str, data: Any) -> list[Any]:
    """The values that the JSONPath selects in the data. Raises ValueError for data nested too deeply."""
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

    try:
        return list(_compiled(path).find(data).values())
    except (jsonpath_rfc9535.JSONPathRecursionError, RecursionError) as error:
        raise ValueError("the answer is nested too deeply to search") from error


@lru_cache(maxsize=512)
def _compiled(path: str) -> Any:
    import jsonpath_rfc9535

    return jsonpath_rfc9535.compile(path)
