"""A diff as text: the cases with what is behind each, then the whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len

from agenteval_cli.cli.console import coloured, safe
from agenteval_cli.cli.values_view import Frame, block, one_line_json, shortened
from agenteval_cli.diff import Answers, CaseDiff, CheckChange, RunDiff
from agenteval_cli.path_diff import PathDiff, Step
from agenteval_cli.phrases import count
from agenteval_cli.sides import Side
from agenteval_cli.statistics import Difference
from agenteval_cli.summary import UNKNOWN
from agenteval_cli.talk_diff import TalkDiff
from agenteval_cli.totals import Shift, Sight, Slice

_COLOURS = {"broke": "red", "fixed": "green", "slipped": "yellow", "improved": "green", "not_comparable": "yellow"}
_UNSHOWN = ("still_passing",)
_FOLDED = ("not_comparable", "new", "removed")
_EACH_UP_TO = 5  # cases of one kind and reason that are told one by one
_NAMED = 8
_CHECKS = 4
_ANSWER_LINES = 6
_USUAL_WIDTH = 110
_SURE = 0.05


def cases_shown(diff: RunDiff, only: Sequence[str], *, quiet: bool, verbose: bool) -> list[CaseDiff]:
    """The cases that are worth a line: those of the classes asked for, else all that did not simply stay good."""
    if only:
        return [case for case in diff.cases if case.change in only]
    if verbose:
        return list(diff.cases)
    return [case for case in diff.cases if case.change not in _UNSHOWN and not (quiet and case.change != "broke")]


def lines_of_cases(cases: Sequence[CaseDiff], frame: Frame, *, verbose: bool) -> Iterator[str]:
    """A block per case; many cases that could not be compared for the same reason share a line."""
    alike: dict[tuple[str, str], list[CaseDiff]] = defaultdict(list)
    for case in cases:
        if case.change in _FOLDED and not case.reason.startswith("incomplete"):
            alike[case.change, case.reason].append(case)
        else:
            yield from _case(case, frame, verbose=verbose)
    for (change, reason), group in alike.items():
        if verbose or len(group) <= _EACH_UP_TO:
            for case in group:
                yield from _case(case, frame, verbose=verbose)
        else:
            names = ", ".join(case.id for case in group[:_NAMED])
            more = "" if len(group) <= _NAMED else f" and {len(group) - _NAMED:,} more; -v lists all"
            yield f"{_named(change)} {count(len(group), 'case')}, {reason}: {names}{more}"


def _named(change: str) -> str:
    return coloured(change, _COLOURS.get(change, "dim"))


def _case(case: CaseDiff, frame: Frame, *, verbose: bool) -> Iterator[str]:
    mark = " (quarantined: does not gate)" if case.quarantined else ""
    yield f"{_named(case.change)} {case.id}{mark}{_counts(case)}"
    if case.fresh is not None:
        fresh = case.fresh
        counts = f"{fresh.base_passed}/{fresh.base_graded} → {fresh.head_passed}/{fresh.head_graded}"
        yield f"    fresh attempts {counts}, p {fresh.p:.3f}, q {fresh.q:.3f}; they alone decide"
    if _parts_differ(case):
        yield f"    outcome {_arrow(case, 'outcome')}, trajectory {_arrow(case, 'trajectory')}"
    if case.reason:
        yield f"    {safe(case.reason)}"
    if case.shared:
        yield f"    {count(case.shared, 'attempt')} kept from the base run, no evidence of a change"
    yield from _edits(case)
    yield from _checks(case.checks)
    yield from _path(case.path)
    yield from _conversation(case.conversation, frame)
    yield from _measures(case, verbose=verbose)
    yield from _answers(case, frame)


def _counts(case: CaseDiff) -> str:
    """`3/3 → 0/3, p 0.050, q 0.35: within noise`"""
    if case.base is None or case.head is None:
        return ""
    counts = f" {case.base.passed}/{case.base.planned} → {case.head.passed}/{case.head.planned}"
    if case.p is None or case.q is None or case.evidence is None:
        return counts
    return f"{counts}, p {case.p:.3f}, q {case.q:.3f}: {case.evidence.replace('_', ' ')}"


def _parts_differ(case: CaseDiff) -> bool:
    """Whether the outcome or the trajectory came to something else; a baseline does not know."""
    if case.base is None or case.head is None:
        return False
    before, after = _parts(case.base), _parts(case.head)
    return before != after and UNKNOWN not in (*before, *after)


def _parts(side: Side) -> tuple[str, str]:
    return side.outcome, side.trajectory


def _arrow(case: CaseDiff, part: str) -> str:
    words = [str(getattr(side, part)).replace("_", " ") for side in (case.base, case.head)]
    return words[0] if words[0] == words[1] else " → ".join(words)


def _edits(case: CaseDiff) -> Iterator[str]:
    if case.case_changes is None:
        return
    for change in case.case_changes:
        yield f"    {change.part}: {safe(change.key)}: {safe(change.words)}"
    if not case.case_changes:
        yield "    its file says the same: a shared fixture or a file that it gives to the agent changed"


def _checks(checks: Sequence[CheckChange]) -> Iterator[str]:
    for check in checks[:_CHECKS]:
        before, after = (
            f"{failed}/{made}" if made else "unknown"
            for failed, made in ((check.base_failed, check.base_attempts), (check.head_failed, check.head_attempts))
        )
        yield f"    {safe(check.name)} did not hold in {before} → {after}"
    if len(checks) > _CHECKS:
        yield f"    and {count(len(checks) - _CHECKS, 'more check')}"


def _path(path: PathDiff | None) -> Iterator[str]:
    if path is None:
        return
    attempts = f"(attempt {path.base_attempt} → {path.head_attempt})"
    if path.base is None and path.head is None:
        yield f"    path: {path.words} {attempts}"
        return
    yield f"    path parts {attempts}: {safe(path.words)}"
    for side, step in (("base", path.base), ("head", path.head)):
        yield f"      {side} {_step(step)}"


def _conversation(talk: TalkDiff | None, frame: Frame) -> Iterator[str]:
    """The turn at which two conversations part, and what was said there."""
    if talk is None:
        return
    attempts = f"(attempt {talk.base_attempt} → {talk.head_attempt})"
    if talk.turn is None:
        yield f"    conversation: {talk.words} {attempts}"
        return
    yield f"    conversation parts at turn {talk.turn} {attempts}: {safe(talk.words)}"
    if talk.base is not None or talk.head is not None:
        yield from _beside(talk.base, talk.head, "(nothing)", frame)


def _step(step: Step | None) -> str:
    if step is None:
        return "makes no such call here"
    arguments = "" if step.arguments is None else one_line_json(step.arguments)
    return f"step {step.number}: {shortened(safe(f'{step.name}({arguments})'), 100)} {step.status}"


def _measures(case: CaseDiff, *, verbose: bool) -> Iterator[str]:
    """What surely moved; with -v everything that both sides know, and what they do not."""
    told = [shift for shift in case.measures if verbose or (shift.q is not None and shift.q <= _SURE)]
    if told:
        yield f"    {', '.join(map(_shift, told))}"
    if verbose and case.base and case.head:
        known = {shift.name for shift in case.measures}
        for name in ("latency_ms", "tokens", "cost", "steps"):
            values = [getattr(side.measures, name) for side in (case.base, case.head)]
            if name not in known and values != [None, None]:
                yield f"    {name} {' → '.join('unknown' if value is None else f'{value:.4g}' for value in values)}"


def _shift(shift: Shift) -> str:
    sure = f"p {shift.p:.3f}" if shift.q is None else f"q {shift.q:.3f}"
    return f"{shift.name} {shift.base:.4g} → {shift.head:.4g} ({sure})"


def _answers(case: CaseDiff, frame: Frame) -> Iterator[str]:
    """What the typical attempts answered, side by side."""
    if case.answers is None or _is_told(case):
        return
    if case.answers.base == case.answers.head:
        yield "    answer: the same"
        return
    yield from _beside(case.answers.base, case.answers.head, "(no answer known)", frame)


def _is_told(case: CaseDiff) -> bool:
    """Whether the last answers are where the conversations part, and so stand there already."""
    talk, answers = case.conversation, case.answers
    return talk is not None and talk.difference == "agent" and answers == Answers(talk.base, talk.head)


def _beside(base: str | None, head: str | None, nothing: str, frame: Frame) -> Iterator[str]:
    """Two texts in two columns."""
    width = (min(frame.width or _USUAL_WIDTH, 2 * _USUAL_WIDTH) - 9) // 2
    column = Frame(max(width, 20), frame.full)
    texts = [nothing if text is None else text for text in (base, head)]
    sides = [block(text, 0, column, most=_ANSWER_LINES, rest="`agenteval show` has all") for text in texts]
    yield f"    {coloured('base', 'dim')}{' ' * (width - 4)} │ {coloured('head', 'dim')}"
    for left, right in zip_longest(*sides, fillvalue=""):
        yield f"    {left}{' ' * max(0, width - cell_len(left))} │ {right}".rstrip()


# ---- the whole


def lines_of_whole(diff: RunDiff, by: Sequence[str], *, verbose: bool) -> Iterator[str]:
    """Counts, the paired difference and what it could not have seen, slices, measures."""
    yield ", ".join(f"{number} {name}" for name, number in diff.counts.items() if number) or "no cases"
    total = len(diff.cases)
    if total and diff.compared < total:
        yield f"{diff.compared:,} of {count(total, 'case')} ({diff.overall.comparable:.0%}) could be compared"
    whole = diff.overall.difference
    if whole is not None and diff.base_rate is not None and diff.head_rate is not None:
        yield f"pass rate over {count(whole.cases, 'compared case')}: {diff.base_rate:.1%} → {diff.head_rate:.1%}"
        yield f"paired difference {_difference(whole)}{_seen(whole)}"
    if verbose and diff.overall.sight is not None:
        yield _sight(diff.overall.sight)
    yield from _slices(diff.overall.slices, by, verbose=verbose)
    for shift in diff.overall.measures:
        if verbose or shift.p <= _SURE:
            yield f"{_shift(shift)} over {count(shift.cases, 'case')}"


def _difference(difference: Difference) -> str:
    """`-1.2 % (95 % interval -3.0 % to +0.5 %)`, in percentage points."""
    interval = f"{difference.low:+.1%} to {difference.high:+.1%}"
    return f"{difference.estimate:+.1%} (95 % interval {interval})"


def _seen(difference: Difference) -> str:
    if difference.smallest_drop is None:
        return ""
    return f"; a drop of less than {difference.smallest_drop:.1%} could well have gone unseen"


def _sight(sight: Sight) -> str:
    attempts = f"{sight.base_attempts} and {sight.head_attempts} attempts"
    if sight.smallest_drop is None:
        return f"of one case, {attempts} confirm no fall at all; {sight.attempts_needed} a side confirm one to nothing"
    return f"of one case that always passed, {attempts} confirm a fall to {1 - sight.smallest_drop:.0%} or less"


def _slices(slices: Sequence[Slice], by: Sequence[str], *, verbose: bool) -> Iterator[str]:
    """The slices asked for; tiers where there are several; with -v tags too."""
    tiers = sum(item.by == "tier" for item in slices)
    for item in slices:
        if item.by in by or verbose or (item.by == "tier" and tiers > 1):
            rates = f"{item.base_rate:.1%} → {item.head_rate:.1%}"
            cases = count(item.difference.cases, "case")
            yield f"  {safe(item.by)} {safe(item.value)}: {rates} over {cases}, {_difference(item.difference)}"
