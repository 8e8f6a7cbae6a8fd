"""Can this case fail, and is what it holds answers against well-formed?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from agenteval_cli import matchers, pointers
from agenteval_cli.case import NO_OWN_TEXT
from agenteval_cli.compare import kind_of, shown
from agenteval_cli.problems import did_you_mean
from agenteval_cli.recordings import argument_matchers
from agenteval_cli.rules.interface import Found, Path, Rule, Subject
from agenteval_cli.state_patches import is_literal, points

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def _nothing_can_fail(case: Subject) -> Found:
    if not any(_can_fail(part) for _, part in case.parts):
        words = "nothing can fail this case; give it outcome, trajectory, limits, match or a criterion with gate: true"
        yield (), words


def _can_fail(part: Mapping[str, Any]) -> bool:
    outcome = any(check.get("severity") != "warning" for check in part.get("outcome", ()))
    return (
        outcome
        or any(_constrains(key, said) for key, said in part.get("trajectory", {}).items())
        or any(key in part for key in ("limits", "match"))
        or has_gate(part.get("criteria", ()))
    )


def _constrains(key: str, said: Any) -> bool:
    """Whether a key of a trajectory can fail a case: not where it turns something off, or only warns."""
    if key == "claims":
        return bool(said["mismatch"] == "error")
    return any(said.values()) if key == "plan" else said is not False


def has_gate(criteria: Any) -> bool:
    """Whether one of the criteria gates."""
    return not isinstance(criteria, str) and any(
        isinstance(criterion, dict) and criterion.get("gate") is True for criterion in criteria
    )


def _reference_is_unused(case: Subject) -> Found:
    if case.data.get("expected_output") is None:
        if "match" in case.data:
            yield ("match",), "there is no expected_output to match"
    elif "match" not in case.data and "criteria" not in case.data:
        yield ("expected_output",), "compared by nothing; add match: exact or contains, or a criterion that uses it"
    elif case.data.get("match") == "contains" and not isinstance(case.data["expected_output"], str):
        yield ("expected_output",), "match: contains needs a text"


def _last_message(case: Subject) -> Found:
    conversation = case.data.get("conversation")
    goes_on = any(key in case.data for key in ("input", "turns", "simulation"))
    if conversation and not goes_on and conversation[-1]["role"] != "user":
        at: Path = ("conversation", len(conversation) - 1, "role")
        yield at, "the last message is the turn under test and must be the user's, or give input, turns or simulation"


def _one_way_in(case: Subject) -> Found:
    given = [key for key in ("input", "turns", "simulation") if key in case.data]
    if len(given) > 1:
        yield (given[1],), f"{given[0]} is given too; a case has one of input, turns and simulation"


def _bad_checks(case: Subject) -> Found:
    yield from _faults_of_checks(case, "bad-check")
    yield from _turns_beyond_the_script(case)


def _turns_beyond_the_script(case: Subject) -> Found:
    turns = len(case.data.get("turns", ())) or (1 if "simulation" not in case.data else None)
    for path, check in case.checks:
        if "turn" in check and path[0] == "turns":
            yield (*path, "turn"), "a check of a turn is about that turn; put it beside the turns to name another"
        elif turns is not None and isinstance(check.get("turn"), int) and abs(check["turn"]) > turns:
            yield (*path, "turn"), f"there is no turn {check['turn']}; the case has {turns}"


def _bad_patterns(case: Subject) -> Found:
    return _faults_of_checks(case, "bad-pattern")


def _faults_of_checks(case: Subject, rule: str) -> Found:
    """What the checks themselves say is wrong with them, of one rule."""
    return ((path, words) for told, path, words in case.faults if told == rule)


def _bad_yes_patterns(case: Subject) -> Found:
    for path, call in case.calls:
        for index, pattern in enumerate(call.get("yes", ())):
            from agenteval_cli.patterns import pattern_fault

            if fault := pattern_fault(pattern):
                yield (*path, "yes", index), fault


def _bad_pointers(case: Subject) -> Found:
    state = case.data.get("state", {})
    for path, part in (*case.checks, *case.calls):
        for key in ("state", "field", "arguments"):
            if key in part:
                yield from pointers.faults(part[key], state, (*path, key))


def _bad_schemas(case: Subject) -> Found:
    yield from _faults_of_checks(case, "bad-schema")
    for index, tool in enumerate(case.data.get("tools", ())):
        if "parameters" not in tool:
            continue
        from agenteval_cli.case_schemas import schema_fault

        if fault := schema_fault(tool["parameters"]):
            yield ("tools", index, "parameters"), f"not a JSON Schema: {fault}"


def _conditions(case: Subject) -> Iterator[tuple[Path, Any]]:
    """The matchers that tell which calls recorded responses are for."""
    for index, tool in enumerate(case.data.get("tools", ())):
        for number, response in enumerate(tool.get("responses", ())):
            path, when = ("tools", index, "responses", number, "when"), response.get("when", {})
            named = argument_matchers(when)
            yield from [(path, when)] if named is None else (((*path, name), item) for name, item in named.items())


def _bad_fields(case: Subject) -> Found:
    return _faults_of_checks(case, "bad-field")


def _bad_matchers(case: Subject) -> Found:
    yield from _faults_of_checks(case, "bad-matcher")
    for path, call in case.calls:
        for name, matcher in call.get("arguments", {}).items():  # a name is a name, whatever it looks like
            yield from matchers.faults(matcher, (*path, "arguments", name))
        if "times" in call:
            yield from _bad_times(call["times"], (*path, "times"))
    for path, matcher in _conditions(case):
        if not points(matcher):  # what the state will have there nobody knows yet
            yield from matchers.faults(matcher, path)


def _unclear_matchers(case: Subject) -> Found:
    for path, call in case.calls:
        for name, matcher in call.get("arguments", {}).items():
            if near := matchers.nearly_operator(matcher):
                yield (*path, "arguments", name), near
    for path, matcher in _conditions(case):
        if near := matchers.nearly_operator(matcher):
            yield path, near
    for index, rule in enumerate(case.data.get("simulation", {}).get("script", ())):
        if near := matchers.nearly_operator(rule.get("when")):
            yield ("simulation", "script", index, "when"), near


def _bad_times(times: Any, path: Path) -> Found:
    if matchers.operator_of(times) is not None:
        yield from matchers.faults(times, path)
    elif kind_of(times) != "number" or times != int(times) or times < 0:
        yield path, f"{shown(times)} is not a count; write a whole number, or a matcher such as {{gte: 2}}"


def _unknown_variables(case: Subject) -> Found:
    if "variables" in case.data:
        used = {name for _, names in _placeholders(case) for name in names}
        for index, item in enumerate(case.data["variables"]):
            if item["name"] not in used:
                yield ("variables", index, "name"), f"{{{{{item['name']}}}}} stands nowhere in this case"


def _variables_given_twice(case: Subject) -> Found:
    names = [item["name"] for item in case.data.get("variables", ())]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield ("variables", index, "name"), f"variables[{names.index(name)}] is '{name}' already; keep one of them"


def _unfilled_placeholders(case: Subject) -> Found:
    names = [item["name"] for item in case.data.get("variables", ())]
    knows = case.data.get("simulation", {}).get("knows", ())  # what names in the user's own words stand for
    for key, used in _placeholders(case) if names else ():
        for unknown in dict.fromkeys(name for name in used if name not in (*names, *knows)):
            yield (key,), f"no variable '{unknown}' fills {{{{{unknown}}}}}{did_you_mean(unknown, names)}"
    for path, name in _filled_for_the_user_alone(case) if knows else ():
        if name in knows and name not in names:
            words = f"{{{{{name}}}}} is filled with what the user knows in its own words only; make it a variable"
            yield path, words
    for key, name in _placeholders_in_names(case, names):
        yield (key,), f"{{{{{name}}}}} stands in the name of a key, where nothing is filled in"


def _filled_for_the_user_alone(case: Subject) -> Iterator[tuple[Path, str]]:
    """The names in braces in what is asked of the agent or held against it; the user's knowledge fills none."""
    for key, value in case.data.items():
        path, texts = ((key, "criteria"), value.get("criteria")) if key == "simulation" else ((key,), value)
        if key not in NO_OWN_TEXT and "{{" in repr(texts):
            found = (name for text in _texts(texts) for name in _PLACEHOLDER.findall(text))
            yield from ((path, name) for name in dict.fromkeys(found))


