"""A command that judges or plays a user: one JSON document on stdin, its answer as one JSON document on stdout.

The same care as for agents: no shell, a scrubbed environment, an empty folder, a deadline, nothing left running.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from agenteval_cli.asking import Answer, Asked, NoAnswerError
from agenteval_cli.process import MAX_STDOUT, Command, Ended, NotStartedError, Processes
from agenteval_cli.transcript import decoded
from agenteval_cli.units import amount

TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h: how a command says that it may answer later
PROTOCOL = 1


class JsonCommand:
    """Starts the command anew for every document. `env` is all of its environment, `seconds` the time it may take."""

    def __init__(
        self, asked: Asked, argv: tuple[str, ...], env: dict[str, str], seconds: float, processes: Processes
    ) -> None:
        self._asked = asked
        self._argv = argv
        self._env = env
        self._seconds = seconds
        self._processes = processes

    def answer(self, document: Mapping[str, Any]) -> Answer:
        """What it prints, with what it says of itself in it. Raises NoAnswerError."""
        ended = self._ended(msgspec.json.encode({"protocol": PROTOCOL, **document}))
        who = self._asked.who
        if ended.why == "cancelled":
            raise NoAnswerError(f"the run was stopped before {who} answered")
        if ended.why == "timeout":
            raise NoAnswerError(f"{who} did not answer within {self._seconds:g} s", again=True)
        text, _ = decoded(ended.stdout)
        if ended.exit_code != 0:
            raise NoAnswerError(f"{who} {_crash(ended)}", again=ended.exit_code == TRY_AGAIN, reply=text)
        if ended.stdout_size > MAX_STDOUT:
            raise NoAnswerError(f"{who} printed {ended.stdout_size:,} bytes; the limit is {MAX_STDOUT:,}")
        return _answer(text)

    def _ended(self, stdin: bytes) -> Ended:
        try:
            folder = self._processes.new_folder()
            try:
                return self._processes.run(Command(self._argv, self._env, folder, stdin, self._seconds))
            finally:
                self._processes.remove_folder(folder)
        except NotStartedError as error:
            raise NoAnswerError(f"{self._asked.whose} command {error}") from error
        except OSError as error:
            raise NoAnswerError(f"{self._asked.who} could not be started: {error.strerror}", again=True) from error


def _answer(text: str) -> Answer:
    """The text with what it says of itself beside the answer; where that cannot be read nothing is known of it."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return Answer(text=text)
    said = _mapping(said)
    usage = _mapping(said.get("usage"))
    return Answer(
        text=text,
        model=said["model"] if isinstance(said.get("model"), str) else None,
        input_tokens=_count(usage.get("input_tokens")),
        output_tokens=_count(usage.get("output_tokens")),
        cost=_amount(said.get("cost")),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _amount(value: Any) -> str | None:
    """Decimal text as it is, a number as text; what is no amount is not known."""
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    known = None if text is None else amount(text)
    return text if known is not None and known >= 0 else None


def _crash(ended: Ended) -> str:
    last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    said = f"; it said: {last[0][:300]}" if last else ""
    how = f"was killed by signal {ended.signal}" if ended.signal else f"exited with code {ended.exit_code}"
    return f"{how}{said}"
