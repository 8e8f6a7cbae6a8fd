"""Which cases are meant: a pure function of the cases and what was asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agenteval_cli.case import Case
from agenteval_cli.errors import UsageError
from agenteval_cli.problems import did_you_mean
from agenteval_cli.repository import LoadedCase
from agenteval_cli.tag_expression import tag_expression


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for; empty means all. `where` are texts as `metadata.intent=refund`, all of which must hold.

    `changed` are the IDs that differ from `changed_since`; None where that was not asked for.
    """

    tiers: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    tag: str | None = None
    owner: str | None = None
    where: tuple[str, ...] = ()
    changed_since: str | None = None
    changed: frozenset[str] | None = None


def selected(cases: Sequence[LoadedCase], selection: Selection) -> list[LoadedCase]:
    """The cases asked for. Raises UsageError for an unknown ID, an unreadable condition, and a selection of nothing."""
    _refuse_unknown_ids(cases, selection)
    asked = {wanted.casefold() for wanted in selection.cases}
    has_tags = tag_expression(selection.tag) if selection.tag is not None else None
    conditions = [_condition(text) for text in selection.where]
    if selection.owner is not None:
        conditions.append((("metadata", "owner"), selection.owner))

    def is_meant(case: Case) -> bool:
        return (
            (not asked or case.id.casefold() in asked)
            and (not selection.tiers or case.tier in selection.tiers)
            and (has_tags is None or has_tags(case.tags))
            and (selection.changed is None or case.id in selection.changed)
            and all(_holds(case.data, path, text) for path, text in conditions)
        )

    chosen = [loaded for loaded in cases if is_meant(loaded.case)]
    if not chosen:
        raise UsageError(f"nothing selected: none of the {len(cases)} cases is {_words(selection)}")
    return chosen


def _refuse_unknown_ids(cases: Sequence[LoadedCase], selection: Selection) -> None:
    ids = [loaded.case.id for loaded in cases]
    known = {case_id.casefold() for case_id in ids} if selection.cases else set()
    for wanted in selection.cases:
        if wanted.casefold() not in known:
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
    return " and ".join(parts) or "there"