def _placeholders(case: Subject) -> Iterator[tuple[str, list[str]]]:
    """The names in braces below each key of the case that variables fill."""
    for key, value in case.data.items():
        if key not in NO_OWN_TEXT and "{{" in repr(value):
            yield key, [name for text in _texts(value) for name in _PLACEHOLDER.findall(text)]


def _placeholders_in_names(case: Subject, names: list[str]) -> Iterator[tuple[str, str]]:
    for key, value in case.data.items() if names else ():
        if key not in NO_OWN_TEXT and "{{" in repr(value):
            found = (name for text in _names(value) for name in _PLACEHOLDER.findall(text))
            yield from ((key, name) for name in found if name in names)


def _names(value: Any) -> Iterator[str]:
    """Every name of a key in a value."""
    if isinstance(value, dict):
        yield from value
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _names(item)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value; keys are none, as they are not filled."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict) and not is_literal(value):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _misplaced_checks(case: Subject) -> Found:
    for key in ("input", "metadata", "state"):
        data = case.data.get(key)
        if not isinstance(data, dict) or _CHECKS.isdisjoint(data):
            continue
        for name, value in data.items():
            if name in _CHECKS and isinstance(value, list | dict):
                yield (
                    (key, name),
                    f"{name} stands inside {key}, where it checks nothing; indent it less if it is a check",
                )


