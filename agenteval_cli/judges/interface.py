"""What a judge owes."""

from __future__ import annotations

import typing

from agenteval_cli.asking import Answer
from agenteval_cli.questions import Prompt


class Judge(typing.Protocol):
    """Answers prompts, any number of them at the same time."""

    def ask(self, prompt: Prompt) -> Answer:
        """What it answers. Raises NoAnswerError."""
        ...

    def close(self) -> None:
        """Leave nothing open. Never raises."""
        ...
