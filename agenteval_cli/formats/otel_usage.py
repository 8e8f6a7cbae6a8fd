"""What a trace took: token counts and cost, each model call once, however many spans repeat it."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

import msgspec

from agenteval_cli.formats.shapes import count, text, total
from agenteval_cli.formats.span_tree import SpanTree, is_agent, is_model
from agenteval_cli.formats.spans import Span
from agenteval_cli.transcript import Usage

_INPUT = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.usage.prompt_tokens",
    "gen_ai.aggregated_usage.input_tokens",
)
_OUTPUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
    "gen_ai.aggregated_usage.output_tokens",
)


class Taken(msgspec.Struct, frozen=True):
    """Token counts and cost (decimal text, in the currency of the instrumentation), as far as they are known."""

    usage: Usage | None = None
    cost: str | None = None
    notes: tuple[str, ...] = ()


def taken_by(tree: SpanTree) -> Taken:
    """The model calls added up. What agents tell is the same again: it counts only where some model call tells nothing.

    A sum with an unknown part is unknown, and a note says so.
    """
    told = {id(span) for span in tree.spans if _tells(span)}
    calls = _model_calls(tree, told)
    cost = _cost(calls)
    silent = sum(id(span) not in told for span in calls)
    if calls and not silent:
        return Taken(_sum(calls), cost)
    around = tree.around(is_agent)
    outermost = [span for span in tree.agents if around[id(span)] is None and id(span) in told]
    if outermost:
        return Taken(_sum(outermost), cost)
    if silent == len(calls):
        return Taken(cost=cost)
    words = f"{silent} of {len(calls)} model calls tell no token counts, so that their sum is unknown"
    return Taken(cost=cost, notes=(words,))


def _cost(calls: list[Span]) -> str | None:
    """The estimates of the instrumentation added up, where every model call has one."""
    costs = [span.attributes.get("operation.cost") for span in calls]
    if not costs or not all(isinstance(cost, int | float) and not isinstance(cost, bool) for cost in costs):
        return None
    try:
        amount = sum((Decimal(str(cost)) for cost in costs), Decimal())
    except InvalidOperation:
        return None
    return f"{amount:f}" if amount.is_finite() and amount >= 0 else None


def _model_calls(tree: SpanTree, told: set[int]) -> list[Span]:
    """Each response once, by the innermost span that has counts; a call that failed without any took nothing."""

    def tells(span: Span) -> bool:
        return id(span) in told and is_model(span)

    around = tree.around(tells)
    silent = [span for span in tree.models if not tells(span) and not span.failed and around[id(span)] is None]
    return [*_once_per_response(tree.innermost(tells)), *silent]


def _once_per_response(spans: Iterable[Span]) -> list[Span]:
    kept: dict[str | int, Span] = {}
    for span in spans:
        kept.setdefault(text(span.attributes.get("gen_ai.response.id")) or id(span), span)
    return list(kept.values())


def _tells(span: Span) -> bool:
    return _first(span, (*_INPUT, *_OUTPUT)) is not None


def _first(span: Span, keys: Iterable[str]) -> int | None:
    return next((found for key in keys if (found := count(span.attributes.get(key))) is not None), None)


def _sum(spans: list[Span]) -> Usage:
    """Cached input is in the input, reasoning in the output."""
    return Usage(total([_first(span, _INPUT) for span in spans]), total([_first(span, _OUTPUT) for span in spans]))
