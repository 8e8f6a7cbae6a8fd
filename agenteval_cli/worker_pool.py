"""The workers of a run: agents that stay and answer one attempt after another. A broken one costs its attempt only."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator

from agenteval_cli.endings import Answered, Ending
from agenteval_cli.process import Command, Processes
from agenteval_cli.task import Task
from agenteval_cli.workers import Answer, Worker

Key = tuple[str, ...]


class WorkerPool:
    """Workers that nobody talks to now, by what they were started with. Used from many threads."""

    def __init__(self, processes: Processes, mark: str) -> None:
        self._processes = processes
        self._mark = mark
        self._lock = threading.Lock()
        self._idle: dict[Key, list[Settled]] = defaultdict(list)

    def lease(self, task: Task) -> Lease:
        """A worker for one attempt, which keeps it over all of its turns."""
        return Lease(self, task)

    def settle(self, task: Task) -> Settled:
        """A new worker. Raises NotStartedError where the command cannot be started, OSError where there is no room."""
        return Settled(self._processes, self._mark, task)

    def taken(self, key: Key) -> Settled | None:
        """An idle worker, if there is one."""
        with self._lock:
            return self._idle[key].pop() if self._idle[key] else None

    def put_back(self, key: Key, settled: Settled) -> None:
        """Let others have the worker."""
        with self._lock:
            self._idle[key].append(settled)

    def close(self) -> None:
        """End every worker. Call it when no attempt is running any more."""
        with self._lock:
            settled = [each for listed in self._idle.values() for each in listed]
            self._idle.clear()
        threads = [threading.Thread(target=each.end) for each in settled]  # each may take all of its grace
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Lease:
    """The worker that one attempt talks to: the same one turn after turn, as long as it stays in step."""

    def __init__(self, pool: WorkerPool, task: Task) -> None:
        self._pool = pool
        self._task = task
        self._key = (*task.argv, *(f"{name}={value}" for name, value in sorted(task.env.items())))
        self._settled: Settled | None = None

    def ask(self, line: bytes, seconds: float, read: Callable[[Answer], Ending]) -> Ending:
        """Ask the attempt's worker, else an idle one, else a new one.

        One that fell out of step while nobody talked to it is replaced, and nobody notices; the attempt's own is not.
        A worker whose answer cannot be read is ended too: what it prints next may belong to this request still. Raises
        NotStartedError where the command cannot be started, OSError where this machine has no room for it.
        """
        while True:
            own, self._settled = self._settled, None
            idle = None if own else self._pool.taken(self._key)
            settled = own or idle or self._pool.settle(self._task)
            ending = None
            try:
                answer = settled.worker.send_and_wait(line, seconds)
                ending = read(answer)
            finally:
                if isinstance(ending, Answered) and answer.in_step:
                    self._settled = settled
                else:
                    settled.end()
            if answer.sent or idle is None:
                return ending

    def close(self) -> None:
        """Give the worker back."""
        if self._settled is not None:
            self._pool.put_back(self._key, self._settled)
            self._settled = None


class Settled:
    """A worker with the folder that it lives in."""

    def __init__(self, processes: Processes, mark: str, task: Task) -> None:
        self._processes = processes
        self._trace_id = mark + os.urandom(8).hex()
        with _folder_unless_done(processes) as folder:
            env = {**task.env, "TRACEPARENT": f"00-{self._trace_id}-{os.urandom(8).hex()}-01"}
            self.worker = Worker(processes, Command(task.argv, env, folder, b"", 0.0))
            self._folder = folder

    def end(self) -> None:
        self.worker.end()
        self._processes.has_ended(self._trace_id)
        self._processes.remove_folder(self._folder)


@contextlib.contextmanager
def _folder_unless_done(processes: Processes) -> Iterator[str]:
    """A new folder that is removed again if the block fails."""
    folder = processes.new_folder()
    try:
        yield folder
    except BaseException:
        processes.remove_folder(folder)
        raise
