"""Making fresh attempts of the cases that fell, with the agent of the base and with that of the head.

The head's are made in the working tree, the base's in its commit, checked out beside it. Each side is a run of its own
that names what it confirms; confirming.py decides how many attempts, and when it is clear.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agenteval_cli.confirmation import confirmation_from
from agenteval_cli.confirming import Look, looks, next_look
from agenteval_cli.diff import Confirmation
from agenteval_cli.errors import UsageError
from agenteval_cli.ordering import Wishes, new_order
from agenteval_cli.records import INTERRUPTED, Confirms, PlannedCase, RunRecord
from agenteval_cli.repository import LoadedCase, Repository, load, open_repository
from agenteval_cli.run_writer import RunWriter
from agenteval_cli.runner import Order, begun_again, run
from agenteval_cli.store import Run, new_run_id, read_run
from agenteval_cli.watching import Watcher
from agenteval_cli.worktrees import checked_out

WORKTREES = ".agenteval/worktrees"


class How(msgspec.Struct, frozen=True, kw_only=True):
    """How to make them: at most so many a side, so many at once, each error tried again so often.

    `prepare` is a command for sh that makes a checkout of another commit runnable.
    """

    attempts: int
    concurrency: int | None = None
    retries: int = 0
    prepare: str | None = None


class Confirmed(msgspec.Struct, frozen=True):
    """What was found, the head run with a word on what confirmed it, and whether a signal ended it before its time."""

    confirmation: Confirmation
    head: Run
    interrupted: bool


def confirm(
    repository: Repository,
    base: Run,
    head: Run,
    cases: Sequence[str],
    how: How,
    environment: Mapping[str, str],
    watcher: Callable[[], Watcher],
) -> Confirmed:
    """Try these cases again on both sides until each is clear.

    Raises UsageError where the agent or a case of either run cannot be had any more as that run had it, IncompleteError
    where git or the disk fails.
    """
    confirms = Confirms(base.record.id, head.record.id, how.attempts)
    with contextlib.ExitStack() as stack:
        orders = [_order_as_in(made, repository, cases, how, environment, stack) for made in (base.record, head.record)]
        sides = [_Side(order, repository.runs, confirms, watcher) for order in orders]
        return _until_clear(sides, head, cases, confirms)


def _until_clear(sides: Sequence[_Side], head: Run, cases: Sequence[str], confirms: Confirms) -> Confirmed:
    still_open = list(cases)
    confirmation, interrupted = Confirmation((), {}), False
    for look in looks(confirms.attempts):
        base_again, head_again = (side.up_to(look.attempts, still_open) for side in sides)
        confirmation = confirmation_from(base_again, head_again, confirms.attempts)
        interrupted = INTERRUPTED in (base_again.record.status, head_again.record.status)
        still_open = [case for case in still_open if _is_open(confirmation, case, look, len(cases))]
        if interrupted or not still_open:
            break
    return Confirmed(confirmation, _marked(head, [side.run_id for side in sides]), interrupted)


def _is_open(confirmation: Confirmation, case: str, look: Look, cases: int) -> bool:
    """Whether more attempts are to be made. Not where some were not finished: then nothing more can be told."""
    seen = confirmation.seen[case]
    return len(seen) == confirmation.plan.index(look) + 1 and next_look(seen, confirmation.plan, cases) is not None


def _marked(head: Run, names: Sequence[str]) -> Run:
    """The head run, with a word in its record on what confirmed it."""
    record = replace(head.record, confirmed_by=(names[0], names[1]))
    writer = RunWriter.reopen(Path(head.folder), len(head.attempts))
    try:
        writer.replace(record)
    finally:
        writer.close()
    return replace(head, record=record)


class _Side:
    """The run of fresh attempts of one side, gone on with at each look."""

    def __init__(self, order: Order, runs: Path, confirms: Confirms, watcher: Callable[[], Watcher]) -> None:
        self.run_id = new_run_id(runs)
        record = replace(order.record, id=self.run_id, confirms=confirms)
        self._order = replace(order, record=record, folder=runs / self.run_id)
        self._watcher = watcher

    def up_to(self, attempts: int, cases: Collection[str]) -> Run:
        """The run once it has so many attempts of each of these cases; the others stay as they are."""
        wanted = {case.casefold() for case in cases}
        plan = tuple(
            replace(planned, attempts=attempts) if planned.case.casefold() in wanted else planned
            for planned in self._order.record.plan
        )
        run(replace(self._order, record=replace(self._order.record, plan=plan)), self._watcher())
        made = read_run(self._order.folder)
        self._order = replace(self._order, record=begun_again(made.record), earlier=made.attempts)
        return made


# ---- the same agent and the same cases once more


def _order_as_in(
    made: RunRecord,
    repository: Repository,
    cases: Sequence[str],
    how: How,
    environment: Mapping[str, str],
    stack: contextlib.ExitStack,
) -> Order:
    """An order with the agent and cases of that run: the working tree's where they are the same, else its commit's."""
    try:
        return _order(made, repository, cases, how, environment)
    except UsageError as differs:
        if made.git.commit is None or made.git.dirty is not False:
            why = "has no commit" if made.git.commit is None else "was made with uncommitted changes"
            words = f"run {made.id} {why}, so it cannot be had again; commit, then run"
            raise UsageError(f"{differs}; {words}") from differs
    folder = repository.root / WORKTREES / f"{made.git.commit[:12]}-{secrets.token_hex(4)}"
    tree = stack.enter_context(checked_out(repository.root, made.git.commit, folder, how.prepare))
    return _order(made, open_repository(tree), cases, how, environment)


def _order(made: RunRecord, tree: Repository, cases: Sequence[str], how: How, environment: Mapping[str, str]) -> Order:
    planned = {each.case.casefold(): each for each in made.plan}
    loaded = load(tree)
    found = {item.case.id.casefold(): item for item in loaded.cases}
    chosen = [_same_case(made, planned[case.casefold()], found.get(case.casefold())) for case in cases]
    agents = {planned[case.casefold()].agent for case in cases}
    wishes = Wishes(
        agent=next(iter(agents)) if len(agents) == 1 else None,
        attempts=how.attempts,
        seed=secrets.randbits(31),
        concurrency=how.concurrency,
        retries=how.retries,
    )
    order = new_order(tree, loaded, chosen, wishes, environment)
    digests = {agent.name: agent.digest for agent in made.agents}
    for agent in order.record.agents:
        if digests.get(agent.name) != agent.digest:
            raise UsageError(f"agent '{agent.name}' is not what it was in run {made.id}")
    users = {user.name: user.digest for user in made.users}
    for user in order.record.users:
        if users.get(user.name) != user.digest:
            raise UsageError(f"the simulated user '{user.name}' is not what it was in run {made.id}")
    return order


def _same_case(made: RunRecord, planned: PlannedCase, item: LoadedCase | None) -> LoadedCase:
    was = planned.digests
    if item is None or (item.digests.input, item.digests.grade) != (was.input, was.grade):
        raise UsageError(f"case {planned.case} is not what it was in run {made.id}")
    return item
