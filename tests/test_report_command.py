"""`agenteval report` from a user's seat: files, GitHub's places, gates, and a page that is fresh while a run is on."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from conftest import Done, Repo
from lxml import etree
from test_contracts import output_schema

from agenteval_cli.reports import REPORTS

WRONG = """
schema: 1
id: {id}
tier: {tier}
input: hello
outcome:
  - contains: hello
  - contains: goodbye
"""
# What it says breaks out of every format that lets it.
HOSTILE = r"""
import json, sys
said = "</script><script>alert(1)</script>\x1b[31m\u202e\n::error::pwned\n##[error]pwned\n]]>\n```\n=cmd()"
json.dump({"output": said, "tool_calls": []}, sys.stdout)
"""
SLOW = """
import json, sys, time
time.sleep(0.7)
json.dump({"output": "hello", "tool_calls": []}, sys.stdout)
"""


@pytest.fixture
def ran(repo: Repo) -> Repo:
    """A repository with a run in which one case passed and one failed."""
    repo.case("says-goodbye", WRONG)
    assert repo.run("run").code == 1
    return repo


@pytest.mark.slow
@pytest.mark.parametrize("name", ["console", *REPORTS])
def test_every_format_is_printed_or_written_and_both_are_the_same(ran: Repo, name: str) -> None:
    printed = ran.run("report", "--format", name)
    assert printed.code == 0, printed
    written = ran.run("report", "latest", "--format", name, "-o", "a report")
    assert written.code == 0, written
    assert written.out == ""
    assert f"{name} in a report" in written.err
    text = (ran.root / "a report").read_text(encoding="utf-8")
    assert text == printed.out
    assert "says-goodbye" in text


def test_without_a_format_it_is_what_the_run_printed(ran: Repo) -> None:
    assert "FAILED says-goodbye 0/1" in ran.run("report").out


@pytest.mark.slow
def test_json_is_what_its_schema_says(ran: Repo) -> None:
    output_schema("report").validate(ran.run("report", "--json").json)
    ran.run("run")
    told = ran.run("report", "previous..latest", "--json").json
    output_schema("report").validate(told)
    assert told["diff"]["counts"]["still_failing"] == 1


@pytest.mark.slow
def test_two_runs_can_be_named_in_two_ways(ran: Repo) -> None:
    ran.write(
        "cases/says-goodbye.yaml", (ran.root / "cases/says-goodbye.yaml").read_text().replace("goodbye\n", "goodbye \n")
    )
    ran.agent(HOSTILE)
    ran.run("run")
    for names in (["previous..latest"], ["previous", "latest"], [run.name for run in ran.runs()]):
        assert "says-hello" in ran.run("report", *names, "--format", "markdown").out
        assert ran.run("report", *names, "--format", "markdown", "--gate").code == 1
    one, two = (str(run) for run in ran.runs())
    assert ran.run("report", f"{one}..{two}", "--format", "markdown").code == 0


@pytest.mark.slow
def test_the_accepted_baseline_can_be_the_base(ran: Repo) -> None:
    accepted = ran.run("baseline", "accept")
    assert accepted.code in (0, 1), accepted
    ran.agent(HOSTILE)
    ran.run("run")
    for name in REPORTS:
        assert ran.run("report", "baseline..latest", "--format", name).code == 0
    assert (
        "**❌ the gate (broke) fails on 1 case**" in ran.run("report", "baseline", "latest", "--format", "markdown").out
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("report", "diff"),
    [
        (["..latest"], []),
        (["..latest"], ["--gate", "significant"]),
        (["baseline..latest"], ["baseline", "latest"]),
        (["baseline", "latest"], ["baseline", "latest"]),
        (["previous.."], ["previous"]),
    ],
)
def test_a_report_compares_the_runs_that_diff_does_and_judges_as_it_does(
    ran: Repo, report: list[str], diff: list[str]
) -> None:
    ran.run("baseline", "accept")
    ran.agent(HOSTILE)
    ran.run("run")
    rule = ["--rule", "significant"] if "significant" in diff else []
    told, other = ran.run("report", *report, *rule, "--json", "--gate"), ran.run("diff", *diff, "--json")
    assert told.json["diff"] == other.json["diff"]
    assert told.json["gate"]["rule"] == other.json["gate"]["rule"]
    assert told.json["gate"]["failed"] == other.json["gate"]["failed"]
    assert told.code == other.code == (0 if rule else 1)


@pytest.mark.slow
def test_without_a_baseline_a_report_that_names_no_base_is_on_the_run_before(ran: Repo) -> None:
    ran.run("run")
    assert ran.run("report", "..", "-C", "cases", "--json").code == 2, "that is the folder above"
    assert ran.run("report", "..latest", "--json").json["diff"]["base"] == ran.runs()[0].name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["one", "two", "three"], "a report is on one run or on two, not on 3"),
        (["nothing"], "'nothing' is no run ID"),
        (["latest..nothing"], "'nothing' is no run ID"),
        (["--watch"], "name it with -o FILE"),
        (["--json", "--format", "csv"], "ask for two things"),
        (["--format", "pdf"], "pdf"),
        (["latest", "--rule", "broke"], "--rule is for what changed between two runs"),
    ],
)
def test_what_cannot_be_done_is_said(ran: Repo, arguments: list[str], words: str) -> None:
    done = ran.run("report", *arguments)
    assert done.code == 2
    assert words in done.err + done.out
    assert "Traceback" not in done.err


def test_only_a_gate_makes_the_exit_code_that_of_the_run(ran: Repo) -> None:
    assert ran.run("report", "--format", "junit").code == 0
    assert ran.run("report", "--format", "junit", "--gate").code == 1
    assert ran.run("run", "--case", "says-hello").code == 0
    assert ran.run("report", "--format", "junit", "--gate").code == 0


def test_r40_a_report_that_cannot_be_written_fails_the_command(ran: Repo) -> None:
    ran.write("report.xml", "the old one")
    done = ran.run("report", "--format", "junit", "-o", "no/such/folder/report.xml")
    assert done.code == 3
    assert "cannot be written" in done.err
    assert ran.run("report", "--format", "junit", "-o", "report.xml").code == 0
    etree.XML((ran.root / "report.xml").read_bytes())
    assert not list(ran.root.glob(".report.xml*"))


# ---- GitHub


def test_annotations_point_to_the_check_within_a_repository_of_more(ran: Repo, tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    ran.root = ran.root.rename(tmp_path / "checkout" / "evals")
    ran.program("git", "init", "-q", str(tmp_path / "checkout"))
    done = ran.run("report", "--format", "github")
    assert done.out == (
        "::error file=evals/cases/says-goodbye.yaml,line=7,title=says-goodbye%3A 0 of 1 passed::"
        'outcome[1].contains: the answer does not contain "goodbye"%0Aexpected: goodbye%0Aactual: hello\n'
    )


def test_the_job_summary_comes_after_what_is_there(ran: Repo) -> None:
    summary = ran.write("summary.md", "# Before\n")
    assert ran.run("report", "--format", "github", GITHUB_STEP_SUMMARY=str(summary)).code == 0
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("# Before\n## ❌ agenteval: 1 of 2 cases passed, 1 failed\n")
    done = ran.run("report", "--format", "github", GITHUB_STEP_SUMMARY=str(ran.root))
    assert done.code == 3
    assert "GITHUB_STEP_SUMMARY" in done.err


@pytest.mark.parametrize("name", ["console", *REPORTS])
def test_what_an_agent_says_gives_no_command_to_a_log_and_acts_on_no_terminal(repo: Repo, name: str) -> None:
    repo.agent(HOSTILE)
    repo.run("run")
    out = repo.run("report", "--format", name).out
    assert "says-hello" in out
    ours = r"::(error|warning|notice) file="
    assert not [line for line in out.splitlines() if re.search(r"^\s*::|##\[", line) and not re.match(ours, line)]
    assert "\x1b" not in out
    assert "\u202e" not in out


# ---- a run that is on


@pytest.mark.slow
def test_a_report_is_fresh_while_a_run_is_on(repo: Repo) -> None:
    repo.agent(SLOW, config="concurrency: 1")
    for number in range(4):
        repo.case(f"case-{number}")
    run = repo.start("run")
    deadline = time.monotonic() + 30
    while not repo.runs() and time.monotonic() < deadline:
        time.sleep(0.05)
    watch = repo.start("report", "--watch", "--format", "html", "-o", "page.html")
    page = repo.root / "page.html"
    seen = set()
    while watch.poll() is None and time.monotonic() < deadline:
        if page.exists():
            text = page.read_text(encoding="utf-8")
            seen.add((re.findall(r"<title>(.*?)</title>", text)[0], 'http-equiv="refresh"' in text))
        time.sleep(0.1)
    assert run.wait(timeout=30) == 0
    assert watch.wait(timeout=30) == 0
    run.communicate()
    watch.communicate()
    assert len(seen) > 1, "it was written while the run was on"
    last = page.read_text(encoding="utf-8")
    assert "agenteval: 5 of 5 cases passed" in last
    assert 'http-equiv="refresh"' not in last


def test_a_run_without_a_transcript_is_still_told(ran: Repo) -> None:
    (ran.runs()[-1] / "transcripts.jsonl").unlink()
    done: Done = ran.run("report", "--format", "html")
    assert done.code == 0, done
    (data,) = re.findall(r'id="data">(.*?)</script>', done.out, re.DOTALL)
    events = json.loads(data.splitlines()[0])["attempts"][0]["events"]
    assert events == [{"kind": "note", "text": "its transcript cannot be read"}]


def test_the_page_holds_a_run_against_earlier_ones(repo: Repo) -> None:
    for _ in range(3):
        repo.run("run")
    repo.run("report", "--format", "html", "-o", "r.html")
    assert (repo.root / "r.html").read_text(encoding="utf-8").count('href="#run-') == 3
