"""The user's own editor on a temporary file, which stays until it is thrown away, so that nothing typed is lost."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from agenteval_cli.errors import IncompleteError, UsageError


def editor_of(env: Mapping[str, str]) -> list[str]:
    """The command in $VISUAL, else in $EDITOR. Raises UsageError where there is none."""
    said = env.get("VISUAL") or env.get("EDITOR") or ""
    try:
        command = shlex.split(said)
    except ValueError as error:
        raise UsageError(f"the editor '{said}' cannot be read: {error}") from error
    if not command:
        raise UsageError("no editor to open; set VISUAL or EDITOR, or use --stdin")
    return command


def draft(text: bytes) -> Path:
    """A temporary file of the text."""
    try:
        fd, name = tempfile.mkstemp(prefix="agenteval-new-", suffix=".yaml")
        with os.fdopen(fd, "wb") as file:
            file.write(text)
    except OSError as error:
        raise IncompleteError(f"no temporary file can be written: {error.strerror}") from error
    return Path(name)


def edited(command: list[str], path: Path) -> bytes:
    """What is in the file once the editor has ended. Raises UsageError where it cannot start or says that it failed."""
    sys.stdout.flush()
    # Where stdout is read by a program, the editor's screen is not for it.
    screen = None if sys.stdout.isatty() else sys.stderr
    with _deaf_to_interrupts():
        try:
            code = subprocess.run([*command, str(path)], stdout=screen, check=False).returncode
        except OSError as error:
            raise UsageError(f"the editor '{command[0]}' cannot be started: {error.strerror}") from error
    if code != 0:
        raise UsageError(f"the editor '{command[0]}' ended with {code}; nothing was made")
    try:
        return path.read_bytes()
    except OSError as error:
        raise IncompleteError(f"{path} cannot be read: {error.strerror}") from error


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C in an editor is the editor's. A handler, not SIG_IGN, which the editor would inherit."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
