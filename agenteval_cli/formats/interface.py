"""What a format owes."""

from __future__ import annotations

import typing

from agenteval_cli.formats.source import Source
from agenteval_cli.transcript import Transcript


class Format(typing.Protocol):
    """Reads what agents of one kind leave behind. `name` is the word in agenteval.yaml."""

    name: str

    def detect(self, source: Source) -> bool:
        """Whether the source is certainly in this format. Cheap and strict: no two formats claim the same source."""
        ...

    def read(self, source: Source) -> Transcript:
        """The transcript in the source. What it does not tell stays unknown. Raises UnreadableAnswerError."""
        ...
