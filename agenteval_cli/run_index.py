"""An index of all finished runs in one SQLite file, .agenteval/cache/runs.sqlite, which may be deleted at any time.

It holds what history and review ask for, and is brought up to date at each call: a run is read once, and again only
when its run.json has changed. `results` has a row per case and run; `groups` adds them up per content and agent, so
that reviewing half a million results looks at a few thousand rows.

Left out are runs that are not finished, those that only confirm another, and shards that were merged.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agenteval_cli.caches import FOLDER, ignored_folder
from agenteval_cli.errors import UsageError
from agenteval_cli.outcomes import read_outcomes
from agenteval_cli.records import FINISHED, RunRecord
from agenteval_cli.run_history import Point, RunRate
from agenteval_cli.run_review import CaseTotal, LatestResult, Mixed
from agenteval_cli.sides import Known, known_cases
from agenteval_cli.statuses import GRADED
from agenteval_cli.store import RUN, RUN_ID, read_record, run_ids

FILE_NAME = "runs.sqlite"
INDEX_FORMAT = 1
_ALIKE = 0.8  # of the cases of two runs, that both must have to be held against each other
_LOOKED_AT = 200  # runs
_PATIENCE = 30.0  # seconds to wait for another process that brings the index up to date
_SCHEMA = """
CREATE TABLE runs (n INTEGER PRIMARY KEY, id TEXT UNIQUE, stamp TEXT, kept INTEGER, started_at TEXT, commit_id TEXT,
  dirty INTEGER, merged INTEGER);
CREATE TABLE words (n INTEGER PRIMARY KEY, text TEXT UNIQUE);
CREATE TABLE results (case_n INTEGER, version INTEGER, agent INTEGER, digest INTEGER, run_n INTEGER, verdict TEXT,
  passed INTEGER, graded INTEGER, planned INTEGER, own_passed INTEGER, own_graded INTEGER, needed REAL,
  quarantined INTEGER, latency_ms REAL, cost REAL, tokens REAL, PRIMARY KEY (case_n, run_n)) WITHOUT ROWID;
CREATE INDEX results_of_run ON results (run_n);
CREATE TABLE groups (case_n INTEGER, agent INTEGER, version INTEGER, digest INTEGER, passed INTEGER, graded INTEGER,
  last_run TEXT, PRIMARY KEY (case_n, agent, version, digest)) WITHOUT ROWID;
CREATE INDEX mixed ON groups (last_run, case_n) WHERE passed > 0 AND passed < graded;
CREATE INDEX recent ON groups (case_n, last_run);
CREATE TABLE totals (case_n INTEGER, agent INTEGER, version INTEGER, passed INTEGER, graded INTEGER, runs INTEGER,
  passed_runs INTEGER, failed_runs INTEGER, first_run TEXT, last_run TEXT,
  PRIMARY KEY (case_n, agent, version)) WITHOUT ROWID;
"""
_CASES = "SELECT text FROM words JOIN (SELECT DISTINCT case_n FROM totals) ON n = case_n"
_POINTS = """
SELECT runs.id, started_at, commit_id, dirty, agents.text, digests.text, versions.text, verdict, passed, graded,
  planned, own_passed, own_graded
  FROM words cases JOIN results ON case_n = cases.n JOIN runs ON runs.n = run_n JOIN words agents ON agents.n = agent
  JOIN words digests ON digests.n = digest JOIN words versions ON versions.n = version
  WHERE cases.text = ? ORDER BY runs.id
"""
_TOTALS = """
SELECT cases.text, agents.text, versions.text, t.passed, t.graded, t.runs, passed_runs, failed_runs, first_run,
  last_run, r.planned, r.needed, r.quarantined
  FROM totals t JOIN runs ON runs.id = last_run JOIN results r ON r.case_n = t.case_n AND r.run_n = runs.n
  JOIN words cases ON cases.n = t.case_n JOIN words agents ON agents.n = t.agent
  JOIN words versions ON versions.n = t.version
"""
_MIXED = """
WITH suspects AS (SELECT DISTINCT case_n FROM groups INDEXED BY mixed
  WHERE last_run >= :since AND passed > 0 AND passed < graded)
