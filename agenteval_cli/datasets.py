"""Datasets of records in the input/actualOutput form: each becomes a case and the answer to it, in memory.

A file is JSON (a list of records, or one), JSON lines, or YAML. Records that ask and expect the same are one case, with
an answer each. See interchange.py for what a record, or a conversation of several turns, is made into.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.case import case_from, filled
from agenteval_cli.conversation_form import checked_conversation, placed_conversation
from agenteval_cli.digests import canonical, digests_of
from agenteval_cli.document_files import documents_in
from agenteval_cli.errors import UsageError
from agenteval_cli.interchange import case_from_conversation, case_from_record
from agenteval_cli.record_form import checked_record, placed_record
from agenteval_cli.reported import transcript_from
from agenteval_cli.repository import LoadedCase
from agenteval_cli.transcript import Transcript

Data = dict[str, Any]
_MOST_SHOWN = 20


class Answer(msgspec.Struct, frozen=True):
    """A record as a case and the answer that it holds. `loaded.case.file` is its place, as `answers.jsonl:3`."""

    loaded: LoadedCase
    transcript: Transcript


def answers_in(
    file: str, raw: bytes, *, match: str | None = None, criteria: Sequence[str | Mapping[str, Any]] = ()
) -> list[Answer]:
    """The records of a dataset, in order; `match` and `criteria` as interchange.case_from_record takes them.

    Raises UsageError for what is no dataset, and with every record of it that makes no case or holds no answer.
    """
    answers: list[Answer] = []
    problems: list[str] = []
    first: dict[str, Answer] = {}
    for place, record in _records(file, raw):
        try:
            answer = _answer(place, record, match, criteria)
            _refuse_another(answer, first.setdefault(answer.loaded.case.id.casefold(), answer))
        except (TypeError, ValueError) as error:
            problems.append(f"{place}: {error}")
        else:
            answers.append(answer)
    if problems:
        more = [f"and {len(problems) - _MOST_SHOWN} more"] if len(problems) > _MOST_SHOWN else []
        raise UsageError("\n  ".join(("these records cannot be graded:", *problems[:_MOST_SHOWN], *more)))
    if not answers:
        raise UsageError(f"{file} has no records; nothing was graded")
    return answers


def _answer(place: str, record: Any, match: str | None, criteria: Sequence[str | Mapping[str, Any]]) -> Answer:
    if isinstance(record, dict) and "turns" in record:
        data = case_from_conversation(record, match=match, criteria=criteria)
        recording = placed_conversation(checked_conversation(record)).get("recording")
    else:
        data = case_from_record(record, match=match, criteria=criteria)
        recording = placed_record(checked_record(record, "")).get("recording")
    if recording is None:
        raise ValueError("it holds no answer: neither actualOutput nor toolCalls; there is nothing to grade")
    case = {key: value for key, value in data.items() if key != "recording"}
    loaded = LoadedCase(case_from(place, filled(case)), digests_of(case, canonical(case), {}))
    return Answer(loaded, transcript_from({"output": None, **recording}))


def _refuse_another(answer: Answer, first: Answer) -> None:
    """Raise ValueError where two records share an ID and are not the same case."""
    mine, other = answer.loaded.digests, first.loaded.digests
    if (mine.input, mine.grade) != (other.input, other.grade):
        case = first.loaded.case
        raise ValueError(f"it has the ID '{case.id}' of {case.file}, which asks or expects something else")


# ---- reading


def _records(file: str, raw: bytes) -> Iterator[tuple[str, Any]]:
    """Each record with its place: by line in JSON lines, else by number."""
    for place, record in documents_in(file, raw):
        yield (f"{file}#1" if place == file else place), record
