"""The threads that execute a run's attempts, as many for each agent as it may have at once.

Threads, not asyncio: an attempt waits in poll() on its own pipes, which costs a tenth of asyncio's start-up and lets
the writer stay a plain loop (docs/decisions.md).
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator

from agenteval_cli.attempt_records import Records
from agenteval_cli.config import DEFAULT_CONCURRENCY
from agenteval_cli.schedule import Agenda, Brakes, Job
from agenteval_cli.statuses import STATUSES
from agenteval_cli.trying import Work, tried

SWEEP_EVERY = 1.0  # seconds


class Crew:
    """Works an agenda off. Iterating gives what has ended, a batch at a time, until all of it has."""

    def __init__(self, work: Work, agenda: Agenda, brakes: Brakes) -> None:
        self._work = work
        self._agenda = agenda
        self._brakes = brakes
        self._done: queue.SimpleQueue[Records | BaseException | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(work.concurrency) if work.concurrency else contextlib.nullcontext()
        self._threads = [
            threading.Thread(target=self._life, args=(name,))
            for name, jobs in agenda.sizes().items()
            for _ in range(min(jobs, self._at_once(name)))
        ]

    def __iter__(self) -> Iterator[list[Records]]:
        for thread in self._threads:
            thread.start()
        try:
            yield from self._batches()
        except BaseException:
            self._work.means.processes.cancel.request()
            raise
        finally:
            for thread in self._threads:
                thread.join()
            self._work.means.pool.close()
            self._work.means.processes.sweep()

    def _at_once(self, agent: str) -> int:
        own = self._work.agents[agent].agent.concurrency
        return own or self._work.concurrency or DEFAULT_CONCURRENCY

    def _batches(self) -> Iterator[list[Records]]:
        """What the threads finish, all that is there at once, until each of them has said that it is done.

        A bug of ours in one of them ends the others; it is raised once all that has ended is given.
        """
        alive = len(self._threads)
        bugs = []
        swept = time.monotonic()
        while alive:
            batch = []
            for item in self._ended():
                if isinstance(item, BaseException):
                    bugs.append(item)
                    self._work.means.processes.cancel.request()
                elif item is None:
                    alive -= 1
                else:
                    batch.append(item)
            if batch:
                yield batch
            if time.monotonic() - swept > SWEEP_EVERY:
                self._work.means.processes.sweep()
                swept = time.monotonic()
        if bugs:
            raise bugs[0]

    def _ended(self) -> Iterator[Records | BaseException | None]:
        """All that the threads have put down by now; waits a moment for the first."""
        with contextlib.suppress(queue.Empty):
            yield self._done.get(timeout=SWEEP_EVERY)
            while True:
                yield self._done.get_nowait()

    def _life(self, agent: str) -> None:
        """One thread: job after job, until there is none."""
        try:
            while not self._work.means.processes.cancel.requested:
                with self._room:
                    job = self._agenda.take(agent)
                    if job is None:
                        break
                    self._tries(job)
        except BaseException as error:  # noqa: BLE001  # a bug of ours must stop the run, not a thread
            self._done.put(error)
        finally:
            self._done.put(None)

    def _tries(self, job: Job) -> None:
        """An attempt, and again where it ended in an error and may be retried. Each try is put down."""
        for retry in range(self._work.retries + 1):
            records = tried(self._work, job, retry)
            may_retry = STATUSES[records[0].status].retry
            self._brakes.seen(records[0], retried=may_retry and retry < self._work.retries)
            self._done.put(records)
            if not may_retry or self._work.means.processes.cancel.requested or self._brakes.why():
                break
