"""The options of `agenteval run` that need more than a type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from agenteval_cli.errors import UsageError

if TYPE_CHECKING:
    from agenteval_cli.schedule import Budget

Case = Annotated[
    list[str] | None, typer.Option("--case", metavar="ID", help="Only this case, or those like 'refund-*'; repeatable.")
]
Failed = Annotated[
    str | None, typer.Option("--failed", metavar="RUN", help="Only cases that did not pass in that run.")
]
Sample = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only N of them, drawn by the seed.")]
Shard = Annotated[str | None, typer.Option(metavar="I/N", help="Only part I of N; `agenteval runs merge` joins them.")]
Attempts = Annotated[int | None, typer.Option(min=1, max=1000, help="Attempts of every case.")]
Since = Annotated[
    str | None, typer.Option(metavar="RUN", help="Keep the attempts of that run where nothing has changed.")
]
ReplayUser = Annotated[
    str | None,
    typer.Option(metavar="RUN", help="Let simulated users say what they said in that run, to compare two agents."),
]
Resume = Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a run that was stopped.")]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", "-j", min=1, max=1000, help="At most so many attempts at once.")
]
RetryErrors = Annotated[
    int, typer.Option(min=0, max=100, metavar="N", help="Try an attempt that ended in an error N times more.")
]
Confirm = Annotated[
    int | None,
    typer.Option(min=1, max=1000, metavar="N", help="Then try what fell again, up to N times a side, for evidence."),
]
Against = Annotated[
    str | None, typer.Option(metavar="RUN", help="The run that --confirm compares with; the latest where absent.")
]
BudgetCost = Annotated[
    str | None, typer.Option(metavar="AMOUNT", help="Begin nothing more once agents have reported this cost.")
]
RecordTools = Annotated[
    str | None,
    typer.Option(metavar="TARGET", help="Record the tools of one case from a URL or an MCP server's command."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="With --record-tools: an argument that recordings do not ask for."),
]
Seed = Annotated[
    int | None, typer.Option(min=0, max=2**31 - 1, help="Of the order, the sample and what agents are told.")
]
BudgetTime = Annotated[str | None, typer.Option(metavar="TIME", help="Begin nothing more after this time, as 10m.")]

_TIME = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h)")


def shard_from(text: str | None) -> tuple[int, int] | None:
    """I and N of `I/N`. Raises UsageError."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard {text}: write it as I/N with I from 1 to N, as 2/5")
    return int(found[1]), int(found[2])


def budget(*, fail_fast: bool, cost: str | None, time: str | None) -> Budget:
    """When to stop. Raises UsageError for a text that is no amount or no time."""
    from agenteval_cli.schedule import Budget
    from agenteval_cli.units import amount, seconds

    most = None if cost is None else amount(cost)
    if cost is not None and (most is None or most <= 0):
        raise UsageError(f"--budget-cost {cost}: write an amount above zero, as 2.50")
    if time is not None and not _TIME.fullmatch(time):
        raise UsageError(f"--budget-time {time}: write it as 90s, 10m or 1h")
    return Budget(fail_fast=fail_fast, cost=most, seconds=None if time is None else seconds(time))


class Draw(TypedDict):
    """The options that make a new run what it is, besides those that pick cases, by their parameter's name."""

    sample: int | None
    shard: str | None
    agent: str | None
    attempts: int | None
    since: str | None
    replay_user: str | None
    seed: int | None


def refuse_what_does_not_go_together(
    draw: Draw,
    confirm: int | None,
    confirming: Mapping[str, str | None],
    *,
    record_tools: str | None,
    ignore: Sequence[str] | None,
) -> None:
    """Raise UsageError where an option would say nothing, or something else than is meant."""
    if draw["sample"] is not None and draw["shard"] is not None and draw["seed"] is None:
        raise UsageError("--sample with --shard needs a --seed, so that every shard draws the same sample")
    if draw["since"] is not None and draw["replay_user"] is not None:
        raise UsageError("--since keeps attempts and --replay-user makes others; leave one out")
    if confirm is not None and draw["replay_user"] is not None:
        raise UsageError("--confirm asks simulated users anew, so its attempts would hear other words; leave one out")
    for name, value in confirming.items():
        if value is not None and confirm is None:
            raise UsageError(f"--{name} says how to --confirm; give --confirm N too, or leave it out")
    if ignore and record_tools is None:
        raise UsageError("--ignore is for --record-tools; leave it out")
    if confirm is not None and record_tools is not None:
        raise UsageError("--record-tools keeps no run, so there is nothing to --confirm; leave one out")


def refuse_beside_resume(options: Mapping[str, object]) -> None:
    """Raise UsageError where an option, by its name, would change the plan of a run that is gone on with."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value not in (None, [])]
    if given:
        raise UsageError(f"--resume goes on with the run's own plan; leave out {', '.join(given)}")
