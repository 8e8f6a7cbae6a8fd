"""A judge behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from agenteval_cli.asking import Asked, NoAnswerError
from agenteval_cli.judge_config import Endpoint
from agenteval_cli.judges.interface import JudgeFaultError, Reply
from agenteval_cli.model_endpoint import Form, ModelEndpoint
from agenteval_cli.questions import Prompt


class EndpointJudge:
    """Asks one model, for verdicts or for embeddings."""

    def __init__(self, endpoint: Endpoint, key: str | None) -> None:
        self._model = ModelEndpoint(Asked("the judge", "the judge's"), endpoint, key)

    def ask(self, prompt: Prompt) -> Reply:
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        with _faults():
            answer = self._model.answer(messages, Form("verdict", prompt.schema), weigh=prompt.scale is not None)
        return Reply(**msgspec.structs.asdict(answer))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in order. Raises JudgeFaultError."""
        with _faults():
            return self._model.embed(texts)

    def close(self) -> None:
        self._model.close()


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except NoAnswerError as fault:
        words = str(fault)
        raise JudgeFaultError(
            words, again=fault.again, wait=fault.wait, status=fault.status, reply=fault.reply
        ) from fault
