"""What a user says next, read from its reply, and the conversation as others are told it: pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agenteval_cli.asking import Answer, NoAnswerError
from agenteval_cli.compare import shown
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange
from agenteval_cli.users.interface import Spoken

USER, AGENT = "user", "assistant"
_ENDS = ("done", "gives_up")
_KEYS = ("say", *_ENDS)
_BESIDE = frozenset({"model", "usage", "cost"})  # what a command may say of itself
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"\A```[A-Za-z]*\s*\n(.*)\n\s*```\Z", re.DOTALL)
_LIKE_AN_ANSWER = re.compile(r'\A[\[{]\s*["{\[]|\{\s*"(?:say|done|gives_up)"\s*:')


def messages_of(role: Role, talk: Sequence[Exchange]) -> Iterator[tuple[str, Any]]:
    """All that was said so far in order: USER or AGENT, and the words. Without what was left out before the talk."""
    for exchange in role.before:
        yield from ((who, said) for who, said in ((USER, exchange.user), (AGENT, exchange.agent)) if said is not None)
    for exchange in talk:
        yield USER, exchange.user
        yield AGENT, exchange.agent


def spoken_by_command(answer: Answer) -> Spoken:
    """The one JSON document that a command prints. Raises NoAnswerError."""
    try:
        value = msgspec.json.decode(answer.text)
    except (ValueError, RecursionError) as error:
        raise NoAnswerError(f"{_is_no_answer(answer.text)}: {error}", reply=answer.text) from error
    return _spoken(answer, value, _BESIDE)


def spoken_by_model(answer: Answer) -> Spoken:
    """One JSON object, fenced or not, or a text as what is said, after what a model thought. Raises NoAnswerError.

    A text that has something like such an object in it is neither: what is meant to be said cannot be told.
    """
    text = _THOUGHTS.sub("", answer.text).strip()
    fenced = _FENCED.match(text)
    body = fenced[1].strip() if fenced else text
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        if not text or fenced or _LIKE_AN_ANSWER.search(body):
            raise NoAnswerError(_is_no_answer(answer.text), reply=answer.text) from None
        return _as_spoken(answer, text, done=False)
    return _spoken(answer, value) if isinstance(value, dict | list) else _as_spoken(answer, text, done=False)


def _spoken(answer: Answer, value: Any, beside: frozenset[str] = frozenset()) -> Spoken:
    fault = _fault(value, beside)
    if fault is not None:
        raise NoAnswerError(f"{_is_no_answer(answer.text)}: {fault}", reply=answer.text)
    say = value.get("say")
    words = say if say and say.strip() else None
    return _as_spoken(answer, words, done=value.get("done", False), gives_up=value.get("gives_up", False))


def _fault(value: Any, beside: frozenset[str]) -> str | None:
    """Why a reply is none, in words."""
    if not isinstance(value, dict):
        return "it is no JSON object"
    strange = next((key for key in value if key not in _KEYS and key not in beside), None)
    if strange is not None:
        return f"its key {shown(strange, 40)} has no meaning here"
    say = value.get("say")
    ends = [key for key in _ENDS if value.get(key) is True]
    unclear = next((key for key in _ENDS if not isinstance(value.get(key, False), bool)), None)
    if unclear is not None:
        return f"{unclear} is neither true nor false"
    if say is not None and not isinstance(say, str):
        return "say is no text"
    return None if ends or (say and say.strip()) else "it says nothing, and is not done"


def _as_spoken(answer: Answer, say: str | None, *, done: bool, gives_up: bool = False) -> Spoken:
    return Spoken(
        say=say,
        done=done,
        gives_up=gives_up,
        reply=answer.text,
        model=answer.model,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost=answer.cost,
    )


def _is_no_answer(text: str) -> str:
    said = f"its reply {shown(text, 120)} is not" if text.strip() else "its reply is empty and not"
    return f'{said} as {{"say": "…", "done": false}}'
