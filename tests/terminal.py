"""A terminal that a test can read: a real pseudo-terminal with a program in it, and what its screen shows."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyte


class Terminal:
    """A program on a terminal of its own. `said` is all it wrote, byte for byte."""

    def __init__(self, *command: str, cwd: Path, env: Mapping[str, str], columns: int = 80, rows: int = 24) -> None:
        self.said = b""
        self._screen = pyte.HistoryScreen(columns, rows, history=1000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)
        self._ours, theirs = pty.openpty()
        self._resize(columns, rows)
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={"TERM": "xterm-256color", **env},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def resize(self, columns: int, rows: int) -> None:
        """What a person does with the mouse."""
        self._screen.resize(rows, columns)
        self._resize(columns, rows)

    def wait_for(self, condition: Callable[[], Any], seconds: float = 20.0) -> None:
        """Read what comes until the condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or not self._read(0.05):
                assert condition(), f"the screen shows:\n{self.text}"
                return

    def ended(self, seconds: float = 20.0) -> int:
        """Read all that is still to come, and give the exit code."""
        end = time.monotonic() + seconds
        while self._read(0.2) and time.monotonic() < end:
            pass
        return self.process.wait(5)

    def hang_up(self) -> None:
        """What closing the window does: the other end is gone, and the program is told so."""
        os.close(self._ours)
        self._ours = -1
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGHUP)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._ours >= 0:
            os.close(self._ours)

    @property
    def lines(self) -> list[str]:
        """The screen, without what is blank."""
        return [line.rstrip() for line in self._screen.display if line.strip()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def shows_its_cursor(self) -> bool:
        return not self._screen.cursor.hidden

    @property
    def colours(self) -> set[str]:
        """The colours of what is on the screen, other than the usual one."""
        rows = self._screen.buffer.values()
        return {sign.fg for row in rows for sign in row.values() if sign.data.strip()} - {"default"}

    def _resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, seconds: float) -> bool:
        """Whether the program still has the terminal open."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return True
        try:
            raw = os.read(self._ours, 65536)
        except OSError:  # EIO: nobody has the other end any more
            return False
        self.said += raw
        self._stream.feed(raw)
        return bool(raw)
