"""A user that a model plays, behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from agenteval_cli.asking import Answer, Asked, NoAnswerError
from agenteval_cli.back_off import LOOK
from agenteval_cli.judge_config import Endpoint
from agenteval_cli.model_endpoint import Form, ModelEndpoint
from agenteval_cli.process import Cancel
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange
from agenteval_cli.users.interface import Spoken
from agenteval_cli.users.prompting import SCHEMA, prompt_for
from agenteval_cli.users.reading import spoken_by_model

_FORM = Form("message", SCHEMA)


class EndpointUser:
    """Asks one model, under the seed of the attempt unless the configuration has another."""

    def __init__(self, endpoint: Endpoint, key: str | None, cancel: Cancel) -> None:
        self._model = ModelEndpoint(Asked("it", "its"), endpoint, key)
        self._cancel = cancel

    def speak(self, role: Role, talk: Sequence[Exchange], seed: int) -> Spoken:
        messages = prompt_for(role, talk)
        return spoken_by_model(self._unless_stopped(lambda: self._model.answer(messages, _FORM, {"seed": seed})))

    def close(self) -> None:
        self._model.close()

    def _unless_stopped(self, ask: Callable[[], Answer]) -> Answer:
        """The answer, asked for by a thread that nobody waits for once the run is stopped."""
        answer: Future[Answer] = Future()

        def work(*_: Any) -> None:
            try:
                answer.set_result(ask())
            except BaseException as error:  # noqa: BLE001  # raised again by who waits
                answer.set_exception(error)

        threading.Thread(target=work, name="user", daemon=True).start()
        while True:
            try:
                return answer.result(timeout=LOOK)
            except TimeoutError:
                if answer.done():
                    return answer.result()  # it came just now, or the error is the model's own
                if self._cancel.requested:
                    raise NoAnswerError("the run was stopped before it answered") from None
