"""JSON objects in which a key stands twice: two readers may take two values of it, so that it means neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def object_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object, for `object_pairs_hook` of a JSON decoder. Raises ValueError for a key that is there twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key '{next(key for key in made if keys.count(key) > 1)}' is there twice")
    return made
