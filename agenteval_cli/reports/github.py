"""GitHub's workflow commands: annotations on the file and line of each case that needs a look, the gravest first.

GitHub shows ten annotations of each level for a step and drops the rest without a word, so the last one says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agenteval_cli.escape import for_github_data, for_github_property
from agenteval_cli.phrases import count
from agenteval_cli.reports import markdown
from agenteval_cli.reports.interface import Material
from agenteval_cli.reports.words import cut, one_line, verdict_of
from agenteval_cli.summary import CaseSummary

LEVELS = ("error", "warning", "notice")
MOST_OF_A_LEVEL = 10
MOST_OF_A_SUMMARY = 1024 * 1024  # bytes, of all that a step writes
_MOST_OF_A_MESSAGE = 1000
_MOST_OF_A_VALUE = 300
_BYTES_OF_A_CHARACTER = 4
_LEAST_SUMMARY = 20_000  # bytes: with less room than that none is written


class Annotation(msgspec.Struct, frozen=True):
    """One annotation; the line counts from 1."""

    level: str
    file: str
    line: int
    title: str
    message: str


def render(material: Material) -> str:
    """The commands, one a line."""
    cases = _by_level(material)
    return "".join(_command(item) for level in LEVELS for item in _annotations(level, cases[level], material))


def job_summary(material: Material, written: int) -> str | None:
    """Markdown for the step's summary, of which so many bytes are written already; None where there is no room."""
    room = MOST_OF_A_SUMMARY - written
    return markdown.render(material, room // _BYTES_OF_A_CHARACTER) if room >= _LEAST_SUMMARY else None


def _by_level(material: Material) -> dict[str, list[CaseSummary]]:
    """What fails the gate is an error; what is in quarantine is never more than a notice. The gravest stand first."""
    compared = material.compared
    broke = set(compared.failed) if compared else set()
    levels: dict[str, list[CaseSummary]] = {level: [] for level in LEVELS}
    wanting = [case for case in material.summary.cases if case.verdict != "passed" or case.id in broke]
    for case in sorted(wanting, key=lambda case: case.verdict != "failed"):
        fails = case.id in broke if compared else case.verdict == "failed"
        levels["notice" if case.quarantined else "error" if fails else "warning"].append(case)
    return levels


def _annotations(level: str, cases: Sequence[CaseSummary], material: Material) -> Iterator[Annotation]:
    """At most ten; of more, the tenth says how many there are and where."""
    compared = material.compared
    before = {row.id: row.change.replace("_", " ") for row in compared.diff.cases} if compared else {}
    shown = cases if len(cases) <= MOST_OF_A_LEVEL else cases[: MOST_OF_A_LEVEL - 1]
    for case in shown:
        change = f" ({before[case.id]})" if case.id in before else ""
        yield Annotation(
            level,
            material.prefix + case.file,
            material.line(case),
            f"{case.id}: {case.passed} of {case.planned} passed{change}",
            _message(case),
        )
    if len(shown) < len(cases):
        file = material.prefix + cases[len(shown)].file
        more = f"and {count(len(cases) - len(shown), 'more case')}"
        words = f"{verdict_of(material.summary)}; all: agenteval show --run {material.run.record.id} --verbose"
        yield Annotation(level, file, 1, more, words)


def _message(case: CaseSummary) -> str:
    words = [cut(case.reason, _MOST_OF_A_MESSAGE) or "attempts are missing"]
    check = case.first_failed
    words += [f"at turn {check.turn}"] if check is not None and check.turn is not None else []
    for name, value in (("expected", check.expected), ("actual", check.actual)) if check else ():
        if value is not None:
            words.append(f"{name}: {cut(one_line(value), _MOST_OF_A_VALUE)}")
    return "\n".join(words)


def _command(item: Annotation) -> str:
    where = f"file={for_github_property(item.file)},line={item.line},title={for_github_property(item.title)}"
    return f"::{item.level} {where}::{for_github_data(item.message)}\n"
