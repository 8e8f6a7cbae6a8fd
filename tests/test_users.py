"""Who plays simulated users: their configuration, their rules, and who is chosen for which case."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli import schemas
from agenteval_cli.asking import NoAnswerError
from agenteval_cli.case import Case, case_from
from agenteval_cli.cast import Cast, cast_for, user_records
from agenteval_cli.config import Config, config_from
from agenteval_cli.errors import InvalidFilesError, UsageError
from agenteval_cli.simulation import Role, Rule, role_of, rules_from
from agenteval_cli.talk import Exchange
from agenteval_cli.users.scripted import ScriptedUser

ROLE = Role(
    user_prompt="You are Ada, who wants her money back.",
    opening="I want my money back.",
    knows={"order_id": "5678", "items": 2},
    must_not_reveal=("items",),
    ends_when="the refund is confirmed",
)


def config(users: str) -> Config:
    """A configuration with these users, as lines of YAML."""
    lines = "".join(f"  {line}\n" for line in users.splitlines())
    return config_from("agenteval.yaml", f"schema: 1\nusers:\n{lines}".encode())


def talk(*answers: Any) -> list[Exchange]:
    """Turns with these answers; what the user said is of no account to rules."""
    return [Exchange(f"words {number}", answer) for number, answer in enumerate(answers)]


# ---- configuration


def test_a_user_is_a_command_an_endpoint_or_rules() -> None:
    users = config("""\
rules:
  scripted: [{when: {contains: order}, say: "It is {{order_id}}.", times: 1}, {done: true}]
