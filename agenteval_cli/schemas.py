"""The contracts: the JSON Schemas shipped with the tool, and problems of documents held against them.

A compiled validator says quickly that a document is valid. The verdict on anything else is jsonschema's, and its
errors are turned into one clear sentence each, so that a valid file never pays for loading jsonschema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from agenteval_cli.problems import Problem, any_of_words, did_you_mean, in_reading_order
from agenteval_cli.yaml_reader import Document

_Error = Any  # jsonschema's ValidationError; its module is loaded only for a document that has one
_Explained = Iterator[tuple[list[str | int], str, bool]]


def folder() -> Path:
    """Where the schemas are: inside the wheel, or beside the package in a source tree."""
    here = Path(__file__).resolve().parent
    return here / "schemas" if (here / "schemas").is_dir() else here.parent / "schemas"


@cache
def load(name: str) -> dict[str, Any]:
    """The schema called `name`, as `case`, `config`, `run`, `attempt`, `transcript`, `response` or `output`."""
    loaded: dict[str, Any] = json.loads((folder() / f"{name}.schema.json").read_bytes())
    return loaded


@cache
def _quick(name: str) -> Any:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(load(name))


def is_valid(name: str, data: Any) -> bool:
    """Whether `data` satisfies the schema called `name`."""
    return bool(_quick(name).is_valid(data))


def problems_in(document: Document, name: str) -> list[Problem]:
    """All problems of a document held against the schema called `name`, in reading order."""
    if is_valid(name, document.data):
        return []
    found = [
        document.problem(tuple(path), "schema", message, at_key=at_key)
        for path, message, at_key in explanations(name, document.data)
    ]
    return in_reading_order(found)


def explanations(name: str, data: Any) -> _Explained:
    """Each fault of `data` against the schema called `name`: (path, sentence, whether it is about the key there)."""
    from jsonschema import Draft202012Validator

    errors = list(Draft202012Validator(load(name)).iter_errors(data))
    for error in errors:
        yield from _explained(error)
    if not errors:
        # The two libraries part over `$` before a trailing line break. The stricter one has the last word.
        for stricter in _quick(name).iter_errors(data):
            yield list(stricter.instance_path), stricter.message, False


def _explained(error: _Error) -> _Explained:
    path = list(error.absolute_path)
    explain = _EXPLAIN.get(str(error.validator))
    if explain is None:
        yield path, error.message, False
    else:
        yield from explain(error, path)


def _unknown_keys(error: _Error, path: list[str | int]) -> _Explained:
    known = error.schema.get("properties", {})
    for key in error.instance:
        if key not in known:
            yield [*path, key], f"unknown key '{key}'{_nearest(key, known)}", True


def _nearest(key: str, known: Mapping[str, Any]) -> str:
    return did_you_mean(key, known) or f"; known here: {', '.join(sorted(known))}"


def _missing_keys(error: _Error, path: list[str | int]) -> _Explained:
    key = error.message.split("'")[1]
    yield path, f"'{key}' is missing", False


def _not_in_enum(error: _Error, path: list[str | int]) -> _Explained:
    words = [str(value) for value in error.validator_value]
    near = did_you_mean(error.instance, words) if isinstance(error.instance, str) else ""
    yield path, f"{_shown(error.instance)} is not one of {', '.join(words)}{near}", False


def _wrong_type(error: _Error, path: list[str | int]) -> _Explained:
    wanted = error.validator_value
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    hint = ""
    if "string" in names and isinstance(error.instance, int | float):
        is_duration = error.schema.get("pattern") == _DURATION
        hint = f"; write it with its unit, as {error.instance}s" if is_duration else "; write it in quotes"
    words = any_of_words(_TYPE_WORDS[name] for name in names)
    yield path, f"{_shown(error.instance)} is {_type_of(error.instance)}; expected {words}{hint}", False


def _no_alternative(error: _Error, path: list[str | int]) -> _Explained:
    """The alternative whose type fits tells best what is wrong; else the choice itself is named."""
    choices = error.validator_value
    wanted = [key for choice in choices for key in choice.get("required", ())]
    if all(set(choice) == {"required"} for choice in choices):
        if not isinstance(error.instance, dict):
            return
        given = [key for key in wanted if key in error.instance]
        if not given:
            known = error.schema.get("properties", {})
            strays = [key for key in error.instance if key not in known]
            near = any(did_you_mean(key, wanted) for key in strays)
            if not near:
                yield path, f"give one of {any_of_words(wanted)}", False
        else:
            yield path, f"only one of {any_of_words(given)} may stand here; write each as an item of its own", False
        return
    fitting = [inner for inner in error.context or () if inner.validator != "type" or len(inner.path) > 0]
    if fitting:
        for inner in fitting:
            yield from _explained(inner)
        return
    names = [_TYPE_WORDS[name] for choice in choices for name in _listed(choice.get("type", "object"))]
    yield path, f"{_shown(error.instance)} is {_type_of(error.instance)}; expected {any_of_words(names)}", False


def _not_together(error: _Error, path: list[str | int]) -> _Explained:
    """A `not` in our schemas names keys that exclude each other."""
    keys = error.validator_value.get("required", ())
    yield path, f"{any_of_words(keys)}: one of them, not both", False


def _bad_pattern(error: _Error, path: list[str | int]) -> _Explained:
    words = _PATTERN_WORDS.get(str(error.validator_value), f"does not match {error.validator_value}")
    yield path, f"{_shown(error.instance)} {words}", False


def _empty(_error: _Error, path: list[str | int]) -> _Explained:
    yield path, "must not be empty", False


def _constant(error: _Error, path: list[str | int]) -> _Explained:
    if path == ["schema"]:
        words = f"this version reads format {error.validator_value}, not {_shown(error.instance)}"
        yield path, words, False
    else:
        yield path, f"must be {_shown(error.validator_value)}", False


def _bound(words: str) -> Callable[[_Error, list[str | int]], _Explained]:
    def explain(error: _Error, path: list[str | int]) -> _Explained:
        yield path, f"{_shown(error.instance)} must be {words} {error.validator_value}", False

    return explain


def _repeated(error: _Error, path: list[str | int]) -> _Explained:
    twice = next((item for index, item in enumerate(error.instance) if item in error.instance[:index]), None)
    yield path, f"{_shown(twice)} is there twice", False


def _needs(error: _Error, path: list[str | int]) -> _Explained:
    yield path, error.message.replace(" is a dependency of ", " is needed by "), False


_EXPLAIN: Mapping[str, Callable[[_Error, list[str | int]], _Explained]] = {
    "additionalProperties": _unknown_keys,
    "required": _missing_keys,
    "enum": _not_in_enum,
    "type": _wrong_type,
    "anyOf": _no_alternative,
    "oneOf": _no_alternative,
    "not": _not_together,
    "pattern": _bad_pattern,
    "minLength": _empty,
    "minItems": _empty,
    "minProperties": _empty,
    "const": _constant,
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("more than"),
    "dependentRequired": _needs,
    "uniqueItems": _repeated,
}

_DURATION = "^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$"
_PATTERN_WORDS = {
    "^[A-Za-z0-9][A-Za-z0-9._-]{1,79}$": "is not an ID: 2 to 80 letters, digits, '.', '_' or '-', the first no sign",
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$": "is not a day; write it as 2026-12-01",
    _DURATION: "is not a duration; write a number and a unit, as 30s, 500ms or 2m",
    "^[0-9]+(\\.[0-9]+)?$": "is not an amount; write a decimal text, as '0.05'",
    "^\\$": "is not a JSONPath; it starts with $, as $.order.total",
    "^[^\\n]*\\n?$": "has several lines; keep it to one",
    "^[A-Za-z_][A-Za-z0-9_]*$": "is not a variable name: letters, digits and _",
    "^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$": "is not an agent name: letters, digits, '.', '_' or '-'",
}

_TYPE_WORDS = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "null",
}


def _listed(value: str | Iterable[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _type_of(value: Any) -> str:
    if value is None:
        return "empty (null)"
    kinds = {str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return _TYPE_WORDS[kinds[type(value)]] if type(value) is not bool else "a boolean"


def _shown(value: Any) -> str:
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
