"""The table of cases, as plain HTML that a script makes searchable and sortable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agenteval_cli.diff import CaseDiff
from agenteval_cli.reports.escaping import for_html
from agenteval_cli.reports.words import cut, interval, lasting
from agenteval_cli.summary import CaseSummary, RunSummary

AT_ONCE = 200  # rows that a page with a script lays out before it is asked for more
_MOST_OF_A_REASON = 160
_COLUMNS = ("verdict", "case", "passed", "95 % interval", "tier", "tags", "duration", "cost", "tokens")
_NUMBERS = frozenset({"passed", "95 % interval", "duration", "cost", "tokens"})


def options(summary: RunSummary, changes: Mapping[str, CaseDiff]) -> str:
    """What filters the table; without a script it does not show."""
    choices = _select("verdict", ("failed", "incomplete", "passed"))
    choices += _select("tier", dict.fromkeys(case.tier for case in summary.cases))
    if changes:
        choices += _select("change", dict.fromkeys(row.change for row in changes.values()))
    return (
        '<form id="filters" role="search" hidden><label>Search <input type="search" id="search" '
        f'placeholder="ID, title, tag, reason ( / )"></label>{choices}<output id="shown"></output></form>\n'
    )


def _select(name: str, values: Iterable[str]) -> str:
    each = "".join(
        f'<option value="{for_html(value)}">{for_html(value.replace("_", " "))}</option>' for value in values
    )
    return f'<label>{name} <select name="{name}"><option value="">all</option>{each}</select></label>'


def table(summary: RunSummary, changes: Mapping[str, CaseDiff]) -> Iterator[str]:
    """A row per case, what broke and what did not pass first."""
    columns = (*_COLUMNS, "change") if changes else _COLUMNS
    heads = "".join(f'<th scope="col"{_class(name)}>{name}</th>' for name in columns)
    yield f'<div class="scroll"><table id="cases"><caption>Cases</caption><thead><tr>{heads}</tr></thead><tbody>\n'
    for place, (index, case) in enumerate(sorted(enumerate(summary.cases), key=lambda item: _rank(item[1], changes))):
        yield _row(index, case, changes.get(case.id), compared=bool(changes), late=place >= AT_ONCE)
    yield '</tbody></table></div>\n<p><button type="button" id="more" hidden></button></p>\n'


def _rank(case: CaseSummary, changes: Mapping[str, CaseDiff]) -> tuple[bool, bool, int]:
    """What gates first, of that what broke, then what failed."""
    broke = case.id in changes and changes[case.id].change == "broke"
    return case.quarantined, not broke, ("failed", "incomplete", "passed").index(case.verdict)


def _class(name: str) -> str:
    return ' class="number"' if name in _NUMBERS else ""


def _row(index: int, case: CaseSummary, change: CaseDiff | None, *, compared: bool, late: bool) -> str:
    name = for_html(case.id)
    target = f"failure-{name}" if case.verdict != "passed" else f"case-{index}"
    link = f'<a class="link" href="#{target}">{name}</a>'
    reason = f"<br><small>{for_html(cut(case.reason, _MOST_OF_A_REASON))}</small>" if case.reason else ""
    quarantined = " <small>quarantined</small>" if case.quarantined else ""
    rate = case.passed / case.graded if case.graded else -1.0
    kind = change.change if change else ""
    cells = [
        f'<td><span class="mark {case.verdict}">{case.verdict}</span>{quarantined}</td>',
        f'<th scope="row">{link} <span class="title">{for_html(case.title)}</span>{reason}</th>',
        _number(f"{case.passed}/{case.planned}", rate),
        _number(interval(case.interval), case.interval[0]),
        f"<td>{for_html(case.tier)}</td>",
        f"<td>{for_html(' '.join(case.tags))}</td>",
        _number(lasting(case.duration_ms), case.duration_ms),
        _number("–" if case.cost is None else for_html(cut(case.cost, 16)), _as_number(case.cost)),
        _number("–" if case.tokens is None else f"{case.tokens:,}", case.tokens),
    ]
    cells += [f"<td>{for_html(kind.replace('_', ' '))}</td>"] if compared else []
    data = f'id="case-{index}" data-n="{index}" data-verdict="{case.verdict}" data-tier="{for_html(case.tier)}"'
    data += f' data-change="{kind}"'
    hidden = ' class="late"' if late else ""
    return f"<tr{hidden} {data}>{''.join(cells)}</tr>\n"


def _number(words: str, value: float | None) -> str:
    return f'<td class="number" data-v="{-1 if value is None else value}">{words}</td>'


def _as_number(cost: str | None) -> float | None:
    try:
        return None if cost is None else float(cost)
    except ValueError:
        return None
