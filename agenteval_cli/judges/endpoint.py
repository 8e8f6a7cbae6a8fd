"""A judge behind an OpenAI-compatible endpoint, through the `openai` client (the extra `judge`)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from agenteval_cli.judge_config import Endpoint
from agenteval_cli.judges.interface import JudgeFaultError, Reply
from agenteval_cli.questions import Prompt

_LATER = frozenset({408, 409, 429})
_NO_SCHEMA = frozenset({400, 404, 415, 422, 501})
_MILLION = 1_000_000


class EndpointJudge:
    """Asks one model. JSON-schema output is used until the server refuses it once."""

    def __init__(self, endpoint: Endpoint, key: str | None) -> None:
        self._endpoint = endpoint
        self._key = key
        self._lock = threading.Lock()
        self._client: Any = None
        self._with_schema = endpoint.json_schema

    def ask(self, prompt: Prompt) -> Reply:
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        with_schema = self._with_schema
        try:
            completion = self._completion(messages, prompt.schema if with_schema else None)
        except JudgeFaultError as fault:
            if not with_schema or fault.status not in _NO_SCHEMA:
                raise
            completion = self._completion(messages, None)
            self._with_schema = (
                False  # the same question without the schema was fine: it is the schema it does not take
            )
        return self._reply(completion)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in order. Raises JudgeFaultError."""
        made = self._asked(lambda client: client.embeddings.create(model=self._endpoint.model, input=list(texts)))
        vectors = [list(item.embedding) for item in sorted(made.data or (), key=lambda item: item.index)]
        if len(vectors) != len(texts) or not all(vectors):
            raise JudgeFaultError(f"the endpoint gave {len(vectors)} embeddings for {len(texts)} texts")
        return vectors

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _completion(self, messages: list[dict[str, str]], schema: Mapping[str, Any] | None) -> Any:
        more: dict[str, Any] = {"temperature": self._endpoint.temperature, **self._endpoint.parameters}
        if self._endpoint.max_tokens is not None:
            more["max_tokens"] = self._endpoint.max_tokens
        if schema is not None:
            named = {"name": "verdict", "schema": schema, "strict": True}
            more["response_format"] = {"type": "json_schema", "json_schema": named}
        return self._asked(
            lambda client: client.chat.completions.create(model=self._endpoint.model, messages=messages, **more)
        )

    def _asked(self, call: Any) -> Any:
        import openai

        try:
            return call(self._opened())
        except openai.APITimeoutError as error:
            raise JudgeFaultError(f"no answer within {self._endpoint.timeout:g} s", again=True) from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise JudgeFaultError(f"{self._endpoint.base_url} cannot be reached: {cause}", again=True) from error
        except openai.APIStatusError as error:
            again = error.status_code in _LATER or error.status_code >= 500
            words = f"the endpoint answered {error.status_code}: {str(error.message)[:300]}"
            raise JudgeFaultError(
                words, again=again, wait=_wait(error), status=error.status_code, reply=error.response.text[:2000]
            ) from error
        except openai.OpenAIError as error:
            raise JudgeFaultError(f"the endpoint's answer cannot be read: {error}") from error
        except ValueError as error:  # JSON that is none, from a server that says it is
            raise JudgeFaultError(f"the endpoint's answer cannot be read: {error}") from error

    def _opened(self) -> Any:
        """The client, made at the first question: it takes most of a second to load."""
        with self._lock:
            if self._client is None:
                import openai

                self._client = openai.OpenAI(
                    base_url=self._endpoint.base_url,
                    api_key=self._key or "none",
                    timeout=self._endpoint.timeout,
                    max_retries=0,  # tries are ours, counted and recorded
                )
            return self._client

    def _reply(self, completion: Any) -> Reply:
        choices = getattr(completion, "choices", None)
        if not choices:
            raise JudgeFaultError("the endpoint's answer has no choices")
        choice = choices[0]
        text = choice.message.content or ""
        if choice.finish_reason == "length":
            raise JudgeFaultError("the judge's answer was cut off at max_tokens", reply=text)
        refusal = getattr(choice.message, "refusal", None)
        if refusal:
            raise JudgeFaultError(f"the judge refused to answer: {refusal[:300]}", reply=refusal)
        usage = completion.usage
        used = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
        return Reply(
            text=text, model=completion.model, input_tokens=used[0], output_tokens=used[1], cost=self._cost(*used)
        )

    def _cost(self, tokens_in: int | None, tokens_out: int | None) -> str | None:
        """By the configured price of a million tokens; unknown where there is no price or no count."""
        price = self._endpoint.price
        if price is None or tokens_in is None or tokens_out is None:
            return None
        total = Decimal(price[0]) * tokens_in + Decimal(price[1]) * tokens_out
        return f"{(total / _MILLION).normalize():f}"


def _wait(error: Any) -> float:
    """The seconds that the server asks for, at most a minute."""
    try:
        return min(60.0, max(0.0, float(error.response.headers.get("retry-after", 0))))
    except ValueError:
        return 0.0
