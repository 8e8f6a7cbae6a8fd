"""What a text mentions (numbers, amounts, dates), and whether the one that a case means is what it expects.

A mention can have several readings. Where only some of them are what is expected, nothing is decided in its favour: the
words say that it is ambiguous, and how the case can settle it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

WHICH = ("any", "first", "last", "only", "all")
_SHOWN = 8


class Ambiguous(str):
    """Words that say that nothing is decided: neither that it is what is expected, nor that it is not."""

    __slots__ = ()


class Mention(Protocol):
    """A place in a text, with everything that it can mean."""

    @property
    def readings(self) -> frozenset[Any]: ...


Item = TypeVar("Item", bound=Mention)


def judged(
    found: Sequence[Item], holds: Callable[[Item, Any], bool], *, which: str, noun: str, wanted: str, settle: str
) -> str | None:
    """Why the mentions are not what is wanted, or None. `holds` decides on a mention read in one way.

    The words are Ambiguous where it depends on how it is read.

    `which` of WHICH says which of several counts; `settle` is how a case says which reading it means.
    """
    if not found:
        return f"expected {wanted}, but there is no {noun}"
    if which == "only" and len(found) > 1:
        return f"expected {wanted} as the only {noun}; there are {len(found)}: {_listed(found)}"
    chosen = {"first": found[:1], "last": found[-1:]}.get(which, found)
    verdicts = [_verdict(item, holds) for item in chosen]
    if (any if which == "any" else all)(verdict is True for verdict in verdicts):
        return None
    for item, verdict in zip(chosen, verdicts, strict=True):
        if verdict is None and (which == "any" or False not in verdicts):
            return Ambiguous(f"expected {wanted}, and {_shown(item)} is ambiguous; {settle}")
    told = f"the {which} {noun} is" if which in ("first", "last") else "there is" if len(chosen) == 1 else "there are"
    return f"expected {wanted}; {told} {_listed(chosen)}"


def _verdict(item: Item, holds: Callable[[Item, Any], bool]) -> bool | None:
    """True where it holds however it is read, False where it never does, None where it depends."""
    verdicts = {holds(item, reading) for reading in item.readings}
    return verdicts.pop() if len(verdicts) == 1 else None


def _listed(found: Sequence[Any]) -> str:
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(map(_shown, found[:_SHOWN])) + more


def _shown(item: Any) -> str:
    text = str(item)
    return text if len(text) <= 80 else f"{text[:79]}…"
