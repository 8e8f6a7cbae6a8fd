"""Waiting before somebody is asked again, unless the run is stopped meanwhile."""

from __future__ import annotations

import random
import time

from agenteval_cli.asking import NoAnswerError
from agenteval_cli.process import Cancel

LOOK = 0.05  # seconds between looks at whether the run was stopped
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0  # seconds


def may_ask_again(fault: NoAnswerError, tries: int, retries: int, cancel: Cancel) -> bool:
    """Whether to ask once more after so many tries; returns after the pause that this takes."""
    if not fault.again or tries > retries:
        return False
    end = time.monotonic() + max(fault.wait, _pause_after(tries))
    while time.monotonic() < end and not cancel.requested:
        time.sleep(LOOK)
    return not cancel.requested


def _pause_after(tries: int) -> float:
    """Twice as long after every try, by chance a little less, so that many do not come back at once."""
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** (tries - 1))
    return longest * (0.5 + random.random() / 2)  # noqa: S311  # chance is all that is wanted
