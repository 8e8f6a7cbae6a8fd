"""A chat completion that came in chunks, put together again."""

from __future__ import annotations

from typing import Any

from agenteval_cli.formats.shapes import mapping, objects, text


def is_chunk(value: Any) -> bool:
    """Whether a value is one piece of a streamed completion."""
    return isinstance(value, dict) and value.get("object") == "chat.completion.chunk"


def whole_response(values: list[Any]) -> dict[str, Any]:
    """The response that the chunks among some values make up. A call's pieces are known by their index."""
    said: list[str] = []
    refused: list[str] = []
    calls: dict[Any, dict[str, Any]] = {}
    facts: dict[str, Any] = {}
    for chunk in filter(is_chunk, values):
        facts |= {key: chunk[key] for key in ("model", "usage") if chunk.get(key)}
        for choice in objects(chunk.get("choices")):
            if choice.get("index") not in (0, None):
                continue
            delta = mapping(choice.get("delta"))
            said += filter(None, [text(delta.get("content"))])
            refused += filter(None, [text(delta.get("refusal"))])
            for piece in objects(delta.get("tool_calls")):
                _add(calls, piece)
            if choice.get("finish_reason"):
                facts["finish_reason"] = choice["finish_reason"]
    words = {"content": "".join(said) or None, "refusal": "".join(refused) or None}
    message = {"role": "assistant", **words, "tool_calls": list(calls.values())}
    choice = {"index": 0, "message": message, "finish_reason": facts.pop("finish_reason", None)}
    return {"object": "chat.completion", "choices": [choice], **facts}


def _add(calls: dict[Any, dict[str, Any]], piece: dict[str, Any]) -> None:
    """The id and the name come with the first piece, the arguments in all of them."""
    index = piece.get("index")
    call = calls.setdefault(index if isinstance(index, int) else len(calls), {"function": {"arguments": ""}})
    function = mapping(piece.get("function"))
    if piece.get("id"):
        call["id"] = piece["id"]
    if function.get("name"):
        call["function"]["name"] = function["name"]
    call["function"]["arguments"] += text(function.get("arguments")) or ""
