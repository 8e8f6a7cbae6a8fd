"""Where an agent's transcript comes from: stdout, a file, or spans sent to the run's receiver; one place a request."""

from __future__ import annotations

import contextlib
import typing
from collections.abc import Iterator, Mapping

from agenteval_cli.formats.answer import answer_in, answer_with_trace
from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.trace_file import VARIABLE, TraceFile
from agenteval_cli.transcript import Transcript

if typing.TYPE_CHECKING:
    from agenteval_cli.otlp_receiver import OtlpReceiver  # its HTTP server takes long to load, and few runs need it


class TracePlace(typing.Protocol):
    """`env` and `in_request` are what the agent is told of the place."""

    env: Mapping[str, str]
    in_request: Mapping[str, str]

    def answer(self, stdout: bytes, protocol: str, name: str) -> Transcript:
        """The transcript, in the format of that name or auto, once the agent has ended or printed its line.

        Raises UnreadableAnswerError where the agent is at fault, OSError where this machine is.
        """
        ...


class OnStdout:
    """What the agent prints is all there is."""

    def __init__(self) -> None:
        self.env: Mapping[str, str] = {}
        self.in_request: Mapping[str, str] = {}

    def answer(self, stdout: bytes, protocol: str, name: str) -> Transcript:
        return answer_in(stdout, protocol, name)


class InFile:
    """The agent writes its transcript to a file of its own."""

    def __init__(self, file: TraceFile) -> None:
        self._file = file
        self.env: Mapping[str, str] = {VARIABLE: file.path}
        self.in_request: Mapping[str, str] = {"trace_file": file.path}

    def answer(self, stdout: bytes, protocol: str, name: str) -> Transcript:
        return answer_with_trace(stdout, protocol, self._file.taken(), name)


class AtReceiver:
    """The agent sends spans to the receiver, under a path that only it knows."""

    def __init__(self, receiver: OtlpReceiver, attempt: str) -> None:
        self._receiver = receiver
        self._attempt = attempt
        self.env: Mapping[str, str] = receiver.place_for(attempt)
        self.in_request: Mapping[str, str] = {}

    def answer(self, stdout: bytes, protocol: str, name: str) -> Transcript:
        return answer_with_trace(stdout, protocol, self._taken(), name)

    def _taken(self) -> bytes:
        from agenteval_cli.otlp_bodies import BodyError

        try:
            taken = self._receiver.taken(self._attempt)
        except BodyError as error:
            if error.ours:
                raise OSError(str(error)) from error
            raise UnreadableAnswerError(str(error)) from error
        if taken is None:
            words = "the agent sent no spans to $OTEL_EXPORTER_OTLP_ENDPOINT; its transcript is to come from there"
            raise UnreadableAnswerError(f"{words}: flush its exporter before it ends")
        return taken


class Rooms(typing.Protocol):
    """Who gives folders and takes them back: process.Processes."""

    def new_folder(self) -> str: ...
    def remove_folder(self, folder: str) -> bool: ...


@contextlib.contextmanager
def trace_place(source: str, attempt: str, receiver: OtlpReceiver | None, rooms: Rooms) -> Iterator[TracePlace]:
    """A place for what one request leaves, where `source` is stdout, file or otlp; gone afterwards.

    Raises OSError where this machine has no room for it.
    """
    if source == "file":
        folder = rooms.new_folder()
        try:
            with contextlib.closing(TraceFile(folder)) as file:
                yield InFile(file)
        finally:
            rooms.remove_folder(folder)
    elif source == "otlp" and receiver is not None:
        try:
            yield AtReceiver(receiver, attempt)
        finally:
            receiver.forget(attempt)
    else:
        yield OnStdout()
