"""What a run tells while it is on, to whoever watches it."""

from __future__ import annotations

from typing import Protocol

from agenteval_cli.records import AttemptRecord, RunRecord


class Watcher(Protocol):
    """Hears of a run in this order: start, then any number of began, attempt and note, then close.

    None of them may raise or wait for a reader: a watcher must never slow or stop the run.
    """

    def start(self, record: RunRecord) -> None:
        """The run's folder is there and nothing has been started yet."""

    def began(self, case: str, number: int, agent: str) -> None:
        """An attempt has been started. Called from the worker threads, any number of them at once."""

    def attempt(self, record: AttemptRecord) -> None:
        """An attempt is on disk. Called from the thread that writes."""

    def note(self, text: str) -> None:
        """A sentence to be told now."""

    def close(self) -> None:
        """Nothing more will come. Called once, on every way out; calling it again does nothing."""
