"""stop: why a conversation with a simulated user stopped."""

from __future__ import annotations

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.interface import Evidence, Kind
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, Finding
from agenteval_cli.talk import REPLAY_OVER, STOPS


def stop(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The conversation stopped for one of the named reasons. The end of a replay tells nothing of what would follow."""
    actual = evidence.stop
    wanted = [check.expected] if isinstance(check.expected, str) else check.expected
    if actual is None:
        words = "no simulated user took part in this conversation to its end"
        return Finding(NO_EVIDENCE, words, check.expected)
    if actual in wanted:
        return OK
    result = NO_EVIDENCE if actual == REPLAY_OVER else FAILED
    return Finding(result, f"the conversation stopped because {STOPS[actual]}", check.expected, actual)


KINDS = {"stop": Kind(stop, "the conversation with a simulated user stopped for this reason")}
