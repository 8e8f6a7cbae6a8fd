"""One answer of an agent, from its stdout and, where it leaves one, from its trace."""

from __future__ import annotations

from agenteval_cli.formats import AUTO, claimed, read_as, source_of, transcript_of
from agenteval_cli.protocols import PROTOCOLS, UnreadableAnswerError
from agenteval_cli.reported import merged, says_nothing
from agenteval_cli.transcript import Transcript

_OWN = "agenteval"


def answer_in(stdout: bytes, protocol: str, format: str = AUTO) -> Transcript:  # noqa: A002  # as in agenteval.yaml
    """What the agent printed, in its protocol's own form or in another format. Raises UnreadableAnswerError.

    With auto, plain text is plain text, and JSON that is not wholly in our own form is shown to the other formats.
    Where none claims it, the json protocol says what is wrong.
    """
    if format == _OWN or (format == AUTO and protocol == "text"):
        return PROTOCOLS[protocol].read(stdout)
    if format == AUTO:
        return _own_or_claimed(stdout, protocol)
    return _worth_something(transcript_of(stdout, format))


def _own_or_claimed(stdout: bytes, protocol: str) -> Transcript:
    own: Transcript | UnreadableAnswerError
    try:
        own = PROTOCOLS[protocol].read(stdout)
    except UnreadableAnswerError as error:
        own = error
    if isinstance(own, Transcript) and not own.notes:
        return own
    source = source_of(stdout)
    name = claimed(source)
    if name is not None and name != _OWN:
        return _worth_something(read_as(name, source))
    if isinstance(own, Transcript):
        return own
    raise own


def answer_with_trace(stdout: bytes, protocol: str, trace: bytes, format: str = AUTO) -> Transcript:  # noqa: A002  # the option's word
    """What the trace tells, and what the agent printed where the trace leaves something open.

    Where the trace has the answer, what was printed may be anything. Raises UnreadableAnswerError.
    """
    traced = transcript_of(trace, format)
    try:
        said = PROTOCOLS[protocol].read(stdout)
    except UnreadableAnswerError as error:
        if traced.output is None:
            raise UnreadableAnswerError(f"the transcript has no answer, and stdout has none either: {error}") from error
        return _worth_something(traced)
    return _worth_something(merged(traced, said))


def _worth_something(transcript: Transcript) -> Transcript:
    if says_nothing(transcript):
        raise UnreadableAnswerError("the agent answered nothing and called no tool; its transcript has no answer")
    return transcript
