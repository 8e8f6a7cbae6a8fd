"""agenteval run"""

from __future__ import annotations

import gc
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval_cli.cli.console import print_json, safe, say, table
from agenteval_cli.cli.options import (
    Changed,
    Directory,
    Json,
    Owner,
    Picks,
    Prepare,
    Quiet,
    Tag,
    Tiers,
    Verbose,
    Where,
    entered,
    refuse_invalid,
    selection_from,
)
from agenteval_cli.cli.run_options import (
    Against,
    Attempts,
    BudgetCost,
    BudgetTime,
    Case,
    Concurrency,
    Confirm,
    Draw,
    Failed,
    Ignore,
    RecordTools,
    ReplayUser,
    Resume,
    RetryErrors,
    Sample,
    Seed,
    Shard,
    Since,
    budget,
    refuse_beside_resume,
    refuse_what_does_not_go_together,
    shard_from,
)
from agenteval_cli.errors import AgentevalError, ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agenteval_cli.ordering import Wishes
    from agenteval_cli.repository import Loaded, Repository
    from agenteval_cli.runner import Ended, Order
    from agenteval_cli.store import Run


def command(
    tier: Tiers = None,
    case: Case = None,
    tag: Tag = None,
    owner: Owner = None,
    where: Where = None,
    changed: Changed = None,
    failed: Failed = None,
    sample: Sample = None,
    shard: Shard = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Run this agent, whatever the cases name.")] = None,
    attempts: Attempts = None,
    since: Since = None,
    replay_user: ReplayUser = None,
    resume: Resume = None,
    concurrency: Concurrency = None,
    retry_errors: RetryErrors = 0,
    confirm: Confirm = None,
    against: Against = None,
    prepare: Prepare = None,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Begin nothing more once a case has failed.")] = False,
    budget_cost: BudgetCost = None,
    budget_time: BudgetTime = None,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Run in another order, drawn by the seed.")] = False,
    seed: Seed = None,
    record_tools: RecordTools = None,
    ignore: Ignore = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and run nothing.")] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Run cases through an agent, keep every attempt, and say which cases passed.

    Example: agenteval run --tier smoke
    """
    from agenteval_cli.repository import open_repository

    picks = Picks(tier=tier, case=case, tag=tag, owner=owner, where=where, failed=failed, changed=changed)
    draw = Draw(
        sample=sample, shard=shard, agent=agent, attempts=attempts, since=since, replay_user=replay_user, seed=seed
    )
    confirming = {"against": against, "prepare": prepare}
    refuse_what_does_not_go_together(draw, confirm, confirming, record_tools=record_tools, ignore=ignore)
    spend = budget(fail_fast=fail_fast, cost=budget_cost, time=budget_time)
    how = {"shuffle": shuffle, "concurrency": concurrency, "retries": retry_errors, "budget": spend}
    repository = open_repository(entered(directory))
    order = _order(repository, picks, draw, resume, how)
    if dry_run:
        return _show_plan(order, json=json)
    if record_tools is not None:
        from agenteval_cli.cli.run_recording import record

        return record(order, record_tools, ignore or (), json=json, quiet=quiet)
    if confirm is not None:
        return _run_and_confirm(repository, order, confirm, confirming, json=json, quiet=quiet, verbose=verbose)
    return _run(order, json=json, quiet=quiet, verbose=verbose)


def _order(repository: Repository, picks: Picks, draw: Draw, resume: str | None, how: dict[str, Any]) -> Order:
    """The order for the runner: the rest of a run that was stopped, or a new one."""
    from agenteval_cli.ordering import Wishes

    loaded = _loaded(repository)
    seed = draw["seed"]
    wishes = Wishes(
        agent=draw["agent"],
        attempts=draw["attempts"],
        shard=shard_from(draw["shard"]),
        seed=secrets.randbits(31) if seed is None else seed,
        **how,
    )
    if resume is None:
        return _new(repository, loaded, picks, draw, wishes)
    refuse_beside_resume({**picks, **draw})
    return _resumed(repository, loaded, resume, wishes)


def _loaded(repository: Repository) -> Loaded:
    """Every case. Thousands are read, and stay: nothing of them is garbage, now or later."""
    from agenteval_cli.repository import load

    gc.disable()
    try:
        return load(repository)
    finally:
        gc.freeze()
        gc.enable()


def _new(repository: Repository, loaded: Loaded, picks: Picks, draw: Draw, wishes: Wishes) -> Order:
    from agenteval_cli.ordering import new_order
    from agenteval_cli.selection import sampled, selected

    selection = selection_from(repository, loaded, picks)
    refuse_invalid(loaded, selection.cases)
    chosen = selected(loaded.cases, selection)
    if draw["sample"] is not None:
        chosen = sampled(chosen, draw["sample"], wishes.seed)
    earlier, replayed = (
        None if name is None else _run_with_attempts(repository, name) for name in (draw["since"], draw["replay_user"])
    )
    return new_order(repository, loaded, chosen, wishes, os.environ, earlier, replayed)


def _run_with_attempts(repository: Repository, name: str) -> Run:
    """A run by its name. Raises UsageError for a baseline, which knows counts only."""
    from agenteval_cli.baselines import BASELINE
    from agenteval_cli.lookup import find_run

    run = find_run(repository, name)
    if run.record.id == BASELINE:
        raise UsageError("a baseline has no attempts to keep, to try again or to replay; name a run")
    return run


def _resumed(repository: Repository, loaded: Loaded, name: str, wishes: Wishes) -> Order:
    from agenteval_cli.lookup import find_run_to_resume
    from agenteval_cli.ordering import resumed_order

    run = find_run_to_resume(repository, name)
    if run.torn_lines:
        say("the last line of attempts.jsonl was cut off and is ignored; its attempt runs again")
    return resumed_order(repository, loaded, run, wishes, os.environ)


def _show_plan(order: Order, *, json: bool) -> int:
    from agenteval_cli.schedule import jobs_of
    from agenteval_cli.statuses import GRADED

    plan = order.record.plan
    done = {(attempt.case, attempt.attempt) for attempt in order.earlier or () if attempt.status in GRADED}
    kept = [(attempt.case, attempt.attempt) for attempt, _ in order.kept]
    to_run = sum(1 for _ in jobs_of(plan, {*done, *kept}))
    if json:
        facts = {"format": 1, "dry_run": True, "plan": plan, "attempts": sum(planned.attempts for planned in plan)}
        print_json({**facts, "kept": len(kept) + len(done), "to_run": to_run, "seed": order.record.seed})
        return ExitCode.OK
    rows = [(planned.case, planned.tier, planned.agent, str(planned.attempts), planned.reason) for planned in plan]
    table(rows, header=("ID", "TIER", "AGENT", "ATTEMPTS", "REASON"))
    words = [count(len(plan), "case"), f"{count(to_run, 'attempt')} to run"]
    words += [f"{len(kept) + len(done)} kept"] if kept or done else []
    say(f"{', '.join(words)}; nothing was run")
    return ExitCode.OK


def _print_judged(ended: Ended, order: Order) -> None:
    if ended.record.judges:
        from agenteval_cli.cli.judged_view import print_judged
        from agenteval_cli.store import read_run

        print_judged(ended.record, read_run(Path(ended.folder)).attempts, order.root)


def _run(order: Order, *, json: bool, quiet: bool, verbose: bool) -> int:
    from agenteval_cli.cli.progress import Progress
    from agenteval_cli.cli.run_report import print_run, run_facts
    from agenteval_cli.records import INTERRUPTED
    from agenteval_cli.runner import run

    ended = run(order, Progress(sys.stderr, quiet=quiet, verbose=verbose))
    if json:
        print_json(run_facts(ended, ended.summary))
    else:
        print_run(ended, ended.summary, quiet=quiet, verbose=verbose)
        _print_judged(ended, order)
    _tell_of_files_that_changed(order)
    if ended.record.status == INTERRUPTED:
        verb = "is" if ended.summary.graded == 1 else "are"
        kept = f"{count(ended.summary.graded, 'finished attempt')} {verb} kept"
        say(f"interrupted; the {kept}; go on with: agenteval run --resume {ended.record.id}")
        return ExitCode.INTERRUPTED
    if ended.record.stopped:
        say(f"stopped early by {safe(ended.record.stopped)}")
        say(f"go on with: agenteval run --resume {ended.record.id}")
    return {"passed": ExitCode.OK, "failed": ExitCode.FAILURES, "incomplete": ExitCode.INCOMPLETE}[
        ended.summary.verdict
    ]


def _run_and_confirm(
    repository: Repository,
    order: Order,
    attempts: int,
    confirming: Mapping[str, str | None],
    *,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """The run, then fresh attempts of what fell in it; the exit code is the run's, unless a signal ended them."""
    from agenteval_cli.cli.confirm_step import confirm_falls
    from agenteval_cli.confirm_runs import How
    from agenteval_cli.lookup import LATEST

    base = _run_with_attempts(repository, confirming["against"] or LATEST)
    code = _run(order, json=json, quiet=quiet, verbose=verbose)
    if code == ExitCode.INTERRUPTED:
        return code
    how = How(
        attempts=attempts,
        concurrency=order.concurrency,
        retries=order.retries,
        prepare=confirming["prepare"],
    )
    try:
        whole = confirm_falls(repository, base, str(order.folder), how, json=json, quiet=quiet)
    except AgentevalError as error:
        if not json:
            raise
        say(f"agenteval: {error}")  # the run's document is on stdout, and there is but one
        return error.exit_code
    return code if whole else ExitCode.INTERRUPTED


def _tell_of_files_that_changed(order: Order) -> None:
    """The verdicts are those of the files as they were when the run began."""
    from agenteval_cli.digests import digest_of_bytes

    for item in order.cases.values():
        path = order.root / item.case.file
        try:
            same = digest_of_bytes(path.read_bytes()) == item.digests.file
        except OSError:
            say(f"{safe(item.case.file)} went away during the run; its verdict is of the file as it was at the start")
            continue
        if not same:
            say(f"{safe(item.case.file)} changed during the run; its verdict is of the file as it was at the start")
