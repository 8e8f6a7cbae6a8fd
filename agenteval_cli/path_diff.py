"""Where two attempts part: their tool calls aligned as a text diff aligns lines. Pure, over transcripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from agenteval_cli.compare import ABSENT, first_difference, shown
from agenteval_cli.digests import canonical
from agenteval_cli.transcript import ToolCall, Transcript

_LONGEST = 200  # calls of a side that are aligned where they differ: the table grows with the product of both
_LONGEST_WEIGHED = 50  # the same for finding the most typical path, which aligns many
_DISTINCT = 12  # paths that are weighed against each other
_APART = 3  # the cost of pairing two different tools: never better than one call less and one more

Calls = Sequence[ToolCall]
Row = tuple[int | None, int | None]
Key = tuple[str, bytes]  # the tool; its arguments and how it ended


class Step(msgspec.Struct, frozen=True):
    """A tool call of one side: its number, the tool, its arguments, and whether it ended ok, in an error or unknown."""

    number: int
    name: str
    arguments: Any
    status: str


class PathDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The typical attempt of each side and where their calls first part.

    `difference` is same, unknown (a side does not report its calls), missing (a call of base that head does not make),
    added, arguments or status; `words` says what. `base` and `head` are the calls at that place.
    """

    base_attempt: int
    head_attempt: int
    base_calls: int | None
    head_calls: int | None
    difference: str
    words: str = ""
    base: Step | None = None
    head: Step | None = None


def typical(transcripts: Sequence[Transcript]) -> int:
    """The index of the attempt whose path is nearest to those of all others: the medoid, the first of equals.

    Calls are compared by tool, arguments and ending. Where most attempts went the same way that is one of them. Of many
    different paths the most common ones are weighed.
    """
    paths = [tuple(keys_of(transcript.tool_calls or ())) for transcript in transcripts]
    times = Counter(paths)
    common = [path for path, _ in times.most_common(_DISTINCT)]

    def strangeness(path: tuple[Key, ...]) -> tuple[int, int]:
        return sum(times[other] * distance(path, other) for other in common), paths.index(path)

    return paths.index(min(common, key=strangeness)) if len(common) > 1 else 0


def path_diff(base: Transcript, head: Transcript, attempts: tuple[int, int]) -> PathDiff:
    """The first place where the calls of two attempts part; `attempts` are their numbers."""
    found = PathDiff(
        base_attempt=attempts[0],
        head_attempt=attempts[1],
        base_calls=None if base.tool_calls is None else len(base.tool_calls),
        head_calls=None if head.tool_calls is None else len(head.tool_calls),
        difference="same",
        words="the same tool calls",
    )
    if base.tool_calls is None or head.tool_calls is None:
        return replace(found, difference="unknown", words="a side does not report its tool calls")
    return replace(found, **_first_difference(base.tool_calls, head.tool_calls))


def _first_difference(before: Calls, after: Calls) -> dict[str, Any]:
    for left, right in aligned(keys_of(before), keys_of(after)):
        found = _parted(before, after, left, right)
        if found is not None:
            kind, words = found
            return {"difference": kind, "words": words, "base": _step(before, left), "head": _step(after, right)}
    return {}


def _step(calls: Calls, index: int | None) -> Step | None:
    if index is None:
        return None
    call = calls[index]
    return Step(index + 1, call.name, call.arguments, call.status)


def _parted(base: Calls, head: Calls, left: int | None, right: int | None) -> tuple[str, str] | None:
    """What is different at one place of the alignment, in words; None where nothing is."""
    if right is None:
        call = base[left or 0]
        return "missing", f"head does not call {call.name}"
    if left is None:
        return "added", f"head calls {head[right].name}"
    before, after = base[left], head[right]
    difference = first_difference(before.arguments, after.arguments)
    if difference is not None:
        place = "arguments" if difference.path == "$" else f"arguments at {difference.path}"
        return "arguments", f"{before.name}: {place}: {_value(difference.expected)} → {_value(difference.actual)}"
    if before.status != after.status:
        return "status", f"{before.name}: {before.status} → {after.status}"
    return None


def _value(value: Any) -> str:
    return "absent" if value is ABSENT else shown(value, 80)


# ---- alignment


def keys_of(calls: Calls) -> list[Key]:
    """What tells calls apart. 1 and 1.0 are the same argument, as everywhere."""
    return [(call.name, canonical([call.arguments, call.status])) for call in calls]


def distance(base: Sequence[Key], head: Sequence[Key]) -> int:
    """How far two paths are apart: 1 for a call more, a call less, or the same tool used otherwise."""
    left, right = base[:_LONGEST_WEIGHED], head[:_LONGEST_WEIGHED]
    return sum(1 if i is None or j is None else _cost(left[i], right[j]) for i, j in aligned(left, right)) + abs(
        len(base) - len(left) - len(head) + len(right)
    )


def aligned(base: Sequence[Key], head: Sequence[Key]) -> list[Row]:
    """The cheapest way from one path to the other: pairs of indices, None where a side has no such call.

    What is the same at both ends is paired at once; of what lies between, the first 200 calls are aligned.
    """
    start = 0
    while start < min(len(base), len(head)) and base[start] == head[start]:
        start += 1
    end = 0
    while end < min(len(base), len(head)) - start and base[-1 - end] == head[-1 - end]:
        end += 1
    between = _between(base[start : len(base) - end], head[start : len(head) - end])
    tail = zip(range(len(base) - end, len(base)), range(len(head) - end, len(head)), strict=True)
    rows: list[Row] = [(index, index) for index in range(start)]
    rows += [(None if i is None else i + start, None if j is None else j + start) for i, j in between]
    return [*rows, *tail]


def _between(base: Sequence[Key], head: Sequence[Key]) -> list[Row]:
    left, right = base[:_LONGEST], head[:_LONGEST]
    table = _table(left, right)
    rows: list[Row] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if table[i][j] == table[i + 1][j + 1] + _cost(left[i], right[j]):
            rows.append((i, j))
            i, j = i + 1, j + 1
        elif table[i][j] == table[i + 1][j] + 1:
            rows.append((i, None))
            i += 1
        else:
            rows.append((None, j))
            j += 1
    return [*rows, *((k, None) for k in range(i, len(base))), *((None, k) for k in range(j, len(head)))]


def _table(base: Sequence[Key], head: Sequence[Key]) -> list[list[int]]:
    """The cost from each pair of places to both ends."""
    row = [len(head) - j for j in range(len(head) + 1)]
    table = [row]
    for i in range(len(base) - 1, -1, -1):
        below, row = row, [0] * len(head) + [len(base) - i]
        for j in range(len(head) - 1, -1, -1):
            row[j] = min(below[j + 1] + _cost(base[i], head[j]), below[j] + 1, row[j + 1] + 1)
        table.append(row)
    table.reverse()
    return table


def _cost(one: Key, other: Key) -> int:
    if one[0] != other[0]:
        return _APART
    return 0 if one == other else 1
