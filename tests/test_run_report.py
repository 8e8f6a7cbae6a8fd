"""The summary of a run: everything adds up, failures say why, and the next command is there to be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from build import LETTERS, Tried, steady, tried
from build import run as run_of
from conftest import AGENTEVAL, Repo
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from terminal import Terminal

from agenteval_cli import schemas
from agenteval_cli.breakdown import IN_QUARANTINE, by_tag, by_tier, dearest, slowest
from agenteval_cli.summary import summary_of

# The input is JSON: what to answer, how long to take, what to report.
TOLD = """
import json, sys, time
told = json.loads(json.load(sys.stdin)["input"])
time.sleep(told.pop("sleep", 0))
sys.exit(told["exit"]) if "exit" in told else json.dump({"output": "hello", "tool_calls": [], **told}, sys.stdout)
"""


def case(
    repo: Repo, name: str, told: str = "{}", *, tier: str = "smoke", expects: str = "hello", more: str = ""
) -> None:
    repo.case(
        name,
        f"schema: 1\nid: {{id}}\ntier: {{tier}}\ninput: '{told}'\noutcome: [{{contains: {expects}}}]\n{more}",
        tier=tier,
    )


@pytest.fixture
def told(repo: Repo) -> Repo:
    """A repository whose cases say what the agent does; says-hello passes."""
    repo.agent(TOLD)
    case(repo, "says-hello")
    return repo


def row(out: str, name: str) -> list[str]:
    """The cells of a table's line."""
    (line,) = (line for line in out.splitlines() if line.startswith(f"{name} "))
    return re.split(r"\s{2,}", line.strip())


def test_tiers_and_tags_have_their_share_with_its_interval(told: Repo) -> None:
    case(told, "old-bug", tier="regression", more="tags: [refund, urgent]\n")
    case(told, "new-bug", tier="regression", expects="goodbye", more="tags: [refund]\n")
    out = told.run("run").out
    assert row(out, "smoke") == ["smoke", "1/1", "1 / 1 / 1", "100%", "21% to 100%"]
    assert row(out, "regression") == ["regression", "1/2", "3 / 6 / 6", "50%", "19% to 81%"]
    assert row(out, "refund") == ["refund", "1/2", "3 / 6 / 6", "50%", "19% to 81%"]
    assert row(out, "urgent") == ["urgent", "1/1", "3 / 3 / 3", "100%", "44% to 100%"]
    assert out.index("refund ") < out.index("urgent "), "the lowest rate first"
    assert "attempts: 4 passed / 7 graded / 7 planned (4 passed, 3 failed)" in out


def test_an_error_stays_in_the_sums(told: Repo) -> None:
    case(told, "crashes", '{"exit": 3}')
    done = told.run("run")
    assert row(done.out, "smoke")[1:3] == ["1/2", "1 / 2 / 2"]
    assert "the agent exited with code 3" in done.out
    assert "expected" not in done.out


def test_a_failure_shows_the_first_lines_of_both_sides_and_the_command_that_shows_more(told: Repo) -> None:
    case(told, "two-lines", '{"output": "first\\nsecond"}', expects="goodbye")
    done = told.run("run")
    lines = done.out.splitlines()
    at = lines.index("FAILED two-lines 0/1: outcome failed, trajectory not checked")
    assert [line.strip() for line in lines[at + 1 : at + 4]] == [
        'outcome[0].contains: the answer does not contain "goodbye"',
        'expected  "goodbye"',
        'actual    "first" …',
    ]
    (command,) = re.findall("more: agenteval (.*)", done.err)
    shown = told.run(*shlex.split(command))
    assert (shown.code, "second" in shown.out) == (0, True)


def test_quarantined_cases_stand_apart_and_still_add_up(told: Repo) -> None:
    case(
        told,
        "flaky",
        expects="goodbye",
        more="tags: [odd]\nquarantine: {reason: flaky, since: '2026-01-01', until: '2099-01-01'}\n",
    )
    case(told, "broken", expects="goodbye")
    out = told.run("run").out
    assert out.index("FAILED broken") < out.index("FAILED flaky 0/1 (quarantined: does not gate)")
    assert row(out, "smoke")[1] == "1/2"
    assert row(out, IN_QUARANTINE)[1:3] == ["0/1", "0 / 1 / 1"]
    assert "\nodd" not in out
    assert "1 of 2 cases passed, 1 failed, 1 in quarantine" in out


@pytest.mark.slow
def test_many_failures_are_cut_and_the_rest_can_be_seen(told: Repo) -> None:
    for number in range(23):
        case(told, f"broken-{number:02}", expects="goodbye")
    done = told.run("run")
    assert done.out.count("FAILED") == 20
    assert "and 3 more cases that did not pass" in done.out
    (command,) = re.findall("all of them: agenteval (.*)", done.err)
    again = told.run(*shlex.split(command))
    assert (again.code, again.out.count("FAILED")) == (0, 23)
    assert told.run("run", "--verbose").out.count("FAILED") == 23


def test_slow_and_dear_cases_are_named(told: Repo) -> None:
    case(told, "slow", '{"sleep": 0.6}')
    case(told, "dear", '{"cost": "0.25"}')
    case(told, "cheap", '{"cost": 0.001, "usage": {"total_tokens": 7}}')
    done = told.run("run", "--attempts", "2")
    (slow,) = re.findall("slowest: (.*)", done.out)
    assert re.match(r"slow \d", slow)
    assert "dearest: dear cost 0.50, cheap cost 0.002" in done.out


def test_without_a_cost_tokens_count_and_without_both_nothing_is_dear(told: Repo) -> None:
    assert "dearest" not in told.run("run").out
    case(told, "wordy", '{"usage": {"input_tokens": 1000, "output_tokens": 234}}')
    assert "dearest: wordy 1,234 tokens" in told.run("run").out


