"""Edits of YAML files that touch the lines of one top-level key and leave every other byte as it is.

Bytes in, bytes out. Each result is read again before it is given back: where the data is not exactly what was meant,
or where the file's shape does not allow the edit, a UsageError says so and there is no result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from agenteval_cli import yaml_reader, yaml_writer
from agenteval_cli.compare import same
from agenteval_cli.errors import UsageError
from agenteval_cli.yaml_layout import Entry, Layout, Lines, items_of, layout_of, line_end_of, ties

_BOM = b"\xef\xbb\xbf"


def with_key(raw: bytes, key: str, value: Any, order: Sequence[str] = ()) -> bytes:
    """The key set: its block replaced, or put in after the keys that come before it in `order`, else at the end."""
    layout, data = _opened(raw)
    lines = yaml_writer.lines_for(key, value, layout.column)
    return _checked(raw, _with_lines(layout, key, lines, order).text, {**data, key: value})


def without_key(raw: bytes, key: str) -> bytes:
    """The key gone, with the comments that touch it; comments set apart by a blank line stay."""
    layout, data = _opened(raw)
    at = layout.index(key)
    if at is None:
        raise UsageError(f"there is no '{key}'")
    if len(layout.entries) == 1:
        raise UsageError(f"'{key}' is the only key; without it the file would be empty")
    _refuse_if_used_elsewhere(layout, key)
    before, gone, below = layout.entries[:at], layout.entries[at], list(layout.entries[at + 1 :])
    tail = layout.tail
    if below:
        below[0] = msgspec.structs.replace(below[0], gap=_joined(gone.gap, below[0].lines, below[0].gap))
    else:
        tail = _joined(gone.gap, tail, tail)
    after = msgspec.structs.replace(layout, entries=(*before, *below), tail=tail)
    return _checked(raw, after.text, {name: item for name, item in data.items() if name != key})


def in_order(raw: bytes, order: Sequence[str]) -> bytes:
    """The top-level keys in the order given, each with the comments above it; an unknown key stays behind the key
    that it follows. Unchanged where they are in order."""
    data = _data(raw)
    if not isinstance(data, dict) or _sorted(list(data), order) == list(data):
        return raw
    layout, _ = _opened(raw)
    by_key = {entry.key: entry for entry in layout.entries}
    entries = [by_key[key] for key in _sorted(list(by_key), order)]
    if layout.open_ended and entries[-1] is not layout.entries[-1]:
        raise UsageError(f"'{layout.entries[-1].key}' ends the file without a line break; add one")
    _refuse_if_untied(layout, entries)
    first = entries[0]
    blank = next((at for at, line in enumerate(first.gap) if line.strip()), len(first.gap))
    entries[0] = msgspec.structs.replace(first, gap=first.gap[blank:])
    at = entries.index(layout.entries[0]) if first is not layout.entries[0] else 0
    entries[at] = msgspec.structs.replace(entries[at], gap=first.gap[:blank] + entries[at].gap)
    return _checked(raw, _with_entries(layout, entries).text, data)


def with_item(raw: bytes, key: str, item: Any, order: Sequence[str] = ()) -> bytes:
    """One more item at the end of the list under a top-level key, a key of it per line where the list has lines; the
    list is made where it is missing or empty."""
    layout, data = _opened(raw)
    before = data.get(key) or []
    items = items_of(layout.text, key) if before else None
    if items is None:
        lines = [f"{' ' * layout.column}{key}:", *yaml_writer.item_lines(item, layout.column + 2, spread=True)]
        text = _with_lines(layout, key, lines, order).text
    elif items.flow:
        text = f"{layout.text[: items.end]}, {yaml_writer.flow(item)}{layout.text[items.end :]}"
    else:
        lines = yaml_writer.item_lines(item, items.column, spread=True)
        text = _with_more(layout, key, lines).text
    return _checked(raw, text, {**data, key: [*before, item]})


def tidied(raw: bytes) -> bytes:
    """No blanks at the ends of lines outside block scalars, and one line break at the end of the file, as far as the
    data stays what it is."""
    data = _data(raw)
    bom, text = _text(raw)
    lines = text.splitlines(keepends=True)
    kept = _lines_of_blocks(text)
    lines = [line if number in kept else _trimmed(line) for number, line in enumerate(lines)]
    tidy = "".join(lines)
    ended = tidy.rstrip(" \t\r\n")
    line_end = re.search(r"\r?\n", tidy[len(ended) :])
    for candidate in (ended + (line_end[0] if line_end else line_end_of(text)), tidy):
        after = bom + candidate.encode()
        if _reads_as(after, data):
            return after
    return raw


def _opened(raw: bytes) -> tuple[Layout, Mapping[str, Any]]:
    data = _data(raw)
    return layout_of(_text(raw)[1]), data


def _data(raw: bytes) -> Any:
    reading = yaml_reader.read("", raw)
    if reading.document is None:
        first = reading.problems[0]
        raise UsageError(f"line {first.line}: {first.message}")
    return reading.document.data


def _text(raw: bytes) -> tuple[bytes, str]:
    bom = _BOM if raw.startswith(_BOM) else b""
    return bom, raw.removeprefix(_BOM).decode()


def _checked(before: bytes, text: str, intended: Any) -> bytes:
    after = _text(before)[0] + text.encode()
    if not _reads_as(after, intended):
        raise UsageError("the way this file is written does not allow the edit; change it by hand")
    return after


def _reads_as(raw: bytes, intended: Any) -> bool:
    document = yaml_reader.read("", raw).document
    return document is not None and same(intended, document.data)


def _broken(lines: Lines, line_end: str) -> Lines:
    """The lines with a line break at the end of the last one too."""
    return lines if not lines or lines[-1].endswith("\n") else (*lines[:-1], lines[-1] + line_end)


def _with_entries(layout: Layout, entries: Sequence[Entry]) -> Layout:
    """The layout with other entries; all but a last one without anything below it end in a line break."""
    *before, last = entries
    ended = [msgspec.structs.replace(entry, body=_broken(entry.body, layout.line_end)) for entry in before]
    return msgspec.structs.replace(layout, entries=(*ended, last))


def _with_lines(layout: Layout, key: str, lines: Sequence[str], order: Sequence[str]) -> Layout:
    """The key with other lines, or put in with them."""
    body = tuple(line + layout.line_end for line in lines)
    at = layout.index(key)
    if at is None:
        return _inserted(layout, _place(layout, key, order), Entry(key, (), (), body))
    _refuse_if_used_elsewhere(layout, key)
    entry = msgspec.structs.replace(layout.entries[at], body=body, marks=())
    return _with_entries(layout, [*layout.entries[:at], entry, *layout.entries[at + 1 :]])


def _with_more(layout: Layout, key: str, lines: Sequence[str]) -> Layout:
    """The key with lines after its own."""
    more = tuple(line + layout.line_end for line in lines)
    longer = [
        msgspec.structs.replace(entry, body=_broken(entry.body, layout.line_end) + more) if entry.key == key else entry
        for entry in layout.entries
    ]
    return _with_entries(layout, longer)


def _inserted(layout: Layout, at: int, entry: Entry) -> Layout:
    if layout.open_ended:
        at = min(at, len(layout.entries) - 1)
    return _with_entries(layout, [*layout.entries[:at], entry, *layout.entries[at:]])


def _place(layout: Layout, key: str, order: Sequence[str]) -> int:
    """Behind the present key that comes nearest before it in the order."""
    if key not in order:
        return len(layout.entries)
    earlier = [name for name in order[: order.index(key)] if layout.index(name) is not None]
    at = layout.index(earlier[-1]) if earlier else None
    return 0 if at is None else at + 1


def _sorted(keys: Sequence[str], order: Sequence[str]) -> list[str]:
    ranks: dict[str, int] = {}
    rank = -1
    for key in keys:
        rank = order.index(key) if key in order else rank
        ranks[key] = rank
    return sorted(keys, key=ranks.__getitem__)


def _joined(gap: Lines, below: Lines, gap_below: Lines) -> Lines:
    """The gap above what is gone, put before what comes now; one run of blank lines is enough for both."""
    if not below or not below[0].strip():
        while gap and not gap[-1].strip():
            gap = gap[:-1]
    return gap + gap_below


def _refuse_if_used_elsewhere(layout: Layout, key: str) -> None:
    for (user, _), (name, holder) in ties(layout.entries).items():
        if holder == key and user != key:
            raise UsageError(f"'{key}' holds the anchor &{name}, which '{user}' uses; change the file by hand")


def _refuse_if_untied(layout: Layout, entries: Sequence[Entry]) -> None:
    after = ties(entries)
    for place, (name, holder) in ties(layout.entries).items():
        if after[place] != (name, holder):
            words = f"the anchor &{name} of '{holder}' would come after its use in '{place[0]}'"
            raise UsageError(f"{words}; move the anchor by hand")


def _lines_of_blocks(text: str) -> set[int]:
    """The lines inside block scalars, where blanks are content."""
    found: set[int] = set()
    events: Iterator[Any] = yaml.parse(text, Loader=yaml.CLoader)
    for event in events:
        if getattr(event, "style", None) in ("|", ">"):
            end = event.end_mark
            found.update(range(event.start_mark.line + 1, end.line + (end.column > 0)))
    return found


def _trimmed(line: str) -> str:
    """The line without blanks at its end; one behind a backslash may be content of a quoted text."""
    bare = line.rstrip("\r\n")
    trimmed = bare.rstrip(" \t")
    return line if trimmed.endswith("\\") else trimmed + line[len(bare) :]
