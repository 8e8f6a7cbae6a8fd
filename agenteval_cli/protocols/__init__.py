"""How an agent is spoken to: siblings behind one interface, in a registry you can read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agenteval_cli.protocols.interface import Protocol, UnreadableAnswerError
from agenteval_cli.protocols.json_protocol import JsonProtocol
from agenteval_cli.protocols.text_protocol import TextProtocol

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {"json": JsonProtocol(), "jsonl": JsonProtocol(), "text": TextProtocol()}  # jsonl: the same, a line for a line
)

__all__ = ["PROTOCOLS", "Protocol", "UnreadableAnswerError"]
