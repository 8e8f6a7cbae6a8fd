"""Markdown for the comment of a pull request: the important first, details folded, never longer than may be sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agenteval_cli.breakdown import Share, by_tag, by_tier
from agenteval_cli.phrases import count
from agenteval_cli.reports.interface import Material, name_of
from agenteval_cli.reports.markdown_diff import parts_of_diff
from agenteval_cli.reports.markdown_parts import block, code, fitted, folded, head, row
from agenteval_cli.reports.words import about, in_full, interval, rate, sums_of, verdict_of
from agenteval_cli.summary import CaseSummary, RunSummary

MOST = 65_000
_FOR_ROWS = 0.6  # of the room, at the most: the rest is for slices and details
_NOTE = 400
_MOST_SLICES = 20
_MARKS = {"passed": "✅", "failed": "❌", "incomplete": "⚠️"}


def render(material: Material, limit: int = MOST) -> str:
    """A report of at most `limit` characters, and of 4,000 at the least."""
    room = max(limit, 4000) - _NOTE
    summary, record = material.summary, material.run.record
    text = f"## {_MARKS[summary.verdict]} agenteval: {verdict_of(summary)}\n\n"
    text += f"{code(about(record), 400)}<br>attempts: {sums_of(summary)}\n\n"
    if material.compared is not None:
        text += parts_of_diff(material.compared, int((room - len(text)) * _FOR_ROWS))
    wanting = _wanting(summary)
    rows = list(fitted(map(_row, wanting), int((room - len(text)) * _FOR_ROWS)))
    if rows:
        text += "### Not passed\n\n" + head(["", "case", "passed:", "95 % interval:", "why"]) + "".join(rows) + "\n"
    text += "".join(fitted(_slices(summary), room - len(text)))
    details = list(fitted(map(_detail, wanting), room - len(text)))
    text += "".join(details)
    return text + _left_out(len(wanting), len(rows), len(details), record.id)


def _wanting(summary: RunSummary) -> list[CaseSummary]:
    """What did not pass: failures first, then what is incomplete, then what does not gate."""
    order = ["failed", "incomplete"]
    cases = [case for case in summary.cases if case.verdict in order]
    return sorted(cases, key=lambda case: (case.quarantined, order.index(case.verdict)))


def _row(case: CaseSummary) -> str:
    mark = "quarantined" if case.quarantined else _MARKS[case.verdict]
    why = code(case.reason or "attempts are missing")
    return row((mark, code(case.id), f"{case.passed}/{case.planned}", interval(case.interval), why))


def _slices(summary: RunSummary) -> Iterator[str]:
    yield _shares("By tier", by_tier(summary))
    tags = by_tag(summary)
    if tags:
        yield _shares("By tag" if len(tags) <= _MOST_SLICES else f"The {_MOST_SLICES} lowest of {len(tags)} tags", tags)


def _shares(title: str, shares: Sequence[Share]) -> str:
    rows = head(["", "cases passed:", "passed / graded / planned:", "rate:", "95 % interval:"])
    for share in shares[:_MOST_SLICES]:
        cases = f"{share.cases_passed}/{share.cases}"
        attempts = f"{share.passed} / {share.graded} / {share.planned}"
        rows += row((code(share.name), cases, attempts, rate(share.passed, share.graded), interval(share.interval)))
    return folded(title, rows)


def _detail(case: CaseSummary) -> str:
    """What was expected and what there was, of the check that decided."""
    body = f"{code(case.title)}<br>" if case.title else ""
    body += f"{code(case.file)}, outcome {case.outcome}, trajectory {case.trajectory}".replace("_", " ")
    body += f"\n\n{block(case.reason or 'attempts are missing')}\n"
    check = case.first_failed
    body += f"\n{code(name_of(check))}\n" if check is not None and check.turn is not None else ""
    for name, value in (("expected", check.expected), ("actual", check.actual)) if check else ():
        if value is not None:
            body += f"\n{name}\n\n{block(in_full(value))}\n"
    return folded(f"{code(case.id)} {case.passed}/{case.planned}", body)


def _left_out(wanting: int, rows: int, details: int, run_id: str) -> str:
    words = []
    if rows < wanting:
        words.append(f"{count(wanting - rows, 'more case')} did not pass")
    if details < wanting:
        words.append(f"the details of {count(wanting - details, 'case')} are left out")
    return f"_{'; '.join(words)}: `agenteval show --run {run_id} --verbose` has all._\n" if words else ""
