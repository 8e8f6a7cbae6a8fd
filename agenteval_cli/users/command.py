"""A user that is a command: the role and the conversation as JSON on stdin, what is said next as JSON on stdout."""

from __future__ import annotations

from collections.abc import Sequence

from agenteval_cli.asking import Asked
from agenteval_cli.json_command import JsonCommand
from agenteval_cli.process import Processes
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange
from agenteval_cli.users.interface import Spoken
from agenteval_cli.users.reading import messages_of, spoken_by_command


class CommandUser:
    """Starts the command anew for every turn. `env` is all of its environment, `seconds` the time it may take."""

    def __init__(self, argv: tuple[str, ...], env: dict[str, str], seconds: float, processes: Processes) -> None:
        self._command = JsonCommand(Asked("it", "its"), argv, env, seconds, processes)

    def speak(self, role: Role, talk: Sequence[Exchange], seed: int) -> Spoken:
        asked = {
            "user_prompt": role.user_prompt,
            "knows": role.knows,
            "must_not_reveal": list(role.must_not_reveal),
            "ends_when": role.ends_when,
            "messages": [{"role": who, "content": said} for who, said in messages_of(role, talk)],
            "turn": len(talk) + 1,
            "seed": seed,
        }
        return spoken_by_command(self._command.answer(asked))

    def close(self) -> None:
        """Nothing is kept open."""
