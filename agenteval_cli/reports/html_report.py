"""One HTML file that fetches nothing: tables and failures as plain HTML, the rest as data for a small script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from agenteval_cli.breakdown import Share, by_tag, by_tier
from agenteval_cli.diff import MOVED, CaseDiff, RunDiff, incomplete_in
from agenteval_cli.explaining import MOST_CASES
from agenteval_cli.phrases import count
from agenteval_cli.records import AttemptRecord
from agenteval_cli.reports.dialogue import dialogue
from agenteval_cli.reports.escaping import for_html
from agenteval_cli.reports.history_plot import history
from agenteval_cli.reports.interface import Material, by_case, name_of
from agenteval_cli.reports.page_data import as_json, attempt_data, case_data, conversation_data, text
from agenteval_cli.reports.page_table import options, table
from agenteval_cli.reports.plots import Rate, distribution, rates
from agenteval_cli.reports.words import about, sums_of, verdict_of
from agenteval_cli.run_history import rate_of
from agenteval_cli.store import Run
from agenteval_cli.summary import CaseSummary
from agenteval_cli.units import amount

_MOST_ROWS = 12
_ATTEMPTS_IN_DETAIL = 3
_ATTEMPTS_BEFORE = 5  # of a case, of the run before
_MOST_IN_DETAIL = 2000


def render(material: Material) -> str:
    """The whole page."""
    return "".join(_parts(material))


def _parts(material: Material) -> Iterator[str]:
    style, script = _asset("page.css"), _asset("page.js")
    compared = material.compared
    changes = {row.id: row for row in compared.diff.cases} if compared else {}
    attempts = by_case(material.run)
    yield _head(material, style, script)
    yield f"<body>\n{_header(material)}\n<main>\n"
    yield f'<section class="plots" aria-label="Plots">\n{_plots(material)}\n</section>\n'
    yield options(material.summary, changes)
    yield from table(material.summary, changes)
    yield from _failures(material, attempts, changes)
    yield '</main>\n<dialog id="case" aria-labelledby="case-title"></dialog>\n'
    yield '<script type="application/json" id="data">'
    before = _before(material)
    for case in material.summary.cases:  # a line each, of which only those are read that somebody opens
        tries = [attempt_data(attempt, material.transcript(attempt)) for attempt in attempts.get(case.id, ())]
        yield as_json(case_data(case, [*tries, *before(case.id)], changes.get(case.id))) + "\n"
    yield "</script>\n"
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def _before(material: Material) -> Callable[[str], list[dict[str, Any]]]:
    """What the run before has of a case that moved, so that both conversations can be read; of the first such cases."""
    compared = material.compared
    if compared is None:
        return lambda _: []
    moved = {row.id.casefold() for row in [row for row in compared.diff.cases if row.change in MOVED][:MOST_CASES]}
    attempts = {case.casefold(): made for case, made in by_case(compared.base).items() if case.casefold() in moved}

    def of(case: str) -> list[dict[str, Any]]:
        told = [(each, compared.transcript(each)) for each in attempts.get(case.casefold(), ())[:_ATTEMPTS_BEFORE]]
        return [attempt_data(each, record, side="base") for each, record in told if record is not None]

    return of


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _head(material: Material, style: str, script: str) -> str:
    """With a policy that runs this script and no other, and lets nothing be fetched."""
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    again = f'<meta http-equiv="refresh" content="{material.refresh}">\n' if material.refresh else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"{again}<title>agenteval: {for_html(verdict_of(material.summary))}</title>\n<style>{style}</style>\n</head>\n"
    )


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _header(material: Material) -> str:
    summary = material.summary
    lines = [about(material.run.record), f"attempts: {sums_of(summary)}"]
    if material.compared is not None:
        diff, failed = material.compared.diff, material.compared.failed
        counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in diff.counts.items() if number)
        gate = f"fails on {count(len(failed), 'case')}" if failed else _gate_that_does_not_fail(diff)
        lines += [f"against {diff.base}: {counts}; the gate ({material.compared.rule}) {gate}"]
        whole = diff.overall.difference
        if whole is not None:
            seen = "" if whole.smallest_drop is None else f"; a drop below {whole.smallest_drop:.1%} could go unseen"
            bounds = f"95 % interval {whole.low:+.1%} to {whole.high:+.1%}"
            lines += [f"paired difference of the pass rates {whole.estimate:+.1%} ({bounds}){seen}"]
        lines += [f"differs: {words}" for words in diff.conditions]
    body = "".join(f"<p>{for_html(line)}</p>" for line in lines)
    title = f'<h1><span class="mark {summary.verdict}">{summary.verdict}</span> {for_html(verdict_of(summary))}</h1>'
    return f"<header>{title}{body}</header>"


def _gate_that_does_not_fail(diff: RunDiff) -> str:
    if not diff.compared:
        return "saw nothing"
    missing = incomplete_in(diff)
    return f"is not known to hold: {count(len(missing), 'case')} came to no verdict" if missing else "holds"


# ---- plots


def _plots(material: Material) -> str:
    figures = [rates("Pass rate by tier, 95 % interval", [_of_share(share) for share in by_tier(material.summary)])]
    tags = by_tag(material.summary)[:_MOST_ROWS]
    if tags:
        figures.append(rates("Lowest pass rates by tag, 95 % interval", [_of_share(share) for share in tags]))
    base = material.compared.base if material.compared else None
    if material.compared is not None:
        moved = [row for row in material.compared.diff.cases if row.change in MOVED][:_MOST_ROWS]
        if moved:
            figures.append(rates("Cases that moved, before (hollow) and after", [_of_case(row) for row in moved]))
    figures.append(history([*material.earlier, rate_of(material.run.record, material.summary)]))
    took, took_before = _latencies(material.run), _latencies(base) if base else []
    figures.append(distribution("Latency of an attempt", took, took_before, unit=" s"))
    spent, spent_before = _costs(material.run), _costs(base) if base else []
    figures.append(distribution("Cost of an attempt", spent, spent_before))
    return "\n".join(figure for figure in figures if figure)


def _of_share(share: Share) -> Rate:
    rate = share.passed / share.graded if share.graded else 0.0
    words = f"{rate:.0%}, {share.passed} / {share.graded} / {share.planned}" if share.graded else "nothing graded"
    return Rate(share.name, rate, *share.interval, words=words)


def _of_case(row: CaseDiff) -> Rate:
    before, after = (side.passed / side.graded if side and side.graded else 0.0 for side in (row.base, row.head))
    evidence = f", {row.evidence.replace('_', ' ')}" if row.evidence else ""
    return Rate(row.id, after, before=before, words=f"{row.change}{evidence}")


def _latencies(run: Run) -> list[float]:
    """Seconds that the agent reported, or that its process took; an accepted baseline knows neither."""
    taken = [item.duration_ms if item.latency_ms is None else item.latency_ms for item in run.attempts]
    return [milliseconds / 1000 for milliseconds in taken if milliseconds > 0]


def _costs(run: Run) -> list[float]:
    known = [amount(attempt.cost) for attempt in run.attempts if attempt.cost is not None]
    return [float(cost) for cost in known if cost is not None and cost >= 0]


# ---- failures, for readers without scripts and for paper


def _failures(
    material: Material, attempts: Mapping[str, Sequence[AttemptRecord]], changes: Mapping[str, CaseDiff]
) -> Iterator[str]:
    wanting = [case for case in material.summary.cases if case.verdict != "passed"]
    if not wanting:
        return
    yield '<section id="failures"><h2>What did not pass</h2>\n'
    for case in sorted(wanting, key=lambda case: (case.quarantined, case.verdict != "failed")):
        change = f" · {changes[case.id].change.replace('_', ' ')}" if case.id in changes else ""
        words = f"{case.passed}/{case.planned} passed{change}{' · quarantined' if case.quarantined else ''}"
        yield f'<details id="failure-{for_html(case.id)}"><summary><span class="mark {case.verdict}">{case.verdict}'
        yield f"</span> <b>{for_html(case.id)}</b> {for_html(case.title)} <small>{words}</small></summary>\n"
        yield f"<p>{for_html(case.file)}</p>"
        yield from _failed_attempts(case, attempts.get(case.id, ()), material)
        yield "</details>\n"
    yield "</section>\n"


def _failed_attempts(case: CaseSummary, attempts: Sequence[AttemptRecord], material: Material) -> Iterator[str]:
    failed = [attempt for attempt in attempts if attempt.status != "passed"]
    for attempt in failed[:_ATTEMPTS_IN_DETAIL]:
        yield f"<h3>Attempt {attempt.attempt}: {for_html(attempt.status)}</h3><p>{for_html(attempt.reason)}</p>"
        record = material.transcript(attempt)
        told = conversation_data(attempt.checks, record, _MOST_IN_DETAIL)
        for check in told.whole:
            if check.result != "passed":
                yield f"<p><b>{for_html(name_of(check))}</b> {for_html(check.message)}</p>"
                yield from _value("expected", check.expected)
                yield from _value("actual", check.actual)
        if record is not None and record.talk is not None:
            yield from dialogue(told)
        elif record is not None and record.transcript is not None:
            yield from _value("answer", record.transcript.output)
    if len(failed) > _ATTEMPTS_IN_DETAIL:
        yield f"<p>and {count(len(failed) - _ATTEMPTS_IN_DETAIL, 'more attempt')} that did not pass</p>"
    missing = case.planned - len({attempt.attempt for attempt in attempts})
    if missing:
        yield f"<p>{missing} of {case.planned} attempts did not end</p>"


def _value(name: str, value: object) -> Iterator[str]:
    if value is not None:
        yield f"<p>{name}</p><pre>{for_html(text(value, _MOST_IN_DETAIL))}</pre>"
