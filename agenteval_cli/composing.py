"""A new case: from what was said of it to the text of its file, and what is wrong with that before it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli import edits, yaml_reader, yaml_writer
from agenteval_cli.authoring import Shelf, formatted, order_of_keys, refusal, refuse_errors
from agenteval_cli.checking import check
from agenteval_cli.errors import UsageError
from agenteval_cli.problems import Problem, in_reading_order
from agenteval_cli.repeats import object_of
from agenteval_cli.rules import across
from agenteval_cli.sources import Source

_HELP = "# What you save becomes the case; saved as it is or empty, none is made. This line is taken out.\n"
_OPTIONAL = ("title", "why", "tier")
_ID = "[A-Za-z0-9][A-Za-z0-9._-]{1,79}"


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said of a new case on the command line."""

    title: str | None = None
    why: str | None = None
    tier: str | None = None
    tags: tuple[str, ...] = ()
    owner: str | None = None
    input: str | None = None
    expected: str | None = None
    match: str | None = None
    contains: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def with_fields(data: Mapping[str, Any], fields: Fields) -> Iterator[tuple[str, Any]]:
    """The top-level keys that the fields set, each with its whole new value; lists and mappings grow."""
    plain = {name: getattr(fields, name) for name in ("title", "why", "tier", "input", "match")}
    plain["expected_output"] = fields.expected
    yield from ((key, value) for key, value in plain.items() if value is not None)
    if fields.tags:
        yield "tags", [*dict.fromkeys([*_list(data, "tags"), *fields.tags])]
    if fields.owner is not None:
        yield "metadata", {**_mapping(data, "metadata"), "owner": fields.owner}
    if fields.contains:
        yield "outcome", [*_list(data, "outcome"), *({"contains": text} for text in fields.contains)]
    if fields.tools:
        trajectory = _mapping(data, "trajectory")
        yield "trajectory", {**trajectory, "required": [*_list(trajectory, "required"), *fields.tools]}


def composed(given: bytes, fields: Fields, name_it: Callable[[], str], case_id: str | None = None) -> bytes:
    """A case file: what was given, as it is written where it has a key per line, with what is missing filled in.

    Raises UsageError where what was given is no mapping, InvalidFilesError where it cannot be read.
    """
    data = _read(given) if given.strip() else {}
    raw = given if _has_lines_per_key(given, data) else b""
    changes: dict[str, Any] = {} if raw else {"schema": 1, "id": None, **data}
    if "schema" not in data:
        changes["schema"] = 1
    changes.update(with_fields(data, fields))
    if case_id is not None:
        changes["id"] = case_id
    elif data.get("id") is None:
        changes["id"] = name_it()
    order = order_of_keys()
    if not raw:
        known = {key: changes[key] for key in order if key in changes}
        return yaml_writer.document({**known, **changes}).encode()
    for key, value in changes.items():
        raw = edits.with_key(raw, key, value, order)
    try:
        return formatted(raw)
    except UsageError:  # an anchor that cannot be moved
        return edits.tidied(raw)


def template(fields: Fields, case_id: str) -> bytes:
    """What the editor opens with: a case to be filled in, or what was said of it already."""
    said = dict(with_fields({}, fields))
    asks = dict.fromkeys((*_OPTIONAL, "input"), "")
    if not set(said) & {"outcome", "trajectory", "match"}:
        asks["outcome"] = "  - contains:\n"
    data = {"schema": 1, "id": case_id, **said}
    text = _HELP
    for key in order_of_keys():
        if key in data:
            text += yaml_writer.document({key: data[key]})
        elif key in asks:
            text += f"{key}:\n{asks[key]}"
    return text.encode()


def settled(file: str, typed: bytes, name_it: Callable[[], str]) -> bytes:
    """What was typed, without the template's help and without the questions of it that were not answered.

    Raises InvalidFilesError where it cannot be read.
    """
    raw = typed.replace(_HELP.encode(), b"", 1)
    data = _read(raw, file)
    for key in _OPTIONAL:
        if key in data and data[key] is None:
            raw = edits.without_key(raw, key)
    return composed(raw, Fields(), name_it)


