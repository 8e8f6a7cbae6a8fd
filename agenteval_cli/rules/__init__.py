"""What a valid case must be beyond its schema: named rules in a registry you can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agenteval_cli.errors import UsageError
from agenteval_cli.problems import Problem, did_you_mean
from agenteval_cli.rules import across, identity, proof, reading, sense, soundness
from agenteval_cli.rules.across import number_is_meant
from agenteval_cli.rules.interface import Rule
from agenteval_cli.rules.parts import subject
from agenteval_cli.yaml_reader import Document

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        rule.name: rule
        for rule in (*reading.RULES, *soundness.RULES, *sense.RULES, *proof.RULES, *across.RULES, *identity.RULES)
    }
)

_LOOKS = tuple((rule, rule.look) for rule in RULES.values() if rule.look is not None)


def known_rules(names: Sequence[str]) -> list[str]:
    """The names, each of them that of a rule. Raises UsageError for another, with the nearest one."""
    for name in names:
        if name not in RULES:
            near = did_you_mean(name, RULES) or "; `agenteval validate --explain all` lists them"
            raise UsageError(f"no rule '{name}'{near}")
    return list(names)


def problems_of(document: Document, data: Mapping[str, Any]) -> list[Problem]:
    """Every problem that one schema-valid case has by itself; `data` is the document's with its fixtures resolved."""
    case = subject(data)
    return [
        document.problem(path, rule.name, words, severity=rule.severity)
        for rule, look in _LOOKS
        for path, words in look(case)
    ]


__all__ = ["RULES", "Rule", "known_rules", "number_is_meant", "problems_of"]
