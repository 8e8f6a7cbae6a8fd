"""agenteval runs list|merge"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agenteval_cli.cli.console import print_json, result, say, table
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose
from agenteval_cli.errors import ExitCode
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from pathlib import Path

    from agenteval_cli.records import RunRecord

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def _runs() -> None:
    """The runs that are kept: list them, or put shards together.

    Each command takes --json, -C DIR, --quiet and --verbose.

    Example: agenteval runs list
    """


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="The newest N.")] = 20,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """List runs, the newest first; with --verbose all of them.

    Example: agenteval runs list
    """
    from agenteval_cli.cli.options import entered
    from agenteval_cli.repository import open_repository
    from agenteval_cli.store import status_now

    repository = open_repository(entered(directory))
    runs = repository.runs
    records, unread = _read(runs, None if verbose else limit)
    if json:
        made_from = ("shard", "merged", "since", "replays")
        fields = ("id", "started_at", "finished_at", "git", "agents", "counts", *made_from, "stopped")
        facts = [
            {**{name: getattr(record, name) for name in fields}, "status": status_now(record, runs / record.id)}
            for record in records
        ]
        print_json({"format": 1, "runs": facts})
        return ExitCode.OK
    rows = []
    for record in records:
        planned = sum(case.attempts for case in record.plan)
        agents = ", ".join(agent.name for agent in record.agents)
        passed = f"{record.counts.get('passed', 0)}/{planned}" if record.counts else f"?/{planned}"
        status = status_now(record, runs / record.id)
        rows.append((record.id, status, agents, str(len(record.plan)), passed, (record.git.commit or "")[:12]))
    table(rows, header=("ID", "STATUS", "AGENTS", "CASES", "PASSED", "COMMIT"))
    if not quiet:
        for words in unread:
            say(f"not listed: {words}")
    if not rows and not unread and not quiet:
        say("no runs yet; `agenteval run` makes one")
    return ExitCode.OK


def _read(runs: Path, limit: int | None) -> tuple[list[RunRecord], list[str]]:
    """The newest records, and why others that are as new cannot be read."""
    from agenteval_cli.errors import UsageError
    from agenteval_cli.store import read_record, run_ids

    records: list[RunRecord] = []
    unread: list[str] = []
    for run_id in reversed(run_ids(runs)):
        if len(records) == limit:
            break
        try:
            records.append(read_record(runs / run_id))
        except UsageError as error:
            unread.append(str(error))
    return records, unread


@app.command("merge")
def merge_runs(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="The shards: run IDs, or folders of runs.")],
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Put the shards of one run together into a run of its own.

    Example: agenteval runs merge .agenteval/runs/20261130T101112.123456Z-4f2a ci/shard-2
    """
    from agenteval_cli.cli.options import entered
    from agenteval_cli.lookup import find_run
    from agenteval_cli.merging import merge
    from agenteval_cli.repository import open_repository
    from agenteval_cli.store import new_run_id

    repository = open_repository(entered(directory))
    parts = [find_run(repository, name) for name in runs]
    merged = merge(parts, repository.runs, new_run_id(repository.runs))
    if json:
        facts = {"run": merged.record.id, "folder": merged.folder, "merged": merged.record.merged}
        print_json({"format": 1, **facts, "attempts": len(merged.attempts)})
        return ExitCode.OK
    result(f"{merged.record.id}: {count(len(merged.record.plan), 'case')}, {count(len(merged.attempts), 'attempt')}")
    if verbose:
        result("\n".join(f"  {part.record.id} {len(part.attempts)}" for part in parts))
    if not quiet:
        say(f"more: agenteval show CASE --run {merged.record.id}")
    return ExitCode.OK
