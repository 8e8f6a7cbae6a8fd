"""Under what conditions two runs were made: what else may be behind a difference in their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agenteval_cli.records import AgentRecord, JudgeRecord, RunRecord, UserRecord


def conditions_between(base: RunRecord, head: RunRecord) -> Iterator[str]:
    """What differs between two runs besides their results, in words, for the top of a report.

    A baseline knows neither version nor commit nor digests: what is not known does not differ.
    """
    if base.graded != head.graded:
        yield f"the {'head' if head.graded else 'base'} run was graded without an agent"
    known = bool(base.tool_version and head.tool_version)
    if known and base.tool_version != head.tool_version:
        yield f"agenteval {base.tool_version} → {head.tool_version}"
    if known and base.grading != head.grading:
        yield f"what checks mean (version {base.grading} → {head.grading})"
    yield from _agents(base, head)
    if known:
        yield from _others("judge", base.judges, head.judges)
        yield from _others("simulated user", base.users, head.users)
    yield from _replays(base, head)
    if known and base.git.commit != head.git.commit:
        yield f"commit {(base.git.commit or 'none')[:12]} → {(head.git.commit or 'none')[:12]}"
    dirty = [name for name, record in _runs(base, head) if record.git.dirty]
    if dirty:
        yield f"uncommitted changes in {' and '.join(dirty)}"
    yield from (f"the {name} run was stopped: {record.stopped}" for name, record in _runs(base, head) if record.stopped)


def _runs(base: RunRecord, head: RunRecord) -> tuple[tuple[str, RunRecord], ...]:
    return ("base", base), ("head", head)


def _replays(base: RunRecord, head: RunRecord) -> Iterator[str]:
    for name, record in _runs(base, head) if base.replays != head.replays else ():
        if record.replays:
            yield f"the {name} run says the users' words of {record.replays} again"


def _others(
    kind: str, base: Iterable[JudgeRecord | UserRecord], head: Iterable[JudgeRecord | UserRecord]
) -> Iterator[str]:
    """Those that only one run had, and those of one name that are not the same. Not every case needs one."""
    before, after = ({item.name: item.digest for item in items} for items in (base, head))
    if before and after and before.keys() != after.keys():
        yield f"{kind} {', '.join(before)} → {', '.join(after)}"
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"{kind} {name} changed"


def _agents(base: RunRecord, head: RunRecord) -> Iterator[str]:
    before = {agent.name: agent for agent in base.agents}
    after = {agent.name: agent for agent in head.agents}
    if before.keys() != after.keys():
        yield f"agent {', '.join(before)} → {', '.join(after)}"
    for name in sorted(before.keys() & after.keys()):
        digests = {before[name].digest, after[name].digest}
        if len(digests) == 2 and "" not in digests:
            pins = ", ".join(_pins(before[name], after[name]))
            yield f"agent {name} changed{f': {pins}' if pins else ''}"


def _pins(before: AgentRecord, after: AgentRecord) -> Iterable[str]:
    for pin in sorted({*before.pins, *after.pins}):
        values = [record.pins.get(pin, "none") for record in (before, after)]
        if values[0] != values[1]:
            yield f"{pin} {values[0]} → {values[1]}"