def id_in(shelf: Shelf, raw: bytes) -> str | None:
    """The ID in the text; None where it is none. Raises UsageError where no new case may have it."""
    document = yaml_reader.read("", raw).document
    case_id = document.data.get("id") if document else None
    if not isinstance(case_id, str):
        return None
    words = refusal(shelf, case_id)
    if words is not None:
        raise UsageError(words)
    return case_id


def name_of(shelf: Shelf, case_id: str | None, asked: str | None) -> str:
    """The case's file by its path from the root: as asked, else after its ID."""
    is_name = case_id is not None and re.fullmatch(_ID, case_id)
    return asked if asked is not None else f"{_folder(shelf)}/{case_id if is_name else 'new'}.yaml"


def refuse_place(shelf: Shelf, name: str) -> None:
    """Raise UsageError where a file of this name would not be read as a case, or is there already."""
    folder = _folder(shelf)
    *folders, last = name.removeprefix(f"{folder}/").split("/")
    if not name.startswith(f"{folder}/") or any(part.startswith(".") for part in (*folders, last)):
        raise UsageError(f"{name} is not below {folder}/, where cases are")
    if not last.endswith((".yaml", ".yml")):
        raise UsageError(f"{name} does not end in .yaml, so that it would not be read as a case")
    if name == shelf.ledger_file:
        raise UsageError(f"{name} is the ledger of retired IDs; name another file")
    above = [shelf.repository.root / folder / "/".join(folders[: index + 1]) for index in range(len(folders))]
    if any(path.is_symlink() for path in above):
        raise UsageError(f"{name} is below a linked folder, which is not looked into for cases")
    if (shelf.repository.root / name).exists():
        raise UsageError(f"{name} is there already; name another with --file")


def _folder(shelf: Shelf) -> str:
    return shelf.repository.config.cases.rstrip("/")


def problems_of(shelf: Shelf, file: str, raw: bytes) -> list[Problem]:
    """What is wrong with a case file, by itself and beside the others, before it is written."""
    facts, _ = check(shelf.context, file, raw)
    others = [known for known in shelf.facts if known.file != file]
    beside = across.problems_of(_With(shelf.source, file, raw), [*others, facts], {file})
    return in_reading_order([*facts.problems, *beside])


def _read(given: bytes, file: str = "stdin") -> dict[str, Any]:
    data = _as_json(given)
    if data is None:
        reading = yaml_reader.read(file, given)
        if reading.document is None:
            refuse_errors(reading.problems)
        data = reading.document.data if reading.document else None
    if not isinstance(data, dict):
        raise UsageError("a case is a mapping, as `input: …`; what was given is not one")
    return data


def _as_json(given: bytes) -> Any:
    """What JSON's own reader makes of it: unlike YAML's, it knows `\\ud83d\\ude00` to be one sign. None if not JSON."""
    try:
        # The YAML reader tells where a key is there twice.
        return json.loads(given, object_pairs_hook=object_of) if given.lstrip()[:1] == b"{" else None
    except (ValueError, RecursionError):
        return None


def _has_lines_per_key(given: bytes, data: Mapping[str, Any]) -> bool:
    """Whether single keys of the text can be edited, so that its comments and its writing can stay."""
    if not data or _as_json(given) is not None:
        return False
    try:
        edits.with_key(given, "schema", 1)
    except UsageError:
        return False
    return True


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key)
    return value if isinstance(value, list) else []


def _mapping(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


class _With:
    """A source with one more file, which is not written yet."""

    def __init__(self, source: Source, name: str, raw: bytes) -> None:
        self._source, self._name, self._raw = source, name, raw

    def raw(self, name: str) -> bytes:
        return self._raw if name == self._name else self._source.raw(name)

    def has(self, name: str) -> bool:
        return name == self._name or self._source.has(name)