program: {command: [python3, user.py], timeout: 5s, retries: 4, env: {pass: [KEY]}, source: [user.py], concurrency: 2}
model: {base_url: "http://127.0.0.1:1/v1", model: m, temperature: 0.7, price: {input: "1", output: "2"}}
empty: {scripted: []}""").users
    assert {name: type(user.played).__name__ for name, user in users.users.items()} == {
        "rules": "Scripted",
        "program": "CommandSettings",
        "model": "Endpoint",
        "empty": "Scripted",
    }
    assert users.default is None
    program = users.users["program"]
    assert (program.retries, program.concurrency) == (4, 2)


@pytest.mark.parametrize(
    ("users", "default"),
    [
        ("ada: {scripted: []}", "ada"),
        ("ada: {scripted: []}\ndefault: {scripted: []}", "default"),
        ("ada: {scripted: []}\nbob: {scripted: []}", None),
    ],
)
def test_the_only_user_or_the_one_called_default_is_the_default(users: str, default: str | None) -> None:
    assert config(users).users.default == default


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("{comand: [x]}", "agenteval.yaml:3:9: users.ada.comand: unknown key 'comand'; did you mean 'command'?"),
        ("{}", "give one of command, base_url or scripted"),
        ("{timeout: 3s}", "give one of command, base_url or scripted"),
        ("{model: m}", "'base_url' is missing"),
        ("{command: [x], cache: true}", "unknown key 'cache'"),
        ("{command: [x], scripted: []}", "unknown key 'command'"),
        ("{command: []}", "must not be empty"),
        ("{scripted: [{when: x}]}", "give one of say, done or gives_up"),
        ("{scripted: [{say: x, done: false}]}", "must be true"),
        ("{scripted: [{say: x, times: 0}]}", "at least 1"),
        (
            "{scripted: [{say: x}, {when: {regex: '('}, done: true}]}",
            "users.ada.scripted[1].when.regex: regex: /(/ is no",
        ),
        ("{scripted: [{when: {contians: x}, say: y}]}", "users.ada.scripted[0].when: 'contians' is no operator"),
        ("{scripted: [{say: x}, {when: {contains: y}, done: true}]}", "users.ada.scripted[1]: never said: scripted[0]"),
        ("{scripted: [{when: {all: [{regexp: x}]}, say: x}, {when: {any_of: []}, say: x}]}", "write a list of values"),
    ],
)
def test_what_is_wrong_with_a_user_is_said_where_it_stands(user: str, words: str) -> None:
    with pytest.raises(InvalidFilesError) as error:
        config(f"ada: {user}")
    assert words in "\n".join(map(str, error.value.problems))


def test_rules_are_the_same_in_a_case_and_in_the_configuration() -> None:
    of_case, of_config = (schemas.load(name)["$defs"] for name in ("case", "config"))
    assert [of_case[name] for name in ("user_rule", "matcher")] == [
        of_config[name] for name in ("user_rule", "matcher")
    ]


# ---- rules

RULES = rules_from(
    [
        {"when": {"contains": "order number"}, "say": "It is {{order_id}}.", "times": 1},
        {"when": {"contains": "order number"}, "say": "I told you: {{ order_id }}, {{items}} of them."},
        {"when": {"refunded": True}, "say": "Thanks.", "done": True},
        {"when": {"contains": "bye"}, "done": True},
        {"say": "Well?", "times": 2},
    ]
)


@pytest.mark.parametrize(
    ("answers", "say", "done"),
    [
        (["What is your order number?"], "It is 5678.", False),
        (["Your order number?", "Your order number!"], "I told you: 5678, 2 of them.", False),
        (["Your order number?", "Hm.", "Your order number!"], "I told you: 5678, 2 of them.", False),
        ([{"refunded": True, "id": 7}], "Thanks.", True),
        ([{"refunded": False}], "Well?", False),
        ([None], "Well?", False),
        (["Good bye"], None, True),
        (["One.", "Two."], "Well?", False),
    ],
)
def test_the_first_rule_that_matches_and_is_not_used_up_speaks(answers: list[Any], say: str | None, done: bool) -> None:
    spoken = ScriptedUser(RULES).speak(ROLE, talk(*answers), 1)
    assert (spoken.say, spoken.done) == (say, done)


def test_names_that_the_user_knows_are_filled_in_wherever_it_is_told_who_it_is() -> None:
    simulation = {
        "user_prompt": "You are {{ name }}, {{mood}}.",
        "opening": "I am {{name}}.",
        "ends_when": "{{name}} has order {{order}}",
        "knows": {"name": "Ada", "order": 5678},
    }
    role = role_of({"simulation": simulation})
    assert role is not None
    assert (role.user_prompt, role.opening, role.ends_when) == (
        "You are Ada, {{mood}}.",
        "I am Ada.",
        "Ada has order 5678",
    )


def test_the_rules_of_the_case_come_first() -> None:
    role = Role(user_prompt="x", opening="Hi.", script=rules_from([{"say": "First.", "times": 1}]))
    user = ScriptedUser(rules_from([{"say": "Then."}]))
    assert [user.speak(role, talk(*"ab"[:turns]), 1).say for turns in (1, 2)] == ["First.", "Then."]


def test_before_the_first_answer_only_a_rule_without_when_speaks() -> None:
    user = ScriptedUser(rules_from([{"when": {"not": "x"}, "say": "Never."}, {"say": "Hello."}]))
    assert user.speak(Role(user_prompt="x"), (), 1).say == "Hello."
    with pytest.raises(NoAnswerError, match="how to begin; add one without when, or give the case an opening"):
        ScriptedUser(rules_from([{"when": {"any": True}, "say": "Never."}])).speak(Role(user_prompt="x"), (), 1)


def test_what_was_answered_before_the_simulation_is_the_first_answer() -> None:
    role = Role(user_prompt="x", before=(Exchange("Hi", "Your order number?"),), knows={"order_id": "1"})
    assert ScriptedUser(RULES).speak(role, (), 1).say == "It is 1."


def test_where_no_rule_is_left_the_answer_is_quoted() -> None:
    with pytest.raises(NoAnswerError) as fault:
        ScriptedUser(RULES).speak(ROLE, talk("a", "b", "We need your passport. " * 50), 1)
    assert str(fault.value).startswith("no rule of its script is left for the agent's answer \"We need your passport. ")
    assert str(fault.value).endswith("…; add one that matches it, or one without when")
    assert len(str(fault.value)) < 400
    with pytest.raises(NoAnswerError, match=r"it has no rules; give the case a simulation\.script"):
        ScriptedUser(()).speak(ROLE, talk("a"), 1)


def test_a_rule_that_cannot_be_decided_is_a_fault() -> None:
    slow = ScriptedUser(rules_from([{"when": {"regex": "^(([a-z])+.)+[A-Z]([a-z])+$"}, "say": "x"}]))
    with pytest.raises(NoAnswerError, match="cannot be decided"):
        slow.speak(ROLE, talk("a" * 5000), 1)


rules = st.lists(
    st.builds(
        Rule,
        when=st.sampled_from(["a", "b", {"any": True}, {"not": "a"}]),
        say=st.sampled_from(["1", "2", "3"]),
        times=st.none() | st.integers(1, 2),
    ),
    max_size=5,
)


@given(rules, st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
def test_no_rule_is_said_more_often_than_its_times(given_rules: list[Rule], answers: list[str]) -> None:
    named = [Rule(when=rule.when, say=f"{index}", times=rule.times) for index, rule in enumerate(given_rules)]
    said = []
    for turns in range(1, len(answers) + 1):
        try:
            said.append(ScriptedUser(named).speak(ROLE, talk(*answers[:turns]), 1).say)
        except NoAnswerError:
            continue
    assert all(rule.times is None or said.count(rule.say) <= rule.times for rule in named)


# ---- the cast


def simulated(name: str, **keys: Any) -> Case:
    data = {"schema": 1, "id": name, "simulation": {"user_prompt": "You are Ada.", **keys}}
    return case_from(f"cases/{name}.yaml", data)


def cast(users: str | None, *cases: Case, root: Path = Path(), **environment: str) -> Cast:
    playing = config(users).users if users else Config().users
    return cast_for(playing, root, cases, environment)


SCRIPT = [{"say": "Hi.", "times": 1}]
PROGRAM = f"{{command: [{sys.executable}, -c, pass], env: {{pass: [TOKEN]}}}}"


def test_only_the_users_that_the_cases_need_are_made_ready() -> None:
    users = f"default: {{scripted: []}}\nada: {PROGRAM}\nbob: {{command: [not-there]}}"
    asked = case_from("c.yaml", {"schema": 1, "id": "plain", "input": "Hello"})
    found = cast(users, simulated("one"), simulated("two", user="ada"), asked, TOKEN="s3cret")
    assert found.by_case == {"one": "default", "two": "ada"}
    assert found.secrets == ("s3cret",)
    assert [(user.name, user.asked) for user in user_records(found)] == [
        ("ada", shlex.join([sys.executable, "-c", "pass"])),
        ("default", "scripted"),
    ]


@pytest.mark.parametrize(
    ("users", "keys", "words"),
    [
        (None, {}, "one: nobody plays its simulated user; name who does under users in agenteval.yaml, or give it a"),
        (None, {"user": "ada", "script": SCRIPT}, "one: no user 'ada' under users in agenteval.yaml"),
        ("ada: {scripted: []}", {"user": "adda"}, "no user 'adda' under users in agenteval.yaml; did you mean 'ada'?"),
        ("ada: {scripted: []}\nbob: {scripted: []}", {}, "agenteval.yaml has no default user; name one of ada, bob as"),
        (
            "ada: {command: [not-there]}",
            {},
            "user 'ada': the command not-there is neither on PATH nor in the repository",
        ),
        (f"ada: {PROGRAM}", {}, "user 'ada' needs TOKEN from the environment"),
        ("ada: {command: [python3], source: [gone]}", {}, "users.ada.source: gone is not there"),
        (
            f"ada: {PROGRAM}",
            {"user": "ada", "script": SCRIPT},
            "simulation.script is for a scripted user, and 'ada' is none",
        ),
        ('ada: {base_url: "http://x/v1", model: m, api_key_env: KEY}', {}, "users.ada needs KEY from the environment"),
    ],
)
def test_where_nobody_can_play_it_is_said_before_anything_runs(users: str | None, keys: Any, words: str) -> None:
    with pytest.raises(UsageError) as error:
        cast(users, simulated("one", **keys), PATH="/usr/bin:/bin")
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("users", "name"),
    [
        (None, "scripted"),
        ("ada: {scripted: [{say: x}]}", "ada"),
        ("ada: {scripted: []}\nbob: {scripted: []}", "scripted"),
        (f"ada: {PROGRAM}", "scripted"),
        (f"ada: {PROGRAM}\nscripted: {{scripted: [{{say: x}}]}}", "scripted"),
    ],
)
def test_a_case_with_a_script_needs_no_model(users: str | None, name: str) -> None:
    found = cast(users, simulated("one", script=SCRIPT))
    assert found.by_case == {"one": name}
    assert [user.asked for user in user_records(found)] == ["scripted"]


def digest_of(user: str, root: Path) -> str:
    found = cast(f"ada: {user}", simulated("one"), root=root, PATH="/usr/bin:/bin", KEY="k", OTHER="o")
    return found.users["ada"].digest


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("{scripted: [{say: a}]}", "{scripted: [{say: b}]}", False),
        ("{scripted: [{say: a}]}", "{scripted: [{say: a, when: null}]}", False),
        ("{scripted: [{say: a}]}", "{scripted: [{when: {any: true}, say: a}]}", False),
        ("{command: [python3, user.py]}", "{command: [python3, other.py]}", False),
        (
            "{command: [python3, user.py]}",
            "{command: [python3, user.py], retries: 9, concurrency: 1, timeout: 1s}",
            True,
        ),
        ('{base_url: "http://x/v1", model: a}', '{base_url: "http://x/v1", model: b}', False),
        ('{base_url: "http://x/v1", model: a}', '{base_url: "http://x/v1", model: a, temperature: 0.5}', False),
        (
            '{base_url: "http://x/v1", model: a, api_key_env: KEY}',
            '{base_url: "http://x/v1", model: a, api_key_env: OTHER, price: {input: "1", output: "1"}}',
            True,
        ),
    ],
)
def test_the_digest_of_a_user_changes_with_what_decides_its_words(
    one: str, other: str, same: bool, tmp_path: Path
) -> None:
    for name in ("user.py", "other.py"):
        (tmp_path / name).write_text(f"# {name}\n", encoding="utf-8")
    assert (digest_of(one, tmp_path) == digest_of(other, tmp_path)) is same
    before = digest_of("{command: [python3, user.py]}", tmp_path)
    (tmp_path / "user.py").write_text("# changed\n", encoding="utf-8")
    assert digest_of("{command: [python3, user.py]}", tmp_path) != before
