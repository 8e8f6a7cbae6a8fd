"""What grading came to, and what changed against the earlier verdicts, on the console and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agenteval_cli.cli.console import result, safe, say
from agenteval_cli.cli.run_report import print_run, run_facts
from agenteval_cli.phrases import count
from agenteval_cli.regrading import Change, Graded

_MOST_NAMED = 5
# Of one attempt and of several: how it ended before, and how it ends now.
_BEFORE = {
    "passed": ("passed", "passed"),
    "failed": ("failed", "failed"),
    "over_limit": ("was over a limit", "were over a limit"),
    "ungraded": ("could not be graded", "could not be graded"),
    "agent_error": ("ended in an error", "ended in an error"),
    "timeout": ("timed out", "timed out"),
}
_NOW = {
    "passed": ("passes", "pass"),
    "failed": ("fails", "fail"),
    "over_limit": ("is over a limit", "are over a limit"),
    "ungraded": ("cannot be graded", "cannot be graded"),
}


def grade_facts(ended: Graded) -> dict[str, Any]:
    """The --json document of `agenteval grade`: that of `agenteval run`, and what changed."""
    more = {"graded_from": ended.record.graded_from, "changed": ended.changed}
    return {**run_facts(ended, ended.summary), **more}


def print_graded(ended: Graded, *, quiet: bool, verbose: bool) -> None:
    """The run as `agenteval run` prints one, then the changes, the most telling first."""
    print_run(ended, ended.summary, quiet=quiet, verbose=verbose)
    earlier = ended.record.graded_from
    if earlier is None:
        return
    for line in lines_of_changes(ended.changed):
        result(line)
    if not ended.changed and not quiet:
        result(f"every verdict is as it was in {earlier}")
    if ended.changed and not quiet:
        say(f"more: agenteval diff {earlier} {ended.record.id}")


def lines_of_changes(changed: Iterable[Change]) -> list[str]:
    """`3 attempts passed before and fail now: greet #1, greet #2, refund #1`; what passed before comes first."""
    kinds: dict[tuple[str, str], list[Change]] = {}
    for change in changed:
        kinds.setdefault((change.before, change.after), []).append(change)
    ordered = sorted(kinds.items(), key=lambda kind: (kind[0][0] != "passed", kind[0][1] == "passed"))
    return [_sentence(before, after, changes) for (before, after), changes in ordered]


def _sentence(before: str, after: str, changes: Sequence[Change]) -> str:
    which = len(changes) > 1
    was = _BEFORE.get(before, (f"ended as {before}", f"ended as {before}"))[which]
    now = _NOW.get(after, (f"ends as {after}", f"end as {after}"))[which]
    names = [f"{safe(change.case)} #{change.attempt}" for change in changes[:_MOST_NAMED]]
    names += [f"and {len(changes) - _MOST_NAMED:,} more"] if len(changes) > _MOST_NAMED else []
    return f"{count(len(changes), 'attempt')} {was} before and {now} now: {', '.join(names)}"
