"""The messages of a model call, from whichever attributes, events or log records its instrumentation puts them in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli.formats.messages import Asked, Message, Returned
from agenteval_cli.formats.shapes import mapping, name_or_number, objects, text, unpacked
from agenteval_cli.formats.spans import Span

_DETAILS = "gen_ai.client.inference.operation.details"
_PER_MESSAGE = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_THOUGHTS = ("reasoning", "thinking")
_READ_KINDS = frozenset({"text", "tool_call", "tool_call_response", *_THOUGHTS})


class Talk(msgspec.Struct, frozen=True):
    """What went into a model call and what came out of it."""

    given: tuple[Message, ...] = ()
    said: tuple[Message, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.given or self.said)


def talk_of(span: Span) -> Talk:
    """The messages that this span carries; none where their content was not captured.

    The conventions of today are looked at first, then those up to 1.36, then what some makers write instead.
    """
    for read in (_from_attributes, _from_details, _from_events, _from_numbered, _from_gemini):
        if talk := read(span):
            return talk
    return Talk()


# ---- gen_ai.input.messages and gen_ai.output.messages, on the span or on its event


def _from_attributes(span: Span) -> Talk:
    return _talk(span.attributes)


def _from_details(span: Span) -> Talk:
    return next(filter(None, (_talk(event.attributes) for event in span.events if event.name == _DETAILS)), Talk())


def _talk(attributes: Mapping[str, Any]) -> Talk:
    given = tuple(messages_of(attributes.get("gen_ai.input.messages")))
    said = tuple(messages_of(attributes.get("gen_ai.output.messages"), role="assistant"))
    if not given and not said:
        return Talk()
    has_system = any(message.role in ("system", "developer") for message in given)
    system = () if has_system else tuple(_instructions(attributes.get("gen_ai.system_instructions")))
    return Talk((*system, *given), said)


def messages_of(value: Any, role: str = "user") -> Iterator[Message]:
    """Messages as the conventions have them: {role, parts}, or {role, content}; as values, or as their JSON text."""
    for item in objects(unpacked(value)):
        yield _message(item, text(item.get("role")) or role)


def _message(item: dict[str, Any], role: str) -> Message:
    parts = list(objects(item.get("parts")))
    content = item.get("content")
    if not parts:
        parts = list(objects(content)) or [{"type": "text", "content": content}]
    parts += [_flat(call) for call in objects(unpacked(item.get("tool_calls")))]
    return Message(
        role=role,
        text=text("".join(filter(None, map(_text_of, parts)))),
        asked=tuple(_asked(part) for part in parts if _kind(part) == "tool_call" and text(part.get("name"))),
        returned=tuple(_returned(part) for part in parts if _kind(part) == "tool_call_response"),
        thoughts=tuple(filter(None, (text(part.get("content")) for part in parts if _kind(part) in _THOUGHTS))),
        left_out=tuple(_kind(part) for part in parts if _kind(part) not in _READ_KINDS),
        name=text(item.get("name")),
    )


def _kind(part: dict[str, Any]) -> str:
    return text(part.get("type")) or "text"


def _text_of(part: dict[str, Any]) -> str | None:
    return (text(part.get("content")) or text(part.get("text"))) if _kind(part) == "text" else None


def _flat(call: dict[str, Any]) -> dict[str, Any]:
    """A call in the chat form: its name and arguments lie under `function`."""
    return {"id": call.get("id"), **(mapping(call.get("function")) or call), "type": "tool_call"}


def _asked(part: dict[str, Any]) -> Asked:
    return Asked(name=part["name"], arguments=part.get("arguments", msgspec.UNSET), id=name_or_number(part.get("id")))


def _returned(part: dict[str, Any]) -> Returned:
    # `response` in the schema, `result` in examples and in some instrumentations.
    result = part.get("response", part.get("result", msgspec.UNSET))
    return Returned(id=name_or_number(part.get("id")), name=text(part.get("name")), result=result)


def _instructions(value: Any) -> Iterator[Message]:
    said = "".join(filter(None, map(_text_of, objects(unpacked(value)))))
    if said:
        yield Message(role="system", text=said)


# ---- up to 1.36: an event or a log record for each message


def _from_events(span: Span) -> Talk:
    given: list[Message] = []
    said: list[Message] = []
    for event in span.events:
        if event.name in _PER_MESSAGE:
            facts = {**event.attributes, **mapping(unpacked(event.attributes.get("gen_ai.event.content")))}
            facts |= mapping(unpacked(event.body))
            (said if event.name == "gen_ai.choice" else given).append(_of_event(_PER_MESSAGE[event.name], facts))
    return Talk(tuple(given), tuple(said))


def _of_event(role: str, facts: dict[str, Any]) -> Message:
    inner = unpacked(facts.get("message"))
    held = {**facts, **(inner if isinstance(inner, dict) else {"content": facts.get("content", inner)})}
    if role == "tool":
        returned = Returned(id=name_or_number(held.get("id")), result=held.get("content", msgspec.UNSET))
        return Message(role="tool", returned=(returned,))
    return _message({key: held.get(key) for key in ("content", "parts", "tool_calls", "name")}, role)


# ---- gen_ai.prompt.N and gen_ai.completion.N


def _from_numbered(span: Span) -> Talk:
    given = tuple(_numbered(span.attributes, "gen_ai.prompt.", "user"))
    return Talk(given, tuple(_numbered(span.attributes, "gen_ai.completion.", "assistant")))


def _numbered(attributes: Mapping[str, Any], prefix: str, role: str) -> Iterator[Message]:
    for item in _unflattened(attributes, prefix):
        if item.get("role") == "tool":
            returned = Returned(id=name_or_number(item.get("tool_call_id")), result=item.get("content", msgspec.UNSET))
            yield Message(role="tool", returned=(returned,))
        else:
            calls = [call for _, call in sorted(item.get("tool_calls", {}).items())]
            # Where there are several parts, the content is the JSON text of their list.
            parts = {"content": unpacked(item.get("content")), "tool_calls": calls}
            yield _message(parts, text(item.get("role")) or role)


def _unflattened(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Flattened lists again as lists. Their numbers are sorted as numbers: 10 comes after 9."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        number, _, rest = key.removeprefix(prefix).partition(".")
        if not key.startswith(prefix) or not _is_index(number) or not rest:
            continue
        item = found.setdefault(int(number), {"tool_calls": {}})
        listed, _, inner = rest.partition(".")
        index, _, field = inner.partition(".")
        if listed == "tool_calls":
            if _is_index(index) and field:
                item["tool_calls"].setdefault(int(index), {})[field] = value
        else:
            item[rest] = value
    return [item for _, item in sorted(found.items())]


def _is_index(written: str) -> bool:
    return written.isascii() and written.isdigit() and len(written) < 7


# ---- the payloads of Google's ADK: requests and responses of the Gemini API


def _from_gemini(span: Span) -> Talk:
    request = mapping(unpacked(span.attributes.get("gcp.vertex.agent.llm_request")))
    response = mapping(unpacked(span.attributes.get("gcp.vertex.agent.llm_response")))
    said = (_gemini(response["content"]),) if isinstance(response.get("content"), dict) else ()
    return Talk(tuple(map(_gemini, objects(request.get("contents")))), said)


def _gemini(content: dict[str, Any]) -> Message:
    parts = list(objects(content.get("parts")))
    words = [(bool(part.get("thought")), part["text"]) for part in parts if text(part.get("text"))]
    returned = [mapping(part.get("function_response")) for part in parts]
    return Message(
        role="assistant" if content.get("role") == "model" else "user",
        text=text("".join(said for thought, said in words if not thought)),
        asked=tuple(
            Asked(name=call["name"], arguments=call.get("args"), id=name_or_number(call.get("id")))
            for call in (mapping(part.get("function_call")) for part in parts)
            if text(call.get("name"))
        ),
        returned=tuple(
            Returned(id=name_or_number(item.get("id")), name=text(item.get("name")), result=item.get("response"))
            for item in returned
            if item
        ),
        thoughts=tuple(said for thought, said in words if thought),
    )
