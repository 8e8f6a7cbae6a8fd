"""What a valid case must be beyond its schema: named rules in a registry you can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agenteval_cli.errors import UsageError
from agenteval_cli.problems import Problem, did_you_mean
from agenteval_cli.rules import across, criteria, identity, proof, reading, sense, simulation, soundness
from agenteval_cli.rules.across import number_is_meant
from agenteval_cli.rules.interface import Found, Rule, Subject
from agenteval_cli.rules.parts import subject
from agenteval_cli.yaml_reader import Document

OF_TOOLS = frozenset(
    {
        "bad-schema",
        "bad-argument",
        "bad-matcher",
        "duplicate-tool",
        "unclear-matcher",
        "unreachable-response",
    }
)
Looks = Sequence[tuple[Rule, Callable[[Subject], Found]]]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        rule.name: rule
        for family in (reading, soundness, criteria, simulation, sense, proof, across, identity)
        for rule in family.RULES
    }
)

# What a sound case is asked comes after what makes it sound: later rules trust what the earlier ones have looked at.
_SOUND = tuple(
    (rule, rule.look) for family in (soundness, criteria, simulation) for rule in family.RULES if rule.look is not None
)
_SENSIBLE = tuple((rule, rule.look) for rule in (*sense.RULES, *proof.RULES) if rule.look is not None)
_OF_TOOLS = tuple((rule, rule.look) for rule in RULES.values() if rule.name in OF_TOOLS and rule.look is not None)


def known_rules(names: Sequence[str]) -> list[str]:
    """The names, each of them that of a rule. Raises UsageError for another, with the nearest one."""
    for name in names:
        if name not in RULES:
            near = did_you_mean(name, RULES) or "; `agenteval validate --explain all` lists them"
            raise UsageError(f"no rule '{name}'{near}")
    return list(names)


def problems_of(document: Document, tools: Sequence[Mapping[str, Any]]) -> list[Problem]:
    """Every problem that one schema-valid case has by itself; `tools` is its inventory with fixtures resolved."""
    case = subject(document.data, tools)
    problems = _found(document, case, _SOUND)
    if any(problem.severity == "error" for problem in problems):
        return problems
    return problems + _found(document, case, _SENSIBLE)


def problems_of_fixture(document: Document) -> list[Problem]:
    """Every problem that the tools of one schema-valid fixture have by themselves."""
    return _found(document, subject({"tools": document.data["tools"]}), _OF_TOOLS)


def _found(document: Document, case: Subject, looks: Looks) -> list[Problem]:
    return [
        document.problem(path, rule.name, words, severity=rule.severity)
        for rule, look in looks
        for path, words in look(case)
    ]


__all__ = ["RULES", "Rule", "known_rules", "number_is_meant", "problems_of", "problems_of_fixture"]
