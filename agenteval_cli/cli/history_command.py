"""agenteval history"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval_cli.cli.console import coloured, print_json, result, safe, say, size_of
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from pathlib import Path

    from agenteval_cli.git import LogEntry
    from agenteval_cli.run_history import CaseHistory, Flaky, Turn
    from agenteval_cli.run_index import Index

_NAMED = 5


def command(
    case: Annotated[str, typer.Argument(metavar="CASE", help="Its ID.")],
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="With this agent; that of the newest run where absent.")
    ] = None,
    turns: Annotated[int, typer.Option("--turns", min=1, metavar="N", help="The newest N turns of its verdict.")] = 5,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Show how a case did from run to run: its rates, where its verdict turned, by which commit, and if it is flaky.

    Example: agenteval history refund-inside-window
    """
    import sys

    from agenteval_cli.repository import open_repository
    from agenteval_cli.run_history import history_of, sparkline
    from agenteval_cli.run_index import open_index

    repository = open_repository(entered(directory))
    with open_index(repository.root, repository.runs) as index:
        points = index.points(case)
        if not points:
            raise UsageError(_unknown(index, case))
        if agent is not None and agent not in {point.agent for point in points}:
            known = ", ".join(sorted({point.agent for point in points}))
            raise UsageError(f"no run has '{case}' with agent '{agent}'; there is {known}")
        found = history_of(_written(index, points[-1].run, case), points, agent)
    shown = found.turns if verbose else found.turns[-turns:]
    commits = [_commits(repository.root, turn) for turn in shown]
    if json:
        print_json({"format": 1, "history": _facts(found, commits)})
        return ExitCode.OK
    width = max(10, min(100, size_of(sys.stdout)[0] - 2))
    newest = found.points[-1]
    result(f"{safe(found.case)} with {safe(found.agent)}: {count(len(found.points), 'run')}")
    result(f"  {sparkline(found.points[-width:])}")
    result(f"  now {newest.passed}/{newest.graded}, {newest.verdict} in {newest.run}")
    for turn, between in zip(reversed(shown), reversed(commits), strict=True):
        _print_turn(turn, between)
    if len(found.turns) > len(shown) and not quiet:
        say(f"{count(len(found.turns) - len(shown), 'earlier turn')} left out; --turns {len(found.turns)} shows all")
    if found.flaky is not None:
        result(coloured(f"  {_flaky_words(found.flaky)}", "yellow"))
    return ExitCode.OK


def _unknown(index: Index, case: str) -> str:
    from agenteval_cli.problems import did_you_mean

    return f"no finished run has a case '{case}'{did_you_mean(case, index.cases())}"


def _written(index: Index, run: str, case: str) -> str:
    """The ID as the newest run writes it."""
    planned = (each.case for each in index.record_of(run).plan if each.case.casefold() == case.casefold())
    return next(planned, case)


def _commits(root: Path, turn: Turn) -> list[LogEntry] | None:
    """The commits that may have turned it; None where that cannot be told."""
    from agenteval_cli.commits import commits_between

    if turn.last.commit is None or turn.first.commit is None or turn.last.commit == turn.first.commit:
        return None
    return commits_between(root, turn.last.commit, turn.first.commit)


def _facts(found: CaseHistory, commits: list[list[LogEntry] | None]) -> dict[str, object]:
    import msgspec

    facts: dict[str, Any] = msgspec.to_builtins(found)
    shown = facts["turns"][-len(commits) :] if commits else []
    facts["turns"] = [{**turn, "commits": msgspec.to_builtins(each)} for turn, each in zip(shown, commits, strict=True)]
    return facts


def _print_turn(turn: Turn, between: list[LogEntry] | None) -> None:
    counts = f"{turn.before[0]}/{turn.before[1]} → {turn.after[0]}/{turn.after[1]}, p {turn.p:.2g}"
    colour = "red" if turn.kind == "broke" else "green"
    result(coloured(f"  {turn.kind} in {turn.first.run} ({counts})", colour))
    if turn.edited:
        result("    the case itself was edited there")
    elif not turn.agent_changed:
        result("    neither the case nor its agent had changed: noise, or what the agent depends on")
    for entry in (between or [])[:_NAMED]:
        result(f"    {entry.commit[:12]} {entry.day} {safe(entry.subject)}")
    if between and len(between) > 1:
        result(f"    one of {count(len(between), 'commit')}: {turn.last.commit}..{turn.first.commit}")
    if turn.first.dirty:
        result("    and uncommitted changes")


def _flaky_words(flaky: Flaky) -> str:
    low, high = flaky.interval
    return (
        f"flaky: passes and fails with nothing changed ({flaky.mixed} of {flaky.pairs} pairs of content and agent); "
        f"{flaky.passed}/{flaky.graded} passed, {low:.0%} to {high:.0%}"
    )
