"""json: one request document on stdin, one response document on stdout, logs on stderr."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli import schemas
from agenteval_cli.extraction import strict
from agenteval_cli.problems import did_you_mean, shown_path
from agenteval_cli.protocols.interface import UnreadableAnswerError
from agenteval_cli.reported import says_nothing, transcript_from
from agenteval_cli.transcript import Transcript, decoded, without_escapes, without_surrogates

_MAYBE_TOO_LARGE = re.compile(r"[0-9][eE]\+?[0-9]{3}")
_KEYS_TOLD = 20
_EXPECTED = "the json protocol wants one JSON document and logs on stderr"


class JsonProtocol:
    """The response is held against schemas/response.schema.json; what it leaves out stays unknown."""

    def stdin(self, request: Mapping[str, Any]) -> bytes:
        return msgspec.json.encode(request) + b"\n"

    def read(self, stdout: bytes) -> Transcript:
        text, replaced = decoded(stdout)
        response = one_reading(without_escapes(text).removeprefix("\ufeff").strip())
        transcript = transcript_in(response, bytes_replaced=replaced)
        if says_nothing(transcript):
            raise UnreadableAnswerError("the agent answered nothing and called no tool; the answer is empty")
        return transcript

    def cannot_carry(self, request: Mapping[str, Any]) -> list[str]:  # noqa: ARG002  # json carries all there is
        return []


def transcript_in(response: Any, *, bytes_replaced: bool) -> Transcript:
    """The transcript in a response of our own form. Raises UnreadableAnswerError where it is not in that form."""
    if not schemas.is_valid("response", response):
        raise _NotOurFormError(response)
    return msgspec.structs.replace(
        transcript_from(response), bytes_replaced=bytes_replaced, notes=tuple(_unknown_keys(response))
    )


class _NotOurFormError(UnreadableAnswerError):
    """A document of another form. What is wrong is worked out when it is shown: it may be in a format that is read."""

    def __str__(self) -> str:
        return _first_fault(self.args[0])


def one_reading(text: str) -> Any:
    """As one_document; a text in which an object has a key twice can be read in two ways, and is refused as well."""
    value = one_document(text)
    try:
        strict(text)
    except ValueError as error:
        raise UnreadableAnswerError(f"the answer can be read in two ways: {error}; {_EXPECTED}") from error
    return value


def one_document(text: str) -> Any:
    """The value of a text that is one JSON document. Raises UnreadableAnswerError, which says what else it is."""
    if not text:
        raise UnreadableAnswerError(f"the agent printed nothing; {_EXPECTED}")
    if _MAYBE_TOO_LARGE.search(text):
        return _one_document_or_why_not(text)
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return _one_document_or_why_not(text)


def _one_document_or_why_not(text: str) -> Any:
    """The slower reader, which knows what is wrong, and mends lone surrogates."""
    decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
    try:
        value, end = decoder.raw_decode(text)
    except RecursionError as error:
        raise UnreadableAnswerError("the answer is nested too deeply to read") from error
    except ValueError as error:
        raise UnreadableAnswerError(f"{_not_json(text, error)}; {_EXPECTED}") from error
    rest = text[end:].strip()
    if rest:
        raise UnreadableAnswerError(f"{_what_follows(decoder, rest)}; {_EXPECTED}")
    try:
        return without_surrogates(value)
    except RecursionError as error:
        raise UnreadableAnswerError("the answer is nested too deeply to read") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _not_json(text: str, error: ValueError) -> str:
    # Python's own words about a number of thousands of digits tell how to set up Python.
    why = "it has a number with more digits than are read" if "integer string conversion" in str(error) else error
    words = f"the answer is not JSON: {why}"
    if "{" in text and not text.startswith("{"):
        return f"{words}; it begins with {text[:60]!r}"
    return words if len(text) > 200 else f"{words}; the agent printed {text[:200]!r}"


def _what_follows(decoder: json.JSONDecoder, rest: str) -> str:
    try:
        decoder.raw_decode(rest)
    except ValueError:
        return f"text follows the JSON document: {rest[:60]!r}"
    return "the agent printed two JSON documents"


def _first_fault(response: Any) -> str:
    path, words, _ = next(schemas.explanations("response", response))
    place = f" at {shown_path(path)}" if path else ""
    return f"the response is not in the protocol{place}: {words}"


def _unknown_keys(response: Mapping[str, Any]) -> Iterator[str]:
    known = schemas.load("response")["properties"]
    unknown = [key for key in response if key not in known]
    for key in unknown[:_KEYS_TOLD]:
        yield f"the response's key '{key[:60]}' is not known and was left aside{did_you_mean(key[:60], known)}"
    if len(unknown) > _KEYS_TOLD:
        yield f"{len(unknown) - _KEYS_TOLD} more keys of the response are not known and were left aside"
