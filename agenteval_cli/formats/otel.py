"""otel: OpenTelemetry spans in the GenAI semantic conventions, those of today and those before them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from agenteval_cli.formats.genai import Talk, messages_of, talk_of
from agenteval_cli.formats.messages import Message, answer_in, left_out_of, shown, thoughts_in
from agenteval_cli.formats.otel_calls import calls_of, error_of, reason_of
from agenteval_cli.formats.otel_usage import taken_by
from agenteval_cli.formats.shapes import text, unpacked
from agenteval_cli.formats.source import Source
from agenteval_cli.formats.span_tree import SpanTree, is_agent, is_model, is_tool
from agenteval_cli.formats.spans import Span, holds_spans, spans_in
from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.transcript import ToolCall, Transcript

_OPENINFERENCE = '"openinference.span.kind"'  # a key as it stands in JSON; within a text its quotes are escaped


class OtelFormat:
    """Every span of the source is read as one attempt's, also where there are several traces."""

    name = "otel"

    def detect(self, source: Source) -> bool:
        return holds_spans(source) and _OPENINFERENCE not in source.text

    def read(self, source: Source) -> Transcript:
        spans = spans_in(source)
        if not spans:
            raise UnreadableAnswerError(f"there are no OpenTelemetry spans in the transcript: {source.words()}")
        return _Trace(spans).transcript()


class _Trace:
    """What the spans of one attempt tell, each part worked out once."""

    def __init__(self, spans: list[Span]) -> None:
        self.tree = SpanTree(spans)
        self._talks = {id(span): talk_of(span) for span in spans}
        self._inside_tool = self.tree.around(is_tool)

    def transcript(self) -> Transcript:
        calls, notes = self._calls()
        said = [message for span in self.talking for message in self._talk(span).said]
        taken = taken_by(self.tree)
        return Transcript(
            output=self._output(),
            messages=shown(self.conversation) if self.conversation else None,
            tool_calls=calls,
            reasoning=thoughts_in(said),
            usage=taken.usage,
            cost=taken.cost,
            latency_ms=self._latency(),
            model=next(reversed(self.model_names), None),
            trace_id=next(iter(self.trace_ids), None),
            notes=(*notes, *taken.notes, *left_out_of(self.conversation), *self._about_the_trace()),
        )

    # ---- who talked

    @cached_property
    def talking(self) -> list[Span]:
        """The spans whose messages count: of model calls, or of agents where no model call has any."""
        return self.tree.innermost(lambda span: is_model(span) and bool(self._talk(span))) or self.tree.innermost(
            lambda span: is_agent(span) and bool(self._talk(span))
        )

    def _talk(self, span: Span) -> Talk:
        return self._talks[id(span)]

    def _is_outer(self, span: Span) -> bool:
        """Whether it belongs to the agent itself, not to another agent that it called as a tool."""
        return self._inside_tool[id(span)] is None

    @cached_property
    def conversation(self) -> list[Message]:
        """What the last model call was given and said: each call is given all that was said before it."""
        outer = [span for span in self.talking if self._is_outer(span)]
        if outer:
            return [*self._talk(outer[-1]).given, *self._talk(outer[-1]).said]
        whole = (
            list(messages_of(span.attributes.get("pydantic_ai.all_messages"))) for span in reversed(self.tree.agents)
        )
        return next(filter(None, whole), [])

    def _output(self) -> Any:
        """What the agent says that it answered, else the last words of its model."""
        for span in reversed(self.tree.agents):
            if self._is_outer(span) and (answer := answer_in(self._talk(span).said)):
                return answer
        outer = [span for span in self.talking if self._is_outer(span)]
        answer = answer_in(self._talk(outer[-1]).said if outer else self.conversation)
        if answer is not None:
            return answer
        results = (span.attributes.get("final_result") for span in reversed(self.tree.agents) if self._is_outer(span))
        return unpacked(next(filter(None, results), None))

    # ---- what was done

    def _calls(self) -> tuple[tuple[ToolCall, ...] | None, list[str]]:
        talks = [(span, self._talk(span)) for span in self.talking]
        calls, notes = calls_of(self.tree.tool_calls, talks, self._workers())
        content = any(self._talk(span).said for span in self.talking)
        return (tuple(calls) if calls or content else None), notes

    def _workers(self) -> dict[int, str | None]:
        """Who works in each span, by its identity; nobody is named where there is only one."""
        if len(self.agent_names) < 2:
            return {}
        around = self.tree.around(is_agent)
        return {key: _name_of(agent) if agent is not None else None for key, agent in around.items()}

    @cached_property
    def agent_names(self) -> list[str]:
        return list(dict.fromkeys(filter(None, map(_name_of, self.tree.agents))))

    # ---- about the whole

    def _latency(self) -> float | None:
        """From the start of the first root to the end of the last one: a root is what has no parent here."""
        roots = self.roots
        starts = [span.start for span in roots if span.start is not None]
        ends = [span.end for span in roots if span.end is not None]
        if len(starts) != len(roots) or len(ends) != len(roots):
            return None
        return Span(name="", start=min(starts), end=max(ends)).milliseconds

    @cached_property
    def roots(self) -> list[Span]:
        """The outermost spans around agents, models and tools; all of the outermost where there are none."""
        telling = [*self.tree.agents, *self.tree.models, *self.tree.tool_calls] or self.tree.spans
        return list({id(root): root for root in map(self.tree.root, telling)}.values())

    @cached_property
    def trace_ids(self) -> list[str]:
        roots = sorted(self.roots, key=lambda span: span.start or 0)
        return list(dict.fromkeys(filter(None, (span.trace_id for span in roots))))

    @cached_property
    def model_names(self) -> list[str]:
        """The models that answered, in the order of their last answers to the agent itself."""
        spans = [span for span in self.tree.models if self._is_outer(span)] or self.tree.models
        names = (
            text(span.attributes.get("gen_ai.response.model")) or text(span.attributes.get("gen_ai.request.model"))
            for span in spans
        )
        return list(dict.fromkeys(reversed(list(filter(None, names)))))[::-1]

    def _about_the_trace(self) -> Iterator[str]:
        if not (self.tree.agents or self.tree.models or self.tree.tool_calls):
            yield "no span tells of an agent, a model or a tool in the GenAI conventions"
        if len(self.agent_names) > 1:
            yield f"{len(self.agent_names)} agents worked on it: {', '.join(self.agent_names[:8])}"
        if len(self.model_names) > 1:
            yield f"{len(self.model_names)} models answered: {', '.join(self.model_names[:8])}"
        if len(self.trace_ids) > 1:
            yield f"the spans are of {len(self.trace_ids)} traces"
        if any(span.dropped for span in self.tree.spans):
            yield "attributes of some spans were dropped where they were recorded"
        for span in filter(error_of, self.roots):
            yield f"the span {span.name[:80]!r} ended in an error: {reason_of(span)[:300]}"


def _name_of(agent: Span) -> str | None:
    return text(agent.attributes.get("gen_ai.agent.name"))


FORMAT = OtelFormat()
