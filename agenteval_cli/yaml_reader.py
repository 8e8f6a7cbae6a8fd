"""The strict YAML reader: YAML 1.2 core rules over libyaml's events, every problem with its place.

`no`, `on`, `12:30` and `2031-02-03` stay text. Duplicate keys, unknown tags, alias bombs, several documents and
unusual line separators are errors; numbers that do not look like what they mean are warnings. Mapping keys are
always text, as in JSON. The second, slower pass that knows where each value stands runs only when somebody asks.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from agenteval_cli.problems import Problem, shown_path
from agenteval_cli.yaml_plain import (
    CONSTANTS,
    FLOAT,
    INT,
    MAYBE_TYPED,
    NOT_FINITE,
    NotPlainError,
    light_document,
    plain_document,
)

Path = tuple[str | int, ...]
Position = tuple[int, int]

MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_NODES = 200_000

_LEADING_ZERO = re.compile(r"[-+]?0[0-9]")
_TRAILING_ZERO = re.compile(r"[-+]?[0-9]*\.(?:[0-9]*0)?")
_TAG = "tag:yaml.org,2002:"
_STANDARD_TAGS = frozenset(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))

_BOM = b"\xef\xbb\xbf"
_LONE_CR = re.compile(rb"\r(?!\n)")
_SEPARATORS = ("\x85", "\u2028", "\u2029", "\n\ufeff")  # libyaml passes over the last, others read it
_CONFLICT = re.compile(rb"^<{7}(?: |\r?$).*?^={7}\r?$.*?^>{7}(?: |\r?$)", re.MULTILINE | re.DOTALL)
CONFLICT_MARKERS_INTENDED = b"# agenteval: conflict-markers-intended"

_plain = plain_document

_HINTS = (
    ("mapping values are not allowed", "quote a text that contains ': '"),
    ("cannot start any token", "indent with spaces, not tabs, and quote a text that starts with @, ` or %"),
    ("did not find expected ',' or", "close the bracket or brace, or quote the text"),
    ("could not find expected ':'", "is a colon or an indent missing on this line or the one above?"),
    ("did not find expected key", "check the indentation and the quotes of this line and the one above"),
    ("unexpected end of stream", "is a closing quote missing?"),
)


class Document(msgspec.Struct, frozen=True):
    """A file that was read: its name as the user knows it, its data (JSON types only), its bytes."""

    file: str
    data: Any
    raw: bytes

    def problem(self, path: Path, rule: str, message: str, *, severity: str = "error", at_key: bool = False) -> Problem:
        """A problem at `path`, or at the nearest place above it that the text has."""
        return _located(self.file, position_of(self, path, at_key=at_key), path, rule, message, severity)


class Reading(msgspec.Struct, frozen=True):
    """What reading a file gave: a document unless it has errors, and all problems found, warnings included."""

    document: Document | None
    problems: tuple[Problem, ...] = ()


def read_light_events() -> None:
    """Read quicker from now on: for a process of our own, where nothing else uses PyYAML meanwhile."""
    global _plain  # noqa: PLW0603  # what a process is for is decided once, when it is started
    _plain = light_document


def read(file: str, raw: bytes) -> Reading:
    """Read one YAML document. Never raises for bad input: each fault is a problem with its place."""
    faults = _byte_faults(file, raw)
    if faults:
        return Reading(None, faults)
    try:
        return Reading(Document(file, _plain(CParser(raw.removeprefix(_BOM)).get_event, MAX_DEPTH), raw))
    except (NotPlainError, yaml.YAMLError):
        return _read_carefully(file, raw)


def _read_carefully(file: str, raw: bytes) -> Reading:
    builder = _Builder(raw)
    data: Any = None
    syntax: tuple[Problem, ...] = ()
    try:
        data = builder.document()
    except yaml.YAMLError as error:
        syntax = (_syntax_problem(file, raw, error),)
    problems = syntax + tuple(
        _located(file, place, path, rule, message, "warning" if rule == "yaml-number" else "error")
        for place, path, rule, message in builder.found
    )
    broken = any(problem.severity == "error" for problem in problems)
    return Reading(None if broken else Document(file, data, raw), problems)


def _located(file: str, place: Position, path: Path, rule: str, message: str, severity: str) -> Problem:
    line, column = place
    shown = shown_path(path)
    return Problem(file=file, line=line, column=column, rule=rule, message=message, path=shown, severity=severity)


def position_of(document: Document, path: Path, *, at_key: bool = False) -> Position:
    """Line and column (from 1) of the value at `path`, or of its key; of the nearest ancestor where it has none."""
    builder = _Builder(document.raw, track=True)
    builder.document()
    places = builder.keys if at_key else builder.values
    for end in range(len(path), -1, -1):
        found = places.get(path[:end]) or builder.values.get(path[:end])
        if found:
            return found
    return (1, 1)


def conflict_line(raw: bytes) -> int | None:
    """The line on which merge conflict markers begin, unless the text says that it is about them; or None."""
    if b"<<<<<<<" not in raw or CONFLICT_MARKERS_INTENDED in raw:
        return None
    marker = _CONFLICT.search(raw)
    return raw.count(b"\n", 0, marker.start()) + 1 if marker else None


def _byte_faults(file: str, raw: bytes) -> tuple[Problem, ...]:
    """Faults that are seen in the bytes, before any parser can misread them."""
    if len(raw) > MAX_BYTES:
        return (_at_byte(file, raw, 0, "yaml-size", f"the file has {len(raw):,} bytes; the limit is {MAX_BYTES:,}"),)
    if b"<" in raw and b"<<<<<<<" in raw and CONFLICT_MARKERS_INTENDED not in raw and (marker := _CONFLICT.search(raw)):
        words = "merge conflict markers; resolve the conflict and remove the <<<<<<<, ======= and >>>>>>> lines"
        return (_at_byte(file, raw, marker.start(), "conflict-markers", words),)
    found: list[Problem] = []
    if not raw.isascii():
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            words = f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
            return (_at_byte(file, raw, error.start, "yaml-encoding", words),)
        for mark in _SEPARATORS:
            if mark in text:
                words = f"unusual line separator U+{ord(mark[-1]):04X}; use a plain line break"
                found.append(_at_byte(file, raw, raw.index(mark.encode()) + len(mark) - 1, "yaml-separator", words))
    if b"\r" in raw and (lone := _LONE_CR.search(raw)):
        words = "a carriage return alone is an unusual line separator; use a plain line break"
        found.append(_at_byte(file, raw, lone.start(), "yaml-separator", words))
    return tuple(found)


def _at_byte(file: str, raw: bytes, offset: int, rule: str, message: str) -> Problem:
    before = raw[:offset].removeprefix(_BOM)
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    return Problem(file=file, line=before.count(b"\n") + 1, column=column, rule=rule, message=message)


def _syntax_problem(file: str, raw: bytes, error: yaml.YAMLError) -> Problem:
    if isinstance(error, yaml.reader.ReaderError):
        code = error.character if isinstance(error.character, int) else ord(error.character)
        words = f'the control character U+{code:04X} is not allowed in YAML; write it as an escape in "double quotes"'
        return _at_byte(file, raw, len(raw) - len(raw.removeprefix(_BOM)) + error.position, "yaml-syntax", words)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    words = str(getattr(error, "problem", None) or error)
    hint = next((hint for sign, hint in _HINTS if sign in words), "")
    return Problem(
        file=file,
        line=mark.line + 1 if mark else 1,
        column=mark.column + 1 if mark else 1,
        rule="yaml-syntax",
        message=f"not valid YAML: {words}" + (f"; {hint}" if hint else ""),
    )


class _Builder:
    """Builds JSON values from libyaml's events. `found` holds (position, path, rule, message)."""

    def __init__(self, raw: bytes, *, track: bool = False) -> None:
        self.next: Any = CParser(raw.removeprefix(_BOM)).get_event
        self.found: list[tuple[Position, Path, str, str]] = []
        self.path: list[str | int] = []
        self.anchors: dict[str, tuple[Any, int, int]] = {}
        self.nodes = 0
        self.track = track
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}

    def note(self, event: Event, rule: str, message: str) -> None:
        self.found.append((_start(event), tuple(self.path), rule, message))

    def document(self) -> Any:
        """The one document of the stream. Raises yaml.YAMLError where the text is not YAML."""
        self.next()  # stream start
        event = self.next()
        if type(event) is StreamEndEvent:
            self.note(event, "yaml-empty", "the file is empty")
            return None
        self.directives(event)
        data = self.node(self.next())
        self.next()  # document end
        event = self.next()
        if type(event) is DocumentStartEvent:
            self.further_document(event)
        return data

    def directives(self, event: Any) -> None:
        if event.version and tuple(event.version) != (1, 2):
            self.note(event, "yaml-directive", "only YAML 1.2 is read; remove the %YAML line")
        if event.tags:
            self.note(event, "yaml-directive", "%TAG directives are not allowed; remove the line")

    def further_document(self, start: Event) -> None:
        """A second document is an error; a trailing `---` with nothing after it is harmless."""
        content = self.next()
        self.next()
        empty = type(content) is ScalarEvent and content.value == "" and content.implicit[0]
        if not empty or type(self.next()) is not StreamEndEvent:
            self.note(start, "yaml-documents", "a second document starts here; keep one case per file")

    def node(self, event: Any) -> Any:
        kind = type(event)
        if self.track:
            self.values.setdefault(tuple(self.path), _start(event))
        if kind is AliasEvent:
            return self.alias(event)
        before = self.nodes
        self.nodes += 1
        if kind is ScalarEvent:
            value = self.scalar(event)
        elif len(self.path) >= MAX_DEPTH:
            raise yaml.MarkedYAMLError(None, None, f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
        else:
            if event.tag is not None:
                self.collection_tag(event, "map" if kind is MappingStartEvent else "seq")
            value = self.mapping() if kind is MappingStartEvent else self.sequence()
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.nodes - before, _depth(value))
        return value

    def collection_tag(self, event: Any, fitting: str) -> None:
        if event.tag in _STANDARD_TAGS and event.tag != _TAG + fitting:
            self.note(event, "yaml-tag", f"{_shown_tag(event.tag)} does not fit a !!{fitting}")
        elif event.tag not in _STANDARD_TAGS and event.tag != "!":
            self.note(event, "yaml-tag", f"unknown tag {_shown_tag(event.tag)}; only plain data is read")

    def sequence(self) -> list[Any]:
        items: list[Any] = []
        self.path.append(0)
        while type(event := self.next()) is not SequenceEndEvent:
            self.path[-1] = len(items)
            items.append(self.node(event))
        self.path.pop()
        return items

    def mapping(self) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        first_seen: dict[str, int] = {}
        while type(event := self.next()) is not MappingEndEvent:
            key = self.key(event)
            self.path.append(key)
            if key in first_seen:
                words = f"the key '{key}' is already on line {first_seen[key]}; only one of them can count"
                self.note(event, "yaml-duplicate-key", words)
            first_seen[key] = event.start_mark.line + 1
            if self.track:
                self.keys.setdefault(tuple(self.path), _start(event))
            value = self.node(self.next())
            if key == "<<" and type(event) is ScalarEvent and not event.style:
                merged.update(self.merged(event, value))
            else:
                own[key] = value
            self.path.pop()
        return {**merged, **own} if merged else own

    def key(self, event: Any) -> str:
        """A key is the text that was written: `on:` is "on" and `5678:` is "5678", as JSON would have it."""
        if type(event) is ScalarEvent and (event.value or event.style):
            if event.tag not in (None, "!", _TAG + "str"):
                self.note(event, "yaml-tag", f"{_shown_tag(event.tag)} on a key, which is always text; remove it")
            if event.anchor is not None:
                self.anchors[event.anchor] = (event.value, 1, 0)
            return str(event.value)
        if type(event) is AliasEvent and event.anchor in self.anchors:
            value = self.anchors[event.anchor][0]
            if isinstance(value, str):
                return value
        raise yaml.MarkedYAMLError(None, None, "a mapping key must be a plain text", event.start_mark)

    def merged(self, event: Event, value: Any) -> dict[str, Any]:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            self.note(event, "yaml-merge", "<< merges mappings only")
            return {}
        return {key: item for source in reversed(sources) for key, item in source.items()}

    def alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            words = f"alias *{event.anchor} has no finished anchor before it (an alias cannot contain itself)"
            raise yaml.MarkedYAMLError(None, None, words, event.start_mark)
        value, size, depth = self.anchors[event.anchor]
        self.nodes += size
        if len(self.path) + depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(None, None, f"nested deeper than {MAX_DEPTH} levels", event.start_mark)
        if self.nodes > MAX_NODES:
            words = f"aliases expand to more than {MAX_NODES:,} values"
            raise yaml.MarkedYAMLError(None, None, words, event.start_mark)
        return value

    def scalar(self, event: Any) -> Any:
        tag, text = event.tag, event.value
        if tag is not None and tag != "!":
            return self.tagged(event, tag, text)
        if event.style or tag == "!":
            return text
        if text and text[0] not in MAYBE_TYPED:
            return text
        return self.plain(event, text)

    def plain(self, event: Event, text: str) -> Any:
        """A plain scalar by the YAML 1.2 core schema."""
        if text in CONSTANTS:
            return CONSTANTS[text]
        if INT.fullmatch(text):
            return self.integer(event, text)
        if FLOAT.fullmatch(text):
            return self.decimal(event, text)
        if NOT_FINITE.fullmatch(text):
            self.note(event, "yaml-range", f"{text} is not a number that JSON has; quote it for text")
        return text

    def integer(self, event: Event, text: str) -> int | str:
        if len(text) > 1000:
            self.note(event, "yaml-range", "a number of more than 1,000 digits; quote it")
            return text
        value = int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        if _LEADING_ZERO.match(text):
            self.look_alike(event, text, value)
        return value

    def decimal(self, event: Event, text: str) -> float:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            self.note(event, "yaml-range", f"{text} is too large for a number; quote it")
        elif _LEADING_ZERO.match(text) or _TRAILING_ZERO.fullmatch(text):
            self.look_alike(event, text, value)
        return value

    def look_alike(self, event: Event, text: str, value: float) -> None:
        self.note(event, "yaml-number", f"{text} is read as the number {value!r}; write '{text}' in quotes for text")

    def tagged(self, event: Event, tag: str, text: str) -> Any:
        if tag == _TAG + "str":
            return text
        if tag not in _STANDARD_TAGS:
            self.note(event, "yaml-tag", f"unknown tag {_shown_tag(tag)}; only plain data is read")
            return text
        value = self.plain(event, text)
        wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(tag.removeprefix(_TAG))
        if wanted is float and type(value) is int:
            return float(value)
        if type(value) is not wanted:
            self.note(event, "yaml-tag", f"'{text}' is not a {_shown_tag(tag)}")
        return value


def _start(event: Event) -> Position:
    mark: Any = event.start_mark
    return (mark.line + 1, mark.column + 1)


def _depth(value: Any) -> int:
    """Levels of lists and mappings below and with this one."""
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _shown_tag(tag: str) -> str:
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
