"""text: the user's words on stdin (or as {input} in argv), the answer as it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.phrases import as_text
from agenteval_cli.protocols.interface import UnreadableAnswerError
from agenteval_cli.transcript import Transcript, decoded, without_escapes


class TextProtocol:
    """The answer is all of stdout without the line break that ends it. Nothing tells which tools were called."""

    def stdin(self, request: Mapping[str, Any]) -> bytes:
        return as_text(request["input"]).encode()

    def read(self, stdout: bytes) -> Transcript:
        text, replaced = decoded(stdout)
        answer = text.removesuffix("\n").removesuffix("\r")
        if not without_escapes(answer).strip():
            raise UnreadableAnswerError("the agent printed nothing")
        return Transcript(output=answer, bytes_replaced=replaced)

    def cannot_carry(self, request: Mapping[str, Any]) -> list[str]:
        unseen = [key for key in ("system_prompt", "state") if key in request]
        return ["conversation", *unseen] if len(request["messages"]) > 1 else unseen
