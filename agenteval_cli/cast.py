"""The cast of a run: who plays the simulated users of its cases, made ready."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from agenteval_cli.case import Case
from agenteval_cli.config import FILE_NAME
from agenteval_cli.errors import UsageError
from agenteval_cli.judge_config import CommandSettings, Endpoint
from agenteval_cli.ready_users import made_ready
from agenteval_cli.records import UserRecord
from agenteval_cli.simulation import Role
from agenteval_cli.user_config import SCRIPTED, Playing, Scripted, UserConfig, fault_of_user
from agenteval_cli.users.ready import ReadyUser

_BESIDE = f"{SCRIPTED} (built in)"  # where the configuration has another of that name
_BUILT_IN = UserConfig(name=SCRIPTED, played=Scripted())


class Cast(msgspec.Struct, frozen=True):
    """The users that a run's cases need, by name, and the name of each simulated case's by the case's ID."""

    users: dict[str, ReadyUser] = {}
    by_case: dict[str, str] = {}

    @property
    def secrets(self) -> tuple[str, ...]:
        """What is to be masked: keys, and what is passed through to commands."""
        return tuple(secret for user in self.users.values() for secret in user.secrets)


def cast_for(playing: Playing, root: Path, cases: Iterable[Case], environment: Mapping[str, str]) -> Cast:
    """Who plays the users of these cases. Raises UsageError where nobody can."""
    chosen = {case.id: _player(playing, case, case.role) for case in cases if case.role is not None}
    configs = {config.name: config for config in chosen.values()}
    return Cast(
        users={name: made_ready(configs[name], root, environment) for name in sorted(configs)},
        by_case={case: config.name for case, config in chosen.items()},
    )


def scripted_cast_for(playing: Playing, root: Path, cases: Iterable[Case]) -> Cast:
    """Those of the cases' users that go by rules: all that a replay of their words asks."""
    chosen = {case.id: config for case in cases if (config := _by_rules(playing, case)) is not None}
    ready = {config.name: made_ready(config, root, {}) for config in chosen.values()}
    return Cast(users=ready, by_case={case: config.name for case, config in chosen.items()})


def _by_rules(playing: Playing, case: Case) -> UserConfig | None:
    if case.role is None:
        return None
    try:
        config = _player(playing, case, case.role)
    except UsageError:
        return None
    return config if _goes_by_rules(config) else None


def user_records(cast: Cast) -> tuple[UserRecord, ...]:
    """The users as the run's record has them."""
    return tuple(UserRecord(name, _asked(user.config), user.digest) for name, user in cast.users.items())


def _player(playing: Playing, case: Case, role: Role) -> UserConfig:
    """Who plays this role. A script is for a user that goes by rules, so that no other is the default there."""
    if role.user is not None:
        fault = fault_of_user(role.user, bool(role.script), playing.facts)
        if fault is not None:
            raise UsageError(f"{case.id}: {fault}")
        return playing.users.get(role.user, _BUILT_IN)
    default = playing.users.get(playing.default or "")
    if role.script and not _goes_by_rules(default):
        configured = playing.users.get(SCRIPTED)
        if configured is None:
            return _BUILT_IN
        return configured if _goes_by_rules(configured) else msgspec.structs.replace(_BUILT_IN, name=_BESIDE)
    if default is None:
        raise UsageError(f"{case.id}: {_nobody(playing)}")
    return default


def _goes_by_rules(config: UserConfig | None) -> bool:
    return config is not None and isinstance(config.played, Scripted)


def _nobody(playing: Playing) -> str:
    if not playing.users:
        return f"nobody plays its simulated user; name who does under users in {FILE_NAME}, or give it a script"
    names = ", ".join(playing.users)
    return f"{FILE_NAME} has no default user; name one of {names} as simulation.user, or call one of them default"


def _asked(config: UserConfig) -> str:
    match config.played:
        case Scripted():
            return SCRIPTED
        case CommandSettings(command=command):
            return shlex.join(command)
        case Endpoint(model=model):
            return model
