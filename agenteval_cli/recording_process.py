"""Stands in for the tools of a case while it is recorded: `python -m agenteval_cli.recording_process URL|COMMAND…`.

It is the handler of each of them: a line on stdin is a call, `{"tool", "arguments"}`, which goes on to the real tool;
a line on stdout is what that said. `--list` prints the inventory of the real tools instead.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from agenteval_cli.recording_client import Client, Json, NoToolsError, client_for


def main(target: Sequence[str]) -> None:
    """Pass every line of stdin on until it is closed."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    client: Client | None = None
    for line in sys.stdin:
        try:
            client = client or client_for(target)
            said = _said(client, json.loads(line))
        except NoToolsError as error:
            said = {"fault": str(error)}
        answers.write(json.dumps(said) + "\n")
        answers.flush()


def _said(client: Client, call: Json) -> Json:
    return client.call(call["tool"], call["arguments"])


def inventory(target: Sequence[str]) -> int:
    """Print the tools there are, as JSON; 1 and a sentence on stderr where they cannot be known."""
    try:
        print(json.dumps(client_for(target).tools()))
    except NoToolsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        raise SystemExit(inventory(sys.argv[2:]))
    main(sys.argv[1:])
