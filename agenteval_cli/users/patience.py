"""Asks a user again that may answer later, no more at once than it may be asked, and tells it no secret."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agenteval_cli.asking import NoAnswerError
from agenteval_cli.process import Cancel
from agenteval_cli.redaction import Redactor
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange
from agenteval_cli.user_config import UserConfig
from agenteval_cli.users.interface import Spoken, User

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds
_LOOK = 0.05  # seconds between looks at whether the run was stopped


class PatientUser:
    """Another user, with its retries and its limit. Gives up where the run is stopped.

    What the agent said goes to a program or a model outside, so that secrets are masked in it.
    """

    def __init__(self, user: User, config: UserConfig, cancel: Cancel, redactor: Redactor) -> None:
        self._user = user
        self._retries = config.retries
        self._cancel = cancel
        self._redactor = redactor
        self._free = threading.Semaphore(config.concurrency)

    def speak(self, role: Role, talk: Sequence[Exchange], seed: int) -> Spoken:
        talk = [self._redactor.struct(exchange, "user", "agent") for exchange in talk]
        tries = 0
        while True:
            tries += 1
            try:
                with self._turn():
                    return self._user.speak(role, talk, seed)
            except NoAnswerError as fault:
                if not fault.again or tries > self._retries:
                    raise
                self._pause(max(fault.wait, _pause_after(tries)))
                if self._cancel.requested:
                    raise

    def close(self) -> None:
        self._user.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        while not self._free.acquire(timeout=_LOOK):
            if self._cancel.requested:
                raise NoAnswerError("the run was stopped before it was asked")
        try:
            yield
        finally:
            self._free.release()

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._cancel.requested:
            time.sleep(min(_LOOK, seconds))


def _pause_after(tries: int) -> float:
    """Twice as long after every try, by chance a little less, so that many do not come back at once."""
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (tries - 1))
    return longest * (0.5 + random.random() / 2)  # noqa: S311  # chance is all that is wanted
