"""Judges: a command or an endpoint behind one interface."""

from __future__ import annotations

from agenteval_cli.judge_config import CommandSettings, Endpoint
from agenteval_cli.judges.command import CommandJudge
from agenteval_cli.judges.endpoint import EndpointJudge
from agenteval_cli.judges.interface import Judge
from agenteval_cli.judges.ready import ReadyJudge, embeddings_key, made_ready
from agenteval_cli.process import Processes

__all__ = [
    "EndpointJudge",
    "Judge",
    "ReadyJudge",
    "embeddings_key",
    "judge_for",
    "made_ready",
]


def judge_for(ready: ReadyJudge, processes: Processes) -> Judge:
    """What asks it."""
    match ready.config.asked:
        case CommandSettings(timeout=timeout):
            return CommandJudge(ready.argv, ready.env, timeout, processes)
        case Endpoint() as endpoint:
            return EndpointJudge(endpoint, ready.key)
