"""Simulated users as agenteval.yaml names them, as frozen values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

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
    def by_rules(self) -> dict[str, bool]:
        """Of each user by name whether it goes by rules."""
        return {name: isinstance(user.played, Scripted) for name, user in self.users.items()}

    @property
    def default(self) -> str | None:
        """Who plays the users of cases that name none: the only one, or the one called default."""
        if len(self.users) == 1:
            return next(iter(self.users))
        return DEFAULT_USER if DEFAULT_USER in self.users else None


def fault_of_user(name: str, has_script: bool, by_rules: Mapping[str, bool]) -> str | None:
    """Why a user that a case names cannot play it, in words. `by_rules` says of each configured one whether it does."""
    if name in by_rules:
        if not has_script or by_rules[name]:
            return None
        words = f"its simulation.script is for a scripted user, and '{name}' is none"
        return f"{words}; leave out simulation.user or simulation.script"
    if has_script and name == SCRIPTED:
        return None
    return f"no user '{name}' under users in agenteval.yaml{did_you_mean(name, by_rules)}"


def playing_from(data: Mapping[str, Any]) -> Playing:
    """What a valid agenteval.yaml says of users."""
    return Playing({name: _user(name, item) for name, item in data.get("users", {}).items()})


def rule_faults(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the matchers of scripted users: (path in agenteval.yaml, sentence)."""
    from agenteval_cli.matchers import faults

    for name, user in data.get("users", {}).items():
        for index, rule in enumerate(user.get("scripted", ())):
            if "when" in rule:
                yield from faults(rule["when"], ("users", name, "scripted", index, "when"))


def _user(name: str, data: Mapping[str, Any]) -> UserConfig:
    given = {key: data[key] for key in ("concurrency", "retries") if key in data}
    played = Scripted(rules_from(data["scripted"])) if "scripted" in data else asked_from(data)
    return UserConfig(name=name, played=played, **given)
