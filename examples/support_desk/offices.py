"""Where the desk's tools are: its own small shop, or a server that an environment variable names."""

from collections.abc import Mapping
from typing import Any, Protocol

from support_desk.protocol import Json, Request
from support_desk.served import ServedOverHttp, ServedOverMcp
from support_desk.shop import Shop
from support_desk.tools import Backoffice


class Office(Protocol):
    def use(self, tool: str, arguments: Mapping[str, str]) -> Any:
        """What the tool returns. Raises ToolError where it says no or nothing."""

    def state(self) -> Json | None:
        """The shop as it is now; None where it is not ours to see."""


def office_for(request: Request, environment: Mapping[str, str], *, over_mcp: bool) -> Office:
    """The tool server where there is one, else a shop made of the request's state."""
    if over_mcp and "AGENTEVAL_MCP_URL" in environment:
        return ServedOverMcp(environment["AGENTEVAL_MCP_URL"])
    if "AGENTEVAL_TOOLS_URL" in environment:
        return ServedOverHttp(environment["AGENTEVAL_TOOLS_URL"])
    return Backoffice(Shop(request.state), request.context)
