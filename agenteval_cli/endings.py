"""How the execution of an attempt can end. Each carries its own facts; grading must deal with every one.

`turns` has the transcript of each answered turn where there are several, or where a later one got no answer; `talk` is
the user's side of them.
"""

from __future__ import annotations

import msgspec

from agenteval_cli.talk import Talk
from agenteval_cli.transcript import Transcript

Turns = tuple[Transcript, ...]


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What the process left behind. Output is capped; the sizes are of all that was printed."""

    seconds: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_size: int = 0
    stderr_size: int = 0


class Answered(msgspec.Struct, frozen=True, tag=True):
    """The agent ended by itself with an answer that could be read; `transcript` is of all turns together."""

    facts: Facts
    transcript: Transcript
    turns: Turns = ()
    talk: Talk | None = None


class AgentFault(msgspec.Struct, frozen=True, tag=True):
    """The agent did not start, crashed, or printed what is not an answer."""

    facts: Facts
    reason: str
    turns: Turns = ()
    talk: Talk | None = None


class TimedOut(msgspec.Struct, frozen=True, tag=True):
    """The agent was ended at its deadline, after `limit` seconds."""

    facts: Facts
    limit: float
    turns: Turns = ()
    talk: Talk | None = None


class OverLimit(msgspec.Struct, frozen=True, tag=True):
    """The tool server refused calls over a limit, and the agent did not come to an answer that could be graded."""

    facts: Facts
    reason: str
    turns: Turns = ()
    talk: Talk | None = None


class Cancelled(msgspec.Struct, frozen=True, tag=True):
    """The run was stopped while the agent worked."""

    facts: Facts
    turns: Turns = ()
    talk: Talk | None = None


class UserFault(msgspec.Struct, frozen=True, tag=True):
    """The simulated user said nothing, or what is not its role to say. That tells nothing about the agent."""

    facts: Facts
    reason: str
    turns: Turns = ()
    talk: Talk | None = None


class HarnessFault(msgspec.Struct, frozen=True, tag=True):
    """Something of ours or of this machine went wrong: no room, a vanished file."""

    reason: str
    facts: Facts = Facts()
    turns: Turns = ()
    talk: Talk | None = None


Unanswered = AgentFault | TimedOut | OverLimit | Cancelled | UserFault | HarnessFault
Ending = Answered | Unanswered
