"""What was said and done in an attempt, in the order it happened, as far as the transcript tells it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import msgspec
from msgspec import UNSET

from agenteval_cli.compare import same
from agenteval_cli.finding import CheckResult
from agenteval_cli.phrases import count
from agenteval_cli.records import TranscriptRecord
from agenteval_cli.spending import cost_of_user
from agenteval_cli.talk import STOPS, Talk
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript
from agenteval_cli.turns import asked_in_words


class Said(msgspec.Struct, frozen=True):
    """A message, by whoever its role says. `turn` counts the user's words from 1 where there are several turns.

    `by` is how the user's words came about, where they are not the case's own.
    """

    role: str
    content: Any
    turn: int | None = None
    by: str = ""


class Thought(msgspec.Struct, frozen=True):
    """A step of reasoning."""

    step: ReasoningStep


class Called(msgspec.Struct, frozen=True):
    """A tool call and its number in the attempt."""

    number: int
    call: ToolCall


class Answer(msgspec.Struct, frozen=True):
    """What a turn ended with; `turn` counts from 1, and is None where there is only one.

    `state` is the state at its end where it is not what it was at the end of the turn before, else UNSET.
    """

    transcript: Transcript
    turn: int | None = None
    state: Any = UNSET


class Silence(msgspec.Struct, frozen=True):
    """A turn without an answer. `printed` is what the agent printed instead, where that is all it printed."""

    turn: int | None = None
    printed: str = ""


class End(msgspec.Struct, frozen=True):
    """Why a conversation with a simulated user is over, and whether replayed words still fitted, a sentence each."""

    words: tuple[str, ...]


Event = Said | Thought | Called | Answer | Silence | End


def events_of(record: TranscriptRecord) -> Iterator[Event]:
    """The request, then the user's words and what the agent did turn by turn, and why it is over."""
    turns = record.turns or ((record.transcript,) if record.transcript else ())
    words = _words(record.talk)
    several = max(len(words), len(turns)) > 1 or bool(record.talk and record.talk.user)
    known = list(_requested(record.request))
    if known and words and words[0] is not None and _same(known[-1], words[0]):
        known[-1], words[0] = words[0], None
    yield from known
    number, state = 1, UNSET
    for turn, (said, transcript) in enumerate(zip_longest(words, turns), start=1):
        at = turn if several else None
        if said is not None:
            known.append(said)
            yield said
        if transcript is None:
            yield Silence(at, "" if turns else printed(record, "stdout"))
        else:
            yield from _told(transcript, known, number)
            yield Answer(transcript, at, UNSET if _is_same_state(state, transcript.state) else transcript.state)
            state = transcript.state
            known.append(Said("assistant", transcript.output))
            number += len(transcript.tool_calls or ())
    if record.talk is not None and record.talk.user:
        yield End(tuple(_end(record.talk, len(turns))))


def beside_turns(checks: Sequence[CheckResult], events: Iterable[Event]) -> dict[int, list[CheckResult]]:
    """The checks of each turn that is told of; all others are about the whole."""
    told = {event.turn for event in events if isinstance(event, Answer | Silence)}
    found: dict[int, list[CheckResult]] = {}
    for check in checks:
        if check.turn is not None and check.turn in told:
            found.setdefault(check.turn, []).append(check)
    return found


def printed(record: TranscriptRecord, pipe: str) -> str:
    """What came out of `stdout` or `stderr`, undecodable bytes as U+FFFD."""
    encoded = getattr(record, f"{pipe}_base64")
    return getattr(record, pipe) or base64.b64decode(encoded or "").decode("utf-8", "replace")


def _requested(request: Mapping[str, Any]) -> Iterator[Said]:
    """What was said before the first answer."""
    if request.get("system_prompt"):
        yield Said("system", request["system_prompt"])
    for message in request["messages"]:
        role, content = str(message.get("role")), message.get("content")
        calls = asked_in_words(message)
        if content is not None or not calls:
            yield Said(role, content)
        yield from (Said(role, call) for call in calls)


def _words(talk: Talk | None) -> list[Said | None]:
    """What the user said at each turn; None where it was not recorded, since the request has the first."""
    if talk is None:
        return [None]
    by = "replayed" if talk.replay else f"simulated by {talk.user}" if talk.user else ""
    return [Said("user", content, turn, by) for turn, content in enumerate(talk.said, start=1)]


