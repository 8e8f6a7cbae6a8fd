"""One attempt, executed: a loop over the user's turns. Plain values in, an Ending out.

speaker → words → request → session → answer → speaker …
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from agenteval_cli import limits
from agenteval_cli.case import Limits
from agenteval_cli.endings import Answered, Cancelled, Ending, Facts, HarnessFault, TimedOut, Unanswered, UserFault
from agenteval_cli.finding import FAILED
from agenteval_cli.replaying import Says
from agenteval_cli.sessions import Means, Session, session_for
from agenteval_cli.speakers import (
    Broken,
    Line,
    Replayed,
    Script,
    Simulated,
    Speaker,
    Stop,
    Words,
    says_by_rules,
)
from agenteval_cli.talk import AGENT_ENDED, Exchange, Talk
from agenteval_cli.task import Task
from agenteval_cli.transcript import Transcript
from agenteval_cli.turns import joined, next_request, opened
from agenteval_cli.users.interface import User

_FAR_OFF = 1e9  # seconds, thirty years: a date has an end, the timeout of a case has none


def deadline_in(seconds: float) -> str:
    """The moment so many seconds from now, UTC as RFC 3339."""
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=min(seconds, _FAR_OFF))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def execute(task: Task, means: Means, users: Mapping[str, User]) -> Ending:
    """Run the agent through the turns of one attempt. Never raises for what an agent or this machine does.

    `users` plays the simulated user that the task names.
    """
    try:
        session = session_for(task, means)
        try:
            return _Conversation(task, session, _speaker(task, users), means).held()
        finally:
            session.close()
    except OSError as error:
        return HarnessFault(f"{error.strerror}: {error.filename}" if error.filename else str(error))


def _speaker(task: Task, users: Mapping[str, User]) -> Speaker:
    if task.recorded is not None:
        return Replayed(task.recorded, _by_rules(task, users))
    if task.role is not None:
        return Simulated(task.user, task.role, users[task.user], task.request["seed"])
    return Script((task.request["input"], *task.later))


def _by_rules(task: Task, users: Mapping[str, User]) -> Says | None:
    """What the user of the task would say, where it goes by the rules that its recorded words came from."""
    role, user = task.role, users.get(task.user)
    if role is None or user is None or task.recorded is None or not task.recorded.by_rules:
        return None
    return lambda talk: says_by_rules(user, role, talk)


class _Conversation:
    """The turns of one attempt as they come. What the user takes to think is not the agent's time."""

    def __init__(self, task: Task, session: Session, speaker: Speaker, means: Means) -> None:
        self._task = task
        self._session = session
        self._speaker = speaker
        self._means = means
        self._left = task.seconds
        self._request: Mapping[str, Any] = task.request
        self._said: list[Any] = []
        self._answers: list[Answered] = []

    def held(self) -> Ending:
        """Every turn in order, until nobody says more, a turn is not answered, or the time of the agent is over."""
        while True:
            line = self._speaker.next(self._exchanges())
            if not isinstance(line, Words) or self._is_cancelled():
                return self._silenced(line)
            ending = self._asked(line.content)
            if not isinstance(ending, Answered):
                return self._ended_by(ending)
            self._answers.append(ending)
            stop = self._stop_after(line, ending)
            if stop is not None:
                return self._over(stop.why)

    def _is_cancelled(self) -> bool:
        """Whether the run was stopped while the user thought; while the agent did, the session says so."""
        return bool(self._speaker.user) and self._means.processes.cancel.requested

    def _silenced(self, line: Line) -> Ending:
        """How it ends where the user says no more."""
        if self._is_cancelled():
            return self._ended_by(Cancelled(Facts()))
        if isinstance(line, Stop):
            return self._over(line.why)
        fault = line.reason if isinstance(line, Broken) else ""
        return self._ended_by(UserFault(Facts(), f"the simulated user {self._speaker.user}: {fault}"))

    def _stop_after(self, line: Words, answer: Answered) -> Stop | None:
        """Why nothing follows an answer; None where the user goes on."""
        if line.stop is not None:
            return Stop(line.stop)
        if self._speaker.user and answer.transcript.ended:
            return Stop(AGENT_ENDED)
        return Stop(None) if self._is_over_limit() else None

    def _asked(self, words: Any) -> Ending:
        self._request = self._next_request(words)
        self._said.append(words)
        began = time.monotonic()
        ending = self._session.ask(self._request, max(0.0, self._left))
        self._left -= time.monotonic() - began
        if self._means.tools is not None and "tool_server" in self._task.request:
            self._means.tools.next_turn(self._task.request["attempt"])
        return TimedOut(ending.facts, self._task.seconds) if isinstance(ending, TimedOut) else ending

    def _next_request(self, words: Any) -> Mapping[str, Any]:
        if self._answers:
            following = next_request(self._request, self._answers[-1].transcript, words)
            return {**following, "deadline": deadline_in(max(0.0, self._left))}
        if not self._speaker.user:
            return self._request
        return {**opened(self._request, words), "deadline": deadline_in(self._left)}

    def _is_over_limit(self) -> bool:
        wanted = self._task.limits
        if "tool_server" in self._task.request:  # it counts the calls itself; what the agent says of them is a claim
            wanted = replace(wanted, tool_calls=None, steps=None)
        if wanted == Limits(timeout=wanted.timeout):
            return False
        seconds = sum(answer.facts.seconds for answer in self._answers)
        turns = self._turns()
        found = limits.checked(wanted, joined(turns), seconds, len(turns))
        return any(result.result == FAILED for result in found)

    def _exchanges(self) -> Sequence[Exchange]:
        """The turns that were answered."""
        turns = zip(self._said, self._answers, strict=False)  # the last words may have got no answer
        return [Exchange(user, answer.transcript.output) for user, answer in turns]

    def _over(self, why: str | None) -> Ending:
        """The turns as one: times and sizes added up, the raw output of each in order, exit code of the last."""
        if not self._answers:
            return self._ended_by(UserFault(Facts(), f"the simulated user {self._speaker.user} said nothing at all"))
        talk = self._talk(why)
        if len(self._answers) == 1:
            return replace(self._answers[0], talk=talk)
        turns = self._turns()
        return Answered(_joined([answer.facts for answer in self._answers]), joined(turns), turns, talk)

    def _ended_by(self, ending: Ending) -> Ending:
        """The ending with the turns before it, and their facts."""
        if isinstance(ending, Answered) or not (self._answers or self._speaker.user):
            return ending
        facts = _joined([*(answer.facts for answer in self._answers), ending.facts])
        whole: Unanswered = replace(ending, facts=facts, turns=self._turns(), talk=self._talk(None))
        return whole

    def _turns(self) -> tuple[Transcript, ...]:
        return tuple(answer.transcript for answer in self._answers)

    def _talk(self, stop: str | None) -> Talk | None:
        """The user's side; None where the case asks once, and the request has all of it."""
        if not self._speaker.user and len(self._said) == 1:
            return None
        replay = self._speaker.replay(self._exchanges())
        return Talk(
            said=tuple(self._said), user=self._speaker.user, stop=stop, calls=self._speaker.calls, replay=replay
        )


def _joined(facts: Sequence[Facts]) -> Facts:
    """Times and sizes added up, the raw output of each in order, the exit of the last."""
    return Facts(
        seconds=sum(each.seconds for each in facts),
        exit_code=facts[-1].exit_code,
        signal=facts[-1].signal,
        stdout=b"".join(each.stdout for each in facts),
        stderr=b"".join(each.stderr for each in facts),
        stdout_size=sum(each.stdout_size for each in facts),
        stderr_size=sum(each.stderr_size for each in facts),
    )
