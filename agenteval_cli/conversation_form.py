"""A conversation of the camel-case model: its turns checked, placed in a case, and a case projected to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenteval_cli.json_values import json_value
from agenteval_cli.kept_metadata import CONVERSATION_KEYS
from agenteval_cli.record_form import checked_record, mapping_of, placed_record, projected_record

Data = dict[str, Any]


def checked_conversation(value: Any) -> Data:
    """A conversation, copied, its turns checked. Raises TypeError and ValueError as case_from_conversation says."""
    given = mapping_of(value, "", CONVERSATION_KEYS)
    turns = given.get("turns")
    if not isinstance(turns, list | tuple):
        raise TypeError("turns is a list of records")
    if not turns:
        raise ValueError("turns: a conversation has at least one")
    rest = json_value({key: item for key, item in given.items() if key != "turns"}, "conversation")
    return {**rest, "turns": [checked_record(turn, f"turns[{index}].") for index, turn in enumerate(turns)]}


def placed_conversation(document: Data) -> Data:
    """What of a conversation has a place of its own in a case."""
    *before, tested = document["turns"]
    data = placed_record(tested)
    messages = [message for turn in before for message in _messages(turn)]
    data["conversation"] = [*messages, {"role": "user", "content": data.pop("input")}]
    if document.get("conversationId"):
        data["conversation_id"] = document["conversationId"]
    if document.get("systemPrompt") is not None:
        data["system_prompt"] = document["systemPrompt"]
    return data


def _messages(turn: Data) -> Iterator[Data]:
    yield {"role": "user", "content": turn["input"]}
    if turn.get("actualOutput") is not None:
        yield {"role": "assistant", "content": turn["actualOutput"]}


def projected_conversation(data: Data) -> Data:
    """The conversation of a case, as far as it has a place for it."""
    messages = list(data["conversation"])
    if "input" in data:
        messages.append({"role": "user", "content": data["input"]})
    *before, tested = _turns(messages) or [{"input": messages[-1]["content"]}]
    record = {**projected_record({**data, "input": tested["input"]})}
    names = {"conversation_id": "conversationId", "system_prompt": "systemPrompt"}
    return {**{there: data[here] for here, there in names.items() if here in data}, "turns": [*before, record]}


def _turns(messages: list[Data]) -> list[Data] | None:
    """Messages as turns; None where they are more than a user's words and one answer each."""
    turns: list[Data] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if message.keys() != {"role", "content"}:
            return None
        if role == "user":
            turns.append({"input": content})
        elif role == "assistant" and turns and "actualOutput" not in turns[-1] and content is not None:
            turns[-1]["actualOutput"] = content
        else:
            return None
    return turns if messages[-1]["role"] == "user" else None
