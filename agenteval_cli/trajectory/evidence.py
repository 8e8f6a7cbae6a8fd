"""What rules ask of a transcript. Asking for what it does not tell raises: what is absent is never taken for none."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript

Calls = tuple[ToolCall, ...]


class NoEvidenceError(Exception):
    """Something that a rule needs and nobody told; the words say what."""


class Evidence(msgspec.Struct, frozen=True):
    """The transcript of one attempt, as rules see it."""

    transcript: Transcript

    @property
    def calls(self) -> Calls:
        """All calls, in the order in which they were made."""
        if self.transcript.tool_calls is None:
            raise NoEvidenceError("nothing tells which tools were called: the agent reported no tool_calls")
        return self.transcript.tool_calls

    @property
    def may_lack_calls(self) -> bool:
        """Whether the transcript was read from something broken; what the tool server saw is whole."""
        return self.transcript.partial and not self.transcript.observed

    def with_arguments(self, arguments: Any) -> Evidence:
        """The same, where each call whose arguments nobody told has these."""
        calls = tuple(
            msgspec.structs.replace(call, arguments=arguments) if call.arguments is None else call
            for call in self.calls
        )
        return Evidence(msgspec.structs.replace(self.transcript, tool_calls=calls))

    @property
    def reasoning(self) -> tuple[ReasoningStep, ...]:
        if self.transcript.reasoning is None:
            raise NoEvidenceError("nothing tells what was planned: the agent reported no reasoning")
        return self.transcript.reasoning

    @property
    def claimed(self) -> Calls:
        """What the agent claims to have called, where the tool server saw what it did call."""
        if not self.transcript.observed:
            raise NoEvidenceError("nobody but the agent saw its calls: the case has no recorded tools")
        if self.transcript.reported_calls is None:
            raise NoEvidenceError("the agent does not say which tools it called: it reported no tool_calls")
        return self.transcript.reported_calls

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        """What was said, as far as it was reported; empty where it was not."""
        return self.transcript.messages or ()


def several_untold(calls: Calls, most: int) -> None:
    """Raise NoEvidenceError where a tool was called more than `most` times, and not all of its arguments are told."""
    times = Counter(call.name for call in calls)
    for at, call in enumerate(calls):
        if call.arguments is None and times[call.name] > most:
            raise NoEvidenceError(
                f"nothing tells the arguments of step {at + 1}, {call.name}, of {times[call.name]} calls"
            )