def _end(talk: Talk, turns: int) -> Iterator[str]:
    why = "it broke off" if talk.stop is None else f"{STOPS.get(talk.stop, talk.stop)} ({talk.stop})"
    yield f"the end, after {count(turns, 'answered turn')}: {why}"
    if talk.stop is None and talk.calls and talk.calls[-1].turn > len(talk.said):
        last = talk.calls[-1]
        yield f"the last reply of {talk.user}: {last.reply or last.fault}"
    spent = _spent(talk)
    if spent:
        yield f"what {talk.user} used: {spent}"
    replay = talk.replay
    if replay is not None:
        fitted = "to the end the words fitted what was answered"
        parted = f"from turn {replay.apart_at} on they may not fit: {replay.why}"
        told = fitted if replay.apart_at is None else parted
        yield f"the words of {talk.user} were replayed from run {replay.run}, attempt {replay.attempt}; {told}"


def _spent(talk: Talk) -> str:
    """What a simulated user told of its use, beside what the agent cost."""
    used = [(call.input_tokens, call.output_tokens) for call in talk.calls]
    tokens = [read + written for read, written in used if read is not None and written is not None]
    cost = cost_of_user(talk.calls)
    words = [count(sum(tokens), "token")] if tokens else []
    return ", ".join(words + ([f"cost {cost}"] if cost else []))


def _is_same_state(before: Any, now: Any) -> bool:
    """As JSON values: 1 is not true."""
    return (before is UNSET) == (now is UNSET) and (now is UNSET or same(before, now))


def _told(transcript: Transcript, known: Sequence[Said], number: int) -> Iterator[Event]:
    """Thoughts and calls; where the agent reports messages too, each call beside the message that asked for it."""
    steps = list(_steps(transcript, number))
    ids = {call.id for call in transcript.tool_calls or () if call.id is not None}
    answer = Said("assistant", transcript.output)
    for message in transcript.messages or ():
        said = Said(str(message.get("role")), _content(message, ids))
        if said.content not in (None, "", []) and not any(_same(said, other) for other in (*known, answer)):
            yield said
        for name in _calls_of(message):
            yield from _taken(steps, name)
    yield from steps


def _same(one: Said, other: Said) -> bool:
    """Whether both say the same; agents strip what they pass on."""
    texts = [item.content.strip() if isinstance(item.content, str) else item.content for item in (one, other)]
    return one.role == other.role and texts[0] == texts[1]


def _steps(transcript: Transcript, number: int) -> Iterator[Thought | Called]:
    """Each thought before the call that it led to, and all calls in order."""
    calls = [Called(number + index, call) for index, call in enumerate(transcript.tool_calls or ())]
    for step in transcript.reasoning or ():
        until = _until(calls, step.tool_call)
        before = calls[: max(until - 1, 0)]
        yield from before
        if step.content:
            yield Thought(step)
        yield from calls[len(before) : until]
        del calls[:until]
    yield from calls


def _taken(steps: list[Thought | Called], name: str) -> list[Thought | Called]:
    """The steps up to the call of that ID, taken from the list."""
    until = _until(steps, name)
    taken = steps[:until]
    del steps[:until]
    return taken


def _until(steps: Sequence[Thought | Called], name: str | None) -> int:
    """How many steps there are up to the call of that ID and with it; 0 where it is not among them."""
    found = (at for at, step in enumerate(steps, start=1) if isinstance(step, Called) and step.call.id == name)
    return 0 if name is None else next(found, 0)


def _calls_of(message: Mapping[str, Any]) -> Iterator[str]:
    """The IDs of the calls that a message asks for, in the two shapes that are about."""
    for part in (*_items(message.get("tool_calls")), *_items(message.get("content"))):
        if isinstance(part.get("id"), str) and part.get("type") in (None, "function", "tool_use"):
            yield part["id"]


def _content(message: Mapping[str, Any], ids: set[str]) -> Any:
    """What a message says, without the calls and results that are told as calls already."""
    content = message.get("content")
    if message.get("role") == "tool" and message.get("tool_call_id") in ids:
        return None
    parts = _items(content)
    if not isinstance(content, list) or len(parts) < len(content):
        return content
    left = [part for part in parts if part.get("id") not in ids and part.get("tool_use_id") not in ids]
    texts = [part["text"] for part in left if isinstance(part.get("text"), str)]
    return "\n".join(texts) if len(texts) == len(left) else left


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
