"""calls: the calls as a whole, in one of five modes; scores are reported beside the verdict and decide nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agenteval_cli.compare import shown
from agenteval_cli.constraints import CallsRule, ExpectedCall, Stage, Trajectory
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, Finding
from agenteval_cli.trajectory.alignment import free_pairing, ordered_pairing
from agenteval_cli.trajectory.evidence import Calls, Evidence
from agenteval_cli.trajectory.matching import difference, fits, named, names, nearest, nearest_index, step, together
from agenteval_cli.trajectory.spans import Partners
from agenteval_cli.transcript import ToolCall


def calls(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """The first step that differs is told; where none does, calls that did not overlap and should have."""
    rule, made = constraints.calls, evidence.calls
    if rule is None:
        return
    free = free_pairing(rule.members, made)
    ordered = ordered_pairing(rule.stages, made)
    partners = ordered if rule.ordered else free
    found = _first_difference(rule, made, partners)
    finding = _failed(rule, made, found) if found else _apart(rule, made, partners) or OK
    yield "calls", msgspec.structs.replace(finding, scores=_scores(rule, made, free, ordered))


def _first_difference(rule: CallsRule, made: Calls, partners: Partners) -> str | None:
    """Words about the missing call or the one too many, whichever is first on the path."""
    missing = None if rule.mode == "subset" else _first_missing(rule, partners)
    open_ones = [index for index in range(len(made)) if index not in partners]
    extra = None if rule.extra or not open_ones else open_ones[0]
    if missing is not None and (extra is None or not rule.ordered or missing[1] <= extra):
        member, last = missing
        near, words = _where_it_is(member, made, open_ones)
        return f"{_call(member)}, {_where_expected(rule, made, last, near)}; {words}"
    return None if extra is None else f"{step(extra, made[extra])}, {_instead(rule, made, partners, extra)}"


def _first_missing(rule: CallsRule, partners: Partners) -> tuple[ExpectedCall, int] | None:
    """The first required call without a partner, and how many steps went by before it should have come."""
    rest = iter(partners)
    last = 0
    for stage in rule.stages:
        found = [(member, next(rest)) for member in stage.members]
        last = max([last, *(partner + 1 for _, partner in found if partner is not None)])
        missing = next((member for member, partner in found if partner is None and not member.optional), None)
        if missing is not None:
            return missing, last
    return None


def _where_expected(rule: CallsRule, made: Calls, last: int, near: int | None) -> str:
    """The place of a missing call, and what came there instead where that is not told anyway."""
    if not rule.ordered:
        return "did not come"
    if rule.extra:
        return f"did not come after step {last}" if last else "did not come"
    if last == len(made):
        return f"should be step {last + 1}, but there are only {last}"
    came = "" if near == last else f", where {made[last].name}({shown(made[last].arguments)}) came"
    return f"should be step {last + 1}{came}"


def _where_it_is(member: ExpectedCall, made: Calls, open_ones: Sequence[int]) -> tuple[int | None, str]:
    """Where the agent did call it, or what comes nearest, among the calls that are no other's partner."""
    elsewhere = next((index for index in open_ones if fits(member.pattern, made[index])), None)
    if elsewhere is not None:
        return elsewhere, f"it came at step {elsewhere + 1}"
    if any(fits(member.pattern, call) for call in made):
        return None, "each call that fits is already another's"
    return nearest_index(member.pattern, made, open_ones), nearest(member.pattern, made, open_ones)


def _instead(rule: CallsRule, made: Calls, partners: Partners, extra: int) -> str:
    """What a call is that is one too many: in the way of an expected one, nearly one, or neither."""
    pairs = list(zip(rule.members, partners, strict=True))
    following = next(((member, at) for member, at in pairs if at is not None and at > extra), None)
    if rule.ordered and following is not None:
        return f"came where {_call(following[0])}, should; that came at step {following[1] + 1}"
    open_ones = [member for member, partner in pairs if partner is None and member.pattern.tool == made[extra].name]
    near = [
        f"; nearest is {_call(member)}: {found}"
        for member in open_ones
        if (found := difference(member.pattern, made[extra]))
    ]
    return f"is none of the expected calls{''.join(near[:1])}"


def _apart(rule: CallsRule, made: Calls, partners: Partners) -> Finding | None:
    """The calls of a stage that had to run at the same time and did not, or are not known to have."""
    rest = iter(partners)
    unknown = None
    for stage in rule.stages:
        found = [partner for _ in stage.members if (partner := next(rest)) is not None]
        for one, other in _pairs(stage, found):
            overlap = _overlapped(made[one], made[other])
            words = f"{step(one, made[one])}, and {step(other, made[other])}"
            if overlap is False:
                return _failed(rule, made, f"{words}, did not run at the same time")
            if overlap is None:
                unknown = Finding(NO_EVIDENCE, f"nothing tells whether {words}, ran at the same time")
    return unknown


def _pairs(stage: Stage, found: Sequence[int]) -> Iterator[tuple[int, int]]:
    ordered = sorted(found) if stage.overlap else []
    yield from ((one, other) for index, one in enumerate(ordered) for other in ordered[index + 1 :])


def _overlapped(one: ToolCall, other: ToolCall) -> bool | None:
    """Whether two calls ran at the same time, by their group, else by their times; None where nothing tells."""
    if together(one, other):
        return True
    if None not in (one.started_ms, one.duration_ms, other.started_ms, other.duration_ms):
        begin, length, other_begin, other_length = map(
            float, (one.started_ms or 0, one.duration_ms or 0, other.started_ms or 0, other.duration_ms or 0)
        )
        return begin < other_begin + other_length and other_begin < begin + length
    return False if None not in (one.group, other.group) else None


def _failed(rule: CallsRule, made: Calls, words: str) -> Finding:
    expected = {"mode": rule.mode, "calls": [named(member.pattern) for member in rule.members]}
    return Finding(FAILED, words, expected, names(made))


def _call(member: ExpectedCall) -> str:
    return f"{member.place}, {named(member.pattern)}"


# ---- scores


def _scores(rule: CallsRule, made: Calls, free: Partners, ordered: Partners) -> dict[str, float]:
    """Precision, recall, F1 and order, each where it means something. A missing optional call costs nothing.

    `order` is how many of the calls that could be paired can be paired in the expected order.
    """
    matched = sum(partner is not None for partner in free)
    wanted = sum(partner is not None or not member.optional for member, partner in zip(rule.members, free, strict=True))
    ratios = {
        "precision": (matched, len(made)),
        "recall": (matched, wanted),
        "f1": (2 * matched, len(made) + wanted),
        "order": (sum(partner is not None for partner in ordered), matched),
    }
    return {name: round(part / whole, 4) for name, (part, whole) in ratios.items() if whole}
