"""Where an attempt finds its tools, and how it is told: in its request, its environment, and files for MCP clients."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

_NAME = "agenteval"
STDIO_SUFFIX = "-stdio"


class Endpoint(msgspec.Struct, frozen=True):
    """The URLs of one attempt's tools, and the file that names them in the form of MCP clients.

    Beside that file is a second one, for clients that only start servers as commands. Not one file with both, since a
    client then sees each tool twice.
    """

    http_url: str
    mcp_url: str
    config: str

    @property
    def stdio_config(self) -> str:
        return self.config.removesuffix(".json") + f"{STDIO_SUFFIX}.json"


def told_in_request(endpoint: Endpoint) -> dict[str, str]:
    """`tool_server` of the request."""
    return {"http_url": endpoint.http_url, "mcp_url": endpoint.mcp_url}


def told_in_environment(endpoint: Endpoint) -> dict[str, str]:
    """The same as variables."""
    return {
        "AGENTEVAL_TOOLS_URL": endpoint.http_url,
        "AGENTEVAL_MCP_URL": endpoint.mcp_url,
        "AGENTEVAL_MCP_CONFIG": endpoint.config,
    }


def config_files(endpoint: Endpoint) -> dict[str, dict[str, Any]]:
    """What each of the two files says, by path."""
    bridge = ["-m", "agenteval_cli", "tools", "--stdio", endpoint.mcp_url]
    return {
        endpoint.config: {"mcpServers": {_NAME: {"type": "http", "url": endpoint.mcp_url}}},
        endpoint.stdio_config: {"mcpServers": {_NAME: {"type": "stdio", "command": sys.executable, "args": bridge}}},
    }
