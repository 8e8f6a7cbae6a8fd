"""Baselines: what a team has accepted of its runs, one committed file per agent and tier, one line per case.

baselines/<agent>.<tier>.jsonl   sorted by case ID; no line speaks for more than its own case
baselines/.gitattributes         has git keep the lines of both branches, of which the newest run's counts

A line is rewritten only where it says something else, so that a pull request shows the cases whose results changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from agenteval_cli import writing
from agenteval_cli.digests import Digests
from agenteval_cli.errors import UsageError
from agenteval_cli.extraction import strict
from agenteval_cli.git import GitState
from agenteval_cli.outcomes import AnyRun
from agenteval_cli.records import (
    ATTEMPT_FORMAT,
    FINISHED,
    AgentRecord,
    AttemptRecord,
    PlannedCase,
    Platform,
    RunRecord,
    TranscriptPlace,
)
from agenteval_cli.sides import Known, known_cases
from agenteval_cli.sources import bytes_of
from agenteval_cli.store import Run
from agenteval_cli.summary import INCOMPLETE, UNKNOWN

FOLDER = "baselines"
BASELINE = "baseline"
BASELINE_FORMAT = 1
_SUFFIX = ".jsonl"
_ATTRIBUTES = (
    b"# Both branches' lines are kept; where two are of one case, the newest run's counts.\n*.jsonl merge=union\n"
)
_CONFLICT = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
Place = tuple[str, str]  # agent, tier


class Accepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line: how a case did in the run it was accepted from, and the digests that tell which case that was."""

    format: int = BASELINE_FORMAT
    case: str
    passed: int
    graded: int
    planned: int
    min_pass_rate: float
    input: str
    grade: str
    run: str

    @property
    def says(self) -> tuple[object, ...]:
        """All but which run said it."""
        return self.case, self.passed, self.graded, self.planned, self.min_pass_rate, self.input, self.grade


