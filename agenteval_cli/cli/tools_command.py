"""agenteval tools"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from agenteval_cli.cli.console import coloured, document, result, safe, say
from agenteval_cli.cli.options import Directory, Json, Quiet, Verbose, entered
from agenteval_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    import queue

    from agenteval_cli.case import Case
    from agenteval_cli.observed_calls import Observed
    from agenteval_cli.tool_endpoint import Endpoint
    from agenteval_cli.transcript import ToolCall

_URL = "AGENTEVAL_MCP_URL"


def command(
    case: Annotated[
        str | None,
        typer.Argument(metavar="[CASE]", help="The ID of a case; with --stdio, the URL.", show_default=False),
    ] = None,
    stdio: Annotated[
        bool, typer.Option("--stdio", help=f"Be an MCP server on stdin and stdout, a bridge to the one at {_URL}.")
    ] = False,
    json: Json = False,
    directory: Directory = ".",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Serve the recorded tools of one case by hand, and show each call as it comes. Ctrl-C ends it.

    Example: agenteval tools refund-inside-window
    """
    if stdio:
        _bridge(case or os.environ.get(_URL))
        return ExitCode.OK
    if case is None:
        raise UsageError("serve which case? Name one; `agenteval list` shows them")
    _serve(_case(directory, case), json=json, quiet=quiet, verbose=verbose)
    return ExitCode.OK


def _bridge(url: str | None) -> None:
    from agenteval_cli.mcp_bridge import bridge

    if not url:
        raise UsageError(f"--stdio needs the URL of a tool server, as an argument or in {_URL}")
    bridge(url, sys.stdin.buffer, sys.stdout.buffer)


def _case(directory: str, name: str) -> Case:
    from agenteval_cli.recordings import are_replayed
    from agenteval_cli.repository import load, open_repository
    from agenteval_cli.selection import Selection, selected

    repository = open_repository(entered(directory))
    os.chdir(repository.root)
    case = selected(load(repository).cases, Selection(cases=(name,)))[0].case
    if not are_replayed(case.data.get("tools", ())):
        raise UsageError(f"{case.file}: no tool has responses or a handler, so there is nothing to serve")
    return case


def _serve(case: Case, *, json: bool, quiet: bool, verbose: bool) -> None:
    import queue
    import signal
    from pathlib import Path

    import msgspec

    from agenteval_cli.tool_server import ToolServer

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the files that name the endpoint go either way
    calls: queue.SimpleQueue[ToolCall] = queue.SimpleQueue()
    server = ToolServer(Path.cwd(), shows_state=True)
    server.start()
    try:
        state = case.data.get("state", msgspec.UNSET)
        endpoint = server.open(case.id, case.data["tools"], state, limits=case.limits, on_call=calls.put)
        try:
            _print_endpoint(endpoint, json=json)
            _print_calls(calls, json=json, most=2000 if verbose else 400)
        except KeyboardInterrupt:  # the user has had enough, perhaps already of the first line
            say("")
        observed = server.close(case.id)
    finally:
        server.stop()
    if not quiet:
        _say_what_was_noticed(observed)


def _print_endpoint(endpoint: Endpoint, *, json: bool) -> None:
    from agenteval_cli.tool_endpoint import told_in_environment, told_in_request

    if json:
        _print_line({"format": 1, **told_in_request(endpoint), "config": endpoint.config})
        return
    for name, value in told_in_environment(endpoint).items():
        result(f"export {name}={value}")
    sys.stdout.flush()
    base = endpoint.http_url.removesuffix("/tools")
    say(f"POST {base}/tools/NAME calls a tool; GET {base}/state shows the state")


def _print_calls(calls: queue.SimpleQueue[ToolCall], *, json: bool, most: int) -> NoReturn:
    """Each call as it comes, without an end."""
    while True:
        call = calls.get()
        if json:
            _print_line({"call": call})
        else:
            result(_told(call, most))
            sys.stdout.flush()


def _told(call: ToolCall, most: int) -> str:
    """`get_order {"order_id":"5678"} -> {"total":"129.00"}  (3 ms)`"""
    from agenteval_cli.compare import shown

    what = f"{safe(call.name)} {safe(shown(call.arguments))}"
    took = "" if call.duration_ms is None else coloured(f"  ({call.duration_ms:.0f} ms)", "dim")
    if call.error is not None:
        return f"{what} -> {coloured(safe(shown(call.error)), 'red')}{took}"
    return f"{what} -> {safe(shown(call.result, most))}{took}"


def _print_line(value: Any) -> None:
    import msgspec

    document(msgspec.json.encode(value).decode())
    sys.stdout.flush()


def _say_what_was_noticed(observed: Observed) -> None:
    from agenteval_cli.phrases import count

    for mark in observed.marks:
        say(f"call {mark.call}: {safe(mark.message)}" if mark.call else safe(mark.message))
    say(count(len(observed.calls), "call"))
