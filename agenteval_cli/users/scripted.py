"""A user that goes by rules: pure, and without a memory of its own.

Which rules are used up follows from the turns so far, since each of them was chosen in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from agenteval_cli.asking import NoAnswerError
from agenteval_cli.compare import ABSENT, shown
from agenteval_cli.matchers import mismatch
from agenteval_cli.patterns import PatternTimeoutError
from agenteval_cli.simulation import Role, Rule, names_in, told
from agenteval_cli.talk import Exchange
from agenteval_cli.users.interface import NoRuleLeftError, Spoken

_LONGEST_ANSWER = 200  # characters of an answer that are quoted


class ScriptedUser:
    """Says what the first rule says that matches the agent's last answer and is not used up; the case's come first."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)

    def speak(self, role: Role, talk: Sequence[Exchange], seed: int) -> Spoken:  # noqa: ARG002  # nothing is left to chance
        rules = (*role.script, *self._rules)
        used: Counter[int] = Counter()
        chosen: int | None = None
        answer: Any = ABSENT
        for answer in _answers(role, talk):
            chosen = _chosen(rules, used, answer)
            if chosen is not None:
                used[chosen] += 1
        if chosen is None:
            raise NoRuleLeftError(_no_rule(answer, bool(rules)))
        rule = rules[chosen]
        unknown = next((name for name in names_in(rule.say or "") if name not in role.knows), None)
        if unknown is not None:
            raise NoAnswerError(f"its rule says {{{{{unknown}}}}}, and the user of this case knows no '{unknown}'")
        say = told(rule.say, role.knows)
        return Spoken(say=say, done=rule.done, gives_up=rule.gives_up)

    def close(self) -> None:
        """Nothing is kept open."""


def _answers(role: Role, talk: Sequence[Exchange]) -> Iterator[Any]:
    """The answer before each time the user was asked, and the last one; ABSENT where there was none yet."""
    if role.opening is None:
        before = role.before[-1].agent if role.before else None
        yield ABSENT if before is None else before
    for exchange in talk:
        yield exchange.agent


def _chosen(rules: Sequence[Rule], used: Counter[int], answer: Any) -> int | None:
    """Which rule is the next, by its place."""
    for index, rule in enumerate(rules):
        if (rule.times is None or used[index] < rule.times) and _matches(rule, answer):
            return index
    return None


def _matches(rule: Rule, answer: Any) -> bool:
    if rule.when is UNSET:
        return True
    try:
        return answer is not ABSENT and mismatch(rule.when, answer) is None
    except PatternTimeoutError as error:
        raise NoAnswerError(f"its rule cannot be decided: {error}") from error


def _no_rule(answer: Any, has_rules: bool) -> str:
    if not has_rules:
        return "it has no rules; give the case a simulation.script, or the user rules under scripted in agenteval.yaml"
    if answer is ABSENT:
        return "no rule of its script says how to begin; add one without when, or give the case an opening"
    words = f"no rule of its script is left for the agent's answer {shown(answer, _LONGEST_ANSWER)}"
    return f"{words}; add one that matches it, or one without when"