Book = Mapping[Place, tuple[Accepted, ...]]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What accepting did to one file: IDs that are new in it, say something else now, are as before, or went."""

    file: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


class LeftOut(msgspec.Struct, frozen=True):
    """A case of the run that cannot be accepted, and why."""

    id: str
    reason: str


class Acceptance(msgspec.Struct, frozen=True):
    """The baselines after accepting a run, what changed in each file, and what was left out."""

    book: dict[Place, tuple[Accepted, ...]]
    files: tuple[Changed, ...]
    left_out: tuple[LeftOut, ...]


# ---- deciding


def accept(book: Book, run: AnyRun, *, tiers: Collection[str] = (), cases: Collection[str] = ()) -> Acceptance:
    """Take what a run came to into the baselines; only these tiers and cases where they are named.

    A case that the run does not have stays as it was accepted, unless the run shows that it is no longer there.
    """
    wanted = {case.casefold() for case in cases}
    chosen = [
        known
        for known in known_cases(run).values()
        if (not tiers or known.planned.tier in tiers) and (not wanted or known.planned.case.casefold() in wanted)
    ]
    taken = [known for known in chosen if _is_complete(known)]
    left_out = [known for known in chosen if not _is_complete(known)]
    after = {place: {line.case.casefold(): line for line in lines} for place, lines in book.items()}
    for place, lines in after.items():
        for case in _gone(lines, run.record, tiers, wanted) | _moved(place, taken):
            lines.pop(case, None)
    for known in taken:
        lines = after.setdefault((known.planned.agent, known.planned.tier), {})
        line, before = _line(known), lines.get(known.planned.case.casefold())
        lines[known.planned.case.casefold()] = before if before is not None and before.says == line.says else line
    new = {place: tuple(sorted(lines.values(), key=_by_case)) for place, lines in after.items()}
    return Acceptance(
        new,
        tuple(_changed(place, book.get(place, ()), new[place]) for place in sorted(new)),
        tuple(LeftOut(known.planned.case, known.side.reason or "attempts are missing") for known in left_out),
    )


def _is_complete(known: Known) -> bool:
    return known.side.verdict != INCOMPLETE and known.side.graded > 0


def _line(known: Known) -> Accepted:
    side, planned = known.side, known.planned
    return Accepted(
        case=planned.case,
        passed=side.passed,
        graded=side.graded,
        planned=side.planned,
        min_pass_rate=planned.min_pass_rate,
        input=planned.digests.input,
        grade=planned.digests.grade,
        run=_made_in(known),
    )


def _made_in(known: Known) -> str:
    """The run that made the attempts: an earlier one where all were kept from it, so that they are known as its own."""
    made = {attempt.reused_from or known.run for attempt in known.attempts}
    return made.pop() if len(made) == 1 else known.run


def _gone(
    lines: Mapping[str, Accepted], record: RunRecord, tiers: Collection[str], wanted: Collection[str]
) -> set[str]:
    """Cases that were neither run nor left unselected: retired since. Who accepts a part says nothing of the rest."""
    if tiers or wanted or record.shard is not None:
        return set()
    there = {planned.case.casefold() for planned in record.plan} | {case.casefold() for case in record.not_selected}
    return {case for case in lines if case not in there}


def _moved(place: Place, taken: Iterable[Known]) -> set[str]:
    """Cases that the same agent now has in another tier."""
    agent, tier = place
    return {
        known.planned.case.casefold() for known in taken if known.planned.agent == agent and known.planned.tier != tier
    }


def _changed(place: Place, before: Sequence[Accepted], after: Sequence[Accepted]) -> Changed:
    old, new = ({line.case: line for line in lines} for lines in (before, after))
    both = [case for case in new if case in old]
    return Changed(
        file=file_of(place),
        added=tuple(case for case in new if case not in old),
        changed=tuple(case for case in both if new[case].says != old[case].says),
        unchanged=tuple(case for case in both if new[case].says == old[case].says),
        removed=tuple(case for case in old if case not in new),
    )


def _by_case(line: Accepted) -> tuple[str, str]:
    return line.case.casefold(), line.case


# ---- a run made of it


def baseline_run(book: Book, agents: Mapping[str, str], default_agent: str | None = None) -> Run:
    """The accepted lines as a run, which is all that a comparison needs: k attempts that passed, n - k that failed.

    They have no transcripts. `agents` says by folded ID which agent's line is wanted of a case that several have one
    of; else it is the default agent's, else the newest. What a baseline does not know (the agent's digest, the commit,
    the tool's version) is empty.
    """
    best: dict[str, tuple[Place, Accepted]] = {}
    for place, line in _all_lines(book):
        folded = line.case.casefold()

        def rank(of: tuple[Place, Accepted], case: str = folded) -> tuple[bool, bool, str]:
            return of[0][0] == agents.get(case), of[0][0] == default_agent, of[1].run

        best[folded] = max((place, line), best.get(folded, (place, line)), key=rank)
    chosen = [best[case] for case in sorted(best)]
    record = RunRecord(
        id=BASELINE,
        tool_version="",
        started_at="",
        status=FINISHED,
        git=GitState(),
        agents=tuple(AgentRecord(name, (), "", "", {}) for name in sorted({place[0] for place, _ in chosen})),
        platform=Platform("", "", ""),
        seed=0,
        min_pass_rate=1.0,
        plan=tuple(_planned(place, line) for place, line in chosen),
        not_selected=(),
    )
    return Run(record, tuple(attempt for _, line in chosen for attempt in _attempts(line)), FOLDER)


def _all_lines(book: Book) -> Iterator[tuple[Place, Accepted]]:
    return ((place, line) for place in sorted(book) for line in book[place])


def _planned(place: Place, line: Accepted) -> PlannedCase:
    return PlannedCase(
        case=line.case,
        file="",
        title="",
        tier=place[1],
        tags=(),
        agent=place[0],
        attempts=line.planned,
        min_pass_rate=line.min_pass_rate,
        quarantined=False,
        digests=_digests(line),
        reason=f"accepted from {line.run}",
    )


def _digests(line: Accepted) -> Digests:
    return Digests(line.input, line.grade, "")


def _attempts(line: Accepted) -> Iterator[AttemptRecord]:
    """Kept from the run that was accepted, so that a comparison with that very run proves nothing."""
    for number in range(1, line.graded + 1):
        passed = number <= line.passed
        yield AttemptRecord(
            format=ATTEMPT_FORMAT,
            case=line.case,
            attempt=number,
            status="passed" if passed else "failed",
            outcome=UNKNOWN,
            trajectory=UNKNOWN,
            digests=_digests(line),
            seed=0,
            started_at="",
            duration_ms=0.0,
            transcript=TranscriptPlace(0, 0),
            reused_from=line.run,
            reason="" if passed else f"{line.passed}/{line.graded} passed when it was accepted",
        )


# ---- files


def file_of(place: Place) -> str:
    """The file of an agent and tier, from the root of the repository."""
    return f"{FOLDER}/{'.'.join(place)}{_SUFFIX}"


def read_baselines(root: Path) -> dict[Place, tuple[Accepted, ...]]:
    """All that is accepted, by agent and tier. Raises UsageError for a line that is none, with where it is."""
    book = {}
    for path in sorted((root / FOLDER).glob(f"*{_SUFFIX}")):
        agent, dot, tier = path.name.removesuffix(_SUFFIX).rpartition(".")
        if not dot:
            raise UsageError(f"{FOLDER}/{path.name} is called after no agent and tier, as support.smoke.jsonl would be")
        try:
            raw = bytes_of(path)
        except OSError as error:
            raise UsageError(f"{FOLDER}/{path.name} cannot be read: {error.strerror}") from error
        book[agent, tier] = lines_of(f"{FOLDER}/{path.name}", raw)
    return book


def lines_of(file: str, raw: bytes) -> tuple[Accepted, ...]:
    """The lines of a file by case ID; of two of the same case, as a merge leaves them, the newest run's."""
    found: dict[str, Accepted] = {}
    for number, text in enumerate(raw.split(b"\n"), start=1):
        if text.strip():
            line = _accepted(f"{file}:{number}", text)
            before = found.get(line.case.casefold())
            found[line.case.casefold()] = line if before is None else max(before, line, key=lambda each: each.run)
    return tuple(sorted(found.values(), key=_by_case))


