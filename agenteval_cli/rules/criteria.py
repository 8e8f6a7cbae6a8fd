"""Can a judge, or a measure, say something about these criteria at all?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agenteval_cli.compare import shown
from agenteval_cli.problems import did_you_mean
from agenteval_cli.rules.interface import Found, Path, Rule, Subject


def _listed(case: Subject) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Every criterion that is more than a text, with its path."""
    for path, part in case.parts:
        given = part.get("criteria", ())
        for index, item in enumerate(() if isinstance(given, str) else given):
            if not isinstance(item, str):
                yield (*path, "criteria", index), item


def _unknown_metrics(case: Subject) -> Found:
    for path, item in _listed(case):
        if "metric" not in item:
            continue
        from agenteval_cli.metrics.registry import METRICS

        name = item["metric"]
        if name not in METRICS:
            yield (
                (*path, "metric"),
                f"no metric '{name}'{did_you_mean(name, METRICS) or '; docs/metrics.md lists them'}",
            )
            continue
        for option in item.get("options", {}):
            if option not in METRICS[name].options:
                known = f"it has {', '.join(METRICS[name].options)}" if METRICS[name].options else "it has none"
                yield (*path, "options", option), f"{name} has no option '{option}'; {known}"


def _missing_fields(case: Subject) -> Found:
    for path, item in _listed(case):
        if "metric" not in item:
            continue
        from agenteval_cli.metrics.registry import METRICS

        metric = METRICS.get(item["metric"])
        for key in metric.case_needs if metric else ():
            if case.data.get(key) is None and not (key == "turns" and "simulation" in case.data):
                yield (*path, "metric"), f"{item['metric']} needs {key}, which this case does not have"


def _confused(case: Subject) -> Found:
    for path, item in _listed(case):
        scored = "metric" in item or "scale" in item
        if "metric" in item and ("text" in item or "steps" in item or "scale" in item):
            yield (*path, "metric"), "a criterion is a statement or a metric, not both; write two"
        if "threshold" in item and not scored:
            yield (*path, "threshold"), "there is no score to hold it against; give a scale or a metric"
        if item.get("rule") == "mean" and not scored:
            yield (*path, "rule"), "there are no scores to take the mean of; give a scale or a metric"
        if "options" in item and "metric" not in item:
            yield (*path, "options"), "only metrics have options"
        if "scale" in item and item["scale"][0] >= item["scale"][1]:
            yield (*path, "scale"), f"{shown(item['scale'])} does not go from the lowest rating to the highest"


def _named_twice(case: Subject) -> Found:
    seen: set[tuple[Path, str]] = set()
    for path, item in _listed(case):
        name = (path[:-1], item.get("id", ""))
        if item.get("id") and name in seen:
            yield (*path, "id"), f"another criterion here is called '{item['id']}'"
        seen.add(name)


RULES = (
    Rule(
        name="unknown-metric",
        summary="a metric, or an option of one, that there is not",
        why="It would be found out at every attempt, after the agent has run.",
        look=_unknown_metrics,
    ),
    Rule(
        name="missing-field",
        summary="a metric without the fields of the case that it is computed from",
        why="It can never say anything. docs/metrics.md says what each metric needs.",
        look=_missing_fields,
    ),
    Rule(
        name="confused-criterion",
        summary="a criterion whose keys do not go together",
        why="One of them would be ignored, and the criterion would not mean what it says.",
        look=_confused,
    ),
    Rule(
        name="duplicate-criterion",
        summary="two criteria of one name",
        why="Results are kept by name: one would be taken for the other.",
        look=_named_twice,
    ),
)
