"""What the agent gets: exactly the request, and nothing that tells the answer, the checks or the case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.case import Case

PROTOCOL = 1
_SEEN_AS_IT_IS = ("system_prompt", "conversation_id", "state", "context")


def request_for(case: Case, attempt: str, seed: int, deadline: str) -> dict[str, Any]:
    """The request of one attempt. `attempt` is an opaque name, `deadline` UTC as RFC 3339."""
    request: dict[str, Any] = {
        "protocol": PROTOCOL,
        "attempt": attempt,
        "messages": list(case.messages),
        "input": case.input,
        "deadline": deadline,
        "seed": seed,
    }
    request.update({key: case.data[key] for key in _SEEN_AS_IT_IS if key in case.data})
    if "tools" in case.data:
        request["tools"] = [tool_told(tool) for tool in case.data["tools"]]
    if "limits" in case.data:
        request["limits"] = case.data["limits"]
    return request


def tool_told(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as the agent is told of it: never with its recorded responses."""
    return {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
