"""openai: chat messages, as a list, requests, responses, exchanges of both, lines of these, or a stream of chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenteval_cli.formats.messages import (
    Asked,
    Message,
    Returned,
    answer_in,
    joined_calls,
    left_out_of,
    shown,
    thoughts_in,
)
from agenteval_cli.formats.openai_stream import is_chunk, whole_response
from agenteval_cli.formats.shapes import count, mapping, name_or_number, objects, text, total
from agenteval_cli.formats.source import LINES, Source
from agenteval_cli.protocols import UnreadableAnswerError
from agenteval_cli.transcript import Transcript, Usage

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_PARTS = ("text", "refusal", "image_url", "input_audio", "file", "audio")
_FOREIGN = ("output", "trajectory_format", "sessionId", "steps", "eval", "schema_version", "type", "lc")
_LISTS = ("messages", "traj")  # of a request, or of anything that wraps a conversation; of a tau-bench record


class OpenaiFormat:
    """Chat completions. Nothing in them marks a failed call, so a result that was given is a result."""

    name = "openai"

    def detect(self, source: Source) -> bool:
        values = source.values
        if source.container == LINES and values and all(map(_is_message, values)):
            return True
        return bool(values) and all(map(_is_chat, values))

    def read(self, source: Source) -> Transcript:
        chat = _Chat(_records(source))
        if not chat.messages:
            raise UnreadableAnswerError(f"there are no chat messages in the transcript: {source.words()}")
        return chat.transcript()


def _is_chat(value: Any) -> bool:
    """Whether this one value holds chat messages and nothing that only others write."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_message, value))
    if not isinstance(value, dict):
        return False
    if is_chunk(value) or _is_response(value):
        return True
    if "request" in value and "response" in value:
        return _is_response(value["response"])
    listed = next((value[key] for key in _LISTS if key in value), None)
    return isinstance(listed, list) and _is_chat(listed) and not any(key in value for key in _FOREIGN)


def _is_response(value: Any) -> bool:
    choices = mapping(value).get("choices")
    return isinstance(choices, list) and any(isinstance(choice.get("message"), dict) for choice in objects(choices))


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("role") not in _ROLES or "parts" in value or "type" in value:
        return False
    content = value.get("content")
    if isinstance(content, list):
        return all(isinstance(part, dict) and part.get("type") in _PARTS for part in content)
    return "content" in value or "tool_calls" in value or "function_call" in value


def _records(source: Source) -> list[Any]:
    """The values, with lines of messages taken as one list of them and chunks put together."""
    values = list(source.values)
    if any(map(is_chunk, values)):
        return [whole_response(values)]
    return [values] if values and all(map(_is_message, values)) else values


