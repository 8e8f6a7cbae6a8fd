"""plan: what the reported reasoning shows of a plan; its steps are PLAN, THOUGHT, OBSERVATION and ACTION."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, PASSED, Finding
from agenteval_cli.trajectory.evidence import Evidence
from agenteval_cli.transcript import ReasoningStep


def plan(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """A PLAN step without any words is none."""
    rule = constraints.plan
    if rule is None:
        return
    plans = [at for at, thought in enumerate(evidence.reasoning) if thought.type == "PLAN" and thought.content.strip()]
    if rule.required:
        words = f"none of the {len(evidence.reasoning)} reasoning steps is a PLAN"
        yield "plan.required", OK if plans else Finding(FAILED, words, expected="a PLAN step")
    if rule.before_action:
        yield "plan.before_action", _before_action(evidence, plans)
    if rule.names_tools:
        yield "plan.names_tools", _names_tools(evidence, plans)


def _actions(evidence: Evidence) -> list[tuple[int, ReasoningStep]]:
    return [(at, thought) for at, thought in enumerate(evidence.reasoning) if thought.type == "ACTION"]


def _before_action(evidence: Evidence, plans: list[int]) -> Finding:
    actions = _actions(evidence)
    if not actions:
        if evidence.calls:
            return Finding(NO_EVIDENCE, "tools were called, but no ACTION step tells when")
        return Finding(PASSED, "did not come up: there was no action")
    first = actions[0][0]
    if plans and plans[0] < first:
        return OK
    came = f"the first PLAN is step {plans[0] + 1}" if plans else "there is no PLAN"
    return Finding(
        FAILED, f"reasoning step {first + 1} is an ACTION; {came}", expected="a PLAN before the first ACTION"
    )


def _names_tools(evidence: Evidence, plans: list[int]) -> Finding:
    """Each ACTION's call is named in a PLAN that came before it."""
    tool_of = {call.id: call.name for call in evidence.calls if call.id is not None}
    named = [(at, thought.tool_call) for at, thought in _actions(evidence) if thought.tool_call is not None]
    for at, call_id in named:
        if call_id not in tool_of:
            return Finding(NO_EVIDENCE, f"reasoning step {at + 1} is for the call '{call_id}', which nobody reported")
        tool = tool_of[call_id]
        text = _plain("\n".join(evidence.reasoning[place].content for place in plans if place < at))
        if not re.search(rf"(?<!\w){re.escape(_plain(tool))}(?!\w)", text):
            words = f"reasoning step {at + 1} is for {tool}, which no PLAN before it names"
            return Finding(FAILED, words, expected="each called tool in a PLAN", actual=tool)
    if named:
        return OK
    if evidence.calls:
        return Finding(NO_EVIDENCE, "tools were called, but no ACTION step says which call it is for")
    return Finding(PASSED, "did not come up: no tool was called")


def _plain(text: str) -> str:
    """Case, and the signs between the words of a name, are not compared."""
    return re.sub(r"[\s_-]+", " ", text.casefold())
