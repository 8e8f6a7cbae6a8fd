"""What `agenteval run --confirm` does once the run has ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agenteval_cli.cli.console import result, say
from agenteval_cli.cli.progress import Progress
from agenteval_cli.confirm_runs import How, confirm
from agenteval_cli.confirming import enough_for, to_confirm
from agenteval_cli.diff import CaseDiff, diff_of, falls_of
from agenteval_cli.phrases import count
from agenteval_cli.repository import Repository
from agenteval_cli.store import Run, read_run


def confirm_falls(repository: Repository, base: Run, folder: str, how: How, *, json: bool, quiet: bool) -> bool:
    """Make fresh attempts of what fell in the run of that folder against `base`, and tell. False where interrupted."""
    head = read_run(Path(folder))
    chosen = [fall.case for fall in to_confirm(falls_of(diff_of(base, head)))]
    if not chosen:
        say(f"no case fell against {base.record.id}: nothing to confirm")
        return True
    _say_what_is_done(base, chosen, how)
    done = confirm(
        repository, base, head, chosen, how, os.environ, lambda: Progress(sys.stderr, quiet=quiet, verbose=False)
    )
    judged = diff_of(base, done.head, confirmation=done.confirmation).cases
    if not json:
        for case in judged:
            if case.fresh is not None:
                result(_line(case))
    say(f"the whole: agenteval diff {base.record.id} {head.record.id} --gate significant")
    return not done.interrupted


def _say_what_is_done(base: Run, chosen: Sequence[str], how: How) -> None:
    cases = count(len(chosen), "case")
    say(f"{cases} fell against {base.record.id}: up to {how.attempts} fresh attempts of each on both sides")
    least = enough_for(len(chosen))
    if how.attempts < least:
        say(f"so few can confirm nothing: from {least} on a fall from all to none among {cases} is confirmed")


def _line(case: CaseDiff) -> str:
    """`refund fresh attempts 18/20 → 5/20, q 0.001: confirmed`"""
    fresh = case.fresh
    assert fresh is not None  # noqa: S101  # asked for with fresh attempts only
    counts = f"{fresh.base_passed}/{fresh.base_graded} → {fresh.head_passed}/{fresh.head_graded}"
    return f"{case.id} fresh attempts {counts}, q {fresh.q:.3f}: {str(case.evidence).replace('_', ' ')}"
