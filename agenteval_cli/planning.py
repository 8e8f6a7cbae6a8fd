"""How often each chosen case runs, with which agent, and why: a pure function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from agenteval_cli.bars import Calibrations, bars
from agenteval_cli.case import Case
from agenteval_cli.config import Agent, Config
from agenteval_cli.errors import UsageError
from agenteval_cli.escape import as_text
from agenteval_cli.protocols import PROTOCOLS
from agenteval_cli.recordings import are_replayed
from agenteval_cli.records import PlannedCase
from agenteval_cli.repository import LoadedCase
from agenteval_cli.requests import request_for


def plan_for(
    chosen: Sequence[LoadedCase],
    config: Config,
    *,
    agent: str | None = None,
    attempts: int | None = None,
    calibrations: Calibrations = MappingProxyType({}),
    users: Mapping[str, str] = MappingProxyType({}),
) -> tuple[PlannedCase, ...]:
    """Each chosen case with its agent and number of attempts: as asked, else as the case says, else by default.

    `calibrations` say which judges may gate, `users` who plays the simulated user of a case by its ID. Raises
    UsageError where there is no such agent, and where a case cannot run with its agent or with its judges.
    """
    plan = tuple(_planned(loaded, config, agent, attempts, user=users.get(loaded.case.id, "")) for loaded in chosen)
    barred = [
        f"{loaded.case.file}: {words}"
        for loaded, planned in zip(chosen, plan, strict=True)
        for words in (
            *_unseen(loaded.case, config.agents[planned.agent]),
            *bars(loaded.case.data, config.judging, calibrations),
        )
    ]
    if barred:
        raise UsageError("these cases cannot run:\n  " + "\n  ".join(barred))
    return plan


def _planned(loaded: LoadedCase, config: Config, agent: str | None, attempts: int | None, *, user: str) -> PlannedCase:
    case = loaded.case
    if attempts is not None:
        number, why = attempts, "--attempts"
    elif case.attempts is not None:
        number, why = case.attempts, "attempts of the case"
    else:
        number, why = config.tier_attempts[case.tier], f"attempts of tier {case.tier}"
    return PlannedCase(
        case=case.id,
        file=as_text(case.file),
        title=case.title,
        tier=case.tier,
        tags=case.tags,
        agent=config.agent(agent or case.agent).name,
        attempts=number,
        min_pass_rate=case.min_pass_rate,
        quarantined=case.quarantined,
        digests=loaded.digests,
        reason=f"run: {why}",
        user=user,
        metadata=_plain_values(case.data.get("metadata", {})),
    )


def _plain_values(metadata: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    return {key: value for key, value in metadata.items() if isinstance(value, str | int | float | bool)}


def _unseen(case: Case, agent: Agent) -> Iterator[str]:
    if agent.protocol not in PROTOCOLS:
        return
    request = request_for(case, "", 0, "")
    if are_replayed(case.data.get("tools", ())):
        request.pop("state", None)  # it is that of the tools, which the agent sees them by
    for key in PROTOCOLS[agent.protocol].cannot_carry(request):
        yield f"{key}: agent '{agent.name}' would not see it; the {agent.protocol} protocol carries the input only"
    if agent.protocol == "text" and (len(case.turns) > 1 or case.role is not None):
        key = "turns" if case.role is None else "simulation"
        yield f"{key}: agent '{agent.name}' would not see what was said; the text protocol carries the input only"
    if case.files and agent.protocol == "jsonl":
        yield f"files: agent '{agent.name}' would not see them; a jsonl agent has one folder for all attempts"
