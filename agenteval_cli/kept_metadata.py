"""What one side of an interchange has no place for: kept in the metadata of the other, and taken out of it again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenteval_cli import schemas
from agenteval_cli.compare import ABSENT, same
from agenteval_cli.json_values import json_value

Data = dict[str, Any]

KEPT = "interchange"
REST = "agenteval_case"

# The keys of a document: what is kept has its place below one of them.
RECORD_KEYS = (
    "input",
    "actualOutput",
    "expectedOutput",
    "retrievalContext",
    "context",
    "toolCalls",
    "expectedToolCalls",
    "reasoningTrace",
    "latencyMs",
    "tokenUsage",
    "cost",
    "metadata",
)
CONVERSATION_KEYS = ("conversationId", "systemPrompt", "turns")
SIMULATION_KEYS = (
    "testCaseId",
    "workspaceId",
    "label",
    "agentId",
    "agent",
    "llmModel",
    "userPrompt",
    "attempt",
    "successCriteria",
    "mockData",
    "mockToolData",
    "metadata",
)


# ---- in a case, the rest of a document


def kept_in(data: Data) -> Data:
    """By JSON pointer, what a case keeps of its document; empty where the metadata of that name is not ours."""
    kept = data.get("metadata", {}).get(KEPT)
    known = SIMULATION_KEYS if "simulation" in data else (*RECORD_KEYS, *CONVERSATION_KEYS)
    ours = isinstance(kept, dict) and kept and all(key[:1] == "/" and key.split("/")[1] in known for key in kept)
    copied: Data = json_value(kept, KEPT) if ours else {}
    return copied


def lost(document: Any, projected: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """By JSON pointer, what of the document the projected one lacks or has otherwise."""
    match document, projected:
        case dict(), dict() if projected.keys() <= document.keys():
            for key, value in document.items():
                escaped = key.replace("~", "~0").replace("/", "~1")
                yield from lost(value, projected.get(key, ABSENT), f"{pointer}/{escaped}")
        case list(), list() if len(document) == len(projected):
            for index, (value, other) in enumerate(zip(document, projected, strict=True)):
                yield from lost(value, other, f"{pointer}/{index}")
        case _ if not same(document, projected):
            yield pointer, document


def put_back(document: Data, data: Data) -> None:
    """Put what was kept in the metadata of a case back to its places in a document."""
    for pointer, value in sorted(kept_in(data).items()):
        put_at(document, pointer, value)


def put_at(document: Data, pointer: str, value: Any) -> None:
    """Put a value to its place in a document, where that has the place."""
    _put(document, [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")], value)


def _put(document: Any, parts: list[str], value: Any) -> None:
    """Put a value back to its place. What has lost its place, since the case was edited, has nothing left to say."""
    *way, last = parts
    for part in way:
        match document:
            case dict() if part in document:
                document = document[part]
            case list() if part.isdecimal() and int(part) < len(document):
                document = document[int(part)]
            case _:
                return
    if isinstance(document, dict):
        document[last] = value


# ---- in a record, the rest of a case


def taken_rest(tested: Data) -> Data | None:
    """The rest of a case in the record's metadata, taken out of it; None where the record never was a case."""
    metadata = tested.get("metadata")
    rest = metadata.get(REST) if isinstance(metadata, dict) else None
    if not isinstance(rest, dict) or not rest.keys() <= schemas.load("case")["properties"].keys():
        return None
    drop_rest(tested)
    return rest


def drop_rest(record: Data) -> None:
    """Take the rest of a case out of a record, and metadata that is empty then."""
    metadata = {key: value for key, value in (record.pop("metadata", None) or {}).items() if key != REST}
    if metadata:
        record["metadata"] = metadata
