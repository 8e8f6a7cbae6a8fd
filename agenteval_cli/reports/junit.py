"""JUnit XML: a test case per case under its ID, so that CI can follow it from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from agenteval_cli.records import AttemptRecord
from agenteval_cli.reports.escaping import for_xml, xml_for_a_log
from agenteval_cli.reports.interface import Material, by_case, name_of
from agenteval_cli.reports.words import cut, in_full
from agenteval_cli.statuses import STATUSES
from agenteval_cli.summary import CaseSummary

SUITE = "agenteval"
_FAILURES = frozenset({"failed", "over_limit"})
_MOST = 20_000


def render(material: Material) -> str:
    """The whole document. Quarantined cases are skipped; what did not run is an error, never a pass."""
    attempts = by_case(material.run)
    before = _before(material)
    elements = [_case(case, attempts.get(case.id, ()), before.get(case.id)) for case in material.summary.cases]
    times = [float(element.get("time", "0")) for element in elements]
    sums = {
        "name": SUITE,
        "tests": str(len(elements)),
        "failures": str(_having(elements, "failure")),
        "errors": str(_having(elements, "error")),
        "skipped": str(_having(elements, "skipped")),
        "time": f"{sum(times):.3f}",
    }
    root = ET.Element("testsuites", {name: value for name, value in sums.items() if name != "skipped"})
    suite = ET.SubElement(root, "testsuite", {**sums, "timestamp": material.run.record.started_at.removesuffix("Z")})
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(material):
        ET.SubElement(properties, "property", {"name": name, "value": for_xml(value)})
    suite.extend(elements)
    ET.indent(root)
    document = xml_for_a_log(ET.tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def _having(elements: Sequence[ET.Element], name: str) -> int:
    return sum(element.find(name) is not None for element in elements)


def _properties(material: Material) -> Iterator[tuple[str, str]]:
    record, summary = material.run.record, material.summary
    yield "run", record.id
    yield "verdict", summary.verdict
    yield "attempts", f"{summary.passed}/{summary.graded}/{summary.planned}"
    yield from (("agent", agent.name) for agent in record.agents)
    if record.git.commit:
        yield "commit", record.git.commit
    if material.compared is not None:
        yield "base", material.compared.diff.base


def _before(material: Material) -> dict[str, str]:
    """By case, what the diff says of it."""
    if material.compared is None:
        return {}
    return {
        row.id: f"{row.change}, before {row.base.passed}/{row.base.planned}" if row.base else row.change
        for row in material.compared.diff.cases
    }


def _case(case: CaseSummary, attempts: Sequence[AttemptRecord], before: str | None) -> ET.Element:
    seconds = sum(attempt.duration_ms for attempt in attempts) / 1000
    element = ET.Element(
        "testcase",
        {"name": for_xml(case.id), "classname": SUITE, "file": for_xml(case.file), "time": f"{seconds:.3f}"},
    )
    counts = f"{case.passed}/{case.planned} passed" + (f" ({before})" if before else "")
    if case.quarantined:
        words = f"in quarantine, does not gate: {counts}{f'; {case.reason}' if case.reason else ''}"
        ET.SubElement(element, "skipped", {"message": for_xml(cut(words, _MOST))})
    elif case.verdict != "passed":
        kind, status = _fault(case)
        words = f"{counts}: {case.reason or 'attempts are missing'}"
        fault = ET.SubElement(element, kind, {"message": for_xml(cut(words, _MOST)), "type": status})
        fault.text = "\n".join(for_xml(line) for line in _lines(case, attempts))
    if title := case.title:
        ET.SubElement(element, "system-out").text = for_xml(cut(title, _MOST))
    return element


def _fault(case: CaseSummary) -> tuple[str, str]:
    """The element and the status that tell why a case did not pass: an answer that fails goes before an error."""
    wrong = [status for status in case.statuses if status in _FAILURES]
    if case.verdict == "failed" and wrong:
        return "failure", wrong[0]
    counting = [status for status in case.statuses if STATUSES[status].counts]
    missing = [status for status in case.statuses if STATUSES[status].incomplete]
    return "error", (counting + missing if case.verdict == "failed" else missing)[0]


def _lines(case: CaseSummary, attempts: Sequence[AttemptRecord]) -> Iterator[str]:
    """Expected and actual of the check that decided, then how each attempt ended."""
    check = case.first_failed
    if check is not None:
        yield f"check: {name_of(check)}"
        if check.expected is not None:
            yield f"expected: {cut(in_full(check.expected), _MOST)}"
        if check.actual is not None:
            yield f"actual: {cut(in_full(check.actual), _MOST)}"
    for attempt in attempts:
        retry = f" (retry {attempt.retry})" if attempt.retry else ""
        reason = f": {cut(attempt.reason, 500)}" if attempt.reason else ""
        yield f"attempt {attempt.attempt}{retry}: {attempt.status}{reason}"
    missing = case.planned - len({attempt.attempt for attempt in attempts})
    if missing:
        yield f"{missing} of {case.planned} attempts did not end"
