"""Can the simulated user of this case be played as it is written?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agenteval_cli import matchers
from agenteval_cli.compare import shown
from agenteval_cli.problems import did_you_mean
from agenteval_cli.rules.interface import Found, Path, Rule, Subject
from agenteval_cli.simulation import MAX_TURNS, names_in, role_of, told


def _rules(case: Subject) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for index, rule in enumerate(case.data.get("simulation", {}).get("script", ())):
        yield ("simulation", "script", index), rule


def _bad_script(case: Subject) -> Found:
    """Matchers that match nothing, and rules that no answer reaches."""
    met_always = None
    for path, rule in _rules(case):
        yield from matchers.faults(rule.get("when"), (*path, "when"))
        if met_always is not None:
            yield path, f"never said: script[{met_always}] before it matches every answer, any number of times"
        elif "when" not in rule and "times" not in rule:
            met_always = path[-1]


def _misspelt_secrets(case: Subject) -> Found:
    given = case.data.get("simulation", {})
    known = given.get("knows", {})
    for index, item in enumerate(given.get("must_not_reveal", ())):
        near = "" if item in known else did_you_mean(item, known)
        if near:
            yield ("simulation", "must_not_reveal", index), f"'{item}' is a text here, not a name under knows{near}"


def _nobody_stops(case: Subject) -> Found:
    if "simulation" in case.data:
        return
    for path, check in case.checks:
        if "stop" in check:
            yield (*path, "stop"), "only a conversation with a simulated user stops for a reason; this case has none"


def _says_its_secret(case: Subject) -> Found:
    role = role_of(case.data)
    if role is None or not role.must_not_reveal:
        return
    from agenteval_cli.breaking_role import revealed

    said: list[tuple[Path, str]] = [(("simulation", "opening"), role.opening)] if role.opening else []
    said += [((*path, "say"), rule["say"]) for path, rule in _rules(case) if "say" in rule]
    for path, text in said:
        if secret := revealed(told(text, role.knows), role.must_not_reveal, role.knows):
            yield path, f"it says {shown(secret)}, which must not be revealed"


def _unknown_names(case: Subject) -> Found:
    """Names in braces that nothing fills; the user would say the braces."""
    given = case.data.get("simulation", {})
    known = [*given.get("knows", {}), *(item["name"] for item in case.data.get("variables", ()))]
    for name in names_in(given.get("opening", "")):
        near = "" if name in known else did_you_mean(name, known)
        if near:  # any other braces are the case's own words
            yield ("simulation", "opening"), f"the user knows no '{name}'{near}"
    for path, rule in _rules(case):
        for name in names_in(rule.get("say", "")):
            if name not in known:
                yield (*path, "say"), f"the user knows no '{name}'{did_you_mean(name, known)}"


def _asks_why(check: Mapping[str, Any]) -> bool:
    parts = (*check.get("all_of", ()), *check.get("any_of", ()), *([check["not"]] if "not" in check else ()))
    return "stop" in check or any(map(_asks_why, parts))


def _unchecked_stop(case: Subject) -> Found:
    if "simulation" in case.data and not any(map(_asks_why, (check for _, check in case.checks))):
        words = "nothing checks why the conversation stops: one that runs in a loop, or is given up, may pass; add stop"
        yield ("simulation",), words


def _turns_that_never_come(case: Subject) -> Found:
    most = case.data.get("simulation", {}).get("max_turns", MAX_TURNS)
    for path, check in case.checks if "simulation" in case.data else ():
        turn = check.get("turn")
        if isinstance(turn, int) and abs(turn) > most:
            yield (*path, "turn"), f"there is no turn {turn}; max_turns is {int(most)}"


RULES = (
    Rule(
        name="unknown-user",
        summary="a user under `simulation` that agenteval.yaml does not have, or that cannot play the script",
        why="The case could not run.",
    ),
    Rule(
        name="turn-beyond-the-last",
        summary="a check of a turn that `max_turns` does not allow",
        why="It would fail at every attempt.",
        look=_turns_that_never_come,
    ),
    Rule(
        name="unchecked-stop",
        summary="a simulated user, and no check of why the conversation stops",
        why="`stop: user_done` says that the user got what it wanted. Without it a conversation in circles can pass.",
        severity="warning",
        look=_unchecked_stop,
    ),
    Rule(
        name="bad-script",
        summary="a script of a simulated user with a matcher that cannot match, or a rule that is never reached",
        why="The first rule that matches speaks. One without `when` and `times` always does; put it last.",
        look=_bad_script,
    ),
    Rule(
        name="no-beginning",
        summary="a scripted user without first words",
        why="Every attempt would be ungraded, since there is no answer yet that a rule could match.",
    ),
    Rule(
        name="open-script",
        summary="a script that has nothing to say to some answers",
        why="An agent that says something unforeseen leaves the attempt ungraded, where it should fail. A last rule "
        "without `when` takes what is left: {gives_up: true}, and the check `stop: user_done` fails.",
        severity="warning",
    ),
    Rule(
        name="unclear-secret",
        summary="a text that must not be revealed, and is nearly a name under `knows`",
        why="A text is guarded as it stands. Where the name is meant, what the user knows under it is not guarded.",
        severity="warning",
        look=_misspelt_secrets,
    ),
    Rule(
        name="stop-without-user",
        summary="a check of why the conversation stopped, without a simulated user",
        why="A script of turns ends where it ends; the check would never be decided.",
        look=_nobody_stops,
    ),
    Rule(
        name="says-its-secret",
        summary="an opening, or a line of a script, that says what the user must not reveal",
        why="The script's line would leave every attempt ungraded; the opening tells what nobody is to know.",
        look=_says_its_secret,
    ),
    Rule(
        name="unknown-name",
        summary="an opening, or a line of a script, with a name in braces that the user does not know",
        why="The agent would read the braces. Put the name under `knows`, or make it a variable.",
        look=_unknown_names,
    ),
)
