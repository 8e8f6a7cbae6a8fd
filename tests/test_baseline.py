"""Baselines in a user's words: accept, commit, merge, compare."""

from __future__ import annotations

import json

import pytest
from build import run, tried
from conftest import Repo
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agenteval_cli import schemas
from agenteval_cli.baselines import accept, baseline_run, lines_of, read_baselines, write_baselines
from agenteval_cli.diff import diff_of
from agenteval_cli.errors import UsageError

FICKLE = """
import json, os, sys
request = json.load(sys.stdin)
json.dump({"output": os.environ["SAY"], "tool_calls": []}, sys.stdout)
"""
SMOKE = "baselines/main.smoke.jsonl"


def lines(repo: Repo, file: str = SMOKE) -> dict[str, str]:
    """`k/n` of each case in a baseline file, in its order."""
    rows = [json.loads(line) for line in (repo.root / file).read_text(encoding="utf-8").splitlines()]
    return {row["case"]: f"{row['passed']}/{row['graded']}" for row in rows}


@pytest.fixture
def accepted(repo: Repo) -> Repo:
    """Three cases that pass, accepted and committed; the agent says what $SAY says."""
    repo.agent(FICKLE, config="env: {pass: [SAY]}")
    repo.env["SAY"] = "hello"
    for name in ("a-case", "b-case"):
        repo.case(name)
    repo.commit()
    assert repo.run("run").code == 0
    assert repo.run("baseline", "accept").code == 0
    repo.commit("accepted")
    return repo


def test_a_run_is_accepted_as_one_line_per_case_in_the_order_of_their_ids(accepted: Repo) -> None:
    assert lines(accepted) == {"a-case": "1/1", "b-case": "1/1", "says-hello": "1/1"}
    validator = Draft202012Validator(schemas.load("baseline"))
    for line in (accepted.root / SMOKE).read_text(encoding="utf-8").splitlines():
        validator.validate(json.loads(line))


@pytest.mark.parametrize("command", [["diff"], ["baseline", "diff"]], ids=" ".join)
def test_what_broke_since_is_told_without_naming_a_base(accepted: Repo, command: list[str]) -> None:
    assert accepted.run("run", SAY="goodbye").code == 1
    assert accepted.run("run", SAY="goodbye").code == 1  # so that the run before broke as well
    done = accepted.run(*command, "--json")
    assert done.code == 1
    assert done.json["diff"]["base"] == "baseline"
    assert done.json["diff"]["counts"]["broke"] == 3
    shown = accepted.run("diff", "baseline", "latest")
    assert shown.code == 1
    assert "outcome" not in shown.out.partition("outcome[0]")[0], "the baseline knows of no outcome"
    case = next(each for each in done.json["diff"]["cases"] if each["class"] == "broke")
    assert (case["base"]["outcome"], case["head"]["outcome"]) == ("unknown", "failed")


def test_a_run_is_the_same_as_what_was_accepted_of_it(accepted: Repo) -> None:
    done = accepted.run("baseline", "diff", "--json")
    assert done.code == 0, done
    assert done.json["diff"]["counts"]["still_passing"] == 3


def test_attempts_that_were_kept_before_and_after_accepting_prove_nothing(repo: Repo) -> None:
    """The second run keeps the attempts of the first, is accepted, and the third keeps them again and fails more."""
    repo.agent(f"import json\nprint(json.dumps({{'output': open({str(repo.root / 'says')!r}).read()}}))\n")
    repo.write("says", "hello")
    repo.run("run", "--attempts", "5")
    repo.run("run", "--attempts", "5", "--since", "latest")
    repo.run("baseline", "accept")
    repo.write("says", "goodbye")
    repo.run("run", "--attempts", "25", "--since", "latest")
    case = repo.run("diff", "baseline", "--json", "--gate", "significant").json["diff"]["cases"][0]
    assert (case["class"], case["shared"], case["evidence"]) == ("broke", 5, "within_noise")


def test_accepting_the_same_results_again_changes_nothing(accepted: Repo) -> None:
    accepted.run("run")
    done = accepted.run("baseline", "accept", "--json")
    assert done.json["files"][0]["unchanged"] == ["a-case", "b-case", "says-hello"]
    assert accepted.git("status", "--porcelain") == ""


def test_only_the_named_cases_are_accepted(accepted: Repo) -> None:
    accepted.run("run", SAY="goodbye")
    assert accepted.run("baseline", "accept", "--case", "b-case").code == 0
    assert lines(accepted) == {"a-case": "1/1", "b-case": "0/1", "says-hello": "1/1"}
    done = accepted.run("baseline", "accept", "--case", "b-cse")
    assert done.code == 2
    assert "did you mean 'b-case'" in done.err


def test_a_case_that_is_gone_leaves_the_baseline_and_one_of_another_tier_moves(accepted: Repo) -> None:
    (accepted.root / "cases/a-case.yaml").unlink()
    accepted.case("b-case", tier="regression")
    accepted.run("run", "--attempts", "2")
    accepted.run("baseline", "accept")
    assert lines(accepted) == {"says-hello": "2/2"}
    assert lines(accepted, "baselines/main.regression.jsonl") == {"b-case": "2/2"}


