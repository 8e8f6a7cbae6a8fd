"""What a protocol owes."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any

from agenteval_cli.transcript import Transcript


class UnreadableAnswerError(Exception):
    """What the agent printed is not an answer in its protocol; the message says why."""


class Protocol(typing.Protocol):
    """Turns a request into what the agent is given, and what it printed into a transcript."""

    def stdin(self, request: Mapping[str, Any]) -> bytes:
        """The bytes for the agent's stdin."""
        ...

    def read(self, stdout: bytes) -> Transcript:
        """The transcript in what the agent printed. Raises UnreadableAnswerError."""
        ...

    def cannot_carry(self, request: Mapping[str, Any]) -> list[str]:
        """The keys of the request that an agent of this protocol would never see."""
        ...