SELECT cases.text, agents.text, versions.text, mixed, pairs, passed, graded
  FROM (SELECT g.case_n, agent, version, sum(passed < graded) AS mixed, count(*) AS pairs, sum(passed) AS passed,
    sum(graded) AS graded FROM suspects CROSS JOIN groups g ON g.case_n = suspects.case_n
    WHERE last_run >= :since AND passed > 0 GROUP BY g.case_n, agent, version) found
  JOIN words cases ON cases.n = found.case_n JOIN words agents ON agents.n = found.agent
  JOIN words versions ON versions.n = found.version WHERE mixed > 0
"""
_RESULTS = """
SELECT cases.text, passed, graded, latency_ms, cost, tokens
  FROM results JOIN runs ON runs.n = run_n JOIN words cases ON cases.n = case_n WHERE runs.id = ?
"""
_RUNS_BEFORE = """
SELECT n, id, started_at, commit_id, dirty FROM runs WHERE kept AND id < ? ORDER BY id DESC LIMIT ?
"""
_RATED = "SELECT case_n, agent, passed, graded FROM results WHERE run_n = ? AND NOT quarantined"
_NEW_RESULT = "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INTO_GROUPS = """
INSERT INTO groups SELECT case_n, agent, version, digest, sum(own_passed), sum(own_graded), max(runs.id)
  FROM results JOIN runs ON runs.n = run_n WHERE {which} GROUP BY case_n, agent, version, digest
  ON CONFLICT DO UPDATE SET passed = passed + excluded.passed, graded = graded + excluded.graded,
  last_run = max(last_run, excluded.last_run)
"""
_INTO_TOTALS = """
INSERT INTO totals SELECT case_n, agent, version, sum(own_passed), sum(own_graded), count(*),
  sum(verdict = 'passed'), sum(verdict = 'failed'), min(runs.id), max(runs.id)
  FROM results JOIN runs ON runs.n = run_n WHERE {which} GROUP BY case_n, agent, version
  ON CONFLICT DO UPDATE SET passed = passed + excluded.passed, graded = graded + excluded.graded,
  runs = runs + excluded.runs, passed_runs = passed_runs + excluded.passed_runs,
  failed_runs = failed_runs + excluded.failed_runs, first_run = min(first_run, excluded.first_run),
  last_run = max(last_run, excluded.last_run)
