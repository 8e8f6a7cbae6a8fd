"""date: a date in the answer, however it is written."""

from __future__ import annotations

from agenteval_cli import dates
from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, no_answer, not_meant
from agenteval_cli.checks.interface import Evidence, Kind
from agenteval_cli.checks.money import apart, faults_of
from agenteval_cli.finding import OK, Finding
from agenteval_cli.mentions import judged


def date(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """One of the dates in the answer, or the one that is meant, is a day that is expected."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    operand, which = apart(check.expected)
    want = dates.wanted(operand)
    words = judged(
        dates.dates_in(answer, want.order),
        want.holds,
        which=which,
        noun="date",
        wanted=str(want),
        settle=dates.SETTLE,
    )
    return not_meant(words, check, answer) if words else OK


KINDS = {
    "date": Kind(
        date, "the answer has this day, or one from a day to another", frozenset(), faults_of("date", dates.wanted)
    )
}
