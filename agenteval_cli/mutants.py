"""How much a case would notice: small changes of a recording that passes, and those that would pass as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli.case import Case
from agenteval_cli.compare import child, same, shown
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.grading import verdict_on
from agenteval_cli.transcript import ToolCall, Transcript

MOST_CALLS = 50  # of a longer recording only the first ones are changed


class Mutant(msgspec.Struct, frozen=True):
    """A changed recording; `name` says in words what was done to it, counting steps from 1."""

    name: str
    transcript: Transcript


class Mutation(msgspec.Struct, frozen=True):
    """What became of the mutants of one case: how many there were, and the names of those that would pass."""

    case: str
    mutants: int
    survivors: tuple[str, ...]

    @property
    def killed(self) -> int:
        return self.mutants - len(self.survivors)

    @property
    def score(self) -> float:
        """Killed of all, from 0 to 1."""
        return self.killed / self.mutants


def mutation_of(case: Case, recording: Transcript) -> Mutation | None:
    """The mutants of a recording held against its case; None where the recording itself does not pass, or has none."""
    mutants = sum(1 for _ in mutants_of(recording))
    if not mutants or not _passes(case, recording):
        return None
    return Mutation(case.id, mutants, tuple(mutant.name for mutant in survivors(case, recording)))


def survivors(case: Case, recording: Transcript) -> tuple[Mutant, ...]:
    """The mutants that the case would let pass."""
    return tuple(mutant for mutant in mutants_of(recording) if _passes(case, mutant.transcript))


def _passes(case: Case, transcript: Transcript) -> bool:
    return verdict_on(case, Answered(Facts(), transcript)).status == "passed"


def mutants_of(recording: Transcript) -> Iterator[Mutant]:
    """Every small change, in the order of the steps; what would leave the recording as it was is left out."""
    if recording.output not in (None, ""):
        yield Mutant("the answer blanked", msgspec.structs.replace(recording, output=""))
    calls = recording.tool_calls or ()
    for index, call in enumerate(calls[:MOST_CALLS]):
        step = f"step {index + 1} ({call.name})"
        for words, now in _changes(calls, index):
            yield Mutant(f"{step} {words}", _with_calls(recording, now))


def _changes(calls: tuple[ToolCall, ...], index: int) -> Iterator[tuple[str, tuple[ToolCall, ...]]]:
    """What can be done at one step: (words, all calls afterwards)."""
    before, call, after = calls[:index], calls[index], calls[index + 1 :]
    yield "left out", (*before, *after)
    yield "made twice", (*before, call, msgspec.structs.replace(call, id=None), *after)
    if after and not _same_call(call, after[0]):
        yield f"swapped with step {index + 2} ({after[0].name})", (*before, after[0], call, *after[1:])
    if call.error is None:
        failed = msgspec.structs.replace(call, result=msgspec.UNSET, error="it failed")
        yield "failed", (*before, failed, *after)
    for words, arguments in _changed_arguments(call.arguments):
        yield words, (*before, msgspec.structs.replace(call, arguments=arguments), *after)


def _same_call(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and one.status == other.status and same(one.arguments, other.arguments)


def _changed_arguments(arguments: Any) -> Iterator[tuple[str, Any]]:
    """Each argument with another value of its type."""
    if isinstance(arguments, Mapping):
        for key, value in arguments.items():
            other = _other(value)
            yield f"with {child('$', key)} = {shown(other, 40)}", {**arguments, key: other}


def _other(value: Any) -> Any:
    """Another value of the same JSON type; of null, a text."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1 if value + 1 != value else 0
        case str():
            return f"{value}-changed"
        case list():
            return value[:-1] if value else ["changed"]
        case dict():
            key = next(iter(value), "changed")
            return {**value, key: _other(value.get(key))}
        case _:
            return "changed"


def _with_calls(recording: Transcript, calls: tuple[ToolCall, ...]) -> Transcript:
    """The recording with these calls, and without thoughts that led to calls which are gone."""
    thoughts, ids = recording.reasoning, {call.id for call in calls}
    if thoughts is not None:
        thoughts = tuple(thought for thought in thoughts if thought.tool_call is None or thought.tool_call in ids)
    return msgspec.structs.replace(recording, tool_calls=calls, reasoning=thoughts)
