"""Several turns of one conversation: what the agent is asked next, and what all its answers come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from agenteval_cli.phrases import as_text
from agenteval_cli.transcript import ToolCall, Transcript, Usage
from agenteval_cli.units import amount

Item = TypeVar("Item")


def opened(request: Mapping[str, Any], said: Any) -> dict[str, Any]:
    """The request of the first turn, where what the user says was not known before."""
    return {**request, "messages": [*request["messages"], {"role": "user", "content": said}], "input": said}


def next_request(request: Mapping[str, Any], answer: Transcript, said: Any) -> dict[str, Any]:
    """The request of the next turn: the history goes on with what the agent answered, not with what was expected."""
    history = [*request["messages"], {"role": "assistant", "content": answer.output}, {"role": "user", "content": said}]
    following = {**request, "messages": history, "input": said}
    if answer.state is not msgspec.UNSET:
        following["state"] = answer.state
    return following


def joined(turns: Sequence[Transcript]) -> Transcript:
    """The turns as one transcript: the last answer and state, all calls and thoughts, sums where every turn tells."""
    last = turns[-1]
    return Transcript(
        output=last.output,
        messages=_all(turn.messages for turn in turns),
        tool_calls=_calls(turn.tool_calls for turn in turns),
        reported_calls=_calls(turn.reported_calls for turn in turns),
        observed=all(turn.observed for turn in turns),
        reasoning=_all(turn.reasoning for turn in turns),
        retrieval_context=_all(turn.retrieval_context for turn in turns),
        usage=_usage([turn.usage for turn in turns]),
        cost=_cost([turn.cost for turn in turns]),
        latency_ms=_sum([turn.latency_ms for turn in turns], sum),
        state=last.state,
        model=last.model,
        trace_id=last.trace_id,
        files=last.files,
        bytes_replaced=any(turn.bytes_replaced for turn in turns),
        partial=any(turn.partial for turn in turns),
        notes=tuple(dict.fromkeys(note for turn in turns for note in turn.notes)),
    )


def asked_in(message: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name and arguments of each call that a message of the request asks for, under `function` or not."""
    for part in message.get("tool_calls") or ():
        call = part["function"] if isinstance(part.get("function"), dict) else part
        yield str(call.get("name")), call.get("arguments")


def asked_in_words(message: Mapping[str, Any]) -> list[str]:
    """Each of those calls as a line that can be read."""
    return [f"calls {name}({'' if given is None else as_text(given)})" for name, given in asked_in(message)]


def _all(parts: Iterable[tuple[Item, ...] | None]) -> tuple[Item, ...] | None:
    """One after the other; unknown where one of them is."""
    found: list[Item] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return tuple(found)


def _calls(parts: Iterable[tuple[ToolCall, ...] | None]) -> tuple[ToolCall, ...] | None:
    """One after the other, the groups of each turn numbered on from those before it."""
    found: list[ToolCall] = []
    for part in parts:
        if part is None:
            return None
        used = max((call.group for call in found if call.group is not None), default=0)
        found += (
            call if call.group is None else msgspec.structs.replace(call, group=used + 1 + call.group) for call in part
        )
    return tuple(found)


def _sum(parts: Sequence[Item | None], add: Callable[[list[Item]], Item]) -> Item | None:
    known = [part for part in parts if part is not None]
    return add(known) if len(known) == len(parts) else None


def _usage(parts: Sequence[Usage | None]) -> Usage | None:
    known = [part for part in parts if part is not None]
    if len(known) != len(parts):
        return None
    return Usage(
        _sum([part.input_tokens for part in known], sum),
        _sum([part.output_tokens for part in known], sum),
        _sum([part.total for part in known], sum),
    )


def _cost(parts: Sequence[str | None]) -> str | None:
    amounts = [None if part is None else amount(part) for part in parts]
    total = _sum(amounts, lambda known: sum(known, Decimal(0)))
    return None if total is None else str(total)
