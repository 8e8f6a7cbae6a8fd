"""A judge behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence

from agenteval_cli.asking import Answer, Asked
from agenteval_cli.judge_config import Endpoint
from agenteval_cli.model_endpoint import Form, ModelEndpoint
from agenteval_cli.questions import Prompt


class EndpointJudge:
    """Asks one model, for verdicts or for embeddings."""

    def __init__(self, endpoint: Endpoint, key: str | None) -> None:
        self._model = ModelEndpoint(Asked("the judge", "the judge's"), endpoint, key)

    def ask(self, prompt: Prompt) -> Answer:
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        return self._model.answer(messages, Form("verdict", prompt.schema), weigh=prompt.scale is not None)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in order. Raises NoAnswerError."""
        return self._model.embed(texts)

    def close(self) -> None:
        self._model.close()
