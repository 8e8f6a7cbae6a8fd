"""What a reviewer would ask: checks that hold whatever happens, or never, and cases that are more or less than one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, pairwise
from typing import Any

from agenteval_cli import matchers
from agenteval_cli.compare import kind_of, same, shown
from agenteval_cli.problems import did_you_mean
from agenteval_cli.rules import vacuous
from agenteval_cli.rules.interface import Found, Part, Path, Rule, Subject
from agenteval_cli.units import seconds

SMOKE_SECONDS = 60
SMOKE_ATTEMPTS = 5
_TELLING = re.compile(r"\(\?[=!<]|\\[AZbB]|[$^]")  # what a pattern can ask of a place without taking a character
_MANY = 10**6
# Keywords that may give a tool arguments which its `properties` do not name.
_OPEN = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref"}
)
_VAGUE_WORDS = """
a an and answer answers appropriate appropriately as be behaves correct correctly does ends fine good great helpful in
is it its looks makes nice of ok okay output proper properly quality reasonable reply response responds right sense
should sounds that the this to useful valid very way well works
"""
_VAGUE = frozenset(_VAGUE_WORDS.split())


def _checks_that_cannot_fail(case: Subject) -> Found:
    for path, check in case.checks:
        if "regex" in check and not check.get("full") and _matches_anything(check["regex"]):
            yield (*path, "regex"), f"/{check['regex']}/ is found in every text"
        if "json_schema" in check and vacuous.takes_everything(check["json_schema"]):
            yield (*path, "json_schema"), "this schema accepts every value"
        if "field" in check:
            field = {key: value for key, value in check["field"].items() if key != "path"}
            yield from _vacuous(field, (*path, "field"))
        if "state" in check:
            yield from _vacuous(check["state"], (*path, "state"))
    for path, call in case.calls:
        if "times" in call and path[-2] == "required" and _allows_any_number(call["times"]):
            yield (*path, "times"), f"{shown(call['times'])} allows any number of calls; forbid it, or require it"
    for path, trajectory in case.trajectories:
        if "calls" in trajectory and _expects_nothing(trajectory["calls"]):
            yield (*path, "calls", "expected"), "no call is expected and any may come; with mode: exact none may"


def _expects_nothing(calls: Mapping[str, Any]) -> bool:
    return not calls["expected"] and calls["mode"] not in ("exact", "subset") and calls.get("extra") != "deny"


def _allows_any_number(times: Any) -> bool:
    return isinstance(times, dict) and all(matchers.mismatch(times, count) is None for count in (0, _MANY))


def _vacuous(matcher: Any, path: Path) -> Found:
    """Matchers that every value satisfies, the absent one included."""
    operator = matchers.operator_of(matcher)
    if operator == "length" and matchers.operator_of(matcher["length"]) == "gte" and matcher["length"]["gte"] <= 0:
        yield (*path, "length"), "every length is at least 0"
    elif operator == "regex" and isinstance(matcher["regex"], str) and _matches_anything(matcher["regex"]):
        yield (*path, "regex"), f"/{matcher['regex']}/ is found in every text"
    elif operator is None and isinstance(matcher, dict):
        for key, value in matcher.items():
            if isinstance(value, dict):
                yield from _vacuous(value, (*path, key))


def _matches_anything(pattern: str) -> bool:
    """A pattern that takes the empty text is found in every text: at either end, if it asks to stand at one of them."""
    from agenteval_cli.patterns import PatternTimeoutError, pattern_fault, search

    without_start = re.sub(r"^(\(\?[a-z]+\))?(\^|\\A)", r"\1", pattern)
    without_end = re.sub(r"(?<!\\)(\$|\\Z)$", "", pattern)
    try:
        return any(
            not _TELLING.search(asked) and pattern_fault(asked) is None and search(asked, "") is not None
            for asked in {without_start, without_end}
        )
    except PatternTimeoutError:
        return False


def _contradictions(case: Subject) -> Found:
    yield from _contradicting_texts(case)
    yield from _contradicting_answers(case)
    for path, trajectory in case.trajectories:
        yield from _contradicting_calls(path, trajectory)
    yield from _more_than_the_limit(case)


def _contradicting_calls(path: Path, trajectory: Mapping[str, Any]) -> Found:
    required = [_tool(call) for call in trajectory.get("required", ())]
    whole = {_tool(call) for call in trajectory.get("forbidden", ()) if _is_whole(call)}
    for index, tool in enumerate(required):
        if tool in whole:
            yield (*path, "required", index), f"{tool} is forbidden too; the case can never pass"
        if "only" in trajectory and tool not in trajectory["only"]:
            yield (*path, "required", index), f"{tool} is not in `only`; the case can never pass"
    for index, rule in enumerate(trajectory.get("order", ())):
        if _tool(rule["then"]) in required and {"first": rule["then"], "then": rule["first"]} in trajectory["order"]:
            yield (*path, "order", index), "another rule asks for the opposite order; the case can never pass"


def _contradicting_texts(case: Subject) -> Found:
    """Texts that must and must not be there, in checks of the same turn that both gate."""
    unwanted = [(path, check) for path, check in _gating(case) if "not_contains" in check]
    if not unwanted:
        return
    wanted = [
        (_scope(path, check), text) for path, check in _gating(case) for text in _texts(check.get("contains", ()))
    ]
    for path, check in unwanted:
        for text in _texts(check["not_contains"]):
            clash = next((other for scope, other in wanted if scope == _scope(path, check) and text in other), None)
            if clash is not None:
                words = f"{shown(text)} must not be there, but {shown(clash)} must; the case can never pass"
                yield (*path, "not_contains"), words


def _contradicting_answers(case: Subject) -> Found:
    """Two whole texts that one answer must be."""
    texts: dict[tuple[Any, ...], str] = {}
    for path, check in _gating(case):
        text = check.get("equals")
        if isinstance(text, str) and check.keys() <= {"equals", "note", "severity", "turn"}:
            first = texts.setdefault(_scope(path, check), text)
            if first.split() != text.split():
                words = f"the answer must be {shown(text)}, and {shown(first)} too; the case can never pass"
                yield (*path, "equals"), words


def _gating(case: Subject) -> Iterator[Part]:
    """The checks that must all hold of the same answers; those of any turn may hold of different ones."""
    return (
        (path, check)
        for path, check in case.checks
        if check.get("severity") != "warning" and check.get("turn") != "any"
    )


def _scope(path: Path, check: Mapping[str, Any]) -> tuple[Any, ...]:
    """Which answer a check is about: that of its part of the case, or of the turn it names."""
    return (*path[:-2], check.get("turn"))


def _texts(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _more_than_the_limit(case: Subject) -> Found:
    limit = case.data.get("limits", {}).get("tool_calls")
    if limit is None:
        return
    least = sum(_least_times(call) for call in case.data.get("trajectory", {}).get("required", ()))
    if least > limit:
        yield ("limits", "tool_calls"), f"{least} calls are required and {limit} allowed; the case can never pass"


def _least_times(call: Any) -> int:
    times = call.get("times", 1) if isinstance(call, dict) else 1
    if isinstance(times, int):
        return times
    return int(times.get("gte", 1)) if isinstance(times, dict) and kind_of(times.get("gte", 1)) == "number" else 1


def _tool(call: Any) -> str:
    return str(call["tool"] if isinstance(call, dict) else call)


def _is_whole(call: Any) -> bool:
    """Whether a forbidden call is forbidden whatever its arguments and status."""
    return not isinstance(call, dict) or not call.keys() & {"arguments", "status"}


def _unknown_tools(case: Subject) -> Found:
    names = _inventory(case)
    if not names:
        return
    for path, name in _named_tools(case):
        if name not in names:
            yield path, f"the case has no tool '{name}'{did_you_mean(name, names)}"


def _inventory(case: Subject) -> dict[str, Mapping[str, Any]]:
    return {tool["name"]: tool for tool in case.tools if "name" in tool}


def _named_tools(case: Subject) -> Iterator[tuple[Path, str]]:
    for path, call in case.calls:
        yield path, call["tool"]
    for path, trajectory in case.trajectories:
        for index, name in enumerate(trajectory.get("only", ())):
            yield (*path, "only", index), name
        for index, rule in enumerate(trajectory.get("recovery", ())):
            yield (*path, "recovery", index, "after_error"), rule["after_error"]
            if "tool" in rule:
                yield (*path, "recovery", index, "tool"), rule["tool"]


def _arguments_outside_the_schema(case: Subject) -> Found:
    tools = _inventory(case)
    if not tools:
        return
    for path, call in case.calls:
        schema = tools.get(call["tool"], {}).get("parameters")
        if "forbidden" not in path and isinstance(schema, dict) and "arguments" in call:
            yield from _outside(schema, call["arguments"], (*path, "arguments"))
    for index, tool in enumerate(case.data.get("tools", ())):
        schema = tool.get("parameters")
        for number, response in enumerate(tool.get("responses", ())):
            # A tool that was called wrongly may well have said so.
            if isinstance(schema, dict) and "when" in response and "error" not in response:
                yield from _outside(schema, response["when"], ("tools", index, "responses", number, "when"))


def _outside(schema: Mapping[str, Any], arguments: Mapping[str, Any], path: Path) -> Found:
    """Arguments that the tool's schema does not have, and plain values that it does not allow."""
    from agenteval_cli.case_schemas import first_fault, schema_fault

    known = schema.get("properties", {})
    if not isinstance(known, dict):
        return
    for key, value in arguments.items():
        if matchers.operator_of(value) in ("absent", "not"):
            continue
        if key not in known:
            if known and not schema.keys() & _OPEN:
                yield (*path, key), f"the tool has no argument '{key}'{did_you_mean(key, known)}"
        elif matchers.operator_of(value) is None and not isinstance(value, dict | list):
            fault = None if schema_fault(known[key]) else first_fault(known[key], value)
            if fault:
                yield (*path, key), f"the tool does not take this: {fault}"


