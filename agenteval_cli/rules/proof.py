"""A case's own proof: what it says of its recording, and of an agent that does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.rules.interface import Found, Rule


def _recording_fails(data: Mapping[str, Any]) -> Found:
    if "recording" not in data:
        return
    from agenteval_cli.proving import on_recording

    verdict = on_recording(data)
    if verdict.status not in ("passed", "ungraded"):
        yield ("recording",), f"the recording fails its own case: {verdict.reason}"


def nop_passes(data: Mapping[str, Any]) -> Found:
    """Whether an agent that answers nothing and calls nothing would pass."""
    from agenteval_cli.proving import on_nothing

    if on_nothing(data).status == "passed":
        yield (), "an agent that answers nothing and calls no tool passes this case"


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
