"""A case's own proof: what it says of its recording, and of an agent that does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agenteval_cli.rules.interface import Found, Rule, Subject
from agenteval_cli.rules.soundness import has_gate

if TYPE_CHECKING:
    from agenteval_cli.mutants import Mutation

_SHOWN = 8  # changes that a warning has room for


def _recording_fails(case: Subject) -> Found:
    if "recording" not in case.data:
        return
    from agenteval_cli.proving import on_recording

    verdict = on_recording({**case.data, "tools": case.tools} if case.tools else case.data)
    if verdict.status not in ("passed", "ungraded"):
        yield ("recording",), f"the recording fails its own case: {verdict.reason}"


def nop_passes(case: Subject) -> Found:
    """Whether an agent that answers nothing and calls nothing would pass."""
    from agenteval_cli.proving import on_nothing

    if on_nothing(case.data).status == "passed" and not _needs_a_judge(case):
        yield (), "an agent that answers nothing and calls no tool passes this case"


def weak(mutation: Mutation) -> Found:
    """What became of the changes of a recording, where some of them pass."""
    if mutation.survivors:
        more = len(mutation.survivors) - _SHOWN
        listed = "; ".join((*mutation.survivors[:_SHOWN], *([f"and {more} more"] if more > 0 else [])))
        yield ("recording",), f"{len(mutation.survivors)} of {mutation.mutants} changes of the recording pass: {listed}"


def _needs_a_judge(case: Subject) -> bool:
    """Whether a criterion gates or turns have checks, which this grading does not reach."""
    return "turns" in case.data or any(has_gate(part.get("criteria", ())) for _, part in case.parts)


RULES = (
    Rule(
        name="recording-fails",
        summary="a recording that fails its own case",
        why="The recording is the proof that the case can be passed. Either it or the checks are out of date.",
        look=_recording_fails,
    ),
    Rule(
        name="nop-passes",
        summary="a case that an agent doing nothing passes (only with --prove)",
        why="Rules that only forbid are met by silence. Require something as well.",
    ),
    Rule(
        name="weak-case",
        summary="changes of the recording that its case would let pass (only with --prove)",
        why="Each named change was made to the recording, and the case passed all the same. Not each has to be "
        "noticed: a call that matters should be required, with the arguments that matter.",
        severity="warning",
    ),
)