def _more_than_one_behaviour(case: Subject) -> Found:
    for path, trajectory in case.trajectories:
        groups = _groups(trajectory)
        if len(groups) > 1:
            words = "; ".join(" and ".join(sorted(tools)) for tools in groups)
            yield (
                (*path, "required"),
                f"{len(groups)} behaviours in one case ({words}); a case each would say which broke",
            )


def _groups(trajectory: Mapping[str, Any]) -> list[set[str]]:
    """Required calls with arguments, those together that share an argument value or an order rule."""
    found: list[tuple[set[str], set[str]]] = []
    counted = [call for call in trajectory.get("required", ()) if isinstance(call, dict) and call.get("arguments")]
    for call in counted if len(counted) > 1 else ():
        _join(found, {call["tool"]}, {shown(value) for value in call["arguments"].values()})
    for rule in trajectory.get("order", ()):
        touched = [group for group in found if group[0] & {_tool(rule["first"]), _tool(rule["then"])}]
        for one, other in pairwise(touched):
            other[0].update(one[0])
            other[1].update(one[1])
            found.remove(one)
    return [tools for tools, _ in found]


def _join(groups: list[tuple[set[str], set[str]]], tools: set[str], values: set[str]) -> None:
    for group in [group for group in groups if group[1] & values]:
        groups.remove(group)
        tools, values = tools | group[0], values | group[1]
    groups.append((tools, values))


