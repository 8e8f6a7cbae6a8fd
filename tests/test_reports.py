"""Reports as pure functions: what they say, what they leave out, and that no agent's text is more than text in them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from build import Tried, steady, tried
from build import run as run_of
from dialogues import CASE, conversed, record_of, script, simulated, told_by
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from lxml import etree
from msgspec.structs import replace

from agenteval_cli.diff import diff_of, gate_failures
from agenteval_cli.finding import CheckResult
from agenteval_cli.records import TRANSCRIPT_FORMAT, AttemptRecord, TranscriptRecord
from agenteval_cli.reports import REPORTS, Material, render_of
from agenteval_cli.reports.escaping import ascii_json
from agenteval_cli.reports.github import MOST_OF_A_SUMMARY, job_summary
from agenteval_cli.reports.interface import Compared
from agenteval_cli.reports.markdown import MOST
from agenteval_cli.run_history import RunRate
from agenteval_cli.summary import summary_of
from agenteval_cli.transcript import ToolCall, Transcript

# What JUnit's readers agree on: the published schemas differ, so this is what all of them take, strictly.
JUNIT = etree.XMLSchema(
    etree.XML(b"""
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:complexType name="fault"><xs:simpleContent><xs:extension base="xs:string">
    <xs:attribute name="message" type="xs:string" use="required"/>
    <xs:attribute name="type" type="xs:NMTOKEN" use="required"/>
  </xs:extension></xs:simpleContent></xs:complexType>
  <xs:complexType name="case"><xs:sequence>
    <xs:choice minOccurs="0">
      <xs:element name="failure" type="fault"/>
      <xs:element name="error" type="fault"/>
      <xs:element name="skipped"><xs:complexType>
        <xs:attribute name="message" type="xs:string" use="required"/></xs:complexType></xs:element>
    </xs:choice>
    <xs:element name="system-out" type="xs:string" minOccurs="0"/>
  </xs:sequence>
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="classname" type="xs:string" use="required"/>
    <xs:attribute name="file" type="xs:string" use="required"/>
    <xs:attribute name="time" type="xs:decimal" use="required"/>
  </xs:complexType>
  <xs:attributeGroup name="sums">
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="tests" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="failures" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="errors" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="time" type="xs:decimal" use="required"/>
  </xs:attributeGroup>
  <xs:element name="testsuites"><xs:complexType><xs:sequence>
    <xs:element name="testsuite"><xs:complexType><xs:sequence>
      <xs:element name="properties"><xs:complexType><xs:sequence>
        <xs:element name="property" maxOccurs="unbounded"><xs:complexType>
          <xs:attribute name="name" type="xs:string" use="required"/>
          <xs:attribute name="value" type="xs:string" use="required"/></xs:complexType></xs:element>
      </xs:sequence></xs:complexType></xs:element>
      <xs:element name="testcase" type="case" minOccurs="0" maxOccurs="unbounded"/>
    </xs:sequence>
      <xs:attributeGroup ref="sums"/>
      <xs:attribute name="skipped" type="xs:nonNegativeInteger" use="required"/>
      <xs:attribute name="timestamp" type="xs:dateTime" use="required"/>
    </xs:complexType></xs:element>
  </xs:sequence><xs:attributeGroup ref="sums"/></xs:complexType></xs:element>
