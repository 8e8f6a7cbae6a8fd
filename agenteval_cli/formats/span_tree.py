"""Spans by what they stand for: agents, model calls and tool calls, each once, however many layers tell of it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import cached_property

from agenteval_cli.formats.shapes import text
from agenteval_cli.formats.spans import Span

_MODEL_OPERATIONS = frozenset({"chat", "generate_content", "text_completion"})
_SIGNS_OF_A_MODEL = ("gen_ai.request.model", "gen_ai.response.model", "llm.request.type", "gen_ai.prompt.0.role")


def is_agent(span: Span) -> bool:
    """Whether an agent worked in it."""
    operation = span.attributes.get("gen_ai.operation.name")
    return operation in ("invoke_agent", "invoke_workflow") or _traceloop(span) in ("agent", "workflow")


def is_tool(span: Span) -> bool:
    """Whether it is one call of a tool. What frameworks sum up under a name in parentheses is none."""
    called = span.attributes.get("gen_ai.operation.name") == "execute_tool" or _traceloop(span) == "tool"
    called = called or span.attributes.get("mcp.method.name") == "tools/call"
    name = tool_name(span)
    return called and name is not None and not name.startswith("(")


def is_model(span: Span) -> bool:
    """Whether a model was asked in it."""
    operation = span.attributes.get("gen_ai.operation.name")
    if operation is not None:
        return isinstance(operation, str) and operation in _MODEL_OPERATIONS
    return _traceloop(span) is None and any(key in span.attributes for key in _SIGNS_OF_A_MODEL)


def tool_name(span: Span) -> str | None:
    """The tool that a span of a call names."""
    return text(span.attributes.get("gen_ai.tool.name")) or text(span.attributes.get("traceloop.entity.name"))


def _traceloop(span: Span) -> str | None:
    return text(span.attributes.get("traceloop.span.kind"))


class SpanTree:
    """Spans in the order of their starts, with their parents. A parent may be missing; a circle has no root.

    Spans are known by their identity, id(), since two may carry the same id of their own, or none.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = list(spans)
        by_id = {span.span_id: span for span in self.spans if span.span_id}
        self._parents = {id(span): by_id.get(span.parent_id) if span.parent_id else None for span in self.spans}
        self._roots: dict[int, Span] = {}

    def around(self, wanted: Callable[[Span], bool]) -> dict[int, Span | None]:
        """For each span: the nearest wanted one around it, None where there is none."""
        return self._around({id(span) for span in self.spans if wanted(span)})

    def _around(self, wanted: set[int]) -> dict[int, Span | None]:
        found: dict[int, Span | None] = {}
        for span in self.spans:
            path, outer = self._path_to(span, found)
            nearest = found.get(id(outer))
            for inner in reversed(path):
                nearest = outer if id(outer) in wanted else nearest
                found[id(inner)] = nearest
                outer = inner
        return found

    def _path_to(self, span: Span, known: Container[int]) -> tuple[list[Span], Span | None]:
        """The spans from this one outwards up to what is known, a circle or the end; and what comes after them."""
        path: list[Span] = []
        on_path: set[int] = set()
        here: Span | None = span
        while here is not None and id(here) not in known and id(here) not in on_path:
            on_path.add(id(here))
            path.append(here)
            here = self._parents[id(here)]
        return path, here

    def root(self, span: Span) -> Span:
        """The outermost span around this one; of a circle the one by which it was entered last."""
        path, outer = self._path_to(span, self._roots)
        if path:
            root = self._roots.get(id(outer), path[-1])
            self._roots.update((id(inner), root) for inner in path)
        return self._roots[id(span)]

    def innermost(self, wanted: Callable[[Span], bool]) -> list[Span]:
        """The wanted spans that have no other wanted one inside: the same thing told by several layers counts once."""
        marked = [span for span in self.spans if wanted(span)]
        around = self._around({id(span) for span in marked})
        outer = {id(around[id(span)]) for span in marked}
        return [span for span in marked if id(span) not in outer]

    @cached_property
    def agents(self) -> list[Span]:
        """Every span in which an agent worked."""
        return [span for span in self.spans if is_agent(span)]

    @cached_property
    def models(self) -> list[Span]:
        """The model calls, each by its innermost span."""
        return self.innermost(is_model)

    @cached_property
    def tool_calls(self) -> list[Span]:
        """The spans of tool calls; one within another of the same tool and id, or without one, is the same call."""
        around = self.around(is_tool)
        return [span for span in self.spans if is_tool(span) and not _same_call(span, around[id(span)])]


def _same_call(span: Span, outer: Span | None) -> bool:
    if outer is None or tool_name(span) != tool_name(outer):
        return False
    ids = {text(each.attributes.get("gen_ai.tool.call.id")) for each in (span, outer)} - {None}
    return len(ids) < 2
