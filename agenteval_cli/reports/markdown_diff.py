"""The part of a Markdown report that says what changed."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.diff import COMPARED, CaseDiff, RunDiff, incomplete_in
from agenteval_cli.phrases import count
from agenteval_cli.reports.interface import Compared
from agenteval_cli.reports.markdown_parts import block, code, fitted, folded, head, row

_UNSHOWN = frozenset({"still_passing", "still_failing"})
_NOT_SELECTED = "not selected"
_MARKS = {"broke": "❌ broke", "fixed": "✅ fixed", "slipped": "🔻 slipped", "improved": "🔺 improved"}
_FOR_ROWS = 0.7
_NOTE = 200


def parts_of_diff(compared: Compared, room: int) -> str:
    """The comparison in at most so many characters."""
    diff = compared.diff
    text = f"### Against {code(diff.base)}\n\n{_gate(compared)}\n\n"
    text += "".join(f"- differs: {code(words)}\n" for words in diff.conditions[:10])
    text += f"\n{_whole(diff)}\n\n"
    shown = [case for case in diff.cases if case.change not in _UNSHOWN and not case.reason.startswith(_NOT_SELECTED)]
    unselected = sum(case.reason.startswith(_NOT_SELECTED) for case in diff.cases)
    text += f"{count(unselected, 'case')} of one run were not selected in the other.\n\n" if unselected else ""
    rows = list(fitted(map(_row, shown), int((room - _NOTE - len(text)) * _FOR_ROWS)))
    if rows:
        text += head(["", "case", "base:", "head:", "evidence", "why"]) + "".join(rows) + "\n"
    if len(rows) < len(shown):
        text += f"_{count(len(shown) - len(rows), 'more case')} changed: `agenteval diff {diff.base} {diff.head}`_\n\n"
    return text + "".join(fitted(_details(shown), room - len(text)))


def _gate(compared: Compared) -> str:
    counts = ", ".join(
        f"{number:,} {name.replace('_', ' ')}" for name, number in compared.diff.counts.items() if number
    )
    failed = compared.failed
    missing = incomplete_in(compared.diff)
    if failed:
        words = f"❌ the gate ({compared.rule}) fails on {count(len(failed), 'case')}"
    elif not compared.diff.compared:
        words = "⚠️ no case could be compared, so nothing is shown to be unbroken"
    elif missing:
        words = f"⚠️ the gate ({compared.rule}) is not known to hold: {count(len(missing), 'case')} came to no verdict"
    else:
        words = f"✅ the gate ({compared.rule}) holds"
    return f"**{words}** ({counts or 'no cases'})"


def _whole(diff: RunDiff) -> str:
    """The pass rate, the paired difference and what it could not have seen."""
    whole = diff.overall.difference
    if whole is None or diff.base_rate is None or diff.head_rate is None:
        return f"{diff.compared:,} of {count(len(diff.cases), 'case')} could be compared."
    seen = ""
    if whole.smallest_drop is not None:
        seen = f"; a drop of less than {whole.smallest_drop:.1%} could well have gone unseen"
    return (
        f"Pass rate over {count(whole.cases, 'compared case')}: {diff.base_rate:.1%} → {diff.head_rate:.1%}, "
        f"paired difference {whole.estimate:+.1%} (95 % interval {whole.low:+.1%} to {whole.high:+.1%}){seen}."
    )


def _row(case: CaseDiff) -> str:
    sides = [f"{side.passed}/{side.planned}" if side else "–" for side in (case.base, case.head)]
    mark = _MARKS.get(case.change, case.change.replace("_", " ")) + (" (quarantined)" if case.quarantined else "")
    return row((mark, code(case.id), *sides, evidence_of(case), code(case.reason) if case.reason else ""))


def evidence_of(case: CaseDiff) -> str:
    """`confirmed, q 0.01`; empty where nothing moved."""
    if case.evidence is None or case.change not in COMPARED:
        return ""
    q = case.fresh.q if case.fresh else case.q
    return case.evidence.replace("_", " ") + ("" if q is None else f", q {q:.2g}")


def _details(cases: list[CaseDiff]) -> Iterator[str]:
    """Which checks changed and what was answered, of the cases of which that is known."""
    for case in cases:
        body = "".join(
            f"- {code(check.name)} did not hold in {check.base_failed}/{check.base_attempts} → "
            f"{check.head_failed}/{check.head_attempts}\n"
            for check in case.checks[:10]
        )
        if case.path is not None:
            body += f"- path: {code(case.path.words)}\n"
        if case.conversation is not None and case.conversation.turn is not None:
            body += f"- conversation parts at turn {case.conversation.turn}: {code(case.conversation.words)}\n"
        for change in (case.case_changes or ())[:10]:
            body += f"- {change.part}: {code(change.key)}: {code(change.words)}\n"
        if case.answers is not None and case.answers.base != case.answers.head:
            for name, answer in (("base", case.answers.base), ("head", case.answers.head)):
                body += f"\n{name} answered\n\n{block('(no answer)' if answer is None else answer)}\n"
        if body:
            yield folded(f"{case.change.replace('_', ' ')}: {code(case.id)}", body)
