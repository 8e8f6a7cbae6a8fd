"""Which cases are meant: a pure function of the cases and what was asked for."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from agenteval_cli.case import Case
from agenteval_cli.errors import UsageError
from agenteval_cli.phrases import count
from agenteval_cli.problems import did_you_mean
from agenteval_cli.repository import Loaded, LoadedCase
from agenteval_cli.tag_expression import tag_expression


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for; empty means all. `where` are texts as `metadata.intent=refund`, all of which must hold.

    `cases` are IDs, or globs as `refund-*`. `changed` are the IDs that differ from `changed_since`, `failed` those that
    did not pass in the run `failed_in`; None where that was not asked for.
    """

    tiers: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    tag: str | None = None
    owner: str | None = None
    where: tuple[str, ...] = ()
    changed_since: str | None = None
    changed: frozenset[str] | None = None
    failed_in: str | None = None
    failed: frozenset[str] | None = None


def selected(cases: Sequence[LoadedCase], selection: Selection) -> list[LoadedCase]:
    """The cases asked for. Raises UsageError for an unknown ID, an unreadable condition, and a selection of nothing."""
    _refuse_unknown_ids(cases, selection)
    asked = _asked(selection)
    has_tags = tag_expression(selection.tag) if selection.tag is not None else None
    conditions = [_condition(text) for text in selection.where]
    if selection.owner is not None:
        conditions.append((("metadata", "owner"), selection.owner))

    def is_meant(case: Case) -> bool:
        return (
            (asked is None or asked(case.id))
            and (not selection.tiers or case.tier in selection.tiers)
            and (has_tags is None or has_tags(case.tags))
            and (selection.changed is None or case.id in selection.changed)
            and (selection.failed is None or case.id.casefold() in selection.failed)
            and all(_holds(case.data, path, text) for path, text in conditions)
        )

    chosen = [loaded for loaded in cases if is_meant(loaded.case)]
    if not chosen:
        raise UsageError(f"nothing selected: none of the {len(cases)} cases is {_words(selection)}")
    return chosen


def selected_of(loaded: Loaded, selection: Selection) -> list[LoadedCase]:
    """The cases asked for, of those that are valid. Where none is, the UsageError tells of files that are not."""
    try:
        return selected(loaded.cases, selection)
    except UsageError as error:
        if not loaded.errors:
            raise
        invalid = count(len({problem.file for problem in loaded.errors}), "file")
        raise UsageError(f"{error}; {invalid} with errors could not be asked: see `agenteval validate`") from error


def sampled(chosen: Sequence[LoadedCase], number: int, seed: int) -> list[LoadedCase]:
    """So many of the cases, drawn at random by the seed, in their order. Raises UsageError where there are fewer."""
    if number > len(chosen):
        raise UsageError(f"--sample {number}: only {len(chosen)} cases are selected")
    by_id = sorted(chosen, key=lambda loaded: loaded.case.id.casefold())
    drawn = {loaded.case.id for loaded in random.Random(seed).sample(by_id, number)}  # noqa: S311  # no secret
    return [loaded for loaded in chosen if loaded.case.id in drawn]


def is_glob(wanted: str) -> bool:
    """Whether a text names IDs by a pattern; IDs have none of these characters."""
    return any(character in wanted for character in "*?[")


def _asked(selection: Selection) -> Callable[[str], bool] | None:
    """Whether an ID was asked for; None where all are."""
    if not selection.cases:
        return None
    wanted = [text.casefold() for text in selection.cases]
    ids = {text for text in wanted if not is_glob(text)}
    globs = [text for text in wanted if is_glob(text)]
    return lambda case_id: case_id.casefold() in ids or any(fnmatchcase(case_id.casefold(), glob) for glob in globs)


def _refuse_unknown_ids(cases: Sequence[LoadedCase], selection: Selection) -> None:
    ids = [loaded.case.id for loaded in cases]
    known = {case_id.casefold() for case_id in ids} if selection.cases else set()
    for wanted in selection.cases:
        if is_glob(wanted) and not any(fnmatchcase(case_id, wanted.casefold()) for case_id in known):
            raise UsageError(f"no case ID is like '{wanted}'")
        if not is_glob(wanted) and wanted.casefold() not in known:
            raise UsageError(f"no case '{wanted}'{did_you_mean(wanted, ids)}")


def _condition(text: str) -> tuple[tuple[str, ...], str]:
    path, equals, value = text.partition("=")
    if not equals or not path:
        raise UsageError(f"--where '{text}' cannot be read; write it as: metadata.intent=refund")
    return tuple(path.split(".")), value


def _holds(data: Mapping[str, Any], path: Sequence[str], text: str) -> bool:
    """Whether the value at the path, as text or as JSON, is the text; of a list, whether it has it."""
    value: Any = data
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return any(text == (item if isinstance(item, str) else json.dumps(item)) for item in _listed(value))


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _words(selection: Selection) -> str:
    parts = [f"in tier {' or '.join(selection.tiers)}"] if selection.tiers else []
    parts += [f"called {' or '.join(selection.cases)}"] if selection.cases else []
    parts += [f"tagged '{selection.tag}'"] if selection.tag is not None else []
    parts += [f"owned by {selection.owner}"] if selection.owner is not None else []
    parts += [f"such that {' and '.join(selection.where)}"] if selection.where else []
    parts += [f"changed since {selection.changed_since}"] if selection.changed_since is not None else []
    parts += [f"failed in run {selection.failed_in}"] if selection.failed_in is not None else []
    return " and ".join(parts) or "there"
