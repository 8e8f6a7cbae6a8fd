"""Finding the commit that broke a case: each commit tried is checked out beside the checkout, which is not touched.

The case is the working tree's all along; the agent and its configuration are each commit's own. The attempts are kept
under .agenteval/bisect, apart from the runs, since they are of old commits and of one case.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import msgspec
from msgspec.structs import replace

from agenteval_cli.bisecting import AT_ONCE, BAD, GOOD, Counts, Ends, are_apart, error_of, side_of
from agenteval_cli.caches import ignored_folder
from agenteval_cli.commits import commits_between, middles
from agenteval_cli.errors import IncompleteError, InvalidFilesError, UsageError
from agenteval_cli.git import LogEntry
from agenteval_cli.ordering import Wishes, new_order
from agenteval_cli.records import INTERRUPTED
from agenteval_cli.repository import Loaded, LoadedCase, Repository, open_repository
from agenteval_cli.runner import Order, begun_again, run
from agenteval_cli.statuses import GRADED
from agenteval_cli.store import new_run_id, read_run
from agenteval_cli.watching import Watcher
from agenteval_cli.worktrees import PrepareError, checked_out

FOLDER = ".agenteval/bisect"
_WORKTREES = ".agenteval/worktrees"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A case, the commits between which it broke, at most how many attempts a commit, and how sure to be (0 to 1).

    `prepare` is a command for sh that makes each checkout runnable.
    """

    case: LoadedCase
    good: str
    bad: str
    attempts: int
    confidence: float
    agent: str | None = None
    concurrency: int | None = None
    prepare: str | None = None


class Trial(msgspec.Struct, frozen=True):
    """A commit that was tried: `said` is good, bad, or why it was skipped. `run` is None where nothing ran."""

    commit: LogEntry
    said: str
    passed: int
    graded: int
    run: str | None


class Bisection(msgspec.Struct, frozen=True):
    """The commits left that may have broken the case, one if it was found; and all that were tried, in their order."""

    suspects: tuple[LogEntry, ...]
    trials: tuple[Trial, ...]
    confidence: float


def bisect(
    repository: Repository,
    loaded: Loaded,
    asked: Asked,
    environment: Mapping[str, str],
    watcher: Callable[[], Watcher],
    tell: Callable[[Trial], None],
) -> Bisection:
    """Find the commit. `tell` hears of each trial as it ends.

    Raises UsageError where the commits are not one after the other or an end cannot run, IncompleteError where the
    ends are not apart or a step stays undecided, KeyboardInterrupt where a signal ended it.
    """
    return _Search(repository, loaded, asked, environment, watcher, tell).found()


