"""A model behind an OpenAI-compatible endpoint, through the `openai` client (the extra `judge`)."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product
from types import MappingProxyType
from typing import Any

import msgspec

from agenteval_cli.asking import Answer, Asked, NoAnswerError
from agenteval_cli.judge_config import Endpoint
from agenteval_cli.weighing import MOST_CHOICES, Token

_LATER = frozenset({408, 409, 429})
_REFUSED = frozenset({400, 404, 415, 422, 501})  # what a server may say to what it does not know
_TOKENS = MappingProxyType({"logprobs": True, "top_logprobs": MOST_CHOICES})
_MILLION = 1_000_000


class Form(msgspec.Struct, frozen=True):
    """The form that an answer is asked for in: a JSON Schema and its name."""

    name: str
    schema: Mapping[str, Any]


class ModelEndpoint:
    """Asks one model. JSON-schema output and probabilities of tokens are used until the server refuses them once."""

    def __init__(self, asked: Asked, endpoint: Endpoint, key: str | None) -> None:
        self._asked = asked
        self._endpoint = endpoint
        self._key = key
        self._lock = threading.Lock()
        self._client: Any = None
        self._with_schema = endpoint.json_schema
        self._with_tokens = True

    def answer(
        self,
        messages: list[dict[str, str]],
        form: Form,
        parameters: Mapping[str, Any] | None = None,
        *,
        weigh: bool = False,
    ) -> Answer:
        """What it says to a chat; with `weigh`, how probable its tokens were. Raises NoAnswerError.

        `parameters` go into the request unless configured ones do.
        """
        more = {**(parameters or {}), **self._endpoint.parameters}
        ways = list(product(_ways(self._with_schema), _ways(weigh and self._with_tokens)))
        for schema, tokens in ways:
            try:
                asked = {**(_TOKENS if tokens else {}), **more}
                completion = self._completion(messages, asked, form if schema else None)
            except NoAnswerError as fault:
                if (schema, tokens) == ways[-1] or fault.status not in _REFUSED:
                    raise
                continue
            # The same question without it was fine: it is what was left out that the server does not take.
            self._with_schema = self._with_schema and schema
            self._with_tokens = self._with_tokens and (tokens or not weigh)
            return self._answer(completion)
        raise AssertionError("the last way returns or raises")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in order. Raises NoAnswerError."""
        made = self._called(lambda client: client.embeddings.create(model=self._endpoint.model, input=list(texts)))
        try:
            vectors = [list(map(float, item.embedding)) for item in sorted(made.data, key=lambda item: item.index)]
        except (AttributeError, TypeError, ValueError) as error:
            raise NoAnswerError("the endpoint's embeddings cannot be read") from error
        if len(vectors) != len(texts) or not all(vectors):
            raise NoAnswerError(f"the endpoint gave {len(vectors)} embeddings for {len(texts)} texts")
        if len({len(vector) for vector in vectors}) > 1 or not all(math.isfinite(x) for each in vectors for x in each):
            raise NoAnswerError(
                "the endpoint's embeddings cannot be compared: they are not as many finite numbers each"
            )
        return vectors

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _completion(self, messages: list[dict[str, str]], parameters: Mapping[str, Any], form: Form | None) -> Any:
        more: dict[str, Any] = {"temperature": self._endpoint.temperature, **parameters}
        if self._endpoint.max_tokens is not None:
            more["max_tokens"] = self._endpoint.max_tokens
        if form is not None:
            named = {"name": form.name, "schema": form.schema, "strict": True}
            more["response_format"] = {"type": "json_schema", "json_schema": named}
        # In the body as they are: the client itself knows only the parameters of one vendor.
        return self._called(
            lambda client: client.chat.completions.create(
                model=self._endpoint.model, messages=messages, extra_body=more
            )
        )

    def _called(self, call: Any) -> Any:
        import openai

        try:
            return call(self._opened())
        except openai.APITimeoutError as error:
            raise NoAnswerError(f"no answer within {self._endpoint.timeout:g} s", again=True) from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise NoAnswerError(f"{self._endpoint.base_url} cannot be reached: {cause}", again=True) from error
        except openai.APIStatusError as error:
            again = error.status_code in _LATER or error.status_code >= 500
            words = f"the endpoint answered {error.status_code}: {str(error.message)[:300]}"
            raise NoAnswerError(
                words, again=again, wait=_wait(error), status=error.status_code, reply=error.response.text[:2000]
            ) from error
        except openai.OpenAIError as error:
            raise NoAnswerError(f"the endpoint's answer cannot be read: {error}") from error
        except (
            ValueError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:  # the client does not check what it reads
            raise NoAnswerError(f"the endpoint's answer cannot be read: {error}") from error

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

    def _answer(self, completion: Any) -> Answer:
        """What came, read as hostile: the client takes JSON of any shape for a completion."""
        choices = getattr(completion, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = getattr(choice, "message", None)
        if message is None:
            raise NoAnswerError("the endpoint's answer has no choices")
        text = getattr(message, "content", None) or ""
        if not isinstance(text, str):
            raise NoAnswerError("the endpoint's answer is no text", reply=repr(text)[:2000])
        if getattr(choice, "finish_reason", None) == "length":
            raise NoAnswerError(f"{self._asked.whose} answer was cut off at max_tokens", reply=text)
        refusal = getattr(message, "refusal", None)
        if refusal:
            raise NoAnswerError(f"{self._asked.who} refused to answer: {str(refusal)[:300]}", reply=str(refusal))
        usage, model = getattr(completion, "usage", None), getattr(completion, "model", None)
        used = (_count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))
        return Answer(
            text=text,
            model=model if isinstance(model, str) else None,
            input_tokens=used[0],
            output_tokens=used[1],
            cost=self._cost(*used),
            tokens=_tokens(choice),
        )

    def _cost(self, tokens_in: int | None, tokens_out: int | None) -> str | None:
        """By the configured price of a million tokens; unknown where there is no price or no count."""
        price = self._endpoint.price
        if price is None or tokens_in is None or tokens_out is None:
            return None
        total = Decimal(price[0]) * tokens_in + Decimal(price[1]) * tokens_out
        return f"{(total / _MILLION).normalize():f}"


def _count(usage: Any, name: str) -> int | None:
    count = getattr(usage, name, None)
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def _ways(wanted: bool) -> tuple[bool, ...]:
    return (True, False) if wanted else (False,)


def _tokens(choice: Any) -> tuple[Token, ...]:
    """The tokens with what might have stood in the place of each; none where they are not told as they should be."""
    told = getattr(getattr(choice, "logprobs", None), "content", None) or ()
    try:
        return tuple(Token(_bytes(token), _choices(token)) for token in told)
    except (AttributeError, TypeError, ValueError):
        return ()


def _choices(token: Any) -> tuple[tuple[bytes, float], ...]:
    """The likeliest, and the one that it was, which may not be among them."""
    found = {_bytes(each): float(each.logprob) for each in (token, *(token.top_logprobs or ()))}
    return tuple(found.items())


def _bytes(token: Any) -> bytes:
    raw = getattr(token, "bytes", None)
    return bytes(raw) if raw is not None else str(token.token).encode("utf-8", "surrogatepass")


def _wait(error: Any) -> float:
    """The seconds that the server asks for, at most a minute."""
    try:
        return min(60.0, max(0.0, float(error.response.headers.get("retry-after", 0))))
    except ValueError:
        return 0.0
