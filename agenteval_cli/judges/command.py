"""A judge that is a command: one JSON document on stdin, its answer as one JSON document on stdout."""

from __future__ import annotations

from agenteval_cli.asking import Answer, Asked
from agenteval_cli.json_command import JsonCommand
from agenteval_cli.process import Processes
from agenteval_cli.questions import Prompt


class CommandJudge:
    """Starts the command anew for every question. `env` is all of its environment, `seconds` the time it may take."""

    def __init__(self, argv: tuple[str, ...], env: dict[str, str], seconds: float, processes: Processes) -> None:
        self._command = JsonCommand(Asked("the judge", "the judge's"), argv, env, seconds, processes)

    def ask(self, prompt: Prompt) -> Answer:
        asked = {
            "nonce": prompt.nonce,
            "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
            "task": prompt.task,
            "evidence": dict(prompt.blocks),
            "schema": prompt.schema,
        }
        return self._command.answer(asked)

    def close(self) -> None:
        """Nothing is kept open."""
