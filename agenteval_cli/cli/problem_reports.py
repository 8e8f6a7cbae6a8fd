"""Problems of files in the forms that other programs read: GitHub's workflow commands, and SARIF 2.1.0."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from agenteval_cli import __version__
from agenteval_cli.escape import for_github_data, for_github_property
from agenteval_cli.problems import Problem
from agenteval_cli.rules import RULES


def github(problems: Iterable[Problem]) -> Iterator[str]:
    """Annotations on the file's own lines."""
    for problem in problems:
        place = {"file": problem.file, "line": problem.line, "col": problem.column, "title": problem.rule}
        properties = ",".join(f"{key}={for_github_property(str(value))}" for key, value in place.items())
        where = f"{problem.path}: " if problem.path else ""
        yield f"::{problem.severity} {properties}::{for_github_data(where + problem.message)}"


def sarif(problems: Iterable[Problem]) -> dict[str, Any]:
    """One SARIF log with one run."""
    problems = list(problems)
    used = dict.fromkeys(problem.rule for problem in problems)
    rules = [_sarif_rule(name) for name in used]
    driver = {"name": "agenteval", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": list(map(_result, problems))}
        ],
    }


def _sarif_rule(name: str) -> dict[str, Any]:
    rule = RULES.get(name)
    if rule is None:
        return {"id": name}
    return {"id": name, "shortDescription": {"text": rule.summary}, "help": {"text": rule.why}}


def _result(problem: Problem) -> dict[str, Any]:
    where = f"{problem.path}: " if problem.path else ""
    region = {"startLine": problem.line, "startColumn": problem.column}
    location = {"artifactLocation": {"uri": quote(os.fsencode(problem.file))}, "region": region}
    return {
        "ruleId": problem.rule,
        "level": problem.severity,
        "message": {"text": where + problem.message},
        "locations": [{"physicalLocation": location}],
    }
