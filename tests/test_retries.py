"""Attempts that ended in an error, tried again where that was asked for; runs that are stopped early."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from conftest import Repo
from desk import CASE, Desk, cases

from agenteval_cli.statuses import STATUSES

ONE = CASE.replace("attempts: 2", "attempts: 1")

# Answers from the third time that it is asked the same; before that it crashes.
SHAKY = """
said=$(cat)
echo "$said" >> "$DESK/calls"
[ "$(grep -cxF "$said" "$DESK/calls")" -gt 2 ] || { echo "no luck" >&2; exit 3; }
echo "$said"
"""

FAILING = """
said=$(cat)
echo "$said" >> "$DESK/calls"
echo "goodbye"
"""


def tries(repo: Repo) -> list[tuple[str, int, str]]:
    return [(each["case"], each.get("retry", 0), each["status"]) for each in repo.attempts()]


def record(repo: Repo) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repo.runs()[-1] / "run.json").read_text(encoding="utf-8"))
    return found


def test_without_the_flag_nothing_is_tried_again(repo: Repo) -> None:
    cases(repo, 1, ONE)
    Desk(repo, SHAKY)
    assert repo.run("run").code == 1
    assert tries(repo) == [("case-1", 0, "agent_error")]


def test_every_try_is_kept_and_the_last_counts(repo: Repo) -> None:
    cases(repo, 1, ONE)
    Desk(repo, SHAKY)
    done = repo.run("run", "--retry-errors", "5", "--json")
    assert done.code == 0, done
    assert tries(repo) == [("case-1", 0, "agent_error"), ("case-1", 1, "agent_error"), ("case-1", 2, "passed")]
    assert done.json["attempts"] == {"passed": 1, "graded": 1, "planned": 1, "by_status": {"passed": 1}}
    assert done.json["cases"][0]["retried"] == 1
    assert record(repo)["counts"] == {"passed": 1}
    assert "1 attempt tried again after an error" in repo.run("show", "--run", "latest").out
    seeds = {each["seed"] for each in repo.attempts()}
    assert len(seeds) == 1, "the same attempt, so the same seed"


def test_where_no_try_succeeds_the_error_stands(repo: Repo) -> None:
    cases(repo, 1, ONE)
    Desk(repo, SHAKY)
    done = repo.run("run", "--retry-errors", "1", "--json")
    assert done.code == 1
    assert done.json["attempts"]["by_status"] == {"agent_error": 1}
    assert len(tries(repo)) == 2


def test_a_failed_check_is_never_tried_again(repo: Repo) -> None:
    cases(repo, 2, ONE)
    desk = Desk(repo, FAILING)
    assert repo.run("run", "--retry-errors", "9").code == 1
    assert sorted(desk.calls) == ["hello case-1", "hello case-2"]


ENDINGS = {
    "passed": ("hello", "hello"),
    "failed": ("goodbye", "goodbye"),
    "agent_error": ("crash", "crash"),
    "timeout": ("sleep", "sleep"),
    "over_limit": ("hello, at length", "hello"),
    "ungraded": ("hello, no tools told", "hello"),
    "harness_error": ("hello" + "!" * 140_000, "hello"),
}

EACH = """
case "$1" in goodbye) echo bye;; crash) exit 3;; sleep) exec sleep 20;; *length) sleep 0.3; echo hello;; *) echo hello;; esac
"""


def test_every_ending_has_its_status_and_is_tried_again_as_the_table_says(repo: Repo) -> None:
    """One case for each ending; cancelled and skipped are those of runs that were stopped."""
    for path in (repo.root / "cases").glob("*.yaml"):
        path.unlink()
    more = {
        "over_limit": "limits: {steps: 1}\n",
        "ungraded": "trajectory: {forbidden: [delete]}\n",
        "timeout": "limits: {timeout: 300ms}\n",
    }
    for status, (said, expected) in ENDINGS.items():
        text = f"schema: 1\nid: ends-{status}\ntier: smoke\ninput: '{said}'\noutcome: [{{contains: {expected}}}]\n"
        repo.case(f"ends-{status}", text + more.get(status, ""))
    repo.write("agent.sh", EACH)
    reports = "import json, sys; print(json.dumps({'output': 'hello', 'tool_calls': [{'name': 'a'}, {'name': 'b'}]}))"
    repo.write("calls.py", reports)
    repo.case(
        "ends-over_limit",
        "schema: 1\nid: ends-over_limit\nagent: calls\ntier: smoke\ninput: x\nlimits: {tool_calls: 1}\n"
        "outcome: [{contains: hello}]\n",
    )
    repo.write(
        "agenteval.yaml",
        "schema: 1\ndefault_agent: main\nagents:\n"
        "  main: {command: [sh, agent.sh, '{input}'], protocol: text}\n"
        "  calls: {command: [python3, calls.py]}\n",
    )
    done = repo.run("run", "--retry-errors", "1", "--json")
    assert done.code == 1, done
    assert done.json["attempts"]["by_status"] == dict.fromkeys(ENDINGS, 1)
    count = Counter(case for case, _, _ in tries(repo))
    for status in ENDINGS:
        assert count[f"ends-{status}"] == (2 if STATUSES[status].retry else 1), status
        verdict = next(case["verdict"] for case in done.json["cases"] if case["id"] == f"ends-{status}")
        meant = STATUSES[status]
        assert verdict == ("failed" if meant.counts else "incomplete" if meant.incomplete else "passed")


# ---- stopped early


@pytest.mark.slow
def test_the_first_case_that_fails_can_end_the_run(repo: Repo) -> None:
    cases(repo, 5, ONE)
    desk = Desk(repo, FAILING)
    done = repo.run("run", "-j", "1", "--fail-fast", "--json")
    assert done.code == 1, done
    assert len(desk.calls) < 5
    by_status = done.json["attempts"]["by_status"]
    assert by_status == {"failed": len(desk.calls), "skipped": 5 - len(desk.calls)}
    assert record(repo)["stopped"] == "--fail-fast: case-1 has failed"
    words = r"stopped early by --fail-fast: \S+ has failed\ngo on with: agenteval run --resume (\S+)\n"
    assert re.findall(words, done.err) == [repo.runs()[-1].name]
    assert "--fail-fast: case-1 has failed" in repo.run("show", "--run", "latest").out


@pytest.mark.slow
def test_a_run_that_was_stopped_early_can_be_gone_on_with(repo: Repo) -> None:
    cases(repo, 5, ONE)
    desk = Desk(repo, FAILING)
    assert repo.run("run", "-j", "1", "--fail-fast").code == 1
    assert repo.run("run", "--resume", "latest").code == 1
    assert sorted(desk.calls) == [f"hello case-{number}" for number in range(1, 6)]
    assert (record(repo)["stopped"], record(repo)["counts"]) == (None, {"failed": 5})


def test_an_error_that_a_later_try_made_good_is_no_failure_to_a_resumed_run(repo: Repo) -> None:
    cases(repo, 3, ONE)
    desk = Desk(repo, SHAKY)
    done = repo.run("run", "-j", "1", "--retry-errors", "2", "--fail-fast")
    assert done.code == 0, done
    run = repo.runs()[-1]
    lines = (run / "attempts.jsonl").read_bytes().splitlines(keepends=True)
    (run / "attempts.jsonl").write_bytes(b"".join(lines[:6]))
    (run / "run.json").write_text(json.dumps({**record(repo), "status": "interrupted"}), encoding="utf-8")
    desk.forget()
    done = repo.run("run", "--resume", "latest", "-j", "1", "--retry-errors", "2", "--fail-fast", "--json")
    assert (done.code, done.json["attempts"]["by_status"]) == (0, {"passed": 3}), done
    assert desk.calls == ["hello case-3"] * 3


def test_no_further_try_begins_once_the_time_is_over(repo: Repo) -> None:
    cases(repo, 1, ONE)
    desk = Desk(repo, 'said=$(cat)\necho x >> "$DESK/calls"\nsleep 0.3\nexit 3\n')
    done = repo.run("run", "--retry-errors", "50", "--budget-time", "200ms")
    assert done.code == 1, done
    assert len(desk.calls) == 1


def test_a_budget_of_time_leaves_the_rest_skipped_and_the_run_incomplete(repo: Repo) -> None:
    cases(repo, 5, ONE)
    Desk(repo, "sleep 0.3; cat\n")
    done = repo.run("run", "-j", "1", "--budget-time", "500ms", "--json")
    assert (done.code, done.json["verdict"]) == (3, "incomplete")
    by_status = done.json["attempts"]["by_status"]
    assert by_status["skipped"] >= 2
    assert sum(by_status.values()) == 5
    assert record(repo)["stopped"] == "--budget-time: 0.5 s are over"


@pytest.mark.parametrize(("cost", "ended"), [('"0.40"', 3), ("null", 5)])
def test_a_budget_of_cost_counts_what_agents_report(repo: Repo, cost: str, ended: int) -> None:
    cases(repo, 5, ONE)
    repo.write("agent.sh", f'cat > /dev/null; printf \'%s\' \'{{"output": "hello", "cost": {cost}}}\'\n')
    repo.write("agenteval.yaml", "schema: 1\nagents: {main: {command: [sh, agent.sh], concurrency: 1}}\n")
    done = repo.run("run", "--budget-cost", "1", "--json")
    passed = done.json["attempts"]["by_status"]["passed"]
    if cost == "null":
        assert (done.code, passed) == (0, ended), done
        assert "5 attempts reported no cost, which --budget-cost did not see" in done.err
    else:
        assert (done.code, passed) == (3, ended), done
        assert record(repo)["stopped"].endswith("of 1 are spent")
