"""Plots as inline SVG. Colours come from the page's style sheet, so that they are right in light, dark and on paper."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agenteval_cli.reports.escaping import for_html
from agenteval_cli.reports.words import cut

_LABEL, _PLOT, _WORDS, _ROW = 170, 260, 190, 22
_BARS = 24
_WIDE, _HIGH = 420, 120


class Rate(msgspec.Struct, frozen=True):
    """A row of a plot of rates from 0 to 1: its name, the rate, the interval around it, the rate before, words."""

    name: str
    rate: float
    low: float | None = None
    high: float | None = None
    before: float | None = None
    words: str = ""


def rates(title: str, rows: Sequence[Rate]) -> str:
    """A dot per row on a line that is its interval; where there was a rate before, a hollow dot and a line from it."""
    height = _ROW * len(rows) + 24
    width = _LABEL + _PLOT + _WORDS
    marks = [_grid(height)]
    for index, row in enumerate(rows):
        marks.append(_rate(row, 12 + _ROW * index))
    return _figure(title, width, height, "".join(marks), "; ".join(f"{row.name} {row.rate:.0%}" for row in rows[:40]))


def _grid(height: int) -> str:
    lines = []
    for share in (0, 0.5, 1):
        x = _x(share)
        lines.append(f'<line class="grid" x1="{x}" x2="{x}" y1="2" y2="{height - 18}"/>')
        lines.append(f'<text class="tick" x="{x}" y="{height - 4}" text-anchor="middle">{share:.0%}</text>')
    return "".join(lines)


def _x(share: float) -> float:
    return round(_LABEL + 8 + (_PLOT - 16) * share, 1)


def _rate(row: Rate, y: int) -> str:
    """One row, whose middle is at y."""
    x = _x(row.rate)
    marks = f'<text x="{_LABEL - 6}" y="{y + 4}" text-anchor="end">{for_html(cut(row.name, 24))}'
    marks += f"<title>{for_html(row.name)}</title></text>"
    if row.low is not None and row.high is not None:
        marks += f'<line class="interval" x1="{_x(row.low)}" x2="{_x(row.high)}" y1="{y}" y2="{y}"/>'
    if row.before is not None:
        way = "fell" if row.rate < row.before else "rose"
        marks += f'<line class="{way}" x1="{_x(row.before)}" x2="{x}" y1="{y}" y2="{y}"/>'
        marks += f'<circle class="before" cx="{_x(row.before)}" cy="{y}" r="4"/>'
    marks += f'<circle class="dot" cx="{x}" cy="{y}" r="4"/>'
    return f'{marks}<text x="{_LABEL + _PLOT + 6}" y="{y + 4}">{for_html(cut(row.words, 30))}</text>'


def distribution(title: str, values: Sequence[float], before: Sequence[float] = (), *, unit: str = "") -> str:
    """Bars of how many values lie where; those of a run before as a line of steps. Empty where there is nothing."""
    if not values:
        return ""
    top = max(*values, *before, 1e-12)
    bars, steps = _shares(values, top), _shares(before, top)
    highest = max(*bars, *steps, 1e-12)
    width = _WIDE / _BARS
    marks = ""
    for index, share in enumerate(bars):
        height = round(share / highest * _HIGH, 1)
        marks += f'<rect class="bar" x="{index * width + 0.5:.1f}" y="{_HIGH - height + 4:.1f}" '
        marks += f'width="{width - 1:.1f}" height="{height}"/>'
    if before:
        points = " ".join(
            f"{x * width:.1f},{_HIGH - share / highest * _HIGH + 4:.1f}"
            for index, share in enumerate(steps)
            for x in (index, index + 1)
        )
        marks += f'<polyline class="steps" points="{points}"/>'
    marks += f'<text class="tick" x="0" y="{_HIGH + 18}">0</text>'
    marks += f'<text class="tick" x="{_WIDE}" y="{_HIGH + 18}" text-anchor="end">{top:,.3g}{unit}</text>'
    words = f"median {_quantile(values, 0.5):,.3g}{unit}, 95 % up to {_quantile(values, 0.95):,.3g}{unit}"
    if before:
        words += f"; before (line): {_quantile(before, 0.5):,.3g}{unit}, {_quantile(before, 0.95):,.3g}{unit}"
    return _figure(title, _WIDE, _HIGH + 22, marks, words, shown=True)


def _shares(values: Sequence[float], top: float) -> list[float]:
    counts = [0] * _BARS
    for value in values:
        counts[min(_BARS - 1, int(max(value, 0.0) / top * _BARS))] += 1
    return [number / len(values) if values else 0.0 for number in counts]


def _quantile(values: Sequence[float], share: float) -> float:
    """The value below which so large a share of them lies, by nearest rank."""
    return sorted(values)[max(0, min(len(values) - 1, int(share * len(values) + 0.999999) - 1))]


def _figure(title: str, width: int, height: int, marks: str, words: str, *, shown: bool = False) -> str:
    label = for_html(f"{title}: {words}")
    caption = f"<b>{for_html(title)}</b>" + (f" <small>{for_html(words)}</small>" if shown else "")
    drawing = f'<svg role="img" viewBox="0 0 {width} {height}" width="{width}" aria-label="{label}">{marks}</svg>'
    return f"<figure><figcaption>{caption}</figcaption>{drawing}</figure>"
