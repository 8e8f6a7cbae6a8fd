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
        self._idle: dict[Key, list[_Settled]] = defaultdict(list)

    def ask(self, task: Task, line: bytes, seconds: float, read: Callable[[Answer], Ending]) -> Ending:
        """Ask an idle worker, or a new one. One that fell out of step while idle is replaced, and nobody notices.

        A worker whose answer cannot be read is ended too: what it prints next may belong to this request still.
        Raises NotStartedError where the command cannot be started, OSError where this machine has no room for it.
        """
        while True:
            key = (*task.argv, *(f"{name}={value}" for name, value in sorted(task.env.items())))
            idle = self._taken(key)
            settled = idle or _Settled(self._processes, self._mark, task)
            ending = None
            try:
                answer = settled.worker.send_and_wait(line, seconds)
                ending = read(answer)
            finally:
                if isinstance(ending, Answered) and answer.in_step:
                    self._put_back(key, settled)
                else:
                    settled.end()
            if answer.sent or idle is None:
                return ending

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

    def _taken(self, key: Key) -> _Settled | None:
        with self._lock:
            return self._idle[key].pop() if self._idle[key] else None

    def _put_back(self, key: Key, settled: _Settled) -> None:
        with self._lock:
            self._idle[key].append(settled)


class _Settled:
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
