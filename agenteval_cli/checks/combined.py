"""all_of, any_of, not: checks of checks, in three-valued logic.

What has no evidence, or could not be decided, stays so unless the others decide by themselves; and a check that fails
for want of an answer does not pass by being negated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks import registry
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, OK, PASSED, Finding


def all_of(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """Every one of the checks holds."""
    findings = _findings(check, evidence)
    failed = [pair for pair in findings if pair[1].result == FAILED]
    if failed:
        missing = all(finding.missing for _, finding in failed)
        return Finding(FAILED, _told(failed), check.expected, failed[0][1].actual, missing=missing)
    return _undecided(check, findings) or OK


def any_of(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """At least one of the checks holds."""
    findings = _findings(check, evidence)
    if any(finding.result == PASSED for _, finding in findings):
        return OK
    missing = any(finding.missing for _, finding in findings)
    words = f"none of {len(findings)} holds: {_told(findings)}"
    return _undecided(check, findings) or Finding(FAILED, words, check.expected, findings[0][1].actual, missing=missing)


def negated(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The check does not hold, and there is something of which that can be said."""
    (pair,) = _findings(check, evidence)
    part, finding = pair
    if finding.result == PASSED:
        return Finding(FAILED, f"{part.kind} holds, and must not", check.expected, evidence.transcript.output)
    if finding.missing:
        words = f"{finding.message}, so nothing shows that {part.kind} does not hold"
        return Finding(FAILED, words, check.expected, finding.actual, missing=True)
    return _undecided(check, [pair]) or OK


Pairs = Sequence[tuple[OutcomeCheck, Finding]]


def _findings(check: OutcomeCheck, evidence: Evidence) -> Pairs:
    return [(part, registry.decided(part, evidence)) for part in check.parts]


def _undecided(check: OutcomeCheck, findings: Pairs) -> Finding | None:
    """An error, else a lack of evidence, that leaves it open whether the whole holds."""
    for result in (ERROR, NO_EVIDENCE):
        found = [pair for pair in findings if pair[1].result == result]
        if found:
            return Finding(result, _told(found), check.expected)
    return None


def _told(findings: Pairs) -> str:
    return "; ".join(f"{part.kind}: {finding.message}" for part, finding in findings)


def _faults(name: str) -> Callable[[Mapping[str, Any]], Faults]:
    def faults(item: Mapping[str, Any]) -> Faults:
        for at, part in _parts(name, item[name]):
            yield from (((*at, *path), words) for _, path, words in registry.faults(part))
            for key in ("severity", "turn"):
                if key in part:
                    yield (*at, key), f"{key} is said once, beside {name}"

    return faults


def _parts(name: str, operand: Any) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    if name == "not":
        yield (name,), operand
    else:
        yield from (((name, index), part) for index, part in enumerate(operand))


KINDS = {
    "all_of": Kind(all_of, "every one of these checks holds", frozenset(), _faults("all_of")),
    "any_of": Kind(any_of, "at least one of these checks holds", frozenset(), _faults("any_of")),
    "not": Kind(negated, "this check does not hold", frozenset(), _faults("not")),
}
