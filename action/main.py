"""What the GitHub Action does: run the cases on the base and on the head, compare, report and comment.

The base is checked out in a folder of its own; the checkout is not touched. Where there is no base to compare with, as
for the first pull request, the head is judged by itself: all its cases must pass. Exit codes are those of `agenteval`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from base import base_commit, checked_out, top_of
from comments import CommentError, Comments
from tool import Ran, Tool, installed, prepare_command, prepared
from workflow import (
    INCOMPLETE,
    USAGE,
    Inputs,
    Runner,
    StopError,
    annotate,
    group,
    inputs_from,
    put_out,
    runner_from,
    summarize,
)

_BASELINE = "baseline"
_CONFIG = "agenteval.yaml"
_WITH_A_RESULT = (0, 1, INCOMPLETE)
_INTERRUPTED = 130
_WRITTEN = (("html", "report.html"), ("junit", "junit.xml"), ("markdown", "comment.md"))
_MOST_OF_A_REASON = 120  # a comment has 65,536 characters, and a report in it up to 65,000


@dataclass(frozen=True)
class Base:
    """The base's run by its name, None where there is none, and why not; `failed` where there should be one."""

    run: str | None
    folder: Path | None = None
    why: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Head:
    """The head's run, and why what fell in it could not be confirmed, where that was wanted and failed."""

    run: str
    folder: Path
    unconfirmed: str = ""


@dataclass(frozen=True)
class Job:
    """What stays the same all along. `folder` is the head's folder with agenteval.yaml."""

    inputs: Inputs
    runner: Runner
    folder: Path
    tool: Tool


def main() -> int:
    """Do it all and give the exit code; it is also an output, for steps that come after."""
    try:
        code = _code(inputs_from(os.environ), runner_from(os.environ))
    except StopError as stop:
        annotate("error", str(stop))
        code = stop.code
    except KeyboardInterrupt:
        code = _INTERRUPTED
    put_out("exit-code", str(code))
    return code


def _code(inputs: Inputs, runner: Runner) -> int:
    folder = (runner.workspace / inputs.folder).resolve()
    if not folder.is_dir():
        raise StopError(f"working-directory: there is no {inputs.folder} in the checkout; actions/checkout comes first")
    with group("agenteval: set up"):
        job = Job(inputs, runner, folder, installed(inputs.install, runner))
        plan = job.tool.kept("run", *inputs.selection, "--dry-run", folder=folder)
    if plan.code != 0:
        raise StopError(f"the head cannot be run: {plan.said}", plan.code)
    with contextlib.ExitStack() as stack:
        base = _base(job, stack)
        head = _head(job, base)
        base = _beside(base, head)
    put_out("base-run", base.run or "")
    put_out("head-run", head.run)
    return _told(job, base, head)


# ---- the two runs


def _base(job: Job, stack: contextlib.ExitStack) -> Base:
    """The run of the base; its checkout is there until the stack is closed."""
    if job.inputs.base == _BASELINE:
        return Base(_BASELINE)
    top = top_of(job.folder)
    commit = base_commit(top, job.inputs.base, job.runner.event)
    if commit is None:
        return Base(None, why="this is the first commit")
    with group(f"agenteval: the base, {commit[:12]}"):
        checkout = stack.enter_context(checked_out(top, commit, job.runner.temp))
        tree = checkout / job.folder.relative_to(top.resolve())
        above = [tree, *tree.parents][: len(tree.relative_to(checkout).parts) + 1]
        if not tree.is_dir() or not any((folder / _CONFIG).is_file() for folder in above):
            return Base(None, why=f"{commit[:12]} has no {_CONFIG} yet")
        if job.inputs.prepare:
            done = prepared(job.inputs.prepare, tree)
            if done.code != 0:
                return Base(None, why=f"`prepare` ended with {done.code}: {done.said}", failed=True)
        return _base_from(job.tool.kept("run", *_arguments(job, commit), folder=tree), commit)


def _arguments(job: Job, commit: str) -> list[str]:
    """Attempts that are there from an earlier run of the commit, as one that a cache brought here, are kept."""
    known = job.tool.kept("show", "--run", commit, "--json", folder=job.folder, quiet=True).json
    stood = known.get("git", {})
    same = stood.get("commit") == commit and stood.get("dirty") is False
    since = [f"--since={known['folder']}"] if same else []
    return [*job.inputs.selection, *since, "--json"]


def _base_from(made: Ran, commit: str) -> Base:
    """Files, cases or agents that are not there yet are no failure; whatever else kept it from running is."""
    if made.code == _INTERRUPTED:
        raise KeyboardInterrupt
    if made.code in _WITH_A_RESULT and "run" in made.json:
        return Base(made.json["run"], Path(made.json["folder"]))
    return Base(None, why=f"{commit[:12]} cannot be run: {made.said}", failed=made.code != USAGE)