</xs:schema>""")
)

HOSTILE = (
    "</script></pre></code></details><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\x00\x12\u202eabc\u2028"
    "\n::error::pwned\n##[error]pwned\n]]>\n```\n| a | b |\n<!-- -->\n@team #1 [x](javascript:alert(1)) `code` **b** \ufffe"
)
SEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\ufeff]")


def material(
    *cases: Tried, base: Sequence[Tried] = (), reason: str = "", title: str = "", check: CheckResult | None = None
) -> Material:
    """A run of these cases, or a diff; `reason`, `check` and `title` are what failed attempts and all cases say."""
    changed = [
        (
            replace(plan, title=title or plan.title),
            tuple(
                item
                if item.status == "passed"
                else replace(item, reason=reason or item.reason, checks=(check,) if check else ())
                for item in attempts
            ),
        )
        for plan, attempts in cases
    ]
    run = run_of(*changed)

    def transcript(attempt: AttemptRecord) -> TranscriptRecord:
        return TranscriptRecord(
            format=TRANSCRIPT_FORMAT,
            case=attempt.case,
            attempt=attempt.attempt,
            request={"messages": [{"role": "user", "content": reason or "Hello"}]},
            transcript=Transcript(
                output=reason or "Hi", tool_calls=(ToolCall(name="look", arguments={"url": reason}, result="found"),)
            ),
        )

    compared = None
    if base:
        before = run_of(*base, id="20261101T090000.000000Z-0000")
        diff = diff_of(before, run)
        failed = tuple(case.id for case in gate_failures(diff, "broke"))
        compared = Compared(diff, before, "broke", failed, transcript)

    return Material(run=run, summary=summary_of(run.record, run.attempts), compared=compared, transcript=transcript)


def hostile(text: str = HOSTILE) -> Material:
    check = CheckResult(f"outcome[0].contains {text}", "outcome", "failed", text, expected=text, actual={text: text})
    return material(
        tried("one", "FF"),
        tried("two", "PE"),
        tried("three", "F", quarantined=True),
        base=[tried("one", "PP")],
        reason=f"{check.name}: {text}",
        title=text,
        check=check,
    )


def junit(told: Material) -> dict[str, etree._Element]:
    text = render_of("junit")(told)
    JUNIT.assertValid(etree.XML(text.encode()))
    return {str(case.get("name")): case for case in etree.XML(text.encode()).iter("testcase")}


# ---- JUnit


def test_junit_has_a_test_case_per_case_under_its_id() -> None:
    told = material(
        tried("fine", "PP"),
        tried("wrong", "PF"),
        tried("too-long", "L"),
        tried("crashes", "ET"),
        tried("no-judge", "U"),
        tried("never-began", "", planned=2),
        tried("flaky", "F", quarantined=True),
        tried("good-flaky", "P", quarantined=True),
    )
    kinds = {name: [(child.tag, child.get("type")) for child in case][:-1] for name, case in junit(told).items()}
    assert kinds == {
        "fine": [],
        "wrong": [("failure", "failed")],
        "too-long": [("failure", "over_limit")],
        "crashes": [("error", "agent_error")],
        "no-judge": [("error", "ungraded")],
        "never-began": [("error", "cancelled")],
        "flaky": [("skipped", None)],
        "good-flaky": [("skipped", None)],
    }


def test_junit_is_read_back_by_a_reader_of_others() -> None:
    read = JUnitXml.fromstring(render_of("junit")(hostile()).encode())
    assert (read.tests, read.failures, read.errors) == (3, 1, 1)
    (suite,) = read
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (3, 1, 1, 1)
    assert [case.name for case in suite] == ["one", "two", "three"]


def test_a_failure_in_junit_has_expected_and_actual_and_every_attempt() -> None:
    check = CheckResult("outcome[0].equals", "outcome", "failed", "not equal", expected="30 days", actual={"days": 14})
    told = material(tried("wrong", "PF"), reason="outcome[0].equals: not equal", check=check)
    fault = junit(told)["wrong"].find("failure")
    assert fault is not None
    assert fault.get("message") == "1/2 passed: outcome[0].equals: not equal"
    assert (fault.text or "").splitlines() == [
        "check: outcome[0].equals",
        "expected: 30 days",
        'actual: {"days": 14}',
        "attempt 1: passed",
        "attempt 2: failed: outcome[0].equals: not equal",
    ]


def test_r40_one_control_character_leaves_the_xml_readable() -> None:
    words = "bad token \x12 NUL \x00 ESC\x1b[31m \ufffe lone \ud800 ]]> & <b>"
    told = material(tried("wrong", "F"), reason=words, title="tab\tand \x0b and emoji 🚀\nline")
    case = junit(told)["wrong"]
    fault = case.find("failure")
    assert fault is not None
    assert "bad token \\x12 NUL \\x00 ESC\\x1b[31m \\ufffe lone \\ud800 ]]> & <b>" in str(fault.get("message"))
    assert case.findtext("system-out") == "tab\tand \\x0b and emoji 🚀\nline"
    text = render_of("junit")(told)
    assert "]]>" not in text
    header = etree.XML(text.encode())
    assert header.get("failures") == str(len(list(header.iter("failure")))) == "1"


@steady
@given(st.text(st.characters(codec=None)))
def test_junit_can_be_read_whatever_an_agent_says(text: str) -> None:
    junit(hostile(text))


# ---- Markdown


def test_markdown_says_first_what_failed_and_folds_the_rest() -> None:
    text = render_of("markdown")(material(tried("fine", "P"), tried("wrong", "PF"), tried("unsure", "U")))
    first, *_ = text.splitlines()
    assert first == "## ❌ agenteval: 1 of 3 cases passed, 1 failed, 1 incomplete"
    assert "attempts: 2 passed / 3 graded / 4 planned (2 passed, 1 failed, 1 ungraded)" in text
    assert text.index("<code>wrong</code>") < text.index("<code>unsure</code>") < text.index("<details>")
    assert "| ❌ | <code>wrong</code> | 1/2 | 9% to 91% |" in text
    assert text.count("<details>") == text.count("</details>")


def test_markdown_of_a_diff_says_what_broke_and_with_what_evidence() -> None:
    told = material(tried("old", "FFF"), tried("same", "PPP"), base=[tried("old", "PPP"), tried("same", "PPP")])
    text = render_of("markdown")(told)
    assert "**❌ the gate (broke) fails on 1 case** (1 broke, 1 still passing)" in text
    assert "| ❌ broke | <code>old</code> | 3/3 | 0/3 | within noise, q 0.1 |" in text
    assert "Pass rate over 2 compared cases: 100.0% → 50.0%" in text


@pytest.mark.parametrize(
    ("name", "told"), [("markdown", "⚠️ the gate (broke) is not"), ("html", "the gate (broke) is not")]
)
def test_no_gate_is_said_to_hold_where_a_case_came_to_no_verdict(name: str, told: str) -> None:
    text = render_of(name)(
        material(tried("one", "PP"), tried("two", "PU"), base=[tried("one", "PP"), tried("two", "PP")])
    )
    assert f"{told} known to hold: 1 case came to no verdict" in text
    assert "✅ the gate" not in text
    fine = material(
        tried("one", "PP"), tried("two", "UU", quarantined=True), base=[tried("one", "PP"), tried("two", "PP")]
    )
    assert "the gate (broke) holds" in render_of(name)(fine)


def test_markdown_fits_a_comment_and_says_what_it_left_out() -> None:
    names = [f"case-{number:04}" for number in range(900)]
    told = material(
        *(tried(name, "F") for name in names), base=[tried(name, "P") for name in names], reason="*_<" * 1500
    )
    text = render_of("markdown")(told)
    assert len(text) <= MOST
    assert re.search(
        r"_[0-9]+ more cases did not pass; the details of [0-9]+ cases are left out: `agenteval show", text
    )
    assert text.count("<details>") == text.count("</details>")


def test_hostile_text_stays_inside_its_element_of_markdown() -> None:
    text = render_of("markdown")(hostile())
    ours = r"</?(?:code|pre|details|summary|br)>"
    foreign = re.findall(r"<code>(.*?)</code>|<pre>(.*?)</pre>", text)
    assert foreign
    assert not re.search(
        r"[<>`*_\[\]|~@#:]", "".join(re.sub(r"&#[0-9]+;", "", first + second) for first, second in foreign)
    )
    assert "<" not in re.sub(ours, "", text)
    assert not re.search(r"^\s*(?:::|##\[)", text, re.MULTILINE), "a log takes that for a command"
    assert not SEEN.search(text)
    for line in text.splitlines():
        assert not line.startswith("|") or line.count("|") in (6, 7), line


# ---- GitHub


def commands(text: str) -> list[tuple[str, str, str]]:
    """Level, properties and message of each line; every line must be a command."""
    found = [re.fullmatch(r"::(error|warning|notice) (.*?)::(.*)", line) for line in text.splitlines()]
    assert all(found), text
    return [(match[1], match[2], match[3]) for match in found if match]


def test_annotations_point_to_the_case_and_escape_what_the_agent_says() -> None:
    told = replace(hostile("100% wrong: a,b\r\n::error::pwned"), line=lambda _: 7, prefix="evals/")
    found = commands(render_of("github")(told))
    assert [(level, where.partition(",title")[0]) for level, where, _ in found] == [
        ("error", "file=evals/cases/one.yaml,line=7"),
        ("warning", "file=evals/cases/two.yaml,line=7"),
        ("notice", "file=evals/cases/three.yaml,line=7"),
    ]
    assert "title=one%3A 0 of 2 passed (broke)" in found[0][1]
    assert "100%25 wrong: a,b%0D%0A::error::pwned" in found[0][2]


def test_r41_of_73_failures_ten_are_annotated_and_the_tenth_says_so() -> None:
    told = material(*(tried(f"case-{number:02}", "F") for number in range(73)), reason="é🚀" * 2048)
    found = commands(render_of("github")(told))
    assert len(found) == 10
    assert found[-1][1].endswith("title=and 64 more cases")
    assert "agenteval show --run 20261102T090000.000000Z-0001 --verbose" in found[-1][2]
    assert all(len(message) < 1400 and "\ufffd" not in message for _, _, message in found)
    summary = job_summary(told, written=0)
    assert summary is not None
    assert len(summary.encode()) < MOST_OF_A_SUMMARY
    small = job_summary(told, written=MOST_OF_A_SUMMARY - 40_000)
    assert small is not None
    assert len(small.encode()) < 40_000
    assert "are left out" in small
    assert job_summary(told, written=MOST_OF_A_SUMMARY - 100) is None


def test_hostile_text_is_no_command() -> None:
    text = render_of("github")(hostile())
    assert {level for level, _, _ in commands(text)} == {"error", "warning", "notice"}
    assert not SEEN.search(text)


# ---- CSV and JSON


def test_csv_has_a_line_per_planned_attempt() -> None:
    told = material(tried("half", "P", planned=2), tried("wrong", "F"))
    text = render_of("csv")(told)
    assert text.endswith("\r\n")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["case"], row["attempt"], row["status"]) for row in rows] == [
        ("half", "1", "passed"),
        ("half", "2", "cancelled"),
        ("wrong", "1", "failed"),
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", "\n=", " =", "＝", "＋", "－", "＠"])
def test_no_cell_is_a_formula(start: str) -> None:
    rows = list(
        csv.DictReader(
            io.StringIO(render_of("csv")(material(tried("wrong", "F"), reason=f"{start}cmd|' /C calc'!A0")), newline="")
        )
    )
    assert rows[0]["reason"].startswith(("'", "\\x0d"))


def test_a_number_in_csv_stays_one() -> None:
    told = material(tried("dear", "P"))
    told = replace(told, run=replace(told.run, attempts=(replace(told.run.attempts[0], cost="-0.50"),)))
    (row,) = csv.DictReader(io.StringIO(render_of("csv")(told), newline=""))
    assert row["cost"] == "-0.50"


def test_hostile_text_is_one_cell_and_one_string() -> None:
    told = hostile()
    rows = list(csv.DictReader(io.StringIO(render_of("csv")(told), newline="")))
    assert len(rows) == len(told.run.attempts) + 2, "those of the base before them"
    assert not SEEN.search(render_of("csv")(told).replace("\r\n", "\n"))
    text = render_of("json")(told)
    assert text.isascii()
    assert json.loads(text)["attempts"][0]["checks"][0]["message"] == HOSTILE


# ---- HTML


def parsed(page: str) -> Any:
    return etree.HTML(page.encode())


def embedded(page: str) -> list[dict[str, Any]]:
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return [json.loads(line) for line in data.splitlines()]


def test_r42_text_in_angle_brackets_is_shown_and_never_run() -> None:
    check = CheckResult(
        "a",
        "outcome",
        "failed",
        "List<String> names; &lt;b&gt; already escaped",
        expected={"url": "javascript:alert(1)", "q": "a < b && c > d"},
    )
    told = material(
        tried("wrong", "F"),
        reason="List<String> names; &lt;b&gt; already escaped",
        title="<img src=x onerror=alert(1)>",
        check=check,
    )
    page = render_of("html")(told)
    document = parsed(page)
    assert "List<String> names; &lt;b&gt; already escaped" in "".join(document.xpath("//details//text()"))
    assert '{"url": "javascript:alert(1)", "q": "a < b && c > d"}' in "".join(document.xpath("//details//pre/text()"))
    assert not document.xpath("//img")
    assert all(str(address).startswith("#") for address in document.xpath("//@href"))
    assert not document.xpath("//@src")
    assert not [
        name for name in document.xpath("//@*") if str(name.attrname).startswith("on") or name.attrname == "style"
    ]


def test_the_page_has_one_script_of_ours_and_a_policy_that_allows_no_other() -> None:
    page = render_of("html")(hostile())
    document = parsed(page)
    (policy,) = document.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert len(document.xpath("//script[not(@type)]")) == 1
    assert not re.search(r"https?://|url\(|@import", page)
    assert len(embedded(page)) == 3
    assert embedded(page)[0]["attempts"][0]["events"][0]["text"].endswith(HOSTILE)


def test_the_page_can_be_read_without_a_script() -> None:
    told = material(tried("fine", "P"), tried("wrong", "PF"), reason="it said no")
    document = parsed(render_of("html")(told))
    rows = document.xpath("//tbody/tr")
    assert [[row[0].xpath("string()"), *row[1].xpath("string()").split()[:1]] for row in rows] == [
        ["failed", "wrong"],
        ["passed", "fine"],
    ]
    (failure,) = document.xpath("//details[@id='failure-wrong']")
    assert "it said no" in failure.xpath("string()")
    assert document.xpath("//a[@href='#failure-wrong']")


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("cases", [(tried("only", "", planned=1),), (tried("flaky", "F", quarantined=True),)])
def test_every_format_can_tell_of_a_run_in_which_nothing_ended(name: str, cases: tuple[Tried, ...]) -> None:
    assert render_of(name)(material(*cases))


@steady
@given(st.text(st.characters(codec=None)), st.sampled_from(["html", "markdown", "github", "csv", "json"]))
def test_every_format_can_be_written_whatever_an_agent_says(text: str, name: str) -> None:
    assert not SEEN.search(render_of(name)(hostile(text)).replace("\r\n", "\n"))


@pytest.mark.parametrize("name", REPORTS)
def test_no_line_of_any_format_is_a_command_to_a_log_but_our_own(name: str) -> None:
    lines = render_of(name)(hostile()).splitlines()
    foreign = [line for line in lines if not re.match(r"::(error|warning|notice) file=cases/", line)]
    assert not [line for line in foreign if re.search(r"^\s*::|##\[", line)]


@steady
@given(
    st.recursive(st.none() | st.integers() | st.text(st.characters()), st.lists, max_leaves=5), st.sampled_from([0, 2])
)
def test_json_is_ascii_and_says_the_same(value: Any, indent: int) -> None:
    text = ascii_json(value, indent=indent)
    assert text.isascii()
    assert json.loads(text) == json.loads(json.dumps(value))


# ---- conversations


def conversation(record: TranscriptRecord, *, earlier: tuple[RunRate, ...] = ()) -> Material:
    run = run_of(conversed())
    return Material(run=run, summary=summary_of(run.record, run.attempts), transcript=told_by(record), earlier=earlier)


def test_the_verdicts_of_each_turn_stand_beside_it_in_the_data_of_the_page() -> None:
    (case,) = embedded(render_of("html")(conversation(record_of(simulated()))))
    (attempt,) = case["attempts"]
    assert [
        (event["who"], [(check["result"], check["name"]) for check in event.get("checks", ())])
        for event in attempt["events"]
    ] == [
        ("user (turn 1, simulated by shopper)", []),
        ("agent (turn 1)", [("passed", "turns[0].outcome[0].contains")]),
        ("user (turn 2, simulated by shopper)", []),
        ("1. get_order", []),
        ("agent (turn 2)", [("failed", "turns[1].outcome[0].contains")]),
        ("user (turn 3, simulated by shopper)", []),
        ("agent (turn 3)", []),
        ("", []),
    ]
    assert attempt["events"][-1]["text"].endswith("the user was done (user_done)")
    assert [check["name"] for check in attempt["checks"]] == ["outcome[0].contains"]


def test_a_failed_conversation_can_be_read_without_a_script() -> None:
    page = parsed(render_of("html")(conversation(record_of(script()))))
    assert page.xpath("//div[@class='talk']//*[contains(@class, 'turn')]//b[not(@role)]/text()") == [
        "user (turn 1)",
        "agent (turn 1)",
        "user (turn 2)",
        "1. get_order",
        "agent (turn 2)",
        "user (turn 3)",
        "agent (turn 3)",
    ]
    (failed,) = page.xpath("//ul[@class='margin']/li[b[@aria-label='failed']]")
    assert "turns[1].outcome[0].contains" in "".join(failed.itertext())
    assert failed.xpath("../../div/b/text()") == ["agent (turn 2)"]


def test_hostile_words_of_a_user_are_text_in_the_page() -> None:
    page = render_of("html")(conversation(record_of(script((HOSTILE, HOSTILE, HOSTILE)))))
    assert not SEEN.search(page)
    assert len(parsed(page).xpath("//script")) == 2
    assert not parsed(page).xpath("//img")


def test_the_check_that_decided_is_named_with_its_turn() -> None:
    told = conversation(record_of(script()))
    (failure,) = junit(told)[CASE].findall("failure")
    assert "check: turns[1].outcome[0].contains (turn 2)" in (failure.text or "").splitlines()
    assert "turns&#91;1&#93;.outcome&#91;0&#93;.contains (turn 2)" in render_of("markdown")(told)
    assert "%0Aat turn 2%0A" in render_of("github")(told)


# ---- from run to run


def rate(number: int, passed: int, graded: int = 10, **changes: Any) -> RunRate:
    facts: dict[str, Any] = {
        "run": f"2026102{number}T090000.000000Z-000{number}",
        "started_at": f"2026-10-2{number}T09:00:00Z",
        "commit": f"{number}" * 40,
        "dirty": False,
        "cases": 5,
    }
    return RunRate(**{**facts, **changes}, passed=passed, graded=graded)


def test_the_rate_from_run_to_run_is_a_plot_and_a_table() -> None:
    earlier = (rate(1, 10), rate(2, 7, dirty=True), rate(3, 0, 0, commit=None))
    page = parsed(render_of("html")(conversation(record_of(script()), earlier=earlier)))
    (figure,) = page.xpath("//figure[contains(figcaption, 'from run to run')]")
    assert figure.xpath(".//*[name()='svg']//a/@href") == ["#run-0", "#run-1", "#run-2", "#run-3"]
    told = figure.xpath(".//*[name()='svg']//title/text()")
    assert told[1] == (
        "20261022T090000.000000Z-0002, 2026-10-22 09:00, commit 222222222222 with changes: "
        "7 of 10 attempts passed, 70% (40% to 89%)"
    )
    assert "no commit: 0 of 0 attempts passed, nothing graded" in told[2]
    assert told[3].startswith("this run, ")
    rows = figure.xpath(".//tbody/tr")
    assert [row.get("id") for row in rows] == ["run-0", "run-1", "run-2", "run-3"]
    words = ["2026-10-22 09:00", "commit 222222222222 with changes", "5", "7/10", "70%", "40% to 89%"]
    assert rows[1].xpath("td/text()") == words


def test_the_only_run_says_that_there_is_no_history_yet() -> None:
    page = render_of("html")(conversation(record_of(script())))
    assert "there is no earlier run of the same agents" in page
    assert 'id="run-0"' not in page
