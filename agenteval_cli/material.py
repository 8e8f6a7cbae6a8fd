"""What a judge or a metric may look at of one attempt: pure, from the case and what the agent said and did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from agenteval_cli.case import Case
from agenteval_cli.constraints import CallPattern
from agenteval_cli.endings import Answered
from agenteval_cli.phrases import as_text
from agenteval_cli.talk import STOPS
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript
from agenteval_cli.turns import asked_in_words

MOST_OF_A_BLOCK = 20_000  # characters of one block that a judge is shown
_LEAST_OF_A_LINE = 200  # characters of what is said once that a judge is shown, however long the conversation
Block = tuple[str, str]


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence. None is what the case does not have or the agent did not report.

    `turns` has what the user said and what came back, a pair for each; `before` what was said before the last of them.
    `dialogue` is all of a conversation of several turns as one text, with its calls, where all of it is looked at.
    """

    input: str
    output: str
    before: tuple[Block, ...] = ()
    turns: tuple[Block, ...] = ()
    dialogue: str | None = None
    expected_output: str | None = None
    context: tuple[str, ...] | None = None
    retrieval_context: tuple[str, ...] | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    expected_calls: tuple[CallPattern, ...] | None = None
    reasoning: tuple[ReasoningStep, ...] | None = None
    state: str | None = None


def material_of(case: Case, answered: Answered, turn: int | None = None) -> Material:
    """The evidence on the whole attempt, or on one turn of it."""
    transcript = (
        answered.transcript if turn is None else answered.turns[turn] if answered.turns else answered.transcript
    )
    data = case.data
    said = _said(case, answered)[: len(answered.turns) or 1]
    at = len(said) - 1 if turn is None else turn
    turns = _turns(said, answered)
    follows = any(key in data for key in ("input", "turns", "simulation"))
    before = (*_messages(data.get("conversation", ()), last=follows), *_flat(turns[:at]))
    return Material(
        input=as_text(said[at]),
        output=as_text(transcript.output),
        before=before,
        turns=turns,
        dialogue=_dialogue(said, answered, before) if turn is None and len(turns) > 1 else None,
        expected_output=None if data.get("expected_output") is None else as_text(data["expected_output"]),
        context=tuple(map(as_text, data["context"])) if "context" in data else None,
        retrieval_context=transcript.retrieval_context,
        tool_calls=transcript.tool_calls,
        expected_calls=_expected(case),
        reasoning=transcript.reasoning,
        state=_state(transcript),
    )


def blocks_of(material: Material) -> tuple[Block, ...]:
    """All of it as named texts, in the order of events; what is not there has no block."""
    return tuple(_blocks(material))


def blocks_of_whole(material: Material) -> tuple[Block, ...]:
    """The same with a conversation as one text, where it is looked at as a whole."""
    if material.dialogue is None:
        return blocks_of(material)
    told_there = ("conversation before", "user", "tool calls", "answer")
    rest = tuple(block for block in blocks_of(material) if block[0] not in told_there)
    return (("conversation", material.dialogue), *rest)


def cut(text: str, most: int = MOST_OF_A_BLOCK) -> str:
    """The start and the end of a text that is too long, and how much is missing between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters are left out here …]\n{text[-half:]}"


def shown_call(call: ToolCall) -> str:
    """A call with its arguments and what it gave."""
    gave = f"error {as_text(call.error)}" if call.error is not None else f"result {_result(call)}"
    return f"{call.name}({as_text(call.arguments)}) -> {gave}"


def numbered(items: Sequence[str]) -> str:
    """The items numbered from 1; further lines of one are indented, so that none looks like two."""
    return "\n".join(f"{number}. {indented(item, 3)}" for number, item in enumerate(items, start=1))


def indented(text: str, by: int = 2) -> str:
    """A text whose further lines stand a little to the right."""
    return f"\n{' ' * by}".join(text.splitlines())


def _blocks(material: Material) -> Iterator[Block]:
    if material.before:
        yield "conversation before", _lines(f"{role}: {text}" for role, text in material.before)
    yield "user", material.input
    if material.reasoning:
        yield "reasoning", "\n".join(f"{step.type}: {step.content}" for step in material.reasoning)
    if material.tool_calls is not None:
        yield "tool calls", numbered([shown_call(call) for call in material.tool_calls]) or "none were made"
    if material.retrieval_context is not None:
        yield "retrieved documents", numbered(material.retrieval_context) or "none were retrieved"
    if material.context is not None:
        yield "documents", numbered(material.context)
    if material.expected_output is not None:
        yield "reference answer", material.expected_output
    yield "answer", material.output
    if material.state is not None:
        yield "state afterwards", material.state


def _said(case: Case, answered: Answered) -> list[Any]:
    """What the user said, turn by turn. Of a simulated one the attempt tells it, or its last words the transcript."""
    if case.role is not None:
        words = [each.get("content") for each in answered.transcript.messages or () if each.get("role") == "user"]
        return list(answered.talk.said) if answered.talk else words[-1:] or [""]
    return [turn.user for turn in case.turns] if case.turns else [case.input]


def _dialogue(said: Sequence[Any], answered: Answered, before: Sequence[Block]) -> str:
    """The prefix, then each turn with its calls, and why it stopped."""
    prefix = before[: len(before) - 2 * (len(answered.turns) - 1)]
    lines = [f"{role}: {text}" for role, text in prefix]
    for user, turn in zip(said, answered.turns, strict=False):
        lines.append(f"user: {as_text(user)}")
        lines += [f"agent calls {shown_call(call)}" for call in turn.tool_calls or ()]
        lines.append(f"agent: {as_text(turn.output)}")
    stop = answered.talk.stop if answered.talk else None
    most = max(_LEAST_OF_A_LINE, MOST_OF_A_BLOCK // len(lines) - 2 * _LEAST_OF_A_LINE // 5)
    whole = sum(map(len, lines)) <= MOST_OF_A_BLOCK
    told = [line if whole else cut(line, most) for line in lines]
    return _lines([*told, *([f"(then {STOPS[stop]})"] if stop else [])])


def _lines(said: Iterable[str]) -> str:
    """One after the other; further lines of one are indented, so that nobody can speak for another."""
    return "\n".join(map(indented, said))


def _turns(said: Sequence[Any], answered: Answered) -> tuple[Block, ...]:
    answers = answered.turns or (answered.transcript,)
    return tuple((as_text(user), as_text(each.output)) for user, each in zip(said, answers, strict=False))


def _flat(turns: Sequence[Block]) -> Iterator[Block]:
    for user, answer in turns:
        yield "user", user
        yield "agent", answer


def _messages(messages: Sequence[dict[str, Any]], *, last: bool) -> Iterator[Block]:
    """The prefix; its last message is the turn under test where nothing follows it."""
    for message in messages if last else messages[:-1]:
        role, content = {"assistant": "agent"}.get(message["role"], message["role"]), message.get("content")
        calls = asked_in_words(message)
        if content is not None or not calls:
            yield role, as_text(content)
        yield from ((role, call) for call in calls)


def _expected(case: Case) -> tuple[CallPattern, ...] | None:
    """The calls that the case expects: those of `calls`, else those it requires."""
    if case.trajectory.calls is not None:
        return tuple(member.pattern for member in case.trajectory.calls.members)
    return case.trajectory.required or None


def _state(transcript: Transcript) -> str | None:
    return None if transcript.state is UNSET else as_text(transcript.state)


def _result(call: ToolCall) -> str:
    return "not reported" if call.result is UNSET else as_text(call.result)
