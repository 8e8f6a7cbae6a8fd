"""The pass rate from run to run, as inline SVG and as a table."""

from __future__ import annotations

from collections.abc import Sequence

from agenteval_cli.phrases import count
from agenteval_cli.reports.escaping import for_html
from agenteval_cli.reports.words import interval
from agenteval_cli.run_history import RunRate

_WIDE, _HIGH, _LEFT, _TOP = 420, 150, 40, 8
_TITLE = "Pass rate from run to run, 95 % interval"


def history(runs: Sequence[RunRate]) -> str:
    """A dot per run on a line that is its interval, the oldest first; the last run is that of the report."""
    if len(runs) < 2:
        words = "there is no earlier run of the same agents and nearly the same cases to hold this one against"
        return f"<figure><figcaption><b>{_TITLE}</b> <small>{words}</small></figcaption></figure>"
    first, last = runs[0], runs[-1]
    words = (
        f"{count(len(runs), 'run')}, from {first.rate:.0%} on {first.started_at[:10]} to {last.rate:.0%} in this one"
    )
    label = for_html(f"{_TITLE}: {words}")
    width, height = _LEFT + _WIDE, _TOP + _HIGH + 22
    drawing = f'<svg role="group" viewBox="0 0 {width} {height}" width="{width}" aria-label="{label}">'
    drawing += f"{_grid()}{_line(runs)}{''.join(_point(runs, index) for index in range(len(runs)))}{_dates(runs)}</svg>"
    return (
        f"<figure><figcaption><b>{_TITLE}</b> <small>{for_html(words)}</small></figcaption>{drawing}"
        f"<details><summary>as a table</summary>{_table(runs)}</details></figure>"
    )


def _grid() -> str:
    marks = ""
    for share in (0, 0.5, 1):
        y = _y(share)
        marks += f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _WIDE}" y1="{y}" y2="{y}"/>'
        marks += f'<text class="tick" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{share:.0%}</text>'
    return marks


def _dates(runs: Sequence[RunRate]) -> str:
    y = _TOP + _HIGH + 18
    first, last = (for_html(run.started_at[:10]) for run in (runs[0], runs[-1]))
    marks = f'<text class="tick" x="{_LEFT}" y="{y}">{first}</text>'
    return f'{marks}<text class="tick" x="{_LEFT + _WIDE}" y="{y}" text-anchor="end">{last}</text>'


def _line(runs: Sequence[RunRate]) -> str:
    points = " ".join(f"{_x(runs, index)},{_y(run.rate)}" for index, run in enumerate(runs) if run.graded)
    return f'<polyline class="trend" points="{points}"/>'


def _point(runs: Sequence[RunRate], index: int) -> str:
    """A link to the run's row of the table, which tells the run when it is pointed at or read out."""
    run, x = runs[index], _x(runs, index)
    low, high = run.interval
    marks = f"<title>{for_html(_told(run, last=index == len(runs) - 1))}</title>"
    marks += f'<rect class="target" x="{x - 6:.1f}" y="{_TOP}" width="12" height="{_HIGH}"/>'
    if run.graded:
        marks += f'<line class="interval" x1="{x}" x2="{x}" y1="{_y(high)}" y2="{_y(low)}"/>'
        marks += f'<circle class="dot" cx="{x}" cy="{_y(run.rate)}" r="{4 if index < len(runs) - 1 else 6}"/>'
    return f'<a href="#run-{index}">{marks}</a>'


def _told(run: RunRate, *, last: bool) -> str:
    name = f"this run, {run.run}" if last else run.run
    rate = f"{run.rate:.0%} ({interval(run.interval)})" if run.graded else "nothing graded"
    return f"{name}, {_when(run)}, {_commit(run)}: {run.passed} of {run.graded} attempts passed, {rate}"


def _when(run: RunRate) -> str:
    return run.started_at[:16].replace("T", " ")


def _commit(run: RunRate) -> str:
    if run.commit is None:
        return "no commit"
    return f"commit {run.commit[:12]}{' with changes' if run.dirty else ''}"


def _table(runs: Sequence[RunRate]) -> str:
    columns = ("run", "began", "commit", "cases", "passed", "rate", "95 % interval")
    heads = "".join(f'<th scope="col">{name}</th>' for name in columns)
    rows = ""
    for index, run in enumerate(runs):
        rate = f"{run.rate:.0%}" if run.graded else "–"
        cells = (_when(run), _commit(run), f"{run.cases:,}", f"{run.passed:,}/{run.graded:,}", rate)
        words = "".join(f"<td>{for_html(cell)}</td>" for cell in (*cells, interval(run.interval)))
        rows += f'<tr id="run-{index}"><th scope="row">{for_html(run.run)}</th>{words}</tr>'
    return f'<div class="runs"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _x(runs: Sequence[RunRate], index: int) -> float:
    return round(_LEFT + 10 + (_WIDE - 20) * index / (len(runs) - 1), 1)


def _y(share: float) -> float:
    return round(_TOP + _HIGH * (1 - share), 1)
