"""The same work on pieces, each in a process of its own: fork, work, send the bytes back."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def split(items: Sequence[Item], pieces: int) -> list[list[Item]]:
    """The items in at most so many runs of nearly the same length, in order."""
    size = max(1, -(-len(items) // pieces))
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def each(pieces: Sequence[list[Item]], work: Callable[[list[Item]], bytes]) -> list[bytes]:
    """What `work` gives for each piece, in order. The last piece is worked on here while the others are elsewhere.

    Call it before any thread starts. Raises RuntimeError where a piece was not finished.
    """
    started = [_start(piece, work) for piece in pieces[:-1]]
    own = work(pieces[-1]) if pieces else b""
    return [*(_finished(pid, pipe) for pid, pipe in started), own] if pieces else []


def _start(piece: list[Item], work: Callable[[list[Item]], bytes]) -> tuple[int, int]:
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write_end)
        return pid, read_end
    code = 1
    try:
        os.close(read_end)
        with open(write_end, "wb") as pipe:  # noqa: PTH123  # a descriptor, not a path
            pipe.write(work(piece))
        code = 0
    finally:
        os._exit(code)


def _finished(pid: int, read_end: int) -> bytes:
    with open(read_end, "rb") as pipe:
        raw = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise RuntimeError(f"a helper process ended with status {status}")
    return raw
