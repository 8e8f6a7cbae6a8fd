"""Cases in the forms that other tools know, and runs as batches: what `agenteval export` prints."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from agenteval_cli import yaml_reader
from agenteval_cli.batch_form import batch_of
from agenteval_cli.errors import UsageError
from agenteval_cli.forms import FORMS, form_of_case
from agenteval_cli.problems import did_you_mean
from agenteval_cli.records import AttemptRecord, TranscriptRecord
from agenteval_cli.repository import LoadedCase, Repository
from agenteval_cli.store import Run, read_transcript

Data = dict[str, Any]


class Export(msgspec.Struct, frozen=True):
    """A case in a form; `carries` where it has more than the form, which travels in the document's metadata."""

    id: str
    form: str
    document: Data
    carries: bool


def export_of(repository: Repository, cases: Sequence[LoadedCase], form: str | None) -> list[Export]:
    """The cases in the form, or each in the one that fits it. Raises UsageError with every case that it cannot hold."""
    exports, faults = [], []
    for loaded in cases:
        try:
            exports.append(_export(repository, loaded, form))
        except ValueError as error:
            faults.append(f"{loaded.case.id}: {error}")
    if faults:
        raise UsageError("\n  ".join(("nothing was exported:", *faults)))
    return exports


def _export(repository: Repository, loaded: LoadedCase, name: str | None) -> Export:
    data = _as_written(repository, loaded)
    form = FORMS[name] if name else form_of_case(data)
    document = form.from_case(data)
    tested = document["turns"][-1] if "turns" in document else document
    return Export(loaded.case.id, form.name, document, "agenteval_case" in tested.get("metadata", {}))


def _as_written(repository: Repository, loaded: LoadedCase) -> Data:
    """The case's own data, without its variables filled in and its fixtures resolved."""
    file = loaded.case.file
    document = yaml_reader.read(file, (repository.root / file).read_bytes()).document
    if document is None:
        raise UsageError(f"{file} changed while it was read; try again")
    data: Data = document.data
    return data


# ---- a run


def batch(run: Run, wanted: Sequence[str]) -> Data:
    """The run as a batch: all cases, or those asked for by ID or glob. Raises UsageError for one that it has not."""
    ids = [planned.case for planned in run.record.plan]
    chosen = {case for text in wanted for case in _matching(run, ids, text)} if wanted else set(ids)
    return batch_of(run, chosen, lambda attempt: _transcript(run, attempt))


def _matching(run: Run, ids: Sequence[str], text: str) -> list[str]:
    found = [case for case in ids if fnmatchcase(case.casefold(), text.casefold())]
    if not found:
        raise UsageError(f"run {run.record.id} has no case '{text}'{did_you_mean(text, ids)}")
    return found


def _transcript(run: Run, attempt: AttemptRecord) -> TranscriptRecord | None:
    try:
        return read_transcript(run, attempt)
    except UsageError:  # lost or torn: how the attempt ended is known all the same
        return None
