"""Rules over the path: siblings behind one interface, in a registry you can read.

A rule takes the case's constraints and the evidence of one attempt, and yields one Finding per constraint with its
place in the case. It does no I/O. Where the evidence lacks what it asks for, the result is no_evidence, never a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, PASSED, CheckResult, Finding
from agenteval_cli.patterns import PatternTimeoutError
from agenteval_cli.trajectory.calls import calls
from agenteval_cli.trajectory.claims import DEFAULT as DEFAULT_CLAIMS
from agenteval_cli.trajectory.claims import claims
from agenteval_cli.trajectory.confirm_before import confirm_before
from agenteval_cli.trajectory.evidence import Evidence, NoEvidenceError
from agenteval_cli.trajectory.forbidden import forbidden
from agenteval_cli.trajectory.handoffs import handoffs
from agenteval_cli.trajectory.loops import loops
from agenteval_cli.trajectory.matching import ANYTHING
from agenteval_cli.trajectory.max_repeats import max_repeats
from agenteval_cli.trajectory.only import only
from agenteval_cli.trajectory.order import order
from agenteval_cli.trajectory.plan import plan
from agenteval_cli.trajectory.recovery import recovery
from agenteval_cli.trajectory.required import depend_on_untold, held_by_more, required
from agenteval_cli.trajectory.unknown_tool import unknown_tool
from agenteval_cli.trajectory.valid_arguments import valid_arguments
from agenteval_cli.transcript import Transcript

Findings = Iterator[tuple[str, Finding]]
Rule = Callable[[Trajectory, Evidence], Findings]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "required": required,
        "forbidden": forbidden,
        "only": only,
        "order": order,
        "calls": calls,
        "recovery": recovery,
        "max_repeats": max_repeats,
        "loops": loops,
        "valid_arguments": valid_arguments,
        "unknown_tool": unknown_tool,
        "confirm_before": confirm_before,
        "plan": plan,
        "handoffs": handoffs,
        "claims": claims,
    }
)
# These are looked at without being asked for, and then speak only where they are broken: a case that did not ask for
# them is not passed by them.
STANDING = frozenset({"valid_arguments", "unknown_tool", "claims"})
_PAIRING = frozenset({"required", "calls"})
# What one more call cannot mend; of all else but some requirements a call that is missing may decide either way.
_NEVER_MENDED = frozenset({"forbidden", "only", "max_repeats", "loops", "valid_arguments", "unknown_tool"})


def checked(constraints: Trajectory, transcript: Transcript) -> Iterator[CheckResult]:
    """Every constraint decided on one transcript."""
    evidence = Evidence(transcript)
    held = held_by_more(constraints)
    for name, rule in RULES.items():
        asked = getattr(constraints, name) is not None
        if not asked and not (constraints.standing and name in STANDING):
            continue
        severity = (constraints.claims or DEFAULT_CLAIMS) if name == "claims" else "error"
        for place, found in _decided(name, rule, constraints, evidence):
            stands = {FAILED} if name in _NEVER_MENDED else {PASSED} if place in held else set()
            finding = _as_far_as_known(stands, found, evidence)
            if asked or finding.result == FAILED:
                yield finding.named(f"trajectory.{place}", "trajectory", severity=severity)


def _decided(name: str, rule: Rule, constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    try:
        found = rule(constraints, evidence)
        yield from _either_way(rule, constraints, evidence, found) if name in _PAIRING else found
    except NoEvidenceError as missing:
        yield name, Finding(NO_EVIDENCE, str(missing))
    except PatternTimeoutError as error:
        yield name, Finding(ERROR, str(error))


def _as_far_as_known(stands: set[str], finding: Finding, evidence: Evidence) -> Finding:
    """The finding, unless calls may be missing that would have made it another one; `stands` are results that hold."""
    if not evidence.may_lack_calls or finding.result in {*stands, NO_EVIDENCE, ERROR}:
        return finding
    return Finding(NO_EVIDENCE, "a part of the transcript is broken, so that calls may be missing", finding.expected)


def _either_way(rule: Rule, constraints: Trajectory, evidence: Evidence, found: Findings) -> Findings:
    """What comes out whether calls whose arguments nobody told fit no pattern or every one, else no evidence."""
    untold = next((at for at, call in enumerate(evidence.calls) if call.arguments is None), None)
    if untold is None:
        yield from found
        return
    other = dict(rule(constraints, evidence.with_arguments(ANYTHING)))
    between = depend_on_untold(constraints, evidence.calls) if rule is required else frozenset()
    words = f"nothing tells the arguments of step {untold + 1}, {evidence.calls[untold].name}"
    for place, finding in found:
        same = other[place].result == finding.result and place not in between
        yield place, finding if same else Finding(NO_EVIDENCE, words, finding.expected)
