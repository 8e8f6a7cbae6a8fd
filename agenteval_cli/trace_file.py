"""The file an agent may write its transcript to, in a private folder."""

from __future__ import annotations

import errno
import os
import stat

from agenteval_cli.protocols import UnreadableAnswerError

VARIABLE = "AGENTEVAL_TRACE_FILE"
MAX_BYTES = 16 * 1024 * 1024  # as of stdout
_NAME = "transcript"
_NO_ORDINARY_FILE = f"what the agent left in ${VARIABLE} is no ordinary file"
_NOT_A_FILE = (errno.ELOOP, errno.ENXIO)  # a symbolic link, a socket


class TraceFile:
    """A place for one transcript, in an empty folder beside the one the agent works in, so that no listing shows it.

    `path` is for $AGENTEVAL_TRACE_FILE and for `trace_file` in the request. Raises OSError where there is no room.
    """

    def __init__(self, folder: str) -> None:
        # By this descriptor the folder stays the same one, whatever the agent puts in its place.
        self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self.path = os.path.join(folder, _NAME)  # noqa: PTH118  # an environment variable is text

    def taken(self) -> bytes:
        """What the agent wrote. Raises UnreadableAnswerError where it wrote nothing, too much, or no ordinary file."""
        raw = self._read()
        if len(raw) > MAX_BYTES:
            raise UnreadableAnswerError(f"the transcript in ${VARIABLE} is too long; the limit is {MAX_BYTES:,} bytes")
        if not raw.strip():
            raise UnreadableAnswerError(f"the agent wrote nothing to the file in ${VARIABLE}: it is empty")
        return raw

    def close(self) -> None:
        """Let go of the folder, which is not ours to remove."""
        os.close(self._fd)

    def _read(self) -> bytes:
        try:
            # Without NONBLOCK, a pipe in its place would be waited for.
            fd = os.open(_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._fd)
        except FileNotFoundError as error:
            words = f"the agent wrote no transcript to the file in ${VARIABLE}; its transcript is to come from there"
            raise UnreadableAnswerError(words) from error
        except OSError as error:
            if error.errno in _NOT_A_FILE:
                raise UnreadableAnswerError(_NO_ORDINARY_FILE) from error
            raise UnreadableAnswerError(f"the transcript in ${VARIABLE} cannot be read: {error.strerror}") from error
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UnreadableAnswerError(_NO_ORDINARY_FILE)
            with open(fd, "rb", closefd=False) as file:
                return file.read(MAX_BYTES + 1)
        finally:
            os.close(fd)
