"""A function of the repository called on a transcript: `python -m agenteval_cli.calling module:function`.

The function gets the transcript as a dict, what stands in the check's `with` as keywords and, where it has a parameter
of that name, the `case`. It returns True or False, a pair of that and a message, or a dict with a `result`; a failed
`assert` is a failure. Whatever it prints goes to stderr: stdout has the verdict and nothing else.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any


def main() -> None:
    """Read the document on stdin, call the function that is named in argv, print its verdict."""
    out = os.dup(1)
    os.dup2(2, 1)
    sys.path.insert(0, os.getcwd())  # noqa: PTH109  # the repository, whatever python was told of safe paths
    name = sys.argv[1]
    verdict = _verdict(name, json.load(sys.stdin))
    try:
        text = json.dumps(verdict, default=str)
    except (TypeError, ValueError, RecursionError) as error:  # a verdict that is no JSON decides nothing
        text = json.dumps({"result": "error", "message": f"{name}: its verdict is no JSON: {error}"})
    with os.fdopen(out, "w", encoding="utf-8") as stream:
        stream.write(text)


def _verdict(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return as_verdict(_called(_function(name), document))
    except AssertionError as error:
        return {"result": "failed", "message": str(error) or "an assertion failed, and gives no message"}
    except Exception as error:  # noqa: BLE001  # whatever their code raises is told as what it is
        return {"result": "error", "message": f"{name}: {type(error).__name__}: {_words_of(error)}"}


def _words_of(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # their class may be broken as well
        return "it has no words"


def _function(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    start: Any = importlib.import_module(module)
    found: Callable[..., Any] = reduce(getattr, path.split("."), start)
    return found


def _called(function: Callable[..., Any], document: Mapping[str, Any]) -> Any:
    given = dict(document["with"] or {})
    if "case" in inspect.signature(function).parameters:
        given["case"] = document["case"]
    return function(document["transcript"], **given)


def as_verdict(returned: Any) -> dict[str, Any]:
    """The verdict in what a function returned; an error where there is none, None included: silence is no pass."""
    if isinstance(returned, bool):
        return {"result": returned}
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], bool):
        return {"result": returned[0], "message": str(returned[1])}
    if isinstance(returned, dict) and "result" in returned:
        return returned
    words = f"the function returned {returned!r:.80}; return True or False, (False, why), or a dict with a result"
    return {"result": "error", "message": words}


if __name__ == "__main__":
    main()
