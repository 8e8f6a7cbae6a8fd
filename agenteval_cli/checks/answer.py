"""The answer as the text checks see it, and the comparison of texts.

Both sides are brought to Unicode normal form C, escape sequences are taken out of what the agent said, and
"ignore case" is case folding. Stored text is never rewritten.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from agenteval_cli.transcript import REPLACEMENT, Transcript, without_escapes


def answer_text(transcript: Transcript) -> str | None:
    """The answer as text: JSON where the agent answered with other data, None where it gave no answer."""
    output = transcript.output
    if output is None:
        return None
    return without_escapes(output) if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def normal(text: str, *, ignore_case: bool) -> str:
    """The form in which texts are compared."""
    composed = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", composed.casefold()) if ignore_case else composed


def holds(needle: str, answer: str, transcript: Transcript) -> bool:
    """Whether the answer contains the text. A mark that stands for undecodable bytes is not something to match."""
    return needle in answer and not (transcript.bytes_replaced and REPLACEMENT in needle)


def excerpt(text: str, limit: int = 300) -> str:
    """The text, or its beginning and how much there is."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def code_points(text: str) -> str:
    """The code points of a short text that is not plain ASCII, for texts that only look the same."""
    return " ".join(f"U+{ord(char):04X}" for char in text[:12])


def answer_json(transcript: Transcript) -> Any:
    """The answer as JSON data. Raises ValueError with the reason where the whole answer is not one JSON value."""
    if not isinstance(transcript.output, str):
        return transcript.output
    try:
        return json.loads(without_escapes(transcript.output), parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
