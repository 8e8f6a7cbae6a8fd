"""agenteval run --record-tools"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agenteval_cli.cli.console import print_json, result, safe, say
from agenteval_cli.errors import ExitCode
from agenteval_cli.phrases import count

if TYPE_CHECKING:
    from agenteval_cli.runner import Order


def record(order: Order, target: str, ignored: Sequence[str], *, json: bool, quiet: bool) -> int:
    """Record the tools of the one case of an order, and say what is in its file now."""
    import msgspec

    from agenteval_cli import recording_tools
    from agenteval_cli.cli.progress import Progress

    recording = recording_tools.record(order, target, ignored, Progress(sys.stderr, quiet=quiet, verbose=False))
    if json:
        print_json({"format": 1, **msgspec.to_builtins(recording)})
        return ExitCode.OK
    for tool, number in recording.responses.items():
        result(f"{safe(tool)}: {count(number, 'response')}")
    if not quiet:
        say(f"written to {safe(recording.file)}; the attempt was {recording.status}, and is not kept")
        say(f"next: agenteval validate, and agenteval run --case {safe(recording.case)}")
    return ExitCode.OK
