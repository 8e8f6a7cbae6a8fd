"""confirm_before: the user's last word before such a call was a yes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agenteval_cli.compare import shown
from agenteval_cli.constraints import Confirmation, Trajectory
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, PASSED, Finding
from agenteval_cli.patterns import search
from agenteval_cli.trajectory.assent import is_yes
from agenteval_cli.trajectory.evidence import Calls, Evidence
from agenteval_cli.trajectory.matching import fits, may_fit, named, step, untold

_NOTHING = object()  # the user said nothing before the call


def confirm_before(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """Without such a call there was nothing to confirm."""
    for index, rule in enumerate(constraints.confirm_before or ()):
        yield f"confirm_before[{index}]", _finding(rule, evidence, constraints.user_says)


def _finding(rule: Confirmation, evidence: Evidence, known: Any) -> Finding:
    made = [at for at, call in enumerate(evidence.calls) if may_fit(rule.call, call)]
    unknown = None
    for at in made:
        said = _said_before(at, evidence, known)
        begin = step(at, evidence.calls[at])
        if said is None:
            unknown = Finding(NO_EVIDENCE, f"nothing tells what the user said before {begin}")
        elif said is not _NOTHING and _assents(rule, _text(said)):
            continue
        elif not fits(rule.call, evidence.calls[at]):
            unknown = Finding(NO_EVIDENCE, untold(at, evidence.calls[at]))
        elif said is _NOTHING:
            return Finding(FAILED, f"{begin} came before the user said anything", expected="the user's yes")
        else:
            words = f"{begin} came after the user said {shown(_text(said))}"
            return Finding(FAILED, words, expected="the user's yes", actual=said)
    if made:
        return unknown or OK
    return Finding(PASSED, f"did not come up: {named(rule.call)} was never called")


def _assents(rule: Confirmation, text: str) -> bool:
    return is_yes(text) if rule.yes is None else any(search(f"(?i){pattern}", text) for pattern in rule.yes)


def _said_before(at: int, evidence: Evidence, known: Any) -> Any:
    """The content of the user's last message before a call, _NOTHING where there is none, None where nobody can say."""
    messages = evidence.messages
    place = _place(at, evidence.calls, messages)
    if place is not None:
        before = [message for message in messages[:place] if message.get("role") == "user"]
        return before[-1].get("content") if before else _NOTHING
    if known is not None:
        return known
    all_of_them = [message.get("content") for message in messages if message.get("role") == "user"]
    return all_of_them[0] if len(all_of_them) == 1 else None


def _place(at: int, calls: Calls, messages: tuple[dict[str, Any], ...]) -> int | None:
    """The index of the message that asks for the call: by its ID, else by its turn among those of its tool."""
    asked = [(index, item) for index, message in enumerate(messages) for item in _asked(message)]
    name, call_id = calls[at].name, calls[at].id
    by_id = next((index for index, item in asked if call_id is not None and item.get("id") == call_id), None)
    if by_id is not None:
        return by_id
    same_tool = [index for index, item in asked if _name(item) == name]
    turn = sum(call.name == name for call in calls[:at])
    return same_tool[turn] if len(same_tool) == sum(call.name == name for call in calls) else None


def _asked(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    items = message.get("tool_calls")
    yield from (item for item in items if isinstance(item, Mapping)) if isinstance(items, list) else ()


def _name(item: Mapping[str, Any]) -> Any:
    function = item.get("function")
    return function.get("name") if isinstance(function, Mapping) else item.get("name")


def _text(content: Any) -> str:
    """The text of a message: itself, its parts in a row, or its JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, Mapping) for part in content):
        return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return shown(content)
