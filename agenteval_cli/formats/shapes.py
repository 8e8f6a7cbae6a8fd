"""Foreign JSON, looked at without trust: what is not of the wanted shape is as if it were not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.protocols.json_protocol import one_reading

_MOST = 2**63 - 1  # nanoseconds since 1970 fit; what is larger was made up, and no float can hold any number


def mapping(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects among the items of a list."""
    return (item for item in sequence(value) if isinstance(item, dict))


def text(value: Any) -> str | None:
    """The value where it is a text that says something, else None."""
    return value if isinstance(value, str) and value else None


def name_or_number(value: Any) -> str | None:
    """An identifier as text; some makers write numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text(value)


def count(value: Any) -> int | None:
    """A number of things, or of nanoseconds: a whole number, a float that is one, or the decimal text of one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return value if isinstance(value, int) and 0 <= value <= _MOST else None


def total(counts: list[int | None]) -> int | None:
    """The sum, where there is something to add and every part is known."""
    known = [item for item in counts if item is not None]
    return sum(known) if known and len(known) == len(counts) else None


def unpacked(value: Any) -> Any:
    """JSON text of an object or a list, decoded once. Anything else stays as it is: the text 42 is no number."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return one_reading(value.strip())
        except UnreadableAnswerError:
            return value
    return value


def looks_cut(value: Any) -> bool:
    """Whether a text begins as JSON and does not parse: it was cut somewhere, or is malformed."""
    return isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and isinstance(unpacked(value), str)
