"""Signals that ask us to stop, while something is on that is to be ended in order."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from agenteval_cli.process import Cancel


@contextlib.contextmanager
def signals_cancel(cancel: Cancel) -> Iterator[None]:
    """INT, TERM and HUP ask all that is on to end; what has ended by then is kept."""
    before = {
        number: signal.signal(number, lambda *_: cancel.request())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup, or a background job of a script
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