def _vague_criteria(case: Subject) -> Found:
    for path, part in case.parts:
        if "criteria" not in part:
            continue
        criteria = part["criteria"]
        for index, criterion in enumerate([criteria] if isinstance(criteria, str) else criteria):
            text = criterion if isinstance(criterion, str) else criterion.get("text")
            words = re.findall(r"[^\W\d_]+", text.casefold()) if text else []
            if words and _VAGUE.issuperset(words):
                words_shown = f"{shown(text)} could be said of any answer; say what must be in it"
                yield (*path, "criteria", *(() if isinstance(criteria, str) else (index,))), words_shown


def _slow_smoke(case: Subject) -> Found:
    if case.data.get("tier") != "smoke":
        return
    timeout = case.data.get("limits", {}).get("timeout")
    if timeout is not None and seconds(timeout) > SMOKE_SECONDS:
        yield (
            ("limits", "timeout"),
            f"{timeout} in tier smoke, which runs at every change; {SMOKE_SECONDS}s at the most",
        )
    if case.data.get("attempts", 1) > SMOKE_ATTEMPTS:
        words = (
            f"{case.data['attempts']} attempts in tier smoke, which runs at every change; {SMOKE_ATTEMPTS} at the most"
        )
        yield ("attempts",), words


def _unreachable_responses(case: Subject) -> Found:
    for index, tool in enumerate(case.data.get("tools", ())):
        earlier: list[Mapping[str, Any]] = []
        for number, response in enumerate(tool.get("responses", ())):
            if any(_takes_all_of(before, response) for before in earlier):
                words = "an earlier response without `times` takes every call that this one would match"
                yield ("tools", index, "responses", number), words
            earlier.append(response)


