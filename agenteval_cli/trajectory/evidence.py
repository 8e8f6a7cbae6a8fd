"""What rules ask of a transcript. Asking for what it does not tell raises: what is absent is never taken for none."""

from __future__ import annotations

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
