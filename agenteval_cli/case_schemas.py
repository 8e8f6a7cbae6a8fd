"""JSON Schemas inside cases: compiled once each, and nothing is ever fetched.

jsonschema-rs holds agents' answers against them: its regular expressions are bounded, and answers are hostile.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import msgspec


def schema_fault(schema: Any) -> str | None:
    """Why `schema`, a part of a case, is not a JSON Schema that can be used offline, or None."""
    try:
        _compiled(_encoded(schema))
    except Exception as error:  # noqa: BLE001  # jsonschema_rs raises several unrelated classes for a bad schema
        return str(error).splitlines()[0]
    return None


def first_fault(schema: Any, value: Any) -> str | None:
    """Where and why `value`, from an agent, does not satisfy `schema`; None where it does."""
    validator = _compiled(_encoded(schema))
    try:
        return _first_of(validator, value)
    except UnicodeEncodeError:  # half of a surrogate pair in a key, which JSON can write and Unicode has not
        return _first_of(validator, json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")))


def _first_of(validator: Any, value: Any) -> str | None:
    if validator.is_valid(value):
        return None
    error = next(iter(validator.iter_errors(value)), None)
    if error is None:
        return None
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
    return f"{'at $' + place + ': ' if place else ''}{error.message}"


def _encoded(schema: Any) -> bytes:
    """The schema as bytes: what is compiled is kept by its content."""
    try:
        return msgspec.json.encode(schema)
    except (UnicodeEncodeError, RecursionError):
        return json.dumps(schema).encode()


@lru_cache(maxsize=512)
def _compiled(encoded: bytes) -> Any:
    """A validator that fetches nothing: a case must not depend on what a server says today."""
    from jsonschema_rs import validator_for

    return validator_for(json.loads(encoded), retriever=_refuse_to_fetch)


def _refuse_to_fetch(uri: str) -> Any:
    raise ValueError(f"{uri} would have to be fetched; put the schema in $defs")
