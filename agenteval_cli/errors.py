"""Errors that the user can put right, each with the exit code that the command line gives it."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agenteval_cli.problems import Problem


class ExitCode(IntEnum):
    """What the process tells its caller; the same for every command."""

    OK = 0
    FAILURES = 1
    USAGE = 2
    INCOMPLETE = 3
    BUG = 4
    INTERRUPTED = 130


class AgentevalError(Exception):
    """One clear sentence for the user. Anything else that escapes is our own bug."""

    exit_code = ExitCode.USAGE


class UsageError(AgentevalError):
    """Asked wrongly: an unknown ID, a selection of nothing, a missing file."""


class InvalidFilesError(AgentevalError):
    """Files that do not validate. The exception is the list."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


class IncompleteError(AgentevalError):
    """The work could not be finished through no fault of the cases: a full disk, a folder that cannot be written."""

    exit_code = ExitCode.INCOMPLETE
