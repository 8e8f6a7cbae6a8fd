"""The checks of an attempt as lines of text: those of a turn for the margin beside it, the others after it all."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agenteval_cli.cli.console import coloured, safe
from agenteval_cli.cli.values_view import Frame, as_text, block, one_line_json
from agenteval_cli.finding import FAILED, PASSED, CheckResult

MOST_OF_A_VALUE = 12
_SHORT = 100
_COLOURS = {PASSED: "green", FAILED: "red"}
_SIGNS = {PASSED: ("✓", "+"), FAILED: ("✗", "x")}


def margin(checks: Sequence[CheckResult], frame: Frame, *, verbose: bool) -> Iterator[str]:
    """Checks under the turn that they are about, a sign in the margin before each."""
    for check in checks:
        sign = coloured(_sign(check.result), _COLOURS.get(check.result, "yellow"))
        first, *rest = block(_words(check), 2, frame, most=MOST_OF_A_VALUE)
        yield f"{sign} {first.removeprefix('  ')}"
        yield from rest
        yield from _details(check, frame, verbose=verbose)


def lines_of_checks(
    checks: Sequence[CheckResult], beside: Mapping[int, Collection[CheckResult]], frame: Frame, *, verbose: bool
) -> Iterator[str]:
    """Every check but those that are told beside their turn, and how many passed of all."""
    told = {id(check) for own in beside.values() for check in own}
    rest = [check for check in checks if id(check) not in told]
    if told and rest:
        yield coloured("  of the whole:", "bold")
    for check in rest:
        yield from _check(check, frame, verbose=verbose)
    passed = sum(check.result == PASSED for check in checks)
    yield f"  {passed} of {len(checks)} checks passed" if checks else "  nothing was checked"


def _check(check: CheckResult, frame: Frame, *, verbose: bool) -> Iterator[str]:
    """Its result and its words, which say where expected and actual part."""
    name = check.result.replace("_", " ")
    turn = f" (turn {check.turn})" if check.turn is not None else ""
    first, *rest = block(f"{name} {_words(check, turn)}", 4, frame, most=MOST_OF_A_VALUE)
    yield f"  {coloured(name, _COLOURS.get(check.result, 'yellow'))}{first.removeprefix('    ').removeprefix(name)}"
    yield from rest
    yield from _details(check, frame, verbose=verbose)


def _words(check: CheckResult, turn: str = "") -> str:
    warning = "(warning) " if check.severity == "warning" else ""
    return f"{warning}{check.name}{turn}{f': {check.message}' if check.message else ''}"


def _details(check: CheckResult, frame: Frame, *, verbose: bool) -> Iterator[str]:
    """The note, and of a check that did not hold also what was expected and what there was."""
    if check.note:
        yield from block(f"note: {check.note}", 6, frame, most=MOST_OF_A_VALUE)
    if check.result != PASSED or verbose:
        yield from _value("expected", check.expected, frame)
        yield from _value("actual", check.actual, frame)


def _value(name: str, value: Any, frame: Frame) -> Iterator[str]:
    """On the line of its name where it fits, else below."""
    if value is None:
        return
    line = safe(one_line_json(value))
    if not (isinstance(value, str) and "\n" in value) and len(line) <= (frame.inside(16) or _SHORT):
        yield f"      {name:8}  {line}"
    else:
        yield f"      {name}"
        yield from block(as_text(value), 8, frame, most=MOST_OF_A_VALUE)


def _sign(result: str) -> str:
    """A sign that tells the result without a colour, in ASCII where the stream has no other."""
    sign, plain = _SIGNS.get(result, ("?", "?"))
    try:
        sign.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return plain
    return sign
