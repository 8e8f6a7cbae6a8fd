"""When two calls are the identical call: the same tool, and arguments that are equal type by type."""

from __future__ import annotations

from collections.abc import Hashable

from agenteval_cli.digests import canonical
from agenteval_cli.transcript import ToolCall


def identity(call: ToolCall) -> Hashable:
    """A key that identical calls share. Arguments that cannot be compared, as NaN, are like no others."""
    try:
        return call.name, canonical(call.arguments)
    except (ValueError, TypeError, RecursionError):
        return object()
