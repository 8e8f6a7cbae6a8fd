"""Schemas, reference answers and thresholds that every answer meets."""

from __future__ import annotations

from typing import Any

from agenteval_cli.rules.interface import Found, Subject

_DEMAND_NOTHING = frozenset({"$comment", "$defs", "$id", "$schema", "default", "description", "examples", "title"})


def takes_everything(schema: Any) -> bool:
    """Whether a JSON Schema has only keywords that describe."""
    return schema is True or (isinstance(schema, dict) and schema.keys() <= _DEMAND_NOTHING)


def references(case: Subject) -> Found:
    """An empty reference answer, where containing it is all that is asked."""
    if case.data.get("match") == "contains" and case.data.get("expected_output") == "":
        yield ("expected_output",), "every answer contains the empty text"


def criteria(case: Subject) -> Found:
    """Gates that the worst score passes; ratings on a scale are brought to 0..1 as well."""
    for path, part in case.parts:
        given = part.get("criteria", ())
        for index, item in enumerate(() if isinstance(given, str) else given):
            threshold = item.get("threshold") if isinstance(item, dict) and item.get("gate") is True else None
            if threshold in (0, 1) and threshold == _worst(item.get("metric")):
                yield (*path, "criteria", index, "threshold"), f"no score is worse than {threshold:g}"


def _worst(metric: str | None) -> int:
    """The worst score that a metric, or a rating, can give."""
    if metric is None:
        return 0
    from agenteval_cli.metrics.registry import METRICS

    return 1 if metric in METRICS and METRICS[metric].lower_is_better else 0
