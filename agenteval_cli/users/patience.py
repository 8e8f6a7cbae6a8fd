"""Asks a user again that may answer later, no more at once than it may be asked, and tells it no secret."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agenteval_cli.asking import NoAnswerError
from agenteval_cli.back_off import LOOK, may_ask_again
from agenteval_cli.process import Cancel
from agenteval_cli.redaction import Redactor
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange
from agenteval_cli.user_config import UserConfig
from agenteval_cli.users.interface import Spoken, User


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
                if not may_ask_again(fault, tries, self._retries, self._cancel):
                    raise

    def close(self) -> None:
        self._user.close()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        while not self._free.acquire(timeout=LOOK):
            if self._cancel.requested:
                raise NoAnswerError("the run was stopped before it was asked")
        try:
            yield
        finally:
            self._free.release()
