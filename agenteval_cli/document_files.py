"""Files of documents that other tools made: JSON, JSON lines or YAML, strictly read, each document with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from agenteval_cli import yaml_reader
from agenteval_cli.errors import InvalidFilesError, UsageError
from agenteval_cli.repeats import object_of

Placed = tuple[str, Any]
_LINES = ("jsonl", "ndjson")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def documents_in(file: str, raw: bytes) -> list[Placed]:
    """Each document with its place: `cases.jsonl:3` by line, `cases.json#2` by its number in a list, else the file.

    Raises UsageError, InvalidFilesError for YAML, where the file is not what its name says.
    """
    suffix = file.rpartition(".")[2].casefold()
    if suffix in _LINES:
        return list(_lines(file, raw))
    if suffix == "json":
        found = _json(file, raw)
    elif suffix in ("yaml", "yml"):
        found = _yaml(file, raw)
    else:
        raise UsageError(f"{file}: name it .json, .jsonl or .yaml, so that it is known how to read it")
    return [(f"{file}#{at}", item) for at, item in enumerate(found, 1)] if isinstance(found, list) else [(file, found)]


def _lines(file: str, raw: bytes) -> Iterator[Placed]:
    for number, line in enumerate(raw.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), start=1):
        if line.strip():
            yield f"{file}:{number}", _json(file, line, number)


def _json(file: str, raw: bytes, line: int = 1) -> Any:
    try:
        text = raw.removeprefix(_BYTE_ORDER_MARK).decode()
        return json.loads(text, object_pairs_hook=object_of, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        place = f"{file}:{line + error.lineno - 1}:{error.colno}"
        raise UsageError(f"{place}: not JSON: {_said(error)}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}:{line}: not UTF-8, at byte {error.start + 1}") from error
    except RecursionError as error:
        raise UsageError(f"{file}:{line}: nested too deeply to be read") from error
    except ValueError as error:
        raise UsageError(f"{file}:{line}: not JSON: {_words(error)}") from error


def _said(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "more comes after the first value; documents of a line each go into a file that ends in .jsonl"
    return f"{error.msg[:1].lower()}{error.msg[1:]}"


def _words(error: ValueError) -> str:
    """Python's own words on a whole number of thousands of digits are about Python."""
    return "a number of thousands of digits" if "integer string conversion" in str(error) else str(error)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that JSON has")


def _yaml(file: str, raw: bytes) -> Any:
    reading = yaml_reader.read(file, raw)
    if reading.document is None:
        raise InvalidFilesError([problem for problem in reading.problems if problem.severity == "error"])
    return reading.document.data
