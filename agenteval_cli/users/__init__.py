"""Simulated users: a command, an endpoint or a script behind one interface."""

from __future__ import annotations

from agenteval_cli.judge_config import CommandSettings, Endpoint
from agenteval_cli.process import Processes
from agenteval_cli.redaction import Redactor
from agenteval_cli.user_config import Scripted
from agenteval_cli.users.command import CommandUser
from agenteval_cli.users.endpoint import EndpointUser
from agenteval_cli.users.interface import Spoken, User
from agenteval_cli.users.patience import PatientUser
from agenteval_cli.users.ready import ReadyUser
from agenteval_cli.users.scripted import ScriptedUser

__all__ = ["ReadyUser", "Spoken", "User", "user_for"]


def user_for(ready: ReadyUser, processes: Processes, redactor: Redactor) -> User:
    """What plays it. `redactor` masks what programs and models outside are told."""
    match ready.config.played:
        case Scripted(rules=rules):
            return ScriptedUser(rules)
        case CommandSettings(timeout=timeout):
            user: User = CommandUser(ready.argv, ready.env, timeout, processes)
        case Endpoint() as endpoint:
            user = EndpointUser(endpoint, ready.key, processes.cancel)
    return PatientUser(user, ready.config, processes.cancel, redactor)