def test_a_case_that_was_not_selected_stays_accepted(accepted: Repo) -> None:
    accepted.run("run", "--case", "a-case", "--attempts", "3")
    accepted.run("baseline", "accept")
    assert lines(accepted) == {"a-case": "3/3", "b-case": "1/1", "says-hello": "1/1"}


@pytest.mark.parametrize("both", [("a-case", "b-case"), ("a-case", "a-case")], ids=["neighbours", "the same case"])
def test_two_branches_that_both_accept_merge_without_trouble(accepted: Repo, both: tuple[str, str]) -> None:
    for branch, case, attempts in zip(("one", "two"), both, ("2", "3"), strict=True):
        accepted.git("checkout", "--quiet", "-b", branch, "main")
        accepted.run("run", "--case", case, "--attempts", attempts)
        accepted.run("baseline", "accept")
        accepted.commit(branch)
    accepted.git("merge", "--quiet", "--no-edit", "one")
    shown = {row["case"]: row["passed"] for row in accepted.run("baseline", "show", "--json").json["cases"]}
    newest = {"a-case": 2, "b-case": 3} if both[1] == "b-case" else {"a-case": 3, "b-case": 1}
    assert shown == {**newest, "says-hello": 1}


@pytest.mark.slow
def test_an_incomplete_run_is_refused_unless_a_part_will_do(accepted: Repo) -> None:
    accepted.case("needs-tokens", "schema: 1\nid: needs-tokens\ntier: smoke\ninput: hello\nlimits: {tokens: 5}\n")
    assert accepted.run("run").code in (1, 3)
    statuses = {attempt["case"]: attempt["status"] for attempt in accepted.attempts()}
    assert statuses["needs-tokens"] == "ungraded"
    done = accepted.run("baseline", "accept")
    assert done.code == 3
    assert "--partial" in done.err
    assert "needs-tokens" not in lines(accepted)
    done = accepted.run("baseline", "accept", "--partial")
    assert done.code == 0
    assert "needs-tokens" in done.err


def test_without_a_baseline_the_way_to_one_is_told(repo: Repo) -> None:
    repo.run("run")
    done = repo.run("diff", "baseline", "latest")
    assert done.code == 2
    assert "agenteval baseline accept" in done.err


@pytest.mark.slow
def test_a_baseline_is_nothing_to_keep_attempts_from_or_to_go_on_with(accepted: Repo) -> None:
    assert accepted.run("run", "--resume", "baseline").code == 2
    assert accepted.run("runs", "merge", "baseline").code == 2
    accepted.run("run", "--since", "baseline")
    assert not any("reused_from" in attempt for attempt in accepted.attempts())
    assert sorted(path.name for path in (accepted.root / "baselines").iterdir()) == [
        ".gitattributes",
        "main.smoke.jsonl",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<<<<<<< HEAD\n", "baselines/main.smoke.jsonl:1: a conflict"),
        ("\n[]\n", "baselines/main.smoke.jsonl:2: not a line"),
        ("null\n", "1: not a line of a baseline: it is no mapping"),
        ('{"format":1,"case":"a","passed":0,"passed":1}\n', "the key 'passed' is there twice"),
        ('{"format": 9}\n', "has format 9"),
        (
            '{"format":1,"case":"a","passed":2,"graded":1,"planned":1,"min_pass_rate":1,"input":"","grade":"","run":""}',
            "cannot be",
        ),
        (
            '{"format":1,"case":"a","passed":0,"graded":1,"planned":1,"min_pass_rate":-1,"input":"","grade":"","run":""}',
            "a min_pass_rate of -1.0 cannot be",
        ),
        (
            '{"format":1,"case":"a","passed":1,"graded":1,"planned":1,"min_pass_rate":1,"input":"","grade":"","run":"","Passed":0}',
            "unknown field `Passed`",
        ),
    ],
)
def test_a_broken_line_is_told_with_where_it_is(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told.replace("[", r"\[")):
        lines_of(SMOKE, text.encode())


def test_an_edited_case_is_not_held_against_its_old_line() -> None:
    done = accept({}, run(tried("greet", "PPP")))
    diff = diff_of(baseline_run(done.book, {}), run(tried("greet", "FFF", expects="else")))
    assert [case.change for case in diff.cases] == ["edited"]


def test_the_line_of_the_agent_that_ran_is_the_one_compared_with() -> None:
    done = accept({}, run(tried("greet", "PP"), id="20261102T090000.000000Z-0001"))
    book = {**done.book, ("other", "regression"): accept({}, run(tried("greet", "FF"))).book["support", "regression"]}
    assert baseline_run(book, {"greet": "other"}).record.plan[0].agent == "other"
    assert baseline_run(book, {}, "support").record.plan[0].agent == "support"


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.from_regex(r"[a-z]{2,4}", fullmatch=True), st.text("PF", min_size=1, max_size=6)),
        unique_by=lambda pair: pair[0],
    )
)
def test_counts_and_verdicts_outlive_the_file(
    tmp_path_factory: pytest.TempPathFactory, ended: list[tuple[str, str]]
) -> None:
    made = run(*(tried(name, letters, needs=0.5) for name, letters in ended))
    root = tmp_path_factory.mktemp("repo")
    write_baselines(root, {}, accept({}, made).book)
    diff = diff_of(baseline_run(read_baselines(root), {}), made)
    assert all(case.change in ("still_passing", "still_failing") for case in diff.cases)
    assert len(diff.cases) == len(ended)
