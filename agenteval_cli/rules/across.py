"""Rules over all the cases together, or over the calendar: what one file alone cannot say."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from agenteval_cli.problems import Problem
from agenteval_cli.rules.interface import Rule
from agenteval_cli.yaml_reader import Document

# Where a number is what is wanted, 1.0 is not a text that lost its quotes.
_NUMBERS = frozenset(
    {
        "min_pass_rate",
        "attempts",
        "threshold",
        "times",
        "gt",
        "gte",
        "lt",
        "lte",
        "between",
        "approx",
        "value",
        "within",
    }
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)


def number_is_meant(problem: Problem) -> bool:
    """Whether a warning about a number that could have been text is beside the point where it stands."""
    return problem.rule == "yaml-number" and not _NUMBERS.isdisjoint(re.split(r"[.\[\]]+", problem.path))


def has_id(document: Document) -> bool:
    """Whether the document says which case it is, valid or not."""
    return isinstance(document.data, dict) and isinstance(document.data.get("id"), str)


def repeated_ids(documents: Iterable[Document], asked: Collection[str] | None = None) -> Iterator[Problem]:
    """IDs that more than one file has, ignoring case: each file is told of another, the first of all of the second.

    Only the files in `asked` are told, where it is given.
    """
    holders: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        if has_id(document):
            holders[document.data["id"].casefold()].append(document)
    for same in holders.values():
        for index, document in enumerate(same if len(same) > 1 else ()):
            if asked is None or document.file in asked:
                other = same[1] if index == 0 else same[0]
                words = f"the ID '{document.data['id']}' is also that of {other.file}; IDs are unique, ignoring case"
                yield document.problem(("id",), "duplicate-id", words)


RULES = (
    Rule(
        name="duplicate-id",
        summary="two files have the same ID, ignoring case",
        why="Runs are joined by ID. Two branches that each took the next number merge cleanly; give the younger case a "
        "new ID, as `agenteval new` makes them.",
    ),
)
