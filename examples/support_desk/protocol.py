"""The request as the desk sees it, parsed once at the door."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

Json = dict[str, Any]


class BadRequestError(Exception):
    """The caller can put this right; shown as one line."""


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    messages: tuple[Message, ...]
    state: Json
    context: tuple[str, ...]
    tools: frozenset[str] | None
    system_prompt: str
    seed: int
    tools_text: str

    @property
    def user_texts(self) -> tuple[str, ...]:
        return tuple(message.content for message in self.messages if message.role == "user")

    def since(self, customer_messages: int) -> Self:
        """The request with no more than so many of the customer's messages, the last ones, and the answers between."""
        asked = [at for at, message in enumerate(self.messages) if message.role == "user"]
        start = 0 if len(asked) <= customer_messages else asked[-customer_messages]
        return replace(self, messages=self.messages[start:])


def parse_request(raw: bytes) -> Request:
    document = _document(raw)
    tools = document.get("tools")
    return Request(
        messages=_messages(document),
        state=_mapping(document, "state"),
        context=tuple(str(text) for text in document.get("context") or ()),
        tools=None if tools is None else frozenset(_tool_name(tool) for tool in tools),
        system_prompt=str(document.get("system_prompt") or ""),
        seed=_seed(document),
        tools_text="" if tools is None else json.dumps(tools, ensure_ascii=False),
    )


def _document(raw: bytes) -> Json:
    try:
        document = json.loads(raw.decode())
    except ValueError as error:
        raise BadRequestError(f"stdin is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise BadRequestError("the request must be a JSON object")
    return document


def _messages(document: Json) -> tuple[Message, ...]:
    listed = document.get("messages") or []
    if not listed and isinstance(document.get("input"), str):
        listed = [{"role": "user", "content": document["input"]}]
    messages = tuple(_message(item) for item in listed)
    if not messages or messages[-1].role != "user":
        raise BadRequestError("the last message must be a user message")
    return messages


def _message(item: object) -> Message:
    match item:
        case {"role": str(role), "content": str(content)}:
            return Message(role, content)
        case {"role": str(role), "content": content}:
            return Message(role, json.dumps(content, ensure_ascii=False))
        case _:
            raise BadRequestError("each message needs a role and a content")


def _mapping(document: Json, key: str) -> Json:
    value = document.get(key) or {}
    if not isinstance(value, dict):
        raise BadRequestError(f"{key} must be an object")
    return value


def _tool_name(tool: object) -> str:
    if isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
        return str(tool["name"])
    raise BadRequestError("each tool needs a name")


def _seed(document: Json) -> int:
    seed = document.get("seed") or 0
    if not isinstance(seed, int):
        raise BadRequestError("seed must be a whole number")
    return seed
