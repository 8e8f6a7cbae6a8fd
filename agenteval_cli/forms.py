"""The forms that other tools keep their cases in, by name: how each is told, and the ways to a case and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from agenteval_cli import interchange
from agenteval_cli.json_values import kind_of

Data = dict[str, Any]


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What is added to documents: how an expected output is compared, criteria, and fixtures by their IDs."""

    match: str | None = None
    criteria: tuple[Any, ...] = ()
    fixtures: Collection[str] = ()


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """A form of documents. Those that have `told_by` are of it, as are cases with one of `of_cases`.

    `to_case` and `from_case` raise TypeError and ValueError as interchange says.
    """

    name: str
    told_by: str
    of_cases: str
    to_case: Callable[[Any, Wishes], Data]
    from_case: Callable[[Data], Data]


def _record_to_case(document: Any, wishes: Wishes) -> Data:
    return interchange.case_from_record(document, match=wishes.match, criteria=wishes.criteria)


def _conversation_to_case(document: Any, wishes: Wishes) -> Data:
    return interchange.case_from_conversation(document, match=wishes.match, criteria=wishes.criteria)


def _simulation_to_case(document: Any, wishes: Wishes) -> Data:
    return interchange.case_from_simulation(document, criteria=wishes.criteria, fixtures=wishes.fixtures)


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        form.name: form
        for form in (
            Form(
                name="simulation",
                told_by="userPrompt",
                of_cases="simulation",
                to_case=_simulation_to_case,
                from_case=interchange.simulation_from_case,
            ),
            Form(
                name="conversation",
                told_by="turns",
                of_cases="conversation",
                to_case=_conversation_to_case,
                from_case=interchange.conversation_from_case,
            ),
            Form(
                name="record",
                told_by="input",
                of_cases="input",
                to_case=_record_to_case,
                from_case=interchange.record_from_case,
            ),
        )
    }
)


def form_of(document: Any) -> Form:
    """The form of a document, told by its keys. Raises TypeError and ValueError where it has none."""
    if not isinstance(document, dict):
        raise TypeError(f"a document is a mapping, not {kind_of(document)}")
    if "schema" in document:
        raise ValueError("this is a case file already; put it under the cases, or `agenteval new --stdin` it")
    found = next((form for form in FORMS.values() if form.told_by in document), None)
    if found is None:
        keys = ", ".join(form.told_by for form in FORMS.values())
        raise ValueError(f"it has none of {keys}, so nobody knows what it is; say it with --form")
    return found


def form_of_case(data: Mapping[str, Any]) -> Form:
    """The form that a case is given in where none is asked for. Raises ValueError where none can stand for it."""
    found = next((form for form in FORMS.values() if form.of_cases in data), None)
    if found is None or "turns" in data:
        raise ValueError("no form has a place for turns that are checked one by one")
    return found
