"""money: an amount of money in the answer, compared exactly in its currency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli import money as amounts
from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, no_answer, not_meant
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.compare import shown
from agenteval_cli.finding import OK, Finding
from agenteval_cli.mentions import WHICH, judged


def money(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """One of the amounts in the answer, or the one that is meant, is what is expected."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    operand, which = apart(check.expected)
    want = amounts.wanted(operand)
    words = judged(
        amounts.amounts_in(answer, want.mark, want.symbols),
        want.holds,
        which=which,
        noun="amount of money",
        wanted=str(want),
        settle=amounts.SETTLE,
    )
    return not_meant(words, check, answer) if words else OK


def apart(expected: Any) -> tuple[Any, str]:
    """What is expected, and which of several in the answer it is about."""
    if not isinstance(expected, Mapping):
        return expected, "any"
    return {key: value for key, value in expected.items() if key != "which"}, expected.get("which", "any")


def faults_of(name: str, read: Any) -> Any:
    """The faults of a check whose operand `read` refuses with a ValueError."""

    def faults(item: Mapping[str, Any]) -> Faults:
        operand, which = apart(item[name])
        if which not in WHICH:
            yield (name, "which"), f"{shown(which)} is not one of {', '.join(WHICH)}"
        try:
            read(operand)
        except ValueError as error:
            yield (name,), str(error)

    return faults


KINDS = {
    "money": Kind(
        money,
        "the answer has this amount, in its currency: a number with a currency's code, sign or name beside it",
        frozenset(),
        faults_of("money", amounts.wanted),
    )
}