def test_a_run_can_be_shown_again_as_it_was(told: Repo) -> None:
    case(told, "broken", expects="goodbye")
    ran = told.run("run")
    shown = told.run("show", "--run", "latest")
    assert (shown.code, shown.out.splitlines()[1:]) == (0, ran.out.splitlines())
    assert shown.out.startswith(f"run {told.runs()[-1].name} with main")
    told.commit()
    ran = told.run("run", "--json")
    again = told.run("show", "--run", "latest", "--json")
    assert again.json == ran.json


def test_the_json_form_has_the_same_and_keeps_to_its_schema(told: Repo) -> None:
    case(told, "broken", '{"cost": "0.1"}', expects="goodbye", more="tags: [refund]\n")
    facts = told.run("run", "--json").json
    schema = schemas.load("output")
    Draft202012Validator({"$ref": "#/$defs/run", "$defs": schema["$defs"]}).validate(facts)
    assert [(share["name"], share["passed"], share["planned"]) for share in facts["tiers"]] == [("smoke", 1, 2)]
    assert [share["name"] for share in facts["tags"]] == ["refund"]
    assert facts["dearest"] == [{"case": "broken", "cost": "0.1", "tokens": None}]


def test_what_agents_say_is_shown_and_does_nothing(told: Repo) -> None:
    case(
        told,
        "hostile",
        r'{"output": "\u001b[2J\u009b2J\u202e\r\nsecond", "cost": "\u001b[2J"}',
        expects="goodbye",
    )
    done = told.run("run")
    as_json = told.run("show", "--run", "latest", "--json")
    assert r"\x9b2J\u202e" in done.out
    assert as_json.json["cases"][0]["first_failed"]["actual"] == "\x9b2J\u202e\r\nsecond"
    for text in (done.out, done.err, as_json.out):
        assert not set(text) & set("\x1b\x9b\u202e\r")


def test_where_the_encoding_has_no_such_sign_it_is_written_out(told: Repo) -> None:
    case(told, "broken", '{"output": "schön → 😀"}', expects="größer")
    done = told.run("run", PYTHONIOENCODING="ascii")
    assert done.code == 1, done
    assert r"does not contain \"gr\xf6\xdfer\"".replace('\\"', '"') in done.out
    shown = told.run("show", "--run", "latest", "--json", PYTHONIOENCODING="ascii")
    assert shown.json["cases"][0]["first_failed"]["actual"] == "schön → 😀"


def test_quiet_shows_failures_and_sums_only(told: Repo) -> None:
    case(told, "broken", expects="goodbye")
    done = told.run("run", "--quiet")
    assert done.out.splitlines()[0].startswith("FAILED broken")
    assert "TIER" not in done.out
    assert done.err == ""


def test_a_narrow_terminal_cuts_values_and_breaks_nothing(told: Repo, tmp_path: Path) -> None:
    case(told, "long", '{"output": "' + "word " * 100 + '"}', expects="goodbye")
    terminal = Terminal(str(AGENTEVAL), "run", cwd=told.root, env=told.env, columns=40, rows=60)
    try:
        assert terminal.ended() == 1
        (actual,) = (line for line in terminal.lines if line.startswith("    actual"))
        assert actual.endswith("…")
        assert len(actual) <= 40
    finally:
        terminal.close()


# ---- the breakdown, as a function

tries = st.lists(
    st.tuples(st.text(st.sampled_from(sorted(LETTERS)), max_size=5), st.booleans(), st.integers(1, 6)), max_size=12
)


@steady
@given(tries)
def test_the_tiers_add_up_to_the_run(cases: list[tuple[str, bool, int]]) -> None:
    plans = [
        tried(f"case-{index}", ended, planned=max(planned, len(ended)), quarantined=quarantined)
        for index, (ended, quarantined, planned) in enumerate(cases)
    ]
    run = run_of(*plans)
    summary = summary_of(run.record, run.attempts)
    shares = by_tier(summary)
    for name in ("passed", "graded", "planned"):
        assert sum(getattr(share, name) for share in shares) == getattr(summary, name)
    assert sum(share.cases for share in shares) == len(summary.cases)
    assert by_tag(summary) == ()


def lasted(**durations: float) -> Any:
    cases: list[Tried] = []
    for name, ms in durations.items():
        plan, attempts = tried(name, "P")
        cases.append((plan, tuple(type(item)(**{**as_fields(item), "duration_ms": ms}) for item in attempts)))
    run = run_of(*cases)
    return summary_of(run.record, run.attempts)


def as_fields(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__struct_fields__}


@pytest.mark.parametrize(
    ("durations", "slow"),
    [
        ({"one": 9000.0}, []),  # slower than what?
        ({"a": 1.0, "b": 1.0, "c": 40.0}, []),  # noise of the machine
        ({"a": 1000.0, "b": 1100.0, "c": 1300.0}, []),  # no real spread
        ({"a": 100.0, "b": 110.0, "c": 900.0}, ["c"]),
        (
            {
                "a": 10.0,
                "b": 10.0,
                "c": 10.0,
                "d": 10.0,
                "e": 10.0,
                "f": 9.0,
                "w": 400.0,
                "x": 600.0,
                "y": 500.0,
                "z": 300.0,
            },
            ["x", "y", "w"],
        ),
    ],
)
def test_only_what_stands_out_is_slow(durations: dict[str, float], slow: list[str]) -> None:
    assert [item.case for item in slowest(lasted(**durations))] == slow


def test_a_cost_that_is_no_number_is_not_dear() -> None:
    assert dearest(lasted(a=1.0)) == ()
