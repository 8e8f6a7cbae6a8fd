"""Runs a Python function as a fake tool in a process of its own: `python -m agenteval_cli.handler_process MODULE:NAME`.

Each line on stdin is a call, `{"tool", "arguments", "state"}`; each line on stdout what came of it. The function gets
the arguments and the state, which it may change, and returns the result. An exception with a whole number as its
`status` is the tool's own failure; any other one says that the fake is broken.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

Function = Callable[[dict[str, Any], dict[str, Any]], Any]


def main(name: str) -> None:
    """Answer every line of stdin until it is closed."""
    answers = _own_stdout()
    function = _function(name)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(function, json.loads(line))) + "\n")
        answers.flush()


def _own_stdout() -> TextIO:
    """Stdout for the answers alone; what the function prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _function(name: str) -> Function:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  # as `python -m` does, unless it is told to be safe
    found: Function = getattr(importlib.import_module(module), attribute)
    return found


def _answer(function: Function, call: dict[str, Any]) -> dict[str, Any]:
    state = call["state"]
    try:
        result = function(call["arguments"], state)
        json.dumps(result)
    except Exception as error:  # noqa: BLE001  # whatever a user's function raises is what came of the call
        status = getattr(error, "status", None)
        if isinstance(status, int):
            return {"error": {"status": status, "message": str(error)}, "state": state}
        return {"fault": f"{type(error).__name__}: {error}"}
    return {"result": result, "state": state}


if __name__ == "__main__":
    main(sys.argv[1])
