"""A simulated user as a case describes it: a frozen value, pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from agenteval_cli.phrases import as_text
from agenteval_cli.talk import Exchange

MAX_TURNS = 10  # where the case says nothing
_NAMED = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class Rule(msgspec.Struct, frozen=True):
    """What a scripted user says to an answer that `when` matches; to any where it is UNSET, even before the first.

    With `done` these are the last words, or without `say` there are none; with `gives_up` too, and the user leaves
    without what it wanted. `times` None is any number.
    """

    when: Any = UNSET
    say: Any = None
    done: bool = False
    gives_up: bool = False
    times: int | None = None


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """Who the user is, all that a simulated one is told, and nothing of what is expected of the agent.

    `before` is what was said before the simulation begins; `user` is who of the configuration plays it, None the
    default; `script` is the case's own, for a scripted user.
    """

    user_prompt: str
    opening: str | None = None
    knows: dict[str, Any] = {}
    must_not_reveal: tuple[str, ...] = ()
    ends_when: str | None = None
    max_turns: int = MAX_TURNS
    user: str | None = None
    script: tuple[Rule, ...] = ()
    before: tuple[Exchange, ...] = ()


def role_of(data: Mapping[str, Any]) -> Role | None:
    """The role in a case's data; None where nobody is simulated."""
    given = data.get("simulation")
    if given is None:
        return None
    knows = given.get("knows", {})
    return Role(
        user_prompt=told(given["user_prompt"], knows),
        opening=told(given.get("opening"), knows),
        knows=knows,
        must_not_reveal=tuple(given.get("must_not_reveal", ())),
        ends_when=told(given.get("ends_when"), knows),
        max_turns=int(given.get("max_turns", MAX_TURNS)),
        user=given.get("user"),
        script=rules_from(given.get("script", ())),
        before=tuple(_exchanges(data.get("conversation", ()))),
    )


def rules_from(data: Any) -> tuple[Rule, ...]:
    """The rules of a script as the case or the configuration writes them."""
    return tuple(
        Rule(
            when=rule.get("when", UNSET),
            say=rule.get("say"),
            done=rule.get("done", False),
            gives_up=rule.get("gives_up", False),
            times=int(rule["times"]) if "times" in rule else None,
        )
        for rule in data
    )


def names_in(text: str) -> list[str]:
    """The names in braces in a line of a script."""
    return _NAMED.findall(text)


def told(text: Any, knows: Mapping[str, Any]) -> Any:
    """A text of a simulation with {{name}} replaced by what the user knows of that name."""
    if not isinstance(text, str):
        return text
    return _NAMED.sub(lambda found: as_text(knows[found[1]]) if found[1] in knows else found[0], text)


def _exchanges(messages: Any) -> list[Exchange]:
    """The user's words before, each with the answers up to the next of them."""
    found: list[Exchange] = []
    for message in messages:
        if message["role"] == "user":
            found.append(Exchange(message.get("content"), None))
        elif message["role"] == "assistant":
            user = found.pop().user if found and found[-1].agent is None else None
            found.append(Exchange(user, message.get("content")))
    return found
