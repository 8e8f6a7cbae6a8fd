"""What `agenteval review` tells without --label."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from agenteval_cli.cli.console import coloured, print_json, result, safe, say
from agenteval_cli.cli.options import entered
from agenteval_cli.errors import ExitCode, UsageError
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.repository import Repository
    from agenteval_cli.run_review import Quarantine, Suggestion

_OF_LATE = 50  # runs in which a case is looked at for being flaky
_TITLES = {
    "quarantine": "Flaky: pass and fail with nothing changed",
    "quarantine_past": "In quarantine past its day",
    "never_passed": "Never passed",
    "always_passed": "Always passed: candidates for another tier, or for a harder question",
    "thin_slice": "Too few attempts to tell how well the agent does here",
    "slow": "Slow",
    "dear": "Dear",
}
_MOST = 20  # of a kind


def show_suggestions(directory: str, *, runs: int, days: int, json: bool, quiet: bool, verbose: bool) -> int:
    """Print what the runs suggest. Raises UsageError where there is none."""
    import datetime as dt

    from agenteval_cli.repository import open_repository
    from agenteval_cli.run_index import open_index
    from agenteval_cli.run_review import Bounds, History, suggestions

    repository = open_repository(entered(directory))
    with open_index(repository.root, repository.runs) as index:
        newest = index.newest_run()
        if newest is None:
            raise UsageError(f"there is no finished run in {repository.config.runs}; `agenteval run` makes one")
        history = History(
            today=dt.datetime.now(dt.UTC).date().isoformat(),
            plan=index.record_of(newest).plan,
            totals=index.totals(),
            mixed=index.mixed(index.newest_run(_OF_LATE - 1) or newest),
            latest=index.results_of(newest),
            quarantines=_quarantines(repository),
        )
    found = suggestions(history, Bounds(runs=runs, days=days))
    if json:
        print_json({"format": 1, "run": newest, "suggestions": found})
        return ExitCode.OK
    for kind, title in _TITLES.items():
        of_kind = [each for each in found if each.kind == kind]
        _print(title, of_kind, len(of_kind) if verbose else _MOST)
    if not found and not quiet:
        say(f"nothing to suggest, by the runs up to {newest}")
    return ExitCode.OK


def _print(title: str, found: list[Suggestion], most: int) -> None:
    if not found:
        return
    result(coloured(title, "bold"))
    for each in found[:most]:
        result(f"  {safe(each.subject)}: {safe(each.words)}")
        if each.command is not None:
            result(coloured(f"    {safe(each.command)}", "dim"))
    if len(found) > most:
        result(f"  and {count(len(found) - most, 'more case')}; --verbose shows all")


def _quarantines(repository: Repository) -> tuple[Quarantine, ...]:
    """What case files say of quarantine. Only those that have the word are read as cases: most have not."""
    from agenteval_cli.repository import case_files, load
    from agenteval_cli.run_review import Quarantine
    from agenteval_cli.sources import WorkingTree

    source = WorkingTree(repository.root)
    names = []
    with contextlib.suppress(UsageError):
        for name in case_files(repository, source):
            with contextlib.suppress(OSError):
                if b"quarantine" in source.raw(name):
                    names.append(name)
    if not names:
        return ()
    held = [(item.case.id, item.case.data.get("quarantine")) for item in load(repository, names, source).cases]
    return tuple(Quarantine(case, fields.get("until")) for case, fields in held if fields is not None)
