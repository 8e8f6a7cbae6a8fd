"""Transcripts in the forms that agents write: one file per format behind one interface, in a registry you can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

import msgspec

from agenteval_cli.formats.interface import Format
from agenteval_cli.formats.source import Source, source_of
from agenteval_cli.problems import did_you_mean
from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.transcript import Transcript

AUTO = "auto"

# In the order in which they are asked. A module is loaded when its format is first wanted, and has it as FORMAT.
_MODULES = {
    "agenteval": "agenteval_cli.formats.agenteval",
    "otel": "agenteval_cli.formats.otel",
    "openai": "agenteval_cli.formats.openai",
}


class _Formats(Mapping[str, Format]):
    """The formats by name, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Format:
        found: Format = import_module(_MODULES[name]).FORMAT
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


FORMATS: Mapping[str, Format] = _Formats()


def known(name: str) -> bool:
    """Whether `name` may stand as the format of an agent's transcript. Loads nothing."""
    return name == AUTO or name in _MODULES


def unknown_format_words(name: str) -> str:
    """What to say of a format that is not known."""
    return f"'{name}' is no transcript format (auto, {', '.join(_MODULES)}){did_you_mean(name, _MODULES)}"


def claimed(source: Source) -> str | None:
    """The name of the first format that knows this source as its own."""
    return next((name for name, item in FORMATS.items() if item.detect(source)), None)


def transcript_of(raw: bytes, format: str = AUTO) -> Transcript:  # noqa: A002  # the word of agenteval.yaml
    """The transcript in `raw`, in the format of that name, or in the one that claims it.

    What it does not tell stays unknown; what was left aside is in its notes. Raises UnreadableAnswerError.
    """
    source = source_of(raw)
    name = _detected(source) if format == AUTO else format
    if name not in _MODULES:
        raise UnreadableAnswerError(unknown_format_words(name))
    return read_as(name, source)


def read_as(name: str, source: Source) -> Transcript:
    """The transcript in a source, read in one format. Raises UnreadableAnswerError."""
    try:
        transcript = FORMATS[name].read(source)
    except RecursionError as error:
        raise UnreadableAnswerError("the transcript is nested too deeply to read") from error
    notes = dict.fromkeys((*source.problems, *transcript.notes))
    return msgspec.structs.replace(
        transcript, bytes_replaced=source.bytes_replaced, partial=source.partial, notes=tuple(notes)
    )


def _detected(source: Source) -> str:
    name = claimed(source)
    if name is None:
        words = f"the transcript is in no known format: {source.words()}; known are {', '.join(_MODULES)}"
        raise UnreadableAnswerError(words)
    return name


__all__ = [
    "AUTO",
    "FORMATS",
    "Format",
    "Source",
    "claimed",
    "known",
    "read_as",
    "source_of",
    "transcript_of",
    "unknown_format_words",
]