_CHECKS = frozenset({"outcome", "trajectory", "criteria", "limits"})

RULES = (
    Rule(
        name="no-checks",
        summary="nothing can fail the case",
        why="A case that cannot fail is always green. Warnings and criteria without `gate` only report.",
        look=_nothing_can_fail,
    ),
    Rule(
        name="unused-reference",
        summary="expected_output is compared by nothing, or match has nothing to compare",
        why="A reference answer compares nothing by itself. Say how with `match`, or give a criterion that uses it.",
        look=_reference_is_unused,
    ),
    Rule(
        name="last-message",
        summary="the conversation does not end with the user",
        why="The last message is the turn under test. An assistant's message there leaves nothing to answer.",
        look=_last_message,
    ),
    Rule(
        name="one-input",
        summary="more than one of input, turns and simulation",
        why="Each says on its own what the agent gets; two of them would have to be guessed at.",
        look=_one_way_in,
    ),
    Rule(
        name="bad-check",
        summary="a check with an option or an operand that it cannot use",
        why="It would say nothing, or fail at every attempt, after the agent has run.",
        look=_bad_checks,
    ),
    Rule(
        name="bad-pattern",
        summary="a regular expression that does not compile",
        why="It would fail at every attempt, after the agent has run.",
        look=lambda case: chain(_bad_patterns(case), _bad_yes_patterns(case)),
    ),
    Rule(
        name="bad-pointer",
        summary="a `$state` that points to nothing",
        why="`{$state: /orders/5678}` is a JSON pointer into the case's own `state`; nothing equals what is not there.",
        look=_bad_pointers,
    ),
    Rule(
        name="bad-schema",
        summary="a JSON Schema that is none, or that would have to be fetched",
        why="It would fail at every attempt. Cases work offline: put what a `$ref` needs under `$defs`.",
        look=_bad_schemas,
    ),
    Rule(
        name="bad-field",
        summary="a field check without a JSONPath or without exactly one operator",
        why="`field` holds what the path selects against one operator: {path: $.total, equals: 12}.",
        look=_bad_fields,
    ),
    Rule(
        name="bad-matcher",
        summary="an operator with an operand that it cannot use",
        why="A one-key mapping whose key is an operator is that operator. To compare with one write `equals`.",
        look=_bad_matchers,
    ),
    Rule(
        name="unclear-matcher",
        summary="an argument held against a mapping whose one key is nearly an operator",
        why="It is compared as it stands, and never matches. Write the operator as it is spelt, or {equals: …}.",
        severity="warning",
        look=_unclear_matchers,
    ),
    Rule(
        name="unused-variable",
        summary="a variable that stands nowhere in the case",
        why="Often the placeholder is misspelt, and the agent would read the braces.",
        severity="warning",
        look=_unknown_variables,
    ),
    Rule(
        name="repeated-variable",
        summary="a variable that is given twice",
        why="Only one of the values can fill its placeholder, and nobody would see which.",
        look=_variables_given_twice,
    ),
    Rule(
        name="unknown-placeholder",
        summary="a placeholder that no variable of the case fills",
        why="The braces stay as they are: the agent reads them, and a check for them always or never holds.",
        severity="warning",
        look=_unfilled_placeholders,
    ),
    Rule(
        name="misplaced-checks",
        summary="checks that are indented into input, metadata or state",
        why="There they are data, and check nothing.",
        severity="warning",
        look=_misplaced_checks,
    ),
)
