"""Checks that are programs: each is run in a process of its own, with a time limit, before the attempt is graded.

A program reads one JSON document on stdin: {protocol, check, case, transcript, with}. It answers with a JSON object on
stdout, {result, message, expected, actual}, or by its exit code as with `git bisect run`: 0 passed, 125 cannot tell,
any other below 128 failed, 128 and above (or a signal) is an error. An exit code other than 0 never passes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli.case import Case, OutcomeCheck
from agenteval_cli.endings import Answered
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, OK, PASSED, Finding
from agenteval_cli.grading import asked_of
from agenteval_cli.process import Command, Ended, NotStartedError
from agenteval_cli.repeats import object_of
from agenteval_cli.transcript import Transcript
from agenteval_cli.units import seconds

PROTOCOL = 1
SECONDS = 10.0  # where the check says nothing
CANNOT_TELL = 125
_BROKEN = 128
_KINDS = frozenset({"code", "command"})
_RESULTS: Mapping[Any, str] = {
    True: PASSED,
    False: FAILED,
    **{name: name for name in (PASSED, FAILED, NO_EVIDENCE, ERROR)},
}
_SHOWN = 300
# What a program that only searches its input would find itself in, or a good answer in.
_NOT_TOLD = frozenset({"outcome", "trajectory", "criteria", "turns", "simulation", "recording"})


def answers_to(
    case: Case, answered: Answered, run: Callable[[Command], Ended], root: Path, env: Mapping[str, str]
) -> dict[str, Finding]:
    """What each program among the checks says of its transcript, by the check's name.

    `run` is Processes.run; programs start in `root`, the repository's folder, with the environment `env`.
    """
    return {
        check.name: _answer(check, _document(check, case, transcript), run, root, env)
        for check, transcript in asked_of(case, answered)
        if check.kind in _KINDS
    }


def _answer(
    check: OutcomeCheck, document: bytes, run: Callable[[Command], Ended], root: Path, env: Mapping[str, str]
) -> Finding:
    limit = _seconds(check.expected)
    try:
        ended = run(Command(_argv(check, root), env, str(root), document, limit))
    except (NotStartedError, OSError) as error:
        return Finding(ERROR, str(error), check.expected)
    return finding_of(ended, limit, check.expected, must_say=check.kind == "code")


def finding_of(ended: Ended, limit: float, expected: Any, *, must_say: bool) -> Finding:
    """The finding of a program that has ended. With `must_say` an exit code of 0 alone is no answer."""
    if ended.why != "exited":
        words = f"it took more than {limit:g} s" if ended.why == "timeout" else "the run was stopped meanwhile"
        return Finding(ERROR, words, expected)
    code = ended.exit_code
    if code is None or code >= _BROKEN:
        how = f"was ended by signal {ended.signal}" if code is None else f"exited with {code}"
        return Finding(ERROR, f"the check's program {how}{_last_words(ended)}", expected)
    said = _said(ended, expected)
    if code == 0:
        return said or _silent(ended, expected, must_say=must_say)
    result = NO_EVIDENCE if code == CANNOT_TELL else FAILED
    if said is not None and said.result != PASSED:
        return said if code != CANNOT_TELL else msgspec.structs.replace(said, result=result)
    return Finding(result, f"the check's program exited with {code}{_last_words(ended)}", expected)


def _silent(ended: Ended, expected: Any, *, must_say: bool) -> Finding:
    """An exit code of 0 without a verdict. One that was printed and could not be read may have said anything."""
    if must_say:
        return Finding(ERROR, f"it gave no verdict{_last_words(ended)}", expected)
    if b'"result"' not in ended.stdout:
        return OK
    words = "its verdict cannot be read; print one JSON object and nothing else, and logs on stderr"
    return Finding(ERROR, f"{words}{_last_words(ended)}", expected)


def _said(ended: Ended, expected: Any) -> Finding | None:
    """The verdict that was printed, if one was: all of stdout is a JSON object with a `result`, or true or false."""
    try:
        verdict = json.loads(ended.stdout, object_pairs_hook=object_of)
    except (ValueError, RecursionError):
        return None
    if isinstance(verdict, bool):
        return Finding(_RESULTS[verdict], "", expected)
    if not isinstance(verdict, dict) or "result" not in verdict:
        return None
    result = verdict["result"]
    if not isinstance(result, str | bool) or result not in _RESULTS:
        known = "passed, failed, no_evidence, error, true and false"
        return Finding(ERROR, f"the result {json.dumps(result)[:80]} is none of {known}", expected)
    message = verdict.get("message", "")
    return Finding(
        _RESULTS[result],
        message if isinstance(message, str) else json.dumps(message, ensure_ascii=False),
        verdict.get("expected", expected),
        verdict.get("actual"),
    )


def _last_words(ended: Ended) -> str:
    """The last line that the program printed, on stderr rather than on stdout."""
    for raw in (ended.stderr, ended.stdout):
        lines = raw.decode("utf-8", "replace").strip().splitlines()
        if lines:
            return f": {lines[-1][:_SHOWN]}"
    return ""


def _document(check: OutcomeCheck, case: Case, transcript: Transcript) -> bytes:
    given = check.expected.get("with") if isinstance(check.expected, Mapping) else None
    document = {
        "protocol": PROTOCOL,
        "check": check.name,
        "case": {key: value for key, value in case.data.items() if key not in _NOT_TOLD},
        "transcript": msgspec.to_builtins(transcript),
        "with": given,
    }
    return json.dumps(document).encode()


def _argv(check: OutcomeCheck, root: Path) -> tuple[str, ...]:
    expected = check.expected
    if check.kind == "code":
        name = expected["call"] if isinstance(expected, Mapping) else expected
        return (sys.executable, "-m", "agenteval_cli.calling", name)
    argv = expected["run"] if isinstance(expected, Mapping) else expected
    program = root / argv[0] if "/" in argv[0] else argv[0]
    return (str(program), *argv[1:])


def _seconds(expected: Any) -> float:
    return seconds(expected["timeout"]) if isinstance(expected, Mapping) and "timeout" in expected else SECONDS
