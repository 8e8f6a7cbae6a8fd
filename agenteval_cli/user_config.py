"""Simulated users as agenteval.yaml names them, as frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from agenteval_cli.judge_config import CommandSettings, Endpoint, asked_from
from agenteval_cli.problems import did_you_mean
from agenteval_cli.simulation import Rule, rules_from

DEFAULT_USER = "default"
SCRIPTED = "scripted"  # the user of a case that has a script, where the default goes by no rules


class Scripted(msgspec.Struct, frozen=True):
    """A user that goes by rules, after those of the case."""

    rules: tuple[Rule, ...] = ()


class UserConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A configured user. `concurrency` is how many at once it plays, `retries` how often it is asked again."""

    name: str
    played: CommandSettings | Endpoint | Scripted
    concurrency: int = 4
    retries: int = 2


class Playing(msgspec.Struct, frozen=True):
    """All that agenteval.yaml says of who plays users."""

    users: dict[str, UserConfig] = {}

    @property
    def facts(self) -> dict[str, UserFacts]:
        """What a case must know of each user, by name."""
        return {name: facts_of(user) for name, user in self.users.items()}

    @property
    def default(self) -> str | None:
        """Who plays the users of cases that name none: the only one, or the one called default."""
        if len(self.users) == 1:
            return next(iter(self.users))
        return DEFAULT_USER if DEFAULT_USER in self.users else None


class UserFacts(msgspec.Struct, frozen=True):
    """What a case must know of a user: whether it goes by rules, can begin, and has something to say to any answer."""

    by_rules: bool = False
    begins: bool = True
    says_to_all: bool = True


def facts_of(user: UserConfig) -> UserFacts:
    """The facts of a configured user; only one that goes by rules can be at a loss."""
    if not isinstance(user.played, Scripted):
        return UserFacts()
    return facts_of_rules(user.played.rules)


def facts_of_rules(rules: Iterable[Rule]) -> UserFacts:
    """Of a user that goes by these rules."""
    anyhow = [rule for rule in rules if rule.when is UNSET]
    says_to_all = any(rule.times is None for rule in anyhow)
    return UserFacts(by_rules=True, begins=bool(anyhow), says_to_all=says_to_all)


def fault_of_user(name: str, has_script: bool, users: Mapping[str, UserFacts]) -> str | None:
    """Why a user that a case names cannot play it, in words; `users` are the configured ones."""
    if name in users:
        if not has_script or users[name].by_rules:
            return None
        words = f"its simulation.script is for a scripted user, and '{name}' is none"
        return f"{words}; leave out simulation.user or simulation.script"
    if has_script and name == SCRIPTED:
        return None
    return f"no user '{name}' under users in agenteval.yaml{did_you_mean(name, users)}"


def scripted_by(name: str | None, default: str | None, users: Mapping[str, UserFacts]) -> str:
    """Who plays a case with a script: the named one, the default if it goes by rules, else the one called scripted."""
    if name is not None:
        return name
    return default if default is not None and default in users and users[default].by_rules else SCRIPTED


def playing_from(data: Mapping[str, Any]) -> Playing:
    """What a valid agenteval.yaml says of users."""
    return Playing({name: _user(name, item) for name, item in data.get("users", {}).items()})


def rule_faults(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the rules of scripted users: (path in agenteval.yaml, sentence)."""
    from agenteval_cli.matchers import faults, nearly_operator

    for name, user in data.get("users", {}).items():
        met_always = None
        for index, rule in enumerate(user.get("scripted", ())):
            path = ("users", name, "scripted", index)
            if met_always is not None:
                yield path, f"never said: scripted[{met_always}] before it matches every answer, any number of times"
            elif "when" not in rule and "times" not in rule:
                met_always = index
            if "when" in rule:
                yield from faults(rule["when"], (*path, "when"))
                if near := nearly_operator(rule["when"]):
                    yield (*path, "when"), near


def _user(name: str, data: Mapping[str, Any]) -> UserConfig:
    given = {key: data[key] for key in ("concurrency", "retries") if key in data}
    played = Scripted(rules_from(data["scripted"])) if "scripted" in data else asked_from(data)
    return UserConfig(name=name, played=played, **given)
