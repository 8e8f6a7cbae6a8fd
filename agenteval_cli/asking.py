"""What comes of asking somebody who is not the agent: an answer and what it cost, or why there is none."""

from __future__ import annotations

import msgspec

from agenteval_cli.weighing import Token


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What was said, word for word, and what it used; `cost` is decimal text. What it does not tell is None.

    `tokens` are those of the text where they were asked for and the server tells them.
    """

    text: str
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: str | None = None
    tokens: tuple[Token, ...] = ()


class Asked(msgspec.Struct, frozen=True):
    """What messages call who is asked: `who` as the judge or it, `whose` as the judge's or its."""

    who: str
    whose: str


class NoAnswerError(Exception):
    """There is no answer. `again` says that there may be one later, after at least `wait` seconds.

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
