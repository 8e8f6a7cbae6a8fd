"""What is read: bytes as text and as the JSON values in it, whatever holds them together."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.protocols.json_protocol import one_document
from agenteval_cli.transcript import decoded, without_escapes

DOCUMENT, LINES, EVENTS, DOCUMENTS, NOTHING = "document", "lines", "events", "documents", "nothing"

_MOST_BAD_LINES = 100  # more than these, and it is no file of JSON lines
_EVENT_FIELDS = ("data:", "event:", "id:", "retry:", ":")


class Source(msgspec.Struct, frozen=True):
    """Text from an agent without terminal codes and byte-order mark, and its JSON values in order.

    `container` says what held them: one document, lines, server-sent events, or documents one after another.
    `problems` are sentences about what could not be parsed and was left aside; `partial` says that some of it began as
    JSON does, so that it was a part of the transcript and not a line of a log.
    """

    text: str
    bytes_replaced: bool = False
    container: str = NOTHING
    values: tuple[Any, ...] = ()
    problems: tuple[str, ...] = ()
    partial: bool = False

    @property
    def document(self) -> Any:
        """The one document, or UNSET where it is not one."""
        return self.values[0] if self.container == DOCUMENT else msgspec.UNSET

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The values that are JSON objects."""
        return [value for value in self.values if isinstance(value, dict)]

    def words(self) -> str:
        """What it is, for somebody who expected something else."""
        if not self.text:
            return "it is empty"
        if not self.values:
            return f"it is not JSON; it begins with {self.text[:60]!r}"
        first = self.values[0]
        if isinstance(first, list):
            first = first[0] if first else first
        keys = f" with the keys {', '.join(list(first)[:8])}" if isinstance(first, dict) and first else ""
        what = "a JSON document" if self.container == DOCUMENT else f"{len(self.values):,} JSON values"
        return f"it is {what}{keys}"


def source_of(raw: bytes) -> Source:
    """The bytes as a source. Never raises: what cannot be parsed is told in it."""
    lenient, replaced = decoded(raw)
    text = without_escapes(lenient).removeprefix("\ufeff").strip()
    if not text:
        return Source(text, replaced)
    for container, read in ((DOCUMENT, _document), (LINES, _lines), (EVENTS, _events), (DOCUMENTS, _documents)):
        values, problems, partial = read(text)
        if values:
            return Source(text, replaced, container, values, problems, partial)
    return Source(text, replaced)


_Read = tuple[tuple[Any, ...], tuple[str, ...], bool]
_NOTHING_READ: _Read = ((), (), False)
_BEGINS = ("{", "[")


def _document(text: str) -> _Read:
    try:
        return (one_document(text),), (), False
    except UnreadableAnswerError:
        return _NOTHING_READ


def _lines(text: str) -> _Read:
    """One JSON value a line. The first must be one; the last may be cut, as it is in the file of a live session."""
    values: list[Any] = []
    bad: list[int] = []
    number, partial = 0, False
    # Not splitlines(): a JSON text may hold U+2028 and its kin as they are.
    for number, line in enumerate(io.StringIO(text), 1):
        if line.isspace():
            continue
        try:
            values.append(one_document(line.strip()))
        except UnreadableAnswerError:
            bad.append(number)
            partial = partial or line.lstrip().startswith(_BEGINS)
            if not values or len(bad) > _MOST_BAD_LINES:
                return _NOTHING_READ
    return tuple(values), tuple(_about_bad_lines(bad, number)), partial


def _about_bad_lines(bad: list[int], last: int) -> Iterator[str]:
    inner = [str(number) for number in bad if number != last]
    if inner:
        shown = ", ".join(inner[:5]) + (" …" if len(inner) > 5 else "")
        yield f"{'lines' if len(inner) > 1 else 'line'} {shown} of the transcript {_are(inner)} not JSON and left aside"
    if last in bad:
        yield f"the last line of the transcript, line {last}, is not JSON (cut?) and was left aside"


def _are(items: list[str]) -> str:
    return "were" if len(items) > 1 else "was"


def _events(text: str) -> _Read:
    """The data of server-sent events, up to [DONE]. The lines of one event belong together."""
    if not text.startswith(_EVENT_FIELDS):
        return _NOTHING_READ
    values: list[Any] = []
    bad, partial = 0, False
    for data in _event_data(text):
        if data == "[DONE]":
            break
        try:
            values.append(one_document(data))
        except UnreadableAnswerError:
            bad += 1
            partial = partial or data.startswith(_BEGINS)
    problems = (f"{bad} of the events of the transcript {_are([''] * bad)} not JSON and left aside",) if bad else ()
    return tuple(values), problems, partial


def _event_data(text: str) -> Iterator[str]:
    data: list[str] = []
    for line in (*io.StringIO(text), ""):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" ").rstrip("\r\n"))
        elif not line.strip() and data:
            yield "\n".join(data).strip()
            data = []


def _documents(text: str) -> _Read:
    """JSON documents over several lines each, one after another, as the console exporters print them."""
    if not text.startswith(_BEGINS):
        return _NOTHING_READ
    decoder = json.JSONDecoder()
    values: list[Any] = []
    place = 0
    while place < len(text):
        try:
            _, end = decoder.raw_decode(text, place)
            values.append(one_document(text[place:end]))
        except (ValueError, RecursionError, UnreadableAnswerError):
            words = f"what follows {place:,} characters of the transcript is not JSON and was left aside"
            return tuple(values), (words,), text.startswith(_BEGINS, place)
        place = end
        while place < len(text) and text[place].isspace():
            place += 1
    return tuple(values), (), False