def _accepted(where: str, text: bytes) -> Accepted:
    if text.startswith(_CONFLICT):
        raise UsageError(f"{where}: a conflict; remove its markers and keep the lines of both sides")
    try:
        said = strict(text.decode())
        if not isinstance(said, dict):
            raise UsageError(f"{where}: not a line of a baseline: it is no mapping")
        number = said.get("format")
        if number != BASELINE_FORMAT:
            raise UsageError(f"{where} has format {number}; this version reads {BASELINE_FORMAT}")
        line = msgspec.json.decode(text, type=Accepted)
    except ValueError as error:  # of JSON, of UTF-8, or of msgspec
        raise UsageError(f"{where}: not a line of a baseline: {error}") from error
    if not 0 <= line.min_pass_rate <= 1:
        raise UsageError(f"{where}: a min_pass_rate of {line.min_pass_rate} cannot be; it is from 0 to 1")
    if not 0 <= line.passed <= line.graded <= line.planned:
        raise UsageError(f"{where}: {line.passed} passed of {line.graded} graded of {line.planned} planned cannot be")
    return line


def write_baselines(root: Path, before: Book, after: Book) -> None:
    """Write what differs; a file that has no line left goes. Raises IncompleteError where the disk does not let us."""
    folder = root / FOLDER
    for place, lines in after.items():
        path = root / file_of(place)
        raw = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        if not lines:
            writing.remove(path)
        elif not path.exists():
            writing.create(path, raw)
        elif lines != before.get(place) or path.read_bytes() != raw:
            writing.replace(path, raw)
    if folder.is_dir() and not (folder / ".gitattributes").exists():
        writing.create(folder / ".gitattributes", _ATTRIBUTES)
