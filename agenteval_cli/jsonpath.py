"""JSONPath as RFC 9535 has it; the library is loaded by the case that uses one."""

from __future__ import annotations

from typing import Any


def values_at(path: str, data: Any) -> list[Any]:
    """The values that the JSONPath selects in the data. Raises ValueError for data nested too deeply."""
    import jsonpath_rfc9535

    try:
        return list(jsonpath_rfc9535.find(path, data).values())
    except (jsonpath_rfc9535.JSONPathRecursionError, RecursionError) as error:
        raise ValueError("the answer is nested too deeply to search") from error


def path_fault(path: str) -> str | None:
    """Why `path` is not a JSONPath, or None."""
    import jsonpath_rfc9535

    try:
        jsonpath_rfc9535.compile(path)
    except jsonpath_rfc9535.JSONPathError as error:
        return f"'{path}' is not a JSONPath: {error}".splitlines()[0]
    return None
