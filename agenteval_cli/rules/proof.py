"""A case's own proof: what it says of its recording, and of an agent that does nothing."""

from __future__ import annotations

from agenteval_cli.rules.interface import Found, Rule, Subject
from agenteval_cli.rules.soundness import has_gate


def _recording_fails(case: Subject) -> Found:
    if "recording" not in case.data:
        return
    from agenteval_cli.proving import on_recording

    verdict = on_recording(case.data)
    if verdict.status not in ("passed", "ungraded"):
        yield ("recording",), f"the recording fails its own case: {verdict.reason}"


def nop_passes(case: Subject) -> Found:
    """Whether an agent that answers nothing and calls nothing would pass."""
    from agenteval_cli.proving import on_nothing

    if on_nothing(case.data).status == "passed" and not _needs_a_judge(case):
        yield (), "an agent that answers nothing and calls no tool passes this case"


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
)
