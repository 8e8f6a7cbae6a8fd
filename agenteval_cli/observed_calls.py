"""What the tool server saw of one attempt: its calls as they go on, and all of it when the attempt is over."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from agenteval_cli.recordings import Answer, Blocks, Failure, Result
from agenteval_cli.transcript import ToolCall

_NOTICED_WITHIN = 0.1  # seconds
_SENT_WITHIN = 0.25  # seconds in which calls come that an agent makes at the same time


class Mark(msgspec.Struct, frozen=True):
    """What the server noticed. `kind` is the reason of a Failure, `call` counts from 1."""

    kind: str
    message: str
    call: int | None = None


class TurnEnd(msgspec.Struct, frozen=True):
    """How far the attempt was at the end of a turn: the number of calls, and the state."""

    calls: int
    state: Any


class Observed(msgspec.Struct, frozen=True):
    """What one attempt did with its tools: every call in the order they came, the end state, and what was noticed.

    `state` is UNSET where there was none and nothing made one. `owns_state` tells that tools change it, so that it is
    the ledger, whatever the agent says.
    """

    calls: tuple[ToolCall, ...]
    state: Any
    owns_state: bool
    marks: tuple[Mark, ...]
    turns: tuple[TurnEnd, ...] = ()

    @property
    def over_limit(self) -> str | None:
        """In words, how the attempt went over a limit, if it did."""
        return next((mark.message for mark in self.marks if mark.kind in ("over_limit", "too_much")), None)

    @property
    def too_many(self) -> str | None:
        """In words, that there were more calls than are kept, so that these are not all."""
        return next((mark.message for mark in self.marks if mark.kind == "too_much"), None)

    @property
    def broken(self) -> str | None:
        """In words, why a tool could not be replayed through no fault of the agent, if so."""
        return next((mark.message for mark in self.marks if mark.kind == "broken"), None)


class Call:
    """A call as it goes on. `ended` is None while nobody has answered it."""

    __slots__ = ("answer", "arguments", "began", "ended", "name", "was_left")

    def __init__(self, name: str, arguments: Any, began: float) -> None:
        self.name = name
        self.arguments = arguments
        self.began = began
        self.ended: float | None = None
        self.answer: Answer | None = None
        self.was_left = False

    def told(self, epoch: float, group: int | None) -> ToolCall:
        """The call as a transcript has it. An answer that nobody got is neither result nor error."""
        was_answered = self.ended is not None and not self.was_left
        return ToolCall(
            name=self.name,
            arguments=self.arguments,
            result=_result(self.answer) if was_answered else msgspec.UNSET,
            error=_error(self.answer, was_answered=was_answered),
            duration_ms=None if self.ended is None else round((self.ended - self.began) * 1000, 3),
            started_ms=round((self.began - epoch) * 1000, 3),
            group=group,
        )


def _result(answer: Answer | None) -> Any:
    match answer:
        case Result(value):
            return value
        case Blocks(content):
            return {"content": content}
    return msgspec.UNSET


def _error(answer: Answer | None, *, was_answered: bool) -> Any:
    """What went wrong. A call that is made to time out fails even though, or just because, nobody got an answer."""
    if not isinstance(answer, Failure) or not (was_answered or answer.kind == "timeout"):
        return None
    what = {"status": answer.status} if answer.kind == "error" else {"kind": answer.kind}
    return {**what, "message": answer.message}


def groups(calls: Sequence[Call]) -> list[int | None]:
    """Calls that overlap in time, directly or through others, share a number from 1; a call alone has None."""
    number, until = 0, float("-inf")
    numbers = []
    for call in calls:
        if call.began >= until:
            number += 1
        numbers.append(number)
        until = max(until, _busy_until(call))
    # Members of one group follow each other.
    together = sorted({one for one, other in pairwise(numbers) if one == other})
    renumbered = {old: new for new, old in enumerate(together, 1)}
    return [renumbered.get(each) for each in numbers]


def _busy_until(call: Call) -> float:
    """Until when what begins overlaps with a call. A client's next call may come before it is noticed to have gone.

    Of a call that gets no answer nobody can see when its agent gave up: not every client closes the connection. What
    comes later than calls made at the same time do is the retry.
    """
    end = float("inf") if call.ended is None else call.ended - _NOTICED_WITHIN * call.was_left
    is_silent = isinstance(call.answer, Failure) and call.answer.kind == "timeout"
    return min(end, call.began + _SENT_WITHIN) if is_silent else end
