"""How often each chosen case runs, with which agent, and why: a pure function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agenteval_cli.case import Case
from agenteval_cli.config import Agent, Config
from agenteval_cli.errors import UsageError
from agenteval_cli.escape import as_text
from agenteval_cli.protocols import PROTOCOLS
from agenteval_cli.records import PlannedCase
from agenteval_cli.repository import LoadedCase
from agenteval_cli.requests import request_for


def plan_for(
    chosen: Sequence[LoadedCase], config: Config, *, agent: str | None = None, attempts: int | None = None
) -> tuple[PlannedCase, ...]:
    """Each chosen case with its agent and number of attempts: as asked, else as the case says, else by default.

    Raises UsageError where there is no such agent, and where a case cannot run in this version or with its agent.
    """
    plan = tuple(_planned(loaded, config, agent, attempts) for loaded in chosen)
    _refuse_what_cannot_run(
        [(loaded.case, config.agents[planned.agent]) for loaded, planned in zip(chosen, plan, strict=True)]
    )
    return plan


def _planned(loaded: LoadedCase, config: Config, agent: str | None, attempts: int | None) -> PlannedCase:
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
    )


def _refuse_what_cannot_run(chosen: Sequence[tuple[Case, Agent]]) -> None:
    lines = [
        f"{case.file}: {words}" for case, agent in chosen for words in (*_unsupported(case), *_unseen(case, agent))
    ]
    if lines:
        raise UsageError("these cases cannot run:\n  " + "\n  ".join(lines))


def _unseen(case: Case, agent: Agent) -> Iterator[str]:
    if agent.protocol not in PROTOCOLS:
        return
    request = request_for(case, "", 0, "")
    for key in PROTOCOLS[agent.protocol].cannot_carry(request):
        yield f"{key}: agent '{agent.name}' would not see it; the {agent.protocol} protocol carries the input only"


def _unsupported(case: Case) -> Iterator[str]:
    """Fields that are valid, and that this version does not act on yet: refused, never ignored."""
    data = case.data
    yield from (f"{key}: not supported yet" for key in ("turns", "simulation", "criteria") if key in data)
    if data.get("match") in ("similar", "judged"):
        yield f"match: {data['match']}: not supported yet"
    for index, tool in enumerate(data.get("tools", ())):
        yield from (
            f"tools[{index}].{key}: not supported yet" for key in ("use", "responses", "unmatched") if key in tool
        )
    trajectory = data.get("trajectory", {})
    yield from (f"trajectory.{key}: not supported yet" for key in ("calls", "recovery", "plan") if key in trajectory)
    for index, check in enumerate(data.get("outcome", ())):
        if "turn" in check:
            yield f"outcome[{index}].turn: not supported yet"
