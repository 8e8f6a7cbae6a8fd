"""An agent of a framework (pydantic-ai) whose tools are those of an MCP server. It knows nothing of agenteval.

Its model is a script, so that it runs anywhere and says the same each time; for a real one, put its name in place of
`FunctionModel(clerk)`. Where its tools are, an MCP configuration says, as in production: TOOLS_CONFIG, or the file
that agenteval makes for each attempt.
"""

from __future__ import annotations

import asyncio
import os
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import load_mcp_toolsets
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

Part = ToolReturnPart | RetryPromptPart


def clerk(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """What the model says next: look the order up, pay it back, try once more where that failed, and tell."""
    answers = [part for message in messages for part in message.parts if isinstance(part, Part)]
    failures = sum(map(_failed, answers))
    if not answers:
        return _call(info, "get_order", order_id="5678")
    if failures > 1:
        return ModelResponse(parts=[TextPart("I could not book your refund. A colleague will write to you.")])
    if len(answers) - failures < 2:
        return _call(info, "create_refund", order_id="5678", amount="129.00")
    return ModelResponse(parts=[TextPart(f"Your refund is booked: {_result(answers[-1])['refund_id']}.")])


def _failed(answer: Part) -> bool:
    return isinstance(answer, RetryPromptPart) or answer.outcome != "success"


def _call(info: AgentInfo, tool: str, **arguments: str) -> ModelResponse:
    """A call of the tool, whatever the toolset puts in front of its name."""
    name = next(offered.name for offered in info.function_tools if offered.name.endswith(tool))
    return ModelResponse(parts=[ToolCallPart(name, arguments)])


def _result(answer: Part) -> dict[str, str]:
    return dict(answer.content) if isinstance(answer.content, dict) else {}


async def main() -> None:
    config = os.environ.get("TOOLS_CONFIG") or os.environ["AGENTEVAL_MCP_CONFIG"]
    async with Agent(FunctionModel(clerk), toolsets=load_mcp_toolsets(config), retries=2) as agent:
        print((await agent.run(sys.stdin.read())).output)


if __name__ == "__main__":
    asyncio.run(main())
