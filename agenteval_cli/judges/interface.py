"""What a judge owes."""

from __future__ import annotations

import typing

import msgspec

from agenteval_cli.questions import Prompt
from agenteval_cli.weighing import Token


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge said, word for word, and what it used; `cost` is decimal text. What it does not tell is None.

    `tokens` are those of a rating with their probabilities; none where the judge does not tell them.
    """

    text: str
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: str | None = None
    tokens: tuple[Token, ...] = ()


class JudgeFaultError(Exception):
    """The judge could not be asked. `again` says that it may answer later, after at least `wait` seconds if it said so.

    `status` is that of HTTP, where there is one; `reply` what came instead of an answer.
    """

    def __init__(
        self, words: str, *, again: bool = False, wait: float = 0.0, status: int | None = None, reply: str = ""
    ) -> None:
        super().__init__(words)
        self.again = again
        self.wait = wait
        self.status = status
        self.reply = reply


class Judge(typing.Protocol):
    """Answers prompts, any number of them at the same time."""

    def ask(self, prompt: Prompt) -> Reply:
        """What it answers. Raises JudgeFaultError."""
        ...

    def close(self) -> None:
        """Leave nothing open. Never raises."""
        ...
