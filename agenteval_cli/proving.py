"""A case graded without an agent: on its own recording, on changes of it, and on an agent that does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.case import case_from, filled
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.grading import Verdict, verdict_on
from agenteval_cli.mutants import Mutation, mutation_of
from agenteval_cli.reported import transcript_from
from agenteval_cli.transcript import Transcript

# It answers with an empty text, calls nothing, thinks nothing, spends nothing and leaves the state as it was.
_NOTHING = {"output": "", "tool_calls": [], "usage": {"total_tokens": 0}, "cost": "0"}


def on_recording(data: Mapping[str, Any]) -> Verdict:
    """The verdict on the case's recording; `data` satisfies the schema and has one."""
    return _verdict(data, transcript_from(data["recording"]))


def mutation_of_recording(data: Mapping[str, Any]) -> Mutation | None:
    """How many changes of the case's recording it would notice; None where it has none that passes."""
    if "recording" not in data:
        return None
    return mutation_of(case_from("", filled(dict(data))), transcript_from(data["recording"]))


def on_nothing(data: Mapping[str, Any]) -> Verdict:
    """The verdict on an agent that does nothing."""
    return _verdict(data, transcript_from({**_NOTHING, "state": data.get("state", {})}))


def _verdict(data: Mapping[str, Any], transcript: Transcript) -> Verdict:
    return verdict_on(case_from("", filled(dict(data))), Answered(Facts(), transcript))
