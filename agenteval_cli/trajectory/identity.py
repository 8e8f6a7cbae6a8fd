"""When two calls are the identical call: the same tool, and arguments that are equal type by type."""

from __future__ import annotations

import re
from collections.abc import Hashable

import msgspec

from agenteval_cli.digests import canonical
from agenteval_cli.transcript import ToolCall

# MCP clients put the server's name before that of a tool, each in a way of its own: mcp__agenteval__look.
_SERVER = re.compile(r"(?:mcp_{1,2})?agenteval(?:__|[_.:/-])")


def own_name(call: ToolCall) -> str:
    """The tool's name as it is in the case, where an agent reports it with our server before it."""
    return _SERVER.sub("", call.name, count=1) if _SERVER.match(call.name) else call.name


def claimed_identity(call: ToolCall) -> Hashable:
    """The same for a call that an agent reports, or that one is held against."""
    return identity(msgspec.structs.replace(call, name=own_name(call)))


def identity(call: ToolCall) -> Hashable:
    """A key that identical calls share. Arguments that nobody told or that cannot be compared are like no others."""
    if call.arguments is None:
        return object()
    try:
        return call.name, canonical(call.arguments)
    except (ValueError, TypeError, RecursionError):
        return object()
