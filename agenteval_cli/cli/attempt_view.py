"""The attempts of one case as a list, and one of them to be read: what was said, what was checked, how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agenteval_cli.cli.checks_view import MOST_OF_A_VALUE, lines_of_checks, margin
from agenteval_cli.cli.console import coloured, result, safe, table
from agenteval_cli.cli.conversation_view import lines_of
from agenteval_cli.cli.values_view import Frame, block, shortened
from agenteval_cli.conversation import beside_turns, events_of, printed
from agenteval_cli.phrases import count, lasting
from agenteval_cli.records import AttemptRecord, TranscriptRecord
from agenteval_cli.statuses import STATUSES

_MOST_ATTEMPTS = 20
_NARROWEST_REASON, _WIDEST_REASON = 16, 100
_HEADER = ("", "ATTEMPT", "STATUS", "DURATION", "COST", "TOKENS")


def print_list(attempts: Sequence[AttemptRecord], chosen: AttemptRecord, frame: Frame, *, every: bool) -> None:
    """A row per attempt, the chosen one marked; the first twenty and the chosen one where there are many."""
    shown = [item for index, item in enumerate(attempts) if every or index < _MOST_ATTEMPTS or item is chosen]
    columns = list(zip(_HEADER, *(_row(item, chosen=item is chosen) for item in shown), strict=True))
    told = [column for column in columns if any(column[1:])]
    used = sum(max(map(len, column)) + 2 for column in told)
    room = _WIDEST_REASON if frame.width is None else frame.width - used
    reasons = [shortened(safe(item.reason), room) for item in shown]
    if any(reasons) and room >= _NARROWEST_REASON:
        told.append(("REASON", *reasons))
    header, *rows = zip(*told, strict=True)
    table(rows, header=header)
    if len(shown) < len(attempts):
        result(f"and {count(len(attempts) - len(shown), 'more attempt')} (--verbose lists all)")


def _row(attempt: AttemptRecord, *, chosen: bool) -> tuple[str, ...]:
    retry = f" (retry {attempt.retry})" if attempt.retry else ""
    kept = " (regraded)" if attempt.regraded else " (kept)" if attempt.reused_from else ""
    return (
        ">" if chosen else "",
        f"{attempt.attempt}{retry}",
        f"{attempt.status}{kept}",
        lasting(attempt.duration_ms / 1000),
        shortened(safe(attempt.cost or ""), 16),
        "" if attempt.total_tokens is None else f"{attempt.total_tokens:,}",
    )


def lines_of_attempt(
    attempt: AttemptRecord, record: TranscriptRecord | None, frame: Frame, *, raw: bool, brief: bool, verbose: bool
) -> Iterator[str]:
    """One attempt. `raw` is for what it printed instead of what was made of it, `brief` for neither."""
    yield from _heading(attempt, frame)
    if record is None:
        yield coloured("  its transcript cannot be read", "yellow")
    elif raw:
        yield from _printed(record, frame)
        return
    events = [] if record is None or brief else list(events_of(record))
    beside = beside_turns(attempt.checks, events)
    yield from lines_of(
        events, frame, {turn: margin(checks, frame, verbose=verbose) for turn, checks in beside.items()}
    )
    yield from lines_of_checks(attempt.checks, beside, frame, verbose=verbose)
    for note in attempt.notes:
        yield from block(f"note: {note}", 2, frame, most=MOST_OF_A_VALUE)
    if attempt.stderr_tail and (verbose or attempt.status not in ("passed", "failed")):
        yield from _stderr(attempt, record, frame)


def _heading(attempt: AttemptRecord, frame: Frame) -> Iterator[str]:
    parts = f"outcome {attempt.outcome}, trajectory {attempt.trajectory}".replace("_", " ")
    measured = [lasting(attempt.duration_ms / 1000)]
    measured += [count(attempt.steps, "step")] if attempt.steps is not None else []
    measured += [count(attempt.total_tokens, "token")] if attempt.total_tokens is not None else []
    measured += [f"cost {safe(attempt.cost)}"] if attempt.cost is not None else []
    measured += [f"model {safe(attempt.model)}"] if attempt.model is not None else []
    heading = f"{safe(attempt.case)} #{attempt.attempt} {attempt.status}"
    yield f"{coloured(heading, _colour_of(attempt.status))}  {parts}  ({', '.join(measured)})"
    if attempt.reused_from:
        how = "its transcript was graded anew" if attempt.regraded else "nothing of it had changed"
        yield f"  kept from run {safe(attempt.reused_from)}: {how}"
    if attempt.reason:
        yield from block(attempt.reason, 2, frame, most=MOST_OF_A_VALUE)


def _colour_of(status: str) -> str:
    return "green" if status == "passed" else "yellow" if STATUSES[status].incomplete else "red"


def _printed(record: TranscriptRecord, frame: Frame) -> Iterator[str]:
    """Both pipes as they were, but for what would act on a terminal; the very bytes are in the --json form."""
    for name in ("stdout", "stderr"):
        size = getattr(record, f"{name}_size")
        yield f"  {coloured(f'{name}, {size:,} bytes:', 'bold')}"
        yield from block(printed(record, name), 4, Frame(frame.width, full=True))


def _stderr(attempt: AttemptRecord, record: TranscriptRecord | None, frame: Frame) -> Iterator[str]:
    whole = printed(record, "stderr") if frame.full and record else ""
    yield f"  {coloured('stderr:' if whole else 'the end of stderr:', 'bold')}"
    yield from block(whole or attempt.stderr_tail, 4, frame)