class _Search:
    def __init__(
        self,
        repository: Repository,
        loaded: Loaded,
        asked: Asked,
        environment: Mapping[str, str],
        watcher: Callable[[], Watcher],
        tell: Callable[[Trial], None],
    ) -> None:
        self._repository, self._loaded, self._asked = repository, loaded, asked
        self._environment, self._watcher, self._tell = environment, watcher, tell
        self._trials: list[Trial] = []
        between = commits_between(repository.root, asked.good, asked.bad)
        if not between:
            raise UsageError(f"{asked.good[:12]} is not before {asked.bad[:12]} in history, so no commit lies between")
        self._known = {entry.commit: entry for entry in between}

    def found(self) -> Bisection:
        ends = self._ends()
        good, bad = [self._asked.good], self._asked.bad
        skipped: set[str] = set()
        while True:
            suspects, middle = middles(self._repository.root, good, bad, skipped)
            if middle is None:
                chosen = tuple(self._known[commit] for commit in suspects)
                return Bisection(chosen, tuple(self._trials), self._asked.confidence)
            said = self._step(middle, ends)
            if said == GOOD:
                good.append(middle)
            elif said == BAD:
                bad = middle
            else:
                skipped.add(middle)

    def _ends(self) -> Ends:
        """Both ends, tried until they are apart."""
        error = error_of(self._asked.confidence, len(self._known))
        good_end = LogEntry(self._asked.good, "", "the good end")
        with self._tried(self._asked.good) as good, self._tried(self._asked.bad) as bad:
            ends = Ends((0, 0), (0, 0), error)
            while not are_apart(ends, self._asked.attempts):
                if good.attempts >= self._asked.attempts:
                    raise IncompleteError(_not_apart(ends, self._asked.attempts))
                ends = Ends(good.more(), bad.more(), error)
            self._note(good_end, GOOD, good)
            self._note(self._known[self._asked.bad], BAD, bad)
        return ends

    def _step(self, commit: str, ends: Ends) -> str | None:
        """Good or bad; None for a commit that cannot run the case."""
        try:
            with self._tried(commit) as tried:
                counts, said = (0, 0), None
                while said is None:
                    if tried.attempts >= self._asked.attempts:
                        words = f"{counts[0]}/{counts[1]} passed at {commit[:12]}, which is like neither end"
                        raise IncompleteError(f"{words}; more --attempts may tell")
                    counts = tried.more()
                    said = side_of(counts, ends)
                self._note(self._known[commit], said, tried)
                return said
        except (UsageError, InvalidFilesError, PrepareError) as error:
            self._told(Trial(self._known[commit], f"skipped: {error}", 0, 0, None))
            return None

    def _note(self, entry: LogEntry, said: str, tried: _Tried) -> None:
        self._told(Trial(entry, said, *tried.counts, tried.run_id))

    def _told(self, trial: Trial) -> None:
        self._trials.append(trial)
        self._tell(trial)

    def _tried(self, commit: str) -> _Tried:
        return _Tried(self._repository, self._loaded, self._asked, commit, self._environment, self._watcher)


class _Tried:
    """One commit, checked out while it is tried; a run of its own that goes on by a few attempts at a time."""

    def __init__(
        self,
        repository: Repository,
        loaded: Loaded,
        asked: Asked,
        commit: str,
        environment: Mapping[str, str],
        watcher: Callable[[], Watcher],
    ) -> None:
        self._repository, self._loaded, self._asked = repository, loaded, asked
        self._environment, self._watcher = environment, watcher
        folder = repository.root / _WORKTREES / f"{commit[:12]}-{secrets.token_hex(4)}"
        self._tree = checked_out(repository.root, commit, folder, asked.prepare)
        self.attempts = 0
        self.counts: Counts = (0, 0)
        self.run_id = ""

    def __enter__(self) -> Self:
        tree = self._tree.__enter__()
        try:
            self._order = self._first_order(open_repository(tree))
        except BaseException as error:
            self._tree.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._tree.__exit__(None, None, None)

    def _first_order(self, tree: Repository) -> Order:
        wishes = Wishes(
            agent=self._asked.agent,
            attempts=AT_ONCE,
            seed=secrets.randbits(31),
            concurrency=self._asked.concurrency,
        )
        order = new_order(tree, self._loaded, [self._asked.case], wishes, self._environment)
        runs = self._repository.root / FOLDER
        ignored_folder(runs)
        self.run_id = new_run_id(runs)
        return replace(order, record=replace(order.record, id=self.run_id), folder=runs / self.run_id)

    def more(self) -> Counts:
        """Passed and graded after a few more attempts."""
        self.attempts = min(self.attempts + AT_ONCE, self._asked.attempts)
        plan = tuple(replace(planned, attempts=self.attempts) for planned in self._order.record.plan)
        run(replace(self._order, record=replace(self._order.record, plan=plan)), self._watcher())
        made = read_run(Path(self._order.folder))
        if made.record.status == INTERRUPTED:
            raise KeyboardInterrupt
        self._order = replace(self._order, record=begun_again(made.record), earlier=made.attempts)
        ended = [attempt.status for attempt in made.attempts if attempt.status in GRADED]
        self.counts = ended.count("passed"), len(ended)
        return self.counts


def _not_apart(ends: Ends, attempts: int) -> str:
    counts = f"{ends.good[0]}/{ends.good[1]} passed at the good end and {ends.bad[0]}/{ends.bad[1]} at the bad one"
    return f"{counts}, which may be chance; more --attempts than {attempts} may tell, or the case did not break there"