class _Chat:
    """The conversation in some records: the last one that repeats all, or their responses one after another."""

    def __init__(self, records: list[Any]) -> None:
        self.messages: list[Message] = []
        self.notes: list[str] = []
        self.whole = False
        self.played = False
        self.usages: list[dict[str, Any]] = []
        self.models: list[str] = []
        for record in records:
            self._take(record)

    def _take(self, record: Any) -> None:
        if isinstance(record, list):
            self._begin(record)
            return
        item = mapping(record)
        exchange = "request" in item and "response" in item
        request, response = (mapping(item["request"]), mapping(item["response"])) if exchange else (item, item)
        key = next((key for key in _LISTS if isinstance(request.get(key), list)), None)
        if key is not None:
            self._begin(request[key])
            self.played = key == "traj"
        self._respond(response)
        self._note_cost(response, answered=exchange or "choices" in item)
        self.models += filter(None, [text(response.get("model")) or text(request.get("model"))])

    def _begin(self, listed: list[Any]) -> None:
        """A request repeats what was said before it."""
        self.whole = True
        self.messages = [_message(item) for item in objects(listed) if isinstance(item.get("role"), str)]

    def _respond(self, response: dict[str, Any]) -> None:
        choices = [choice for choice in objects(response.get("choices")) if isinstance(choice.get("message"), dict)]
        if len(choices) > 1:
            self.notes.append(f"of {len(choices)} choices the first was read")
        for choice in choices[:1]:
            self.messages.append(_message({"role": "assistant", **choice["message"]}))
            if choice.get("finish_reason") in ("length", "content_filter"):
                self.notes.append(f"the model's answer ended early: {choice['finish_reason']}")

    def _note_cost(self, response: dict[str, Any], *, answered: bool) -> None:
        usage = response.get("usage")
        if answered or isinstance(usage, dict):
            self.usages.append(mapping(usage))

    def transcript(self) -> Transcript:
        calls, notes = joined_calls(self.messages)
        answered = any(message.role == "assistant" for message in self.messages)
        told = calls or (answered and self.whole)
        if answered and not told:
            notes.append("a response without the messages before it does not tell which tools were called")
        return Transcript(
            output=answer_in(self._up_to_the_answer()),
            messages=shown(self.messages),
            tool_calls=tuple(calls) if told else None,
            reasoning=thoughts_in(self.messages),
            usage=_usage(self.usages),
            model=self.models[-1] if self.models else None,
            notes=(*self.notes, *notes, *left_out_of(self.messages), *_refusals(self.messages)),
        )

    def _up_to_the_answer(self) -> list[Message]:
        """All messages, but without the last words of a user who is played by a program: they end the talk."""
        last = len(self.messages)
        while self.played and last and self.messages[last - 1].role == "user":
            last -= 1
        return self.messages[:last]


def _message(item: dict[str, Any]) -> Message:
    role = item["role"]
    said, refusal, left_out = _content(item)
    name = text(item.get("name"))
    if role in ("tool", "function"):
        result = item.get("content") if left_out or not isinstance(item.get("content"), list) else said
        returned = Returned(id=name_or_number(item.get("tool_call_id")), name=name, result=result)
        return Message(role="tool", returned=(returned,))
    return Message(
        role=role,
        text=said if said is not None else refusal,
        asked=tuple(_asked(item)),
        thoughts=tuple(filter(None, [text(item.get("reasoning_content")) or text(item.get("reasoning"))])),
        left_out=(*left_out, *(["refusal"] if refusal is not None else [])),
        name=name,
    )


def _content(item: dict[str, Any]) -> tuple[str | None, str | None, list[str]]:
    """The text of a message, its refusal, and the kinds of its other parts."""
    content, refusal = item.get("content"), text(item.get("refusal"))
    if not isinstance(content, list):
        return text(content), refusal, []
    texts = [part["text"] for part in objects(content) if isinstance(part.get("text"), str)]
    refused = [part["refusal"] for part in objects(content) if isinstance(part.get("refusal"), str)]
    kinds = [str(part.get("type")) for part in objects(content) if "text" not in part and "refusal" not in part]
    return text("".join(texts)), refusal or text("".join(refused)), kinds


def _asked(item: dict[str, Any]) -> Iterator[Asked]:
    for call in objects(item.get("tool_calls")):
        function = mapping(call.get("function") or call.get("custom"))
        if name := text(function.get("name")):
            arguments = function.get("arguments", function.get("input", {}))
            yield Asked(name=name, arguments=arguments, id=name_or_number(call.get("id")))
    old = mapping(item.get("function_call"))
    if name := text(old.get("name")):
        yield Asked(name=name, arguments=old.get("arguments", {}))


def _refusals(messages: list[Message]) -> list[str]:
    return ["the model refused to answer"] if any("refusal" in message.left_out for message in messages) else []


def _usage(usages: list[dict[str, Any]]) -> Usage | None:
    """The counts of every model call added up: cached input is in the input, reasoning in the output."""
    read = total([count(item.get("prompt_tokens")) for item in usages])
    written = total([count(item.get("completion_tokens")) for item in usages])
    both = total([count(item.get("total_tokens")) for item in usages])
    return None if read is written is both is None else Usage(read, written, both)


FORMAT = OpenaiFormat()
