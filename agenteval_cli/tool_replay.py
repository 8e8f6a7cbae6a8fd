"""Replays the recorded tools of a case to one attempt, and keeps what the agent called. No I/O and no clock of its own.

A call is decided when it comes: which response, its effects on the state, and what the state shows then are one step
that no other call can get between. A delay only puts off the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.case import Limits
from agenteval_cli.compare import ABSENT
from agenteval_cli.matchers import mismatch
from agenteval_cli.observed_calls import Call, Mark, Observed, TurnEnd, groups
from agenteval_cli.pointers import resolved as matcher_resolved
from agenteval_cli.problems import did_you_mean
from agenteval_cli.recordings import (
    Answer,
    Blocks,
    Failure,
    Handler,
    Recorded,
    RecordedTool,
    Result,
    argument_matchers,
    changes_state,
    recorded_tools,
)
from agenteval_cli.state_patches import patched, resolved
from agenteval_cli.transcript import ToolCall

MAX_CALLS = 10_000  # of one attempt; so many more are refused and not kept
MAX_BYTES = 16 * 1024 * 1024  # of the arguments of one attempt, as of its stdout
_LONGEST_NAME = 200
_CLOSED = Failure(message="this attempt is over", status=410, reason="closed")
_TOO_MUCH = Failure(message="this attempt made more calls than are kept", status=429, reason="too_much")


class Ask(msgspec.Struct, frozen=True):
    """No recorded response matches, and the tool has a handler: `handled` is to be told what that says."""

    handler: Handler
    arguments: dict[str, Any]
    state: Any


class Reply(msgspec.Struct, frozen=True):
    """What to answer to a call, after `delay` seconds. `number` is None where the call is not kept."""

    number: int | None
    answer: Answer | Ask
    delay: float = 0.0


class Handled(msgspec.Struct, frozen=True):
    """What a handler said; `state` UNSET leaves the state as it is."""

    answer: Answer
    state: Any = msgspec.UNSET


class Replay:
    """The tools of one attempt. Every method may be called from any thread; moments are in seconds of one clock."""

    def __init__(
        self, tools: Sequence[Mapping[str, Any]], state: Any, began: float, limits: Limits | None = None
    ) -> None:
        self.tools = recorded_tools(tools)
        self._state = state
        self._began = began
        self._limit = _limit(limits or Limits())
        self._used = {name: [0] * len(tool.responses) for name, tool in self.tools.items()}
        self._calls: list[Call] = []
        self._bytes = 0
        self._marks: list[Mark] = []
        self._turns: list[TurnEnd] = []
        self._closed = False
        self._lock = threading.Lock()

    @property
    def state(self) -> Any:
        """The state as it is now; UNSET where there is none."""
        return self._state

    def call(self, name: str, arguments: Any, moment: float, size: int = 0) -> Reply:
        """Decide a call that came at `moment` and keep it. `size` is that of its arguments in bytes."""
        with self._lock:
            if self._closed:
                return Reply(None, _CLOSED)
            if len(self._calls) >= MAX_CALLS or self._bytes + size > MAX_BYTES:
                self._mark_once(_TOO_MUCH)
                return Reply(None, _TOO_MUCH)
            number = len(self._calls)
            call = Call(name, arguments, moment)
            self._calls.append(call)
            self._bytes += size
            answer, delay = self._decided(name, arguments)
            return Reply(number, self._kept(number, answer), delay)

    def handled(self, number: int, said: Handled) -> Reply:
        """Take over what the handler of a call said, with the state as it left it."""
        with self._lock:
            if self._closed:
                return Reply(None, _CLOSED)
            if said.state is not msgspec.UNSET:
                self._state = said.state
            return Reply(number, self._kept(number, said.answer))

    def answered(self, number: int, moment: float) -> ToolCall:
        """Note that the client is sent its answer at `moment`; the call as it then stands."""
        with self._lock:
            call = self._calls[number]
            if not self._closed and call.ended is None:
                call.ended = moment
            return call.told(self._began, None)

    def told(self, number: int) -> ToolCall:
        """A call as it stands now."""
        with self._lock:
            return self._calls[number].told(self._began, None)

    def gone(self, number: int, moment: float) -> None:
        """Note that the client went away before it had its answer: what it would have been is no evidence."""
        with self._lock:
            call = self._calls[number]
            if not self._closed and call.ended is None:
                call.ended = moment
                call.was_left = True

    def next_turn(self) -> None:
        """What is called from now on belongs to the next turn."""
        with self._lock:
            self._turns.append(TurnEnd(len(self._calls), self._state))

    def close(self) -> Observed:
        """No call counts from now on; what was observed until then."""
        with self._lock:
            self._closed = True
            told = zip(self._calls, groups(self._calls), strict=True)
            calls = tuple(call.told(self._began, group) for call, group in told)
            owns_state = any(map(changes_state, self.tools.values()))
            return Observed(calls, self._state, owns_state, tuple(self._marks), tuple(self._turns))

    def _decided(self, name: str, arguments: Any) -> tuple[Answer | Ask, float]:
        refusal = self._refusal(name, arguments)
        if refusal is not None:
            return refusal, 0.0
        tool = self.tools[name]
        try:
            response = self._match(tool, arguments)
            if response is not None:
                return self._recorded_answer(response), response.delay
        except Exception as error:  # noqa: BLE001  # what the state makes of a matcher nobody can know before
            return Failure(message=f"{name} cannot be replayed: {error}", reason="broken"), 0.0
        return _otherwise(tool, arguments, self._state), 0.0

    def _refusal(self, name: str, arguments: Any) -> Failure | None:
        if self._limit is not None and len(self._calls) > self._limit[0]:
            words = f"over the limit of {self._limit[0]} {self._limit[1]}"
            return Failure(message=words, status=429, reason="over_limit")
        if name not in self.tools:
            near = did_you_mean(name, self.tools) if len(name) <= _LONGEST_NAME else ""
            return Failure(message=f"no tool '{name[:_LONGEST_NAME]}'{near}", status=404, reason="unknown_tool")
        if not isinstance(arguments, dict):
            return Failure(message="the arguments are not a JSON object", status=400, reason="bad_arguments")
        return None

    def _match(self, tool: RecordedTool, arguments: dict[str, Any]) -> Recorded | None:
        """The first response that matches and is not used up; it is used once more."""
        used = self._used[tool.name]
        for index, response in enumerate(tool.responses):
            if response.times is not None and used[index] >= response.times:
                continue
            if self._asks_for(response, arguments):
                used[index] += 1
                return response
        return None

    def _asks_for(self, response: Recorded, arguments: dict[str, Any]) -> bool:
        """Whether the arguments are those that a response is for."""

        def matches(matcher: Any, value: Any) -> bool:
            return mismatch(matcher_resolved(matcher, self._state) if response.has_pointers else matcher, value) is None

        named = argument_matchers(response.when)
        if named is None:
            return matches(response.when, arguments)
        return all(matches(matcher, arguments.get(name, ABSENT)) for name, matcher in named.items())

    def _recorded_answer(self, response: Recorded) -> Answer:
        """The answer, which shows the state as the call itself has left it."""
        if response.effects is not None:
            state = None if self._state is msgspec.UNSET else self._state
            self._state = patched(
                state, resolved(response.effects, state) if response.has_pointers else response.effects
            )
        if not response.has_pointers:
            return response.answer
        match response.answer:
            case Result(value):
                return Result(resolved(value, self._state))
            case Blocks(content):
                return Blocks(resolved(content, self._state))
            case Failure():
                return response.answer

    def _kept(self, number: int, answer: Answer | Ask) -> Answer | Ask:
        self._calls[number].answer = None if isinstance(answer, Ask) else answer
        if isinstance(answer, Failure) and answer.reason:
            if answer.reason == "over_limit":
                self._mark_once(answer, number + 1)
            else:
                self._marks.append(Mark(answer.reason, answer.message, number + 1))
        return answer

    def _mark_once(self, failure: Failure, call: int | None = None) -> None:
        if all(mark.kind != failure.reason for mark in self._marks):
            self._marks.append(Mark(failure.reason, failure.message, call))


def _otherwise(tool: RecordedTool, arguments: dict[str, Any], state: Any) -> Answer | Ask:
    """What a tool answers where no recorded response matches. The words must not tell what would have matched."""
    if tool.handler is not None:
        return Ask(tool.handler, arguments, {} if state is msgspec.UNSET else state)
    if tool.unmatched == "empty":
        return Result(None)
    words = f"no response is recorded for this call of {tool.name}"
    return Failure(message=words, status=422, reason="unmatched")


def _limit(limits: Limits) -> tuple[int, str] | None:
    """The most calls that may be made, and which limit says so: a call is a step too."""
    named = ((limits.tool_calls, "tool calls"), (limits.steps, "steps"))
    return min(((number, words) for number, words in named if number is not None), default=None)
