"""The same work on pieces, shared out among processes: whoever is free takes the next piece and sends bytes back."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_MOST = 256  # pieces: each is told by one byte of a pipe, which one process only can read
_HEAD = 5  # bytes before each result: the number of its piece, and its length


def cores() -> int:
    """How many processes this one may have at work."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pieces_of(items: Sequence[Item], least: int = 25) -> list[Sequence[Item]]:
    """The items in runs, in order: short enough that nobody waits long for the last, at most as many as can be told."""
    size = max(least, -(-len(items) // _MOST))
    return [items[start : start + size] for start in range(0, len(items), size)]


def each(
    pieces: Sequence[Sequence[Item]], work: Callable[[Sequence[Item]], bytes], begin: Callable[[], None]
) -> Iterator[tuple[int, bytes]]:
    """The number of each piece with what `work` gives for it, as they are done, in any order.

    The processes start at once, before the first result is asked for, each with `begin`. Call this before any thread
    starts. A piece that a process did not finish is worked on here, where what went wrong is seen.
    """
    queue = _queue(len(pieces))
    pipes = [
        pipe for _ in range(min(cores(), len(pieces))) if (pipe := _started(queue, pieces, work, begin)) is not None
    ]
    os.close(queue)
    return _collected(pieces, work, pipes)


def _queue(count: int) -> int:
    """A pipe with the number of each piece, which ends when all are taken."""
    read_end, write_end = os.pipe()
    os.write(write_end, bytes(range(count)))
    os.close(write_end)
    return read_end


def _started(
    queue: int, pieces: Sequence[Sequence[Item]], work: Callable[[Sequence[Item]], bytes], begin: Callable[[], None]
) -> tuple[int, int] | None:
    """A process that takes pieces until there are none: its number, and the pipe it answers through."""
    read_end, write_end = os.pipe()
    try:
        pid = os.fork()
    except OSError:  # no more processes are allowed: fewer, or this one, do the work
        os.close(read_end)
        os.close(write_end)
        return None
    if pid:
        os.close(write_end)
        return pid, read_end
    try:
        os.close(read_end)
        begin()
        with open(write_end, "wb") as pipe:  # noqa: PTH123  # a descriptor, not a path
            while taken := os.read(queue, 1):
                raw = work(pieces[taken[0]])
                pipe.write(taken + len(raw).to_bytes(_HEAD - 1) + raw)
                pipe.flush()
    finally:
        os._exit(0)


def _collected(
    pieces: Sequence[Sequence[Item]], work: Callable[[Sequence[Item]], bytes], pipes: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, bytes]]:
    missing = dict.fromkeys(range(len(pieces)))
    try:
        for index, raw in _results([pipe for _, pipe in pipes]):
            del missing[index]
            yield index, raw
    finally:
        for pid, pipe in pipes:
            os.close(pipe)  # a process that still has something to say ends by this
            os.waitpid(pid, 0)
    for index in missing:
        yield index, work(pieces[index])


def _results(pipes: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """What comes through the pipes, each result when it is whole, until all are at their end."""
    held = {pipe: bytearray() for pipe in pipes}
    poll = select.poll()
    for pipe in pipes:
        poll.register(pipe, select.POLLIN)
    while held:
        for pipe, _ in poll.poll():
            more = os.read(pipe, 1 << 16)
            if not more:
                poll.unregister(pipe)
                del held[pipe]
                continue
            held[pipe] += more
            yield from _whole(held[pipe])


def _whole(held: bytearray) -> Iterator[tuple[int, bytes]]:
    """The results that are there whole, taken out of what is held."""
    while len(held) >= _HEAD:
        end = _HEAD + int.from_bytes(held[1:_HEAD])
        if len(held) < end:
            return
        result = held[0], bytes(held[_HEAD:end])
        del held[:end]
        yield result
