"""What the tool server observed, put into what the agent answered: observed calls count, reported ones are a claim."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import msgspec

from agenteval_cli.endings import AgentFault, Answered, Ending, HarnessFault, OverLimit, TimedOut, UserFault
from agenteval_cli.observed_calls import Observed
from agenteval_cli.trajectory.identity import claimed_identity
from agenteval_cli.transcript import ToolCall, Transcript


def observed_in(ending: Ending, observed: Observed) -> Ending:
    """How the attempt ended, in the light of what its tools saw.

    A tool that could not be replayed spoils the attempt through no fault of the agent. Where the agent gave no answer
    after it went over a limit, or made more calls than are kept, the limit is why.
    """
    match ending:
        case Answered() | AgentFault() | TimedOut() | UserFault() if observed.broken is not None:
            return HarnessFault(observed.broken, ending.facts, tuple(_turns(ending.turns, observed)), ending.talk)
        case Answered() if observed.too_many is not None:
            return _over_limit(ending, observed.too_many, observed)
        case AgentFault() | TimedOut() if observed.over_limit is not None:
            return _over_limit(ending, observed.over_limit, observed)
        case Answered():
            return with_observed(ending, observed)
        case _:
            return msgspec.structs.replace(ending, turns=tuple(_turns(ending.turns, observed)))


def with_observed(answered: Answered, observed: Observed) -> Answered:
    """The answer with the observed calls and state, as a whole and turn by turn."""
    whole = _seen(answered.transcript, observed.calls, observed, observed.state)
    noted = msgspec.structs.replace(whole, notes=(*whole.notes, *_notes(observed)))
    return msgspec.structs.replace(answered, transcript=noted, turns=tuple(_turns(answered.turns, observed)))


def _over_limit(ending: Answered | AgentFault | TimedOut, why: str, observed: Observed) -> OverLimit:
    turns = tuple(_turns(ending.turns, observed))
    return OverLimit(ending.facts, why, turns, ending.talk)


def _turns(turns: tuple[Transcript, ...], observed: Observed) -> Iterator[Transcript]:
    start = 0
    for turn, end in zip(turns, observed.turns, strict=False):
        yield _seen(turn, observed.calls[start : end.calls], observed, end.state)
        start = end.calls
    yield from turns[len(observed.turns) :]


def _seen(transcript: Transcript, calls: tuple[ToolCall, ...], observed: Observed, state: object) -> Transcript:
    """Where tools change the state it is the ledger; else what the agent says of its own, if it says anything."""
    told = transcript.state
    return msgspec.structs.replace(
        transcript,
        tool_calls=_labelled(calls, transcript.tool_calls or ()),
        reported_calls=transcript.tool_calls,
        observed=True,
        state=state if observed.owns_state or told is msgspec.UNSET else told,
    )


def _labelled(calls: tuple[ToolCall, ...], claimed: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls with what a server cannot see: the ID and the agent that the agent reports of the same call."""
    claims: dict[Hashable, list[ToolCall]] = {}
    for claim in reversed(claimed):
        claims.setdefault(claimed_identity(claim), []).append(claim)
    told = [(call, claims.get(claimed_identity(call))) for call in calls]
    return tuple(_with_labels(call, same.pop()) if same else call for call, same in told)


def _with_labels(call: ToolCall, claim: ToolCall) -> ToolCall:
    return msgspec.structs.replace(call, id=claim.id, agent=claim.agent)


def _notes(observed: Observed) -> Iterator[str]:
    for mark in observed.marks:
        yield f"call {mark.call}: {mark.message}" if mark.call else mark.message
