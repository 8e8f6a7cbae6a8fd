"""What an agent said and did in one attempt. What was not reported is absent, never zero or empty."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from agenteval_cli.file_facts import FileFact

REPLACEMENT = "\ufffd"
# CSI and OSC sequences (both terminators), then the two-character escapes: what terminals act on, never what was said.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One call as it was made. `status` is ok, error, or unknown where neither result nor error was reported.

    `started_ms` counts from the begin of the attempt. Calls with the same `group` ran at the same time. `agent` is the
    one of several that made it.
    """

    name: str
    arguments: Any = None
    id: str | None = None
    result: Any = UNSET
    error: Any = None
    duration_ms: float | None = None
    started_ms: float | None = None
    group: int | None = None
    agent: str | None = None

    @property
    def status(self) -> str:
        if self.error is not None:
            return "error"
        return "unknown" if self.result is UNSET else "ok"


class ReasoningStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One reported step of thought; `tool_call` is the id of the call it led to."""

    type: str
    content: str = ""
    tool_call: str | None = None


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Token counts as reported; None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None

    @property
    def total(self) -> int | None:
        """As reported, but never less than its parts: some report a total of 0 beside them."""
        parts = (self.input_tokens, self.output_tokens)
        known = sum(part or 0 for part in parts)
        if self.total_tokens is not None:
            return max(self.total_tokens, known)
        return None if None in parts else known


class Transcript(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The facts of one attempt. `tool_calls` None means that nothing tells which calls were made.

    With `observed` they are those that the tool server saw, and `reported_calls` is what the agent claims, if it does.
    `files` are those that the attempt left in its folder; None means that nobody looked. `ended` says that the agent
    ended the conversation with this answer, `partial` that a part of what it was read from was broken, so that calls
    may be missing.
    """

    output: Any = None
    messages: tuple[dict[str, Any], ...] | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    reported_calls: tuple[ToolCall, ...] | None = None
    observed: bool = False
    reasoning: tuple[ReasoningStep, ...] | None = None
    retrieval_context: tuple[str, ...] | None = None
    usage: Usage | None = None
    cost: str | None = None
    latency_ms: float | None = None
    state: Any | UnsetType = UNSET
    model: str | None = None
    trace_id: str | None = None
    files: tuple[FileFact, ...] | None = None
    ended: bool = False
    bytes_replaced: bool = False
    partial: bool = False
    notes: tuple[str, ...] = ()

    @property
    def steps(self) -> int | None:
        """Reasoning entries plus tool calls; an ACTION that names its call is that call, not one more step."""
        if self.tool_calls is None:
            return None
        thoughts = [step for step in self.reasoning or () if step.tool_call is None]
        return len(self.tool_calls) + len(thoughts)


def decoded(raw: bytes) -> tuple[str, bool]:
    """Text of bytes from an agent, leniently: invalid UTF-8 becomes U+FFFD and is told."""
    try:
        return raw.decode("utf-8"), False
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace"), True


def without_escapes(text: str) -> str:
    """The text without terminal escape sequences."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def without_surrogates(value: Any) -> Any:
    """JSON data with each lone surrogate, which no text encoding can carry, replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, Mapping):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value