def _tools_of_one_name(case: Subject) -> Found:
    named: set[str] = set()
    for index, tool in enumerate(case.data.get("tools", ())):
        name = tool.get("name")
        if name in named:
            yield ("tools", index, "name"), f"'{name}' is here already, and only the first would answer"
        elif name is not None:
            named.add(name)
    shared = Counter(tool["name"] for tool in case.tools if tool.get("name", "") not in {"", *named})
    for name in (name for name, number in shared.items() if number > 1):
        yield ("tools",), f"several fixtures of this case have a tool '{name}'; say which with {{use: …, name: {name}}}"


def _takes_all_of(before: Mapping[str, Any], response: Mapping[str, Any]) -> bool:
    """Whether an earlier response is never used up and asks for nothing that this one does not ask for too."""
    wants = response.get("when", {})
    conditions = before.get("when", {})
    return "times" not in before and all(key in wants and same(value, wants[key]) for key, value in conditions.items())


RULES = (
    Rule(
        name="vacuous-check",
        summary="a check that cannot fail",
        why="It looks like protection and is none. Make it say what would be wrong.",
        look=lambda case: chain(_checks_that_cannot_fail(case), vacuous.references(case), vacuous.criteria(case)),
    ),
    Rule(
        name="contradiction",
        summary="checks that cannot all hold",
        why="The case fails whatever the agent does, and hides what it was written for.",
        look=_contradictions,
    ),
    Rule(
        name="unknown-tool",
        summary="a tool named in the trajectory that the case does not have",
        why="Where a case has `tools`, the agent can call no others: the rule can never be met, or never broken.",
        look=_unknown_tools,
    ),
    Rule(
        name="bad-argument",
        summary="an expected argument that the tool's schema does not allow",
        why="No valid call could have it.",
        look=_arguments_outside_the_schema,
    ),
    Rule(
        name="many-behaviours",
        summary="more than one behaviour in a case",
        why="When such a case breaks, nobody knows which of them did. Counted are groups of required calls with "
        "arguments: calls that share an argument value (the same order, the same customer) or stand in one order rule "
        "are one behaviour, calls without arguments are not counted.",
        severity="warning",
        look=_more_than_one_behaviour,
    ),
    Rule(
        name="vague-criterion",
        summary="a criterion that could be said of any answer",
        why="A judge asked whether an answer is good says what it likes. Say what must be in it.",
        severity="warning",
        look=_vague_criteria,
    ),
    Rule(
        name="slow-smoke",
        summary="tier smoke with a large limit",
        why=f"Smoke runs at every change: {SMOKE_SECONDS} s and {SMOKE_ATTEMPTS} attempts at the most.",
        severity="warning",
        look=_slow_smoke,
    ),
    Rule(
        name="duplicate-tool",
        summary="two tools of one name",
        why="An agent calls a tool by its name. To change a shared one, write {use: …, name: …} and what is different.",
        look=_tools_of_one_name,
    ),
    Rule(
        name="unreachable-response",
        summary="a recorded response that nothing can match",
        why="The first response that matches wins. Put the special ones first, or give the general one `times`.",
        look=_unreachable_responses,
    ),
)
