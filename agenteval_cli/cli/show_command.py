"""agenteval show"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agenteval_cli.cli.console import coloured, indented, print_json, result, safe
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError

_MOST_COMMITS = 10

if TYPE_CHECKING:
    from pathlib import Path

    from agenteval_cli.records import AttemptRecord, TranscriptRecord
    from agenteval_cli.repository import LoadedCase
    from agenteval_cli.store import Run


def command(
    case: Annotated[str, typer.Argument(metavar="CASE", help="The ID of a case.")],
    run: Annotated[str | None, typer.Option(metavar="RUN", help="Show its attempts in this run.")] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Only this attempt of the run.")] = None,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Show one case as the tool understands it, or what the agent said and did with it in a run.

    Example: agenteval show refund-inside-window --run latest
    """
    from agenteval_cli.repository import open_repository

    repository = open_repository(entered(directory))
    if run is None:
        _show_case(repository.root, _loaded(repository, case), json=json)
        return ExitCode.OK
    from agenteval_cli.lookup import find_run

    found = find_run(repository, run)
    attempts = [item for item in found.attempts if item.case.casefold() == case.casefold()]
    chosen = [item for item in attempts if attempt in (None, item.attempt)]
    if not chosen:
        raise UsageError(_why_nothing(found, case, attempt))
    _show_attempts(found, chosen, json=json, quiet=quiet, verbose=verbose)
    return ExitCode.OK


def _loaded(repository: Any, case: str) -> LoadedCase:
    from agenteval_cli.repository import load
    from agenteval_cli.selection import Selection, selected

    return selected(load(repository).cases, Selection(cases=(case,)))[0]


def _why_nothing(run: Run, case: str, attempt: int | None) -> str:
    from agenteval_cli.problems import did_you_mean

    planned = [item.case for item in run.record.plan]
    if case.casefold() not in {item.casefold() for item in planned}:
        return f"no case '{case}' in run {run.record.id}{did_you_mean(case, planned)}"
    which = f"attempt {attempt}" if attempt else "attempt"
    return f"no {which} of '{case}' has ended in run {run.record.id}"


def _show_case(root: Path, loaded: LoadedCase, *, json: bool) -> None:
    from agenteval_cli import git

    case = loaded.case
    history = git.log_of(root, case.file, _MOST_COMMITS)
    if json:
        facts = {"format": 1, "file": case.file, "digests": loaded.digests, "case": case.data, "history": history}
        print_json(facts)
        return
    result(coloured(case.id, "bold") + (f"  {safe(case.title)}" if case.title else ""))
    for key, value in case.data.items():
        if key not in ("schema", "id", "title"):
            _print_part(key, value if isinstance(value, str) else _pretty(value))
    _print_part("file", case.file)
    _print_part("digests", "\n".join(f"{name} {getattr(loaded.digests, name)}" for name in ("input", "grade", "file")))
    if history:
        _print_part("history", "\n".join(f"{entry.commit} {entry.day} {entry.subject}" for entry in history))


def _print_part(name: str, text: str) -> None:
    result(f"{safe(name)}:")
    result(indented(text))


def _pretty(value: Any) -> str:
    """JSON, on one line where it fits."""
    import msgspec

    compact = msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    return compact if len(compact) <= 100 else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _show_attempts(run: Run, attempts: list[AttemptRecord], *, json: bool, quiet: bool, verbose: bool) -> None:
    from agenteval_cli.store import read_transcript

    pairs = [(attempt, read_transcript(run, attempt)) for attempt in attempts]
    if json:
        facts = [{"attempt": attempt, "transcript": transcript} for attempt, transcript in pairs]
        print_json({"format": 1, "run": run.record.id, "attempts": facts})
        return
    for attempt, transcript in pairs:
        _print_attempt(attempt)
        if not quiet:
            _print_conversation(transcript)
        _print_checks(attempt, verbose=verbose)


def _print_attempt(attempt: AttemptRecord) -> None:
    colour = "green" if attempt.status == "passed" else "red"
    parts = f"outcome {attempt.outcome}, trajectory {attempt.trajectory}".replace("_", " ")
    measured = [f"{attempt.duration_ms:.0f} ms"]
    measured += [f"{attempt.total_tokens} tokens"] if attempt.total_tokens is not None else []
    measured += [f"cost {attempt.cost}"] if attempt.cost is not None else []
    heading = f"{attempt.case} #{attempt.attempt} {attempt.status}"
    result(f"{coloured(heading, colour)}  {parts}  ({', '.join(measured)})")
    if attempt.reason:
        result(f"  {safe(attempt.reason)}")
    for note in attempt.notes:
        result(f"  note: {safe(note)}")
    if attempt.status in ("agent_error", "timeout") and attempt.stderr_tail:
        result("  the end of stderr:")
        result(indented(attempt.stderr_tail))


def _print_conversation(record: TranscriptRecord) -> None:
    for message in record.request["messages"]:
        _print_turn(message["role"], message["content"])
    transcript = record.transcript
    if transcript is None:
        if record.stdout:
            _print_turn("printed", record.stdout[:2000])
        return
    for step in transcript.reasoning or ():
        if step.content:
            result(coloured(f"  {step.type.lower()}: {safe(step.content)}", "dim"))
    for index, call in enumerate(transcript.tool_calls or (), start=1):
        _print_call(index, call)
    _print_turn("agent", transcript.output)


def _print_call(index: int, call: Any) -> None:
    from agenteval_cli.compare import shown

    answer = f"error {shown(call.error)}" if call.error is not None else shown(call.result)
    result(f"  {index}. {safe(call.name)}({safe(shown(call.arguments))}) → {safe(answer)}")


def _print_turn(role: str, content: Any) -> None:
    result(coloured(f"  {safe(role)}:", "bold"))
    result(indented(content if isinstance(content, str) else _pretty(content)))


def _print_checks(attempt: AttemptRecord, *, verbose: bool) -> None:
    for check in attempt.checks:
        if check.result != "passed" or verbose:
            colour = {"passed": "green", "failed": "red"}.get(check.result, "yellow")
            warning = " (warning)" if check.severity == "warning" else ""
            words = f": {safe(check.message)}" if check.message else ""
            result(f"  {coloured(check.result.replace('_', ' '), colour)}{warning} {check.name}{words}")
    passed = sum(check.result == "passed" for check in attempt.checks)
    result(f"  {passed} of {len(attempt.checks)} checks passed")