def _head(job: Job, base: Base) -> Head:
    confirms = bool(job.inputs.confirm) and base.folder is not None
    confirm = [f"--confirm={job.inputs.confirm}", f"--against={base.folder}"] if confirms else []
    if confirms and job.inputs.prepare:
        confirm.append(f"--prepare={shlex.join(prepare_command(job.inputs.prepare))}")
    with group("agenteval: the head"):
        made = job.tool.kept("run", *job.inputs.selection, *confirm, "--json", folder=job.folder)
        if made.code == _INTERRUPTED:
            raise KeyboardInterrupt
        if "run" not in made.json:
            raise StopError(f"the head cannot be run: {made.said}", made.code)
        if base.run is not None:
            job.tool.shown("report", made.json["run"], folder=job.folder)
    unconfirmed = "" if made.code in _WITH_A_RESULT else made.said
    return Head(made.json["run"], Path(made.json["folder"]), unconfirmed)


def _beside(base: Base, head: Head) -> Base:
    """The base's run moved beside the head's, where it is found by its ID and stays."""
    if base.folder is None:
        return base
    place = head.folder.parent / base.folder.name
    shutil.move(base.folder, place)
    return replace(base, folder=place)


# ---- what they came to


def _told(job: Job, base: Base, head: Head) -> int:
    """Compare and report; the exit code."""
    compares = base.run is not None
    names = [base.run, head.run] if base.run is not None else [head.run]
    gate = job.inputs.gate
    if compares:
        done = job.tool.shown("diff", *names, *([f"--gate={gate}"] if gate else []), folder=job.folder)
    else:
        done = job.tool.shown("report", *names, "--gate", folder=job.folder)
    if done.code not in _WITH_A_RESULT:
        raise StopError(f"the runs cannot be compared: {done.said}", done.code)
    notes = list(_notes(base, head))
    for note in notes:
        annotate("warning", note)
        summarize(_quoted(note))
    rule = [f"--rule={gate}"] if gate and compares else []
    whole = _reported(job, [*names, *rule], notes)
    lacks = base.failed or head.unconfirmed or not whole
    return done.code or (INCOMPLETE if lacks else 0)


def _notes(base: Base, head: Head) -> list[str]:
    notes = []
    if base.run is None:
        words = "the head is judged by itself: all its cases must pass"
        notes.append(f"Nothing to compare with: {_cut(base.why)}. So {words}.")
    if head.unconfirmed:
        notes.append(f"What fell could not be confirmed: {_cut(head.unconfirmed)}")
    return notes


def _cut(words: str) -> str:
    return words if len(words) <= _MOST_OF_A_REASON else f"{words[:_MOST_OF_A_REASON]}…"


def _quoted(note: str) -> str:
    """A note in Markdown, where nothing in it means anything."""
    return f"> ⚠️ `{note.replace('`', chr(39))}`"


def _reported(job: Job, arguments: list[str], notes: list[str]) -> bool:
    """Files, annotations, the step's summary and the comment; whether all reports could be made."""
    folder = Path(tempfile.mkdtemp(prefix="agenteval-reports-", dir=job.runner.temp))
    codes = [
        job.tool.shown(
            "report", *arguments, f"--format={form}", f"--output={folder / name}", "-q", folder=job.folder
        ).code
        for form, name in _WRITTEN
    ]
    codes.append(job.tool.shown("report", *arguments, "--format=github", folder=job.folder).code)
    put_out("reports", str(folder))
    comment = folder / "comment.md"
    if job.inputs.comment and comment.is_file():
        _comment(job, [*map(_quoted, notes), comment.read_text(encoding="utf-8")])
    return not any(codes)


def _comment(job: Job, parts: list[str]) -> None:
    """A comment that cannot be made is no reason to fail: the verdict stands in the log and in the summary."""
    request = job.runner.request
    if request is None:
        print("no pull request, so no comment", flush=True)
        return
    body = "\n\n".join([*parts, f"[The whole of it]({job.runner.run_url})"])
    try:
        comments = Comments(job.runner.api, job.runner.repository, request, job.inputs.token)
        put_out("comment-url", comments.put(_marker(job.inputs), body))
    except CommentError as error:
        annotate("warning", f"no comment on the pull request: {error}")


def _marker(inputs: Inputs) -> str:
    """What our comment begins with, unseen. Jobs that do other things have comments of their own."""
    job = [os.environ.get(name) for name in ("GITHUB_WORKFLOW", "GITHUB_JOB")]
    name = hashlib.sha256(json.dumps([job, inputs.folder, inputs.base, inputs.selection]).encode()).hexdigest()[:16]
    return f"<!-- agenteval:{name} -->"


if __name__ == "__main__":
    sys.exit(main())
