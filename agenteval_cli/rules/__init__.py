"""What a valid case must be beyond its schema: named rules in a registry you can read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agenteval_cli.problems import Problem
from agenteval_cli.rules import across, reading, soundness
from agenteval_cli.rules.across import has_id, number_is_meant, repeated_ids
from agenteval_cli.rules.interface import Rule
from agenteval_cli.yaml_reader import Document

RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.name: rule for rule in (*reading.RULES, *soundness.RULES, *across.RULES)}
)

_LOOKS = tuple((rule, rule.look) for rule in RULES.values() if rule.look is not None)


def problems_of(document: Document) -> list[Problem]:
    """Every problem that one schema-valid case has by itself."""
    return [
        document.problem(path, rule.name, words, severity=rule.severity)
        for rule, look in _LOOKS
        for path, words in look(document.data)
    ]


__all__ = ["RULES", "Rule", "has_id", "number_is_meant", "problems_of", "repeated_ids"]
