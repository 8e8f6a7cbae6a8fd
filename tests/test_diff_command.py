"""`agenteval diff` as a user meets it: what is behind a change, what is shown, and when it fails."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import Repo
from jsonschema import Draft202012Validator

from agenteval_cli import schemas
from agenteval_cli.diff import diff_of
from agenteval_cli.outcomes import read_outcomes
from agenteval_cli.store import read_run

CASE = """
schema: 1
id: {id}
tier: {tier}
metadata: {owner: team-{id}}
input: I want my money back.
outcome:
  - contains: refund
trajectory:
  required: [find_order]
"""
AGENT = """
import json, sys
print(json.dumps(ANSWER))
"""
GOOD: dict[str, Any] = {
    "output": "Your refund is on its way.",
    "tool_calls": [
        {"name": "find_order", "arguments": {"id": "5678"}, "result": {}},
        {"name": "create_refund", "arguments": {"amount": "129.00"}, "result": {}},
    ],
    "usage": {"total_tokens": 100},
}
BAD: dict[str, Any] = {
    "output": "I cannot help with that.\nPlease call us.",
    "tool_calls": [
        {"name": "find_order", "arguments": {"id": "5678"}, "result": {}},
        {"name": "create_refund", "arguments": {"amount": "12.90"}, "result": {}},
    ],
    "usage": {"total_tokens": 300},
}


def answers(repo: Repo, answer: dict[str, Any]) -> None:
    repo.agent(AGENT.replace("ANSWER", repr(answer)))


def run_with(repo: Repo, answer: dict[str, Any], *options: str) -> None:
    answers(repo, answer)
    repo.run("run", *options)


@pytest.fixture
def shop(repo: Repo) -> Repo:
    """One case whose agent was good in the first run, and is not in the second."""
    (repo.root / "cases" / "says-hello.yaml").unlink()
    repo.case("money", CASE)
    run_with(repo, GOOD, "--attempts", "3")
    run_with(repo, BAD, "--attempts", "3")
    return repo


def test_a_broken_case_shows_which_check_where_the_paths_part_and_both_answers(shop: Repo) -> None:
    done = shop.run("diff")
    assert done.code == 1
    assert "broke money 3/3 → 0/3, p 0.050, q 0.050: confirmed" in done.out
    assert "outcome passed → failed, trajectory passed" in done.out
    assert "outcome[0].contains did not hold in 0/3 → 3/3" in done.out
    assert 'path parts (attempt 1 → 1): create_refund: arguments at $.amount: "129.00" → "12.90"' in done.out
    assert 'base step 2: create_refund({"amount": "129.00"}) ok' in done.out
    left, right = next(line for line in done.out.splitlines() if "on its way" in line).split("│")
    assert (left.strip(), right.strip()) == ("Your refund is on its way.", "I cannot help with that.")
    assert "pass rate over 1 compared case: 100.0% → 0.0%" in done.out


@pytest.mark.slow
def test_as_json_all_of_it_satisfies_the_schema(shop: Repo) -> None:
    shop.case("added", CASE)
    shop.run("run", "--attempts", "3")
    done = shop.run("diff", shop.runs()[0].name, "latest", "--by", "owner", "--json")
    schema = schemas.load("output")
    Draft202012Validator({"$ref": "#/$defs/diff", "$defs": schema["$defs"]}).validate(done.json)
    case = next(case for case in done.json["diff"]["cases"] if case["id"] == "money")
    assert case["checks"][0]["name"] == "outcome[0].contains"
    assert case["path"]["difference"] == "arguments"
    assert case["answers"] == {"base": GOOD["output"], "head": BAD["output"]}
    assert [shift["name"] for shift in case["measures"]] == ["tokens", "steps"]
    slices = [(item["by"], item["value"]) for item in done.json["diff"]["overall"]["slices"]]
    assert slices == [("tier", "smoke"), ("owner", "team-money")]
    assert done.json["diff"]["overall"]["comparable"] == 0.5


def test_a_slice_that_is_asked_for_once_more_is_told_once(shop: Repo) -> None:
    out = shop.run("diff", "--by", "tier", "--by", "owner", "--by", "owner").out
    assert [line.split(":")[0].strip() for line in out.splitlines() if ": 100.0%" in line][1:] == [
        "tier smoke",
        "owner team-money",
    ]


@pytest.mark.slow
def test_a_key_that_no_case_has_is_told(shop: Repo) -> None:
    assert "no compared case has 'ownr' in its metadata" in shop.run("diff", "--by", "owner", "--by", "ownr").err
    assert "in its metadata" not in shop.run("diff", "--by", "owner").err


def test_what_was_fixed_compares_what_failed_before_with_what_passes_now(shop: Repo) -> None:
    run_with(shop, GOOD, "--attempts", "3")
    out = shop.run("diff").out
    assert "fixed money 0/3 → 3/3" in out
    assert "outcome[0].contains did not hold in 3/3 → 0/3" in out
    assert 'create_refund: arguments at $.amount: "12.90" → "129.00"' in out


@pytest.mark.slow
def test_an_attempt_without_a_transcript_has_no_path_and_is_no_reason_to_fail(shop: Repo) -> None:
    shop.agent("raise SystemExit(3)")
    shop.run("run", "--attempts", "3")
    done = shop.run("diff", shop.runs()[0].name, "latest")
    assert done.code == 1
    assert "broke money 3/3 → 0/3" in done.out
    assert "path" not in done.out
    assert "(no answer known)" in done.out
    for run in shop.runs():
        (run / "transcripts.jsonl").unlink()
    assert "broke money 3/3 → 0/3" in shop.run("diff", shop.runs()[0].name, "latest").out


@pytest.mark.slow
def test_a_long_answer_is_cut_and_the_command_that_shows_it_is_told(shop: Repo) -> None:
    run_with(shop, {**BAD, "output": "one word\n" * 30}, "--attempts", "3")
    out = shop.run("diff", shop.runs()[0].name, "latest").out
    assert "… 24 more lines; `agenteval show` has all" in out
    assert "--full" not in out


@pytest.mark.slow
def test_an_attempt_that_crashed_is_not_told_by_one_that_passed(shop: Repo) -> None:
    """Two attempts of three crash without a word: what the third answered is not what changed."""
    run_with(shop, GOOD, "--attempts", "3", "--seed", "7")
    lucky = str(shop.attempts()[0]["seed"])
    crash = f"import os\nif os.environ['AGENTEVAL_SEED'] != {lucky!r}: raise SystemExit(3)\n"
    shop.agent(crash + AGENT.replace("ANSWER", repr(GOOD)))
    shop.run("run", "--attempts", "3", "--seed", "7")
    done = shop.run("diff")
    assert "broke money 3/3 → 1/3" in done.out
    assert "the agent exited with code 3" in done.out
    assert "(no answer known)" in done.out
    assert "same" not in done.out


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("diff", "-v"),
        ("diff", "-v", "--json"),
        ("report", "previous..latest"),
        ("show", "money", "--run", "latest"),
        ("show", "money", "--run", "latest", "--json"),
        ("run",),
        ("diff", "\n::error::told"),
    ],
    ids=" ".join,
)
def test_no_command_lets_an_agent_or_a_case_give_orders_to_the_log_of_a_ci_job(
    shop: Repo, command: tuple[str, ...]
) -> None:
    """Wherever a line ends: agents, tags and arguments may say `::stop-commands::`, and GitHub would do it."""
    words = "::error::told\n  ::stop-commands::x\n##[error]told\n" + "y" * 45 + " ::error::told " * 20
    shop.case("money", CASE + 'tags: ["::error::told"]\n')
    run_with(shop, {**GOOD, "output": f"{words} refund"})
    run_with(shop, {**BAD, "output": words})
    done = shop.run(*command)
    assert "told" in done.out + done.err
    assert not re.search(r"^\s*::|##\[", done.out + done.err, re.MULTILINE)
    if "--json" in command:
        assert words in json.dumps(done.json).encode().decode("unicode_escape")


# ---- edited cases


@pytest.mark.slow
def test_an_edited_case_shows_what_changed_in_it(shop: Repo) -> None:
    shop.commit()
    shop.case("money", CASE.replace("contains: refund", "contains: money") + "tools: [{name: find_order}]\n")
    shop.run("run", "--attempts", "3")
    done = shop.run("diff")
    assert done.code == 3
    assert "edited money 0/3 → 0/3" in done.out
    assert 'checks: outcome: [0].contains: "refund" → "money"' in done.out
    assert 'tools: tools: added: [{"name": "find_order"}]' in done.out


@pytest.mark.slow
def test_an_edited_case_is_judged_where_that_is_asked_for(shop: Repo) -> None:
    shop.commit()
    shop.case("money", CASE.replace("contains: refund", "contains: cannot"))
    shop.run("run", "--attempts", "3")
    done = shop.run("diff", "--include-edited")
    assert done.code == 0
    assert "fixed money 0/3 → 3/3" in done.out
    assert 'checks: outcome: [0].contains: "refund" → "cannot"' in done.out


def test_what_changed_in_a_file_that_can_no_longer_be_found_is_not_guessed(shop: Repo) -> None:
    shop.case("money", CASE.replace("refund", "money"))  # the earlier file was never committed
    shop.run("run", "--attempts", "3")
    done = shop.run("diff", "--json")
    assert done.json["diff"]["cases"][0]["class"] == "edited"
    assert done.json["diff"]["cases"][0]["case_changes"] is None


@pytest.mark.slow
def test_a_fixture_that_changed_is_told_from_a_file_that_did(shop: Repo) -> None:
    shop.write("given.txt", "one")
    shop.case("money", CASE + "files: [given.txt]\n")
    shop.run("run")
    shop.write("given.txt", "two")
    shop.run("run")
    out = shop.run("diff").out
    assert "edited money" in out
    assert "its file says the same: a shared fixture or a file that it gives to the agent changed" in out


# ---- what is shown, and when it fails


def test_only_the_classes_asked_for_are_shown(shop: Repo) -> None:
    shop.case("new-one", CASE)
    shop.run("run", "--attempts", "3")
    base = shop.runs()[0].name
    done = shop.run("diff", base, "latest", "--only", "new")
    assert "new new-one" in done.out
    assert "broke money" not in done.out
    assert "1 broke, 1 new" in done.out
    cases = shop.run("diff", base, "latest", "--only", "broke", "--only", "fixed", "--json").json["diff"]
    assert [case["id"] for case in cases["cases"]] == ["money"]
    assert cases["counts"]["new"] == 1
    assert shop.run("diff", base, "latest", "--only", "broken").code == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--gate", "broke"], 1),
        (["--gate", "significant"], 0),
        (["--gate", "significant", "--max-slip", "0.9"], 0),
        (["--gate", "nonsense"], 2),
        (["--max-slip", "2"], 2),
        (["--max-slip", "nan"], 2),
    ],
)
def test_exit_code_1_exactly_where_the_gate_fails(repo: Repo, options: list[str], code: int) -> None:
    repo.run("run")
    repo.agent('print(\'{"output": "no"}\')')
    repo.run("run")
    assert repo.run("diff", *options).code == code


def test_a_case_without_a_verdict_is_named_as_why_no_gate_holds(repo: Repo) -> None:
    repo.case("another")
    repo.run("run")
    repo.agent('print(\'{"output": "no"}\')')
    repo.run("run", "--fail-fast", "--concurrency", "1")
    done = repo.run("diff", "--gate", "significant")
    assert done.code == 3
    assert "the gate (significant) is not known to hold: 1 case came to no verdict" in done.err


def test_a_slip_fails_the_gate_where_it_is_more_than_allowed(repo: Repo) -> None:
    repo.case(
        "says-hello",
        "schema: 1\nid: says-hello\ntier: smoke\ninput: hi\nmin_pass_rate: 0.5\noutcome: [{contains: hello}]\n",
    )
    answers(repo, {"output": "hello"})
    repo.run("run", "--attempts", "4")
    mark = repo.root.parent / "mark"
    repo.agent(
        f'import pathlib\np = pathlib.Path({str(mark)!r})\nprint(\'{{"output": "hello"}}\' if p.exists() else \'{{"output": "no"}}\')\np.touch()\n'
    )
    repo.run("run", "--attempts", "4", "--concurrency", "1")
    assert "slipped says-hello 4/4 → 3/4" in repo.run("diff").out
    assert repo.run("diff").code == 0
    failing = repo.run("diff", "--max-slip", "0.1", "--json")
    assert failing.code == 1
    assert failing.json["gate"] == {"rule": "broke", "max_slip": 0.1, "failed": ["says-hello"]}
    assert repo.run("diff", "--max-slip", "0.25").code == 0


def test_many_cases_that_were_not_selected_share_a_line(repo: Repo) -> None:
    for number in range(12):
        repo.case(f"other-{number:02}", tier="regression")
    repo.run("run", "--attempts", "1")
    repo.run("run", "--tier", "smoke")
    out = repo.run("diff").out
    assert "not_comparable 12 cases, not selected in the head run: other-00, " in out
    assert "other-07 and 4 more; -v lists all" in out
    assert "1 of 13 cases (8%) could be compared" in out
    assert "not_comparable other-11" in repo.run("diff", "-v").out


def test_rates_by_owner(shop: Repo) -> None:
    out = shop.run("diff", "--by", "owner").out
    assert "owner team-money: 100.0% → 0.0% over 1 case" in out


def test_what_this_diff_could_not_have_seen_is_told(repo: Repo) -> None:
    repo.case("another")
    repo.run("run")
    repo.run("run")
    out = repo.run("diff", "-v").out
    assert "could well have gone unseen" in out
    assert "of one case, 1 and 1 attempts confirm no fall at all; 4 a side confirm one to nothing" in out


def test_hostile_answers_paths_and_edits_are_escaped(shop: Repo) -> None:
    evil = "\x1b[31mred\u202egnp.exe\r::error::x"
    call = {"name": f"find_order{evil}", "arguments": {evil: evil}, "result": {}}
    run_with(shop, {"output": evil, "tool_calls": [call]}, "--attempts", "3")
    base = shop.runs()[0].name
    shop.commit()
    for done in (shop.run("diff", base, "latest"), shop.run("diff", base, "latest", "--json")):
        assert not {"\x1b", "\u202e", "\r"} & set(done.out + done.err), done
    assert "\\x1b[31mred" in shop.run("diff", base, "latest").out


# ---- reading


@pytest.mark.slow
def test_a_run_read_for_a_diff_says_the_same_as_one_read_in_full(shop: Repo) -> None:
    shop.agent("raise SystemExit(3)")
    shop.run("run", "--attempts", "3", "--retry-errors", "1")
    shop.run("run", "--attempts", "3", "--since", shop.runs()[0].name)
    runs = shop.runs()
    for base in runs:
        for head in runs:
            full, quick = diff_of(read_run(base), read_run(head)), diff_of(read_outcomes(base), read_outcomes(head))
            assert quick == full
    attempts = read_run(runs[0]).attempts
    assert [found.checks for found in read_outcomes(runs[0]).attempts] == [attempt.checks for attempt in attempts]


def test_a_torn_last_line_is_ignored_and_any_other_is_named(shop: Repo) -> None:
    path = shop.runs()[0] / "attempts.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert len(read_outcomes(shop.runs()[0]).attempts) == 2
    path.write_bytes(b'{"case": 1}\n' + whole)
    done = shop.run("diff", shop.runs()[0].name)
    assert done.code == 2
    assert "attempts.jsonl:1: not an attempt record" in done.err
    path.unlink()
    assert read_outcomes(shop.runs()[0]).attempts == ()


def test_metadata_is_in_the_run_so_that_results_can_be_taken_apart_by_it(shop: Repo) -> None:
    record = json.loads((shop.runs()[0] / "run.json").read_text(encoding="utf-8"))
    assert record["plan"][0]["metadata"] == {"owner": "team-money"}
