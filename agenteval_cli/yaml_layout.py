"""Which lines of a YAML file belong to which top-level key, told by libyaml's marks, so that edits can move lines.

The text must have been read without errors before: then only plain line breaks end a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from agenteval_cli.errors import UsageError

Lines = tuple[str, ...]

_STARTS = (MappingStartEvent, SequenceStartEvent)
_ENDS = (MappingEndEvent, SequenceEndEvent)
_OF_THE_FILE = ("# yaml-language-server:", "# agenteval:", "# vim:", "# -*-", "#!")


class Entry(msgspec.Struct, frozen=True):
    """One top-level key with its lines, line ends included.

    `gap` ends with the last blank line above it, `above` are the comments that touch it, `body` are its own lines and
    the deeper comments after them. `marks` are its anchors (`&a`) and aliases (`*a`) in order.
    """

    key: str
    gap: Lines
    above: Lines
    body: Lines
    marks: Lines = ()

    @property
    def lines(self) -> Lines:
        return self.gap + self.above + self.body


class Layout(msgspec.Struct, frozen=True):
    """The whole file: head, entries and tail are its lines, none missing. `open_ended`: a block scalar ends the file
    without a line break, so that one more would become part of it."""

    head: Lines
    entries: tuple[Entry, ...]
    tail: Lines
    column: int
    line_end: str
    open_ended: bool

    @property
    def text(self) -> str:
        return "".join([*self.head, *(line for entry in self.entries for line in entry.lines), *self.tail])

    def index(self, key: str) -> int | None:
        """Where the key stands among the entries."""
        return next((index for index, entry in enumerate(self.entries) if entry.key == key), None)


class Items(msgspec.Struct, frozen=True):
    """How a list that is the value of a top-level key is written, and the offset behind its last item."""

    flow: bool
    column: int
    end: int


class _Part(msgspec.Struct):
    """What the events of one top-level key say."""

    key: str
    events: list[Any]

    @property
    def line(self) -> int:
        line: int = self.events[0].start_mark.line
        return line

    @property
    def marks(self) -> Lines:
        named = (event for event in self.events if getattr(event, "anchor", None))
        return tuple(f"{'*' if type(event) is AliasEvent else '&'}{event.anchor}" for event in named)


def layout_of(text: str) -> Layout:
    """The lines of each top-level key. Raises UsageError where lines cannot be told apart by key."""
    lines = text.splitlines(keepends=True)
    column, parts = _parts(text)
    for part in parts:
        if lines[part.line][: part.events[0].start_mark.column].strip(" "):
            raise UsageError(f"the key '{part.key}' does not begin its line; write it as `{part.key}: …`")
    starts = [part.line for part in parts] + [len(lines)]
    ends = [_end(part, below, lines) for part, below in zip(parts, starts[1:], strict=True)]
    head, gap = _head(lines[: starts[0]])
    entries = []
    for part, start, below, end in zip(parts, starts, starts[1:], ends, strict=False):
        deeper = _deeper_comments(lines[end:below], column)
        cut = max((index + 1 for index, line in enumerate(gap) if not line.strip()), default=0)
        body = lines[start : end + deeper]
        entries.append(Entry(part.key, tuple(gap[:cut]), tuple(gap[cut:]), tuple(body), part.marks))
        gap = lines[end + deeper : below]
    open_ended = _ends_in_a_block(parts[-1]) and text[-1] != "\n"
    return Layout(tuple(head), tuple(entries), tuple(gap), column, line_end_of(text), open_ended)


def line_end_of(text: str) -> str:
    """The line end that most of the lines have."""
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def items_of(text: str, key: str) -> Items:
    """Where the list under `key`, which has items, ends. Raises UsageError where it is not written there."""
    part = next((part for part in _parts(text)[1] if part.key == key), None)
    value = part.events[1] if part else None
    if part is None or type(value) is not SequenceStartEvent:
        raise UsageError(f"'{key}' is not written as a list here")
    inner = [event for event in part.events[2:-1] if type(event) not in _ENDS or _is_flow_end(event)]
    mark: Any = value.start_mark
    return Items(bool(value.flow_style), mark.column, inner[-1].end_mark.index)


def ties(entries: Sequence[Entry]) -> dict[tuple[str, int], tuple[str, str]]:
    """Each alias, as its key and its number in there, with its name and the key that holds its anchor."""
    holders: dict[str, str] = {}
    found = {}
    for entry in entries:
        for index, mark in enumerate(entry.marks):
            if mark[0] == "&":
                holders[mark[1:]] = entry.key
            else:
                found[entry.key, index] = (mark[1:], holders.get(mark[1:], ""))
    return found


def _parts(text: str) -> tuple[int, list[_Part]]:
    """The column of the top-level keys, and the events of each: of its key, then of its value."""
    events: list[Any] = [event for event in yaml.parse(text, Loader=yaml.CLoader) if _is_content(event)]
    if not events or type(events[0]) is not MappingStartEvent:
        raise UsageError("the file is not a mapping of keys, so there is none to edit")
    if events[0].flow_style:
        raise UsageError("the file is one mapping in braces; only one with each key on a line of its own can be edited")
    parts: list[_Part] = []
    depth, at_key = 0, True
    for event in events[1:-1]:
        if depth == 0 and at_key:
            key = str(event.value) if type(event) is ScalarEvent else f"*{getattr(event, 'anchor', '')}"
            parts.append(_Part(key, [event]))
            at_key = False
            continue
        parts[-1].events.append(event)
        depth += (type(event) in _STARTS) - (type(event) in _ENDS)
        at_key = depth == 0
    if not parts:
        raise UsageError("the file has no keys")
    column: int = parts[0].events[0].start_mark.column
    return column, parts


def _is_content(event: Any) -> bool:
    return type(event) in (ScalarEvent, AliasEvent, *_STARTS, *_ENDS)


def _is_flow_end(event: Any) -> bool:
    """A closing bracket or brace. The end of a block collection is no place: it is where the next thing begins."""
    return type(event) in _ENDS and event.start_mark.index != event.end_mark.index


def _end(part: _Part, below: int, lines: Sequence[str]) -> int:
    """The number of the line after the last one with content; trailing blank lines are content in a kept block only."""
    last = part.line
    for event in part.events:
        if _is_block_scalar(event):
            mark = event.end_mark
            line = mark.line - 1 if mark.column == 0 else mark.line
            while not _keeps_blank_lines(event) and line > event.start_mark.line and not lines[line].strip():
                line -= 1
        elif type(event) in (ScalarEvent, AliasEvent) or _is_flow_end(event):
            line = event.end_mark.line
        else:
            continue
        if line < below:
            last = max(last, line)
    return last + 1


def _keeps_blank_lines(event: Any) -> bool:
    """Whether blank lines at its end are content: they are kept (`|+`), or its last line is one of blanks."""
    text: str = event.value
    return text.endswith("\n\n") or text.rstrip("\n")[-1:] in ("", " ", "\t")


def _ends_in_a_block(part: _Part) -> bool:
    last = [event for event in part.events if type(event) not in _ENDS or _is_flow_end(event)][-1]
    return _is_block_scalar(last)


def _is_block_scalar(event: Any) -> bool:
    return type(event) is ScalarEvent and event.style in ("|", ">")


def _head(lines: list[str]) -> tuple[list[str], list[str]]:
    """What belongs to the file as a whole, and the comments that touch its first key."""
    cut = 0
    for index, line in enumerate(lines):
        bare = line.strip()
        if not bare.startswith("#") or bare.startswith(_OF_THE_FILE):
            cut = index + 1
    return lines[:cut], lines[cut:]


def _deeper_comments(lines: Sequence[str], column: int) -> int:
    """How many of the lines below a value still belong to it: up to the last comment further in than the keys."""
    count = 0
    for index, line in enumerate(lines):
        bare = line.strip()
        if bare.startswith("#") and len(line) - len(line.lstrip(" \t")) > column:
            count = index + 1
        elif bare:
            break
    return count