"""


class Index:
    """The index, open and up to date. What it gives are values of run_history and run_review."""

    def __init__(self, connection: sqlite3.Connection, runs: Path) -> None:
        self._db = connection
        self._runs = runs
        self._numbers: dict[str, int] | None = None

    def cases(self) -> list[str]:
        """The folded IDs of all cases that a run has."""
        return [text for (text,) in self._db.execute(_CASES)]

    def points(self, case: str) -> list[Point]:
        """A case in all runs, the oldest first."""
        return [
            Point(
                run=row[0],
                started_at=row[1],
                commit=row[2],
                dirty=None if row[3] is None else bool(row[3]),
                agent=row[4],
                agent_digest=row[5],
                version=row[6],
                verdict=row[7],
                passed=row[8],
                graded=row[9],
                planned=row[10],
                own_passed=row[11],
                own_graded=row[12],
            )
            for row in self._db.execute(_POINTS, (case.casefold(),))
        ]

    def newest_run(self, back: int = 0) -> str | None:
        """The ID of the newest run, or of one so many before it, the oldest where there are fewer; None of none."""
        rows = self._db.execute("SELECT id FROM runs WHERE kept ORDER BY id DESC LIMIT ?", (back + 1,)).fetchall()
        return rows[-1][0] if rows else None

    def totals(self) -> tuple[CaseTotal, ...]:
        """Every case added up per agent and content."""
        return tuple(CaseTotal(*(*row[:12], bool(row[12]))) for row in self._db.execute(_TOTALS))

    def mixed(self, since: str) -> tuple[Mixed, ...]:
        """Cases of which attempts both passed and failed with one agent and content, in that run or later."""
        return tuple(Mixed(*row) for row in self._db.execute(_MIXED, {"since": since}))

    def results_of(self, run: str) -> tuple[LatestResult, ...]:
        """The cases of one run with what they took."""
        return tuple(LatestResult(*row) for row in self._db.execute(_RESULTS, (run,)))

    def rates_before(self, record: RunRecord, most: int) -> tuple[RunRate, ...]:
        """The newest runs before that one with the same agents and nearly the same cases, the oldest first.

        Of each only the cases count that are in both, or a case that is new would look like a change.
        """
        gating = [planned for planned in record.plan if not planned.quarantined]
        cases = {self._numbered(planned.case.casefold()) for planned in gating}
        agents = {self._numbered(planned.agent) for planned in gating}
        found: list[RunRate] = []
        for n, *facts in self._db.execute(_RUNS_BEFORE, (record.id, _LOOKED_AT)).fetchall():
            rows = self._db.execute(_RATED, (n,)).fetchall()
            both = [row for row in rows if row[0] in cases]
            if {row[1] for row in rows} == agents and len(both) >= _ALIKE * max(len(rows), len(gating)):
                found.append(_run_rate(facts, both))
            if len(found) == most:
                break
        return tuple(reversed(found))

    def record_of(self, run: str) -> RunRecord:
        """The record of one of the runs, read from its file."""
        return read_record(self._runs / run)

    def close(self) -> None:
        self._db.close()

    # ---- bringing it up to date

    def refresh(self) -> None:
        """Take in runs that are new or have changed, and let go of those that are gone."""
        known = {row[0]: row for row in self._db.execute("SELECT id, stamp, n, kept, merged FROM runs")}
        there = dict(_stamps(self._runs, known))
        gone = [row for run, row in known.items() if there.get(run) != row[1]]
        if any(row[4] for row in gone):  # its shards count again
            self._empty()
            known, gone = {}, []
        for row in gone:
            self._forget(row[2])
        stale = any(row[3] for row in gone)
        new = [run for run in there if run not in known or known[run][1] != there[run]]
        records = {run: record for run in new if (record := self._record(run)) is not None}
        parts = {part for record in records.values() if record.status == FINISHED for part in record.merged}
        for part in parts & known.keys():
            stale |= self._set_aside(part)
        self._take_in(new, records, parts, there)
        if stale:
            self._add_up_again()
        self._db.commit()

    def _take_in(
        self, new: Iterable[str], records: Mapping[str, RunRecord], parts: set[str], stamps: Mapping[str, str]
    ) -> None:
        for run in new:
            record = records.get(run)
            kept = record is not None and record.status == FINISHED and record.confirms is None and run not in parts
            added = self._db.execute(
                "INSERT INTO runs (id, stamp, kept, started_at, commit_id, dirty, merged) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (run, stamps[run], kept, *_facts(record)),
            ).lastrowid
            if kept and added is not None:
                self._add(run, added)

    def _record(self, run: str) -> RunRecord | None:
        """None for one that cannot be read, which the index leaves out."""
        with contextlib.suppress(UsageError):
            return read_record(self._runs / run)
        return None

    def _add(self, run: str, n: int) -> None:
        try:
            made = read_outcomes(self._runs / run)
        except UsageError:
            self._db.execute("UPDATE runs SET kept = 0 WHERE n = ?", (n,))
            return
        digests = {agent.name: agent.digest for agent in made.record.agents}
        for folded, known in known_cases(made).items():
            planned = known.planned
            version = f"{planned.digests.input} {planned.digests.grade}"
            words = (folded, version, planned.agent, digests.get(planned.agent, ""))
            row = (*map(self._number, words), n, *_measured(known))
            self._db.execute(_NEW_RESULT, row)
        for into in (_INTO_GROUPS, _INTO_TOTALS):
            self._db.execute(into.format(which="run_n = ?"), (n,))

    def _number(self, word: str) -> int:
        """The number that stands for a word."""
        if self._numbers is None:
            self._numbers = dict(self._db.execute("SELECT text, n FROM words"))
        if word not in self._numbers:
            added = self._db.execute("INSERT INTO words (text) VALUES (?)", (word,)).lastrowid
            self._numbers[word] = int(added or 0)
        return self._numbers[word]

    def _numbered(self, word: str) -> int | None:
        """The number of a word, if it has one."""
        row = self._db.execute("SELECT n FROM words WHERE text = ?", (word,)).fetchone()
        return None if row is None else int(row[0])

    def _forget(self, n: int) -> None:
        self._db.execute("DELETE FROM results WHERE run_n = ?", (n,))
        self._db.execute("DELETE FROM runs WHERE n = ?", (n,))

    def _set_aside(self, run: str) -> bool:
        """Count a shard no more, since the run that it was merged into has its attempts. Whether it was counted."""
        self._db.execute(
            "DELETE FROM results WHERE run_n = (SELECT n FROM runs WHERE id = ? AND kept)",
            (run,),
        )
        return self._db.execute("UPDATE runs SET kept = 0 WHERE id = ? AND kept", (run,)).rowcount > 0

    def _add_up_again(self) -> None:
        for table, into in (("groups", _INTO_GROUPS), ("totals", _INTO_TOTALS)):
            self._db.execute(f"DELETE FROM {table}")  # noqa: S608  # names of our own
            self._db.execute(into.format(which="1"))

    def _empty(self) -> None:
        for table in ("runs", "results", "groups", "totals"):
            self._db.execute(f"DELETE FROM {table}")  # noqa: S608  # the same


@contextlib.contextmanager
def open_index(root: Path, runs: Path) -> Iterator[Index]:
    """The index of the runs in that folder, brought up to date. One that is broken, or of another format, is made anew.

    Where the cache cannot be written it is made in memory, which is as good and takes as long each time.
    """
    index = _up_to_date(root / FOLDER / FILE_NAME, runs)
    try:
        yield index
    finally:
        index.close()


def _up_to_date(path: Path, runs: Path) -> Index:
    with contextlib.suppress(OSError, sqlite3.OperationalError):
        try:
            return _indexed(path, runs)
        except sqlite3.OperationalError:  # not writable, or locked for too long: not broken
            raise
        except sqlite3.DatabaseError:
            path.unlink()
            return _indexed(path, runs)
    return _indexed(None, runs)


def _indexed(path: Path | None, runs: Path) -> Index:
    if path is not None:
        ignored_folder(path.parent)
    connection = sqlite3.connect(path or ":memory:", timeout=_PATIENCE)
    try:
        index = Index(_ready(connection), runs)
        index.refresh()
    except BaseException:
        connection.close()
        raise
    return index


def _ready(connection: sqlite3.Connection) -> sqlite3.Connection:
    """With its tables, and alone: who comes second finds the work done. Raises sqlite3.Error where it is none."""
    connection.execute("BEGIN IMMEDIATE")
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    if number == INDEX_FORMAT:
        return connection
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        connection.execute(f"DROP TABLE {table}")
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {INDEX_FORMAT}")
    return connection


def _stamps(runs: Path, known: Container[str]) -> Iterator[tuple[str, str]]:
    """What tells whether a run has changed: the time and size of its run.json."""
    names = sorted(_folders(runs))
    if not all(name in known for name in names):
        names = run_ids(runs)
    for name in names:
        with contextlib.suppress(OSError):
            facts = os.stat(f"{runs}/{name}/{RUN}")  # noqa: PTH116  # a thousand Paths take as long as all the rest
            yield name, f"{facts.st_mtime_ns} {facts.st_size} {facts.st_ino}"


def _folders(runs: Path) -> list[str]:
    """What may be runs, without reading the time in each name."""
    try:
        return [entry.name for entry in os.scandir(runs) if RUN_ID.fullmatch(entry.name)]
    except OSError:
        return []  # run_ids tells what is wrong with the folder, as soon as somebody asks for a run


def _facts(record: RunRecord | None) -> tuple[str, str | None, bool | None, bool]:
    if record is None:
        return "", None, None, False
    return record.started_at, record.git.commit, record.git.dirty, bool(record.merged)


def _run_rate(facts: Sequence[Any], rows: Sequence[tuple[int, int, int, int]]) -> RunRate:
    run, started_at, commit, dirty = facts
    return RunRate(
        run=run,
        started_at=started_at,
        commit=commit,
        dirty=None if dirty is None else bool(dirty),
        cases=len(rows),
        passed=sum(passed for _, _, passed, _ in rows),
        graded=sum(graded for _, _, _, graded in rows),
    )


def _measured(known: Known) -> tuple[object, ...]:
    """The rest of the row of a case: what its attempts came to and took."""
    side, measures = known.side, known.side.measures
    own = [attempt.status for attempt in known.attempts if attempt.reused_from is None and attempt.status in GRADED]
    return (
        side.verdict,
        side.passed,
        side.graded,
        side.planned,
        own.count("passed"),
        len(own),
        known.planned.min_pass_rate,
        known.planned.quarantined,
        measures.latency_ms,
        measures.cost,
        measures.tokens,
    )
