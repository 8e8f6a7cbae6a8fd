"""What judges answered, as it is recorded: calls make votes, votes make the judgement on one criterion."""

from __future__ import annotations

import msgspec

YES = "yes"
NO = "no"
CANNOT_TELL = "cannot_tell"
NONE = "none"  # no verdict came that could be read
ANSWERS = (YES, NO, CANNOT_TELL)


class Call(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One question put to a judge. `prompt` is the digest of all that was asked, without what is random in it.

    `reply` is what came, word for word, cut at its end where it is very long; `fault` says why it is no answer.
    `seconds` are those of the last of `tries`; `cost` is decimal text. A `cached` one was answered in an earlier run.
    `weights` has the probability of each rating, where the judge told it and the score was made of it.
    """

    judge: str
    prompt: str
    reply: str = ""
    fault: str = ""
    model: str | None = None
    seconds: float = 0.0
    tries: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: str | None = None
    cached: bool = False
    weights: dict[str, float] | None = None


class Vote(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One answer of one judge; `score` is from 0 to 1 where the criterion has one."""

    judge: str
    answer: str
    reason: str = ""
    score: float | None = None
    calls: tuple[Call, ...] = ()


class Judgement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What the votes come to. `digest` is that of the criterion: what was asked of another one is not an answer to it.

    `unstable` says that votes parted. `score` is the mean of those that there are.
    """

    criterion: str
    digest: str
    answer: str
    reason: str = ""
    score: float | None = None
    unstable: bool = False
    votes: tuple[Vote, ...] = ()
