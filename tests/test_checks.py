"""The checks of the answer and the end state: what passes, what fails, and in which words."""

from __future__ import annotations

import json
import subprocess
import sys
from time import process_time
from typing import Any

import pytest
from build import answered, case, check, did, json_values, steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.checks import Told, checked
from agenteval_cli.checks.similarity import to_embed
from agenteval_cli.endings import Answered, Facts
from agenteval_cli.finding import CheckResult
from agenteval_cli.grading import Verdict, asked_of, verdict_on
from agenteval_cli.transcript import Transcript

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def result(kind: str, expected: Any, output: Any, **options: Any) -> CheckResult:
    return checked(check(kind, expected, **options), Transcript(output=output))


def damaged(kind: str, expected: Any, output: str) -> CheckResult:
    """The check of an answer in which bytes that are not UTF-8 became U+FFFD."""
    return checked(check(kind, expected), Transcript(output=output, bytes_replaced=True))


def ended(expected: Any, **state: Any) -> CheckResult:
    return checked(check("state", expected), Transcript(output="Done.", state=state))


@pytest.mark.parametrize(
    ("kind", "expected", "output"),
    [
        ("contains", "30 days", "You have 30 days."),
        ("contains", ["30", "days"], "You have 30 days."),
        ("contains", "129", {"amount": 129}),
        ("contains", COMPOSED, f"Le {DECOMPOSED}."),
        ("contains", DECOMPOSED, f"Le {COMPOSED}."),
        ("contains", "done", "\x1b[1;32mdo\x1b[0mne\x1b]0;title\x07"),
        ("not_contains", "guarantee", "You have 30 days."),
        ("not_contains", ["guarantee", "I think"], ""),
        ("equals", "Yes.", "Yes."),
        ("equals", COMPOSED, DECOMPOSED),
        ("equals", "Yes.", "\x1b[1mYes.\x1b[0m"),
        ("equals", {"a": 1}, {"a": 1.0}),
        ("equals", {"a": [1, None]}, '{"a": [1, null]}'),
        ("equals", 5, " 5\n"),
        ("equals", None, None),
        ("equals", None, "null"),
        ("regex", "^R-[0-9]+$", "R-9"),
        ("regex", "(?m)^total: 129$", "Hello.\ntotal: 129\nBye."),
        ("regex", COMPOSED, COMPOSED),
        ("regex", "^Done", "\x1b[32mDone"),
        ("json_schema", {"type": "object", "required": ["id"]}, '{"id": 1}'),
        ("json_schema", {"type": "array"}, []),
        ("json_schema", {"type": "null"}, "null"),
        ("field", {"path": "$.amount", "equals": "129.00"}, '{"amount": "129.00"}'),
        ("field", {"path": "$.items[*].price", "between": [1, 5]}, {"items": [{"price": 1}, {"price": 5}]}),
        ("field", {"path": "$.error", "absent": True}, {"amount": 1}),
        ("field", {"path": "$.error", "present": True}, {"error": None}),
        ("field", {"path": "$", "equals": {"a": 1}}, {"a": 1}),
        ("field", {"path": "$.items", "length": {"gte": 2}}, {"items": [1, 2]}),
    ],
)
def test_these_answers_pass(kind: str, expected: Any, output: Any) -> None:
    assert result(kind, expected, output) == CheckResult(f"outcome[0].{kind}", "outcome", "passed")


@pytest.mark.parametrize(
    ("kind", "expected", "output", "why"),
    [
        ("contains", "30 days", "No.", 'the answer does not contain "30 days"'),
        ("contains", "Days", "30 days", 'the answer does not contain "Days"'),
        ("contains", ["a", "b", "c"], "b", 'the answer does not contain "a" nor "c" (it does contain "b")'),
        ("contains", "x", None, "there is no answer"),
        ("contains", "31m", "\x1b[31mred", 'the answer does not contain "31m"'),
        ("not_contains", ["a", "b", "c"], "a, c", 'the answer contains "a" and "c"'),
        ("not_contains", DECOMPOSED, COMPOSED, f'the answer contains "{DECOMPOSED}"'),
        ("not_contains", "secret", "se\x1b[0mcret", 'the answer contains "secret"'),
        ("not_contains", "x", None, "there is no answer, so nothing shows what it leaves out"),
        ("equals", "Yes.", "Yes!", 'the answer differs at character 4: expected ".", got "!"'),
        ("equals", "Yes", "Yes.", 'the answer differs at character 4: expected "", got "."'),
        ("equals", "Yes", "yes", 'the answer differs at character 1: expected "Yes", got "yes"'),
        ("equals", "a b", "a\u00a0b", 'expected " b", got "\u00a0b" (U+0020 U+0062 against U+00A0 U+0062)'),
        ("equals", "a", None, "there is no answer"),
        ("equals", 1, True, "expected the number 1, got the boolean true"),
        ("equals", {"a": 1}, {"a": 1, "b": 2}, "at $.b: expected nothing, got 2"),
        ("equals", {"a": None}, {}, "at $.a: expected null, got nothing"),
        ("equals", {"a": 1}, "a is 1", "the answer is not JSON: "),
        ("equals", {"a": 1}, '{"a": 1} as you asked', "the answer is not JSON: "),
        ("equals", [1], "[NaN]", "the answer is not JSON: NaN is not JSON"),
        ("regex", "^b", "a\nb", "nothing in the answer matches /^b/"),
        ("regex", "x", None, "there is no answer"),
        ("json_schema", {"required": ["id"]}, {}, '"id" is a required property'),
        ("json_schema", {"properties": {"a": {"type": "string"}}}, '{"a": 1}', "at $.a: "),
        ("json_schema", {"type": "object"}, "Here you are: {}", "the answer is not JSON: "),
        ("json_schema", {"type": "object"}, None, "null is not of type"),
        ("field", {"path": "$.amount", "gt": 5}, {"amount": 5}, "$.amount: expected a number over 5, got 5"),
        ("field", {"path": "$.amount", "equals": 5}, {}, "$.amount: expected 5, got nothing"),
        ("field", {"path": "$.a", "absent": True}, {"a": None}, "$.a: expected nothing, got null"),
        ("field", {"path": "$.p[*]", "lt": 5}, {"p": [1, 9, 10]}, "$.p[*]: expected a number under 5, got 9"),
        ("field", {"path": "$.a", "equals": 1}, "no JSON", "the answer is not JSON: "),
    ],
)
def test_these_answers_fail_and_the_reason_is_told(kind: str, expected: Any, output: Any, why: str) -> None:
    found = result(kind, expected, output)
    assert found.result == "failed"
    assert why in found.message


@pytest.mark.parametrize("kind", ["contains", "equals", "regex"])
@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("straße", "STRASSE"),
        ("STRASSE", "straße"),
        ("ÇA VA", "c\u0327a va"),
        ("ΣΊΣΥΦΟΣ", "Σίσυφος"),
    ],
)
def test_ignoring_case_is_case_folding(kind: str, expected: str, output: str) -> None:
    assert result(kind, expected, output, ignore_case=True).result == "passed"
    assert result(kind, expected, output).result == "failed"


@pytest.mark.parametrize("kind", ["contains", "equals"])
@pytest.mark.parametrize(("expected", "output"), [("I", "ı"), ("ı", "I")])
def test_ignoring_case_knows_no_turkish(kind: str, expected: str, output: str) -> None:
    assert result(kind, expected, output, ignore_case=True).result == "failed"


@pytest.mark.parametrize(
    ("pattern", "output"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED), ("^.{4}$", DECOMPOSED)]
)
def test_a_pattern_meets_the_answer_in_one_normal_form(pattern: str, output: str) -> None:
    assert result("regex", pattern, output).result == "passed"


def test_not_contains_ignores_case_where_it_is_asked_to() -> None:
    assert result("not_contains", "GUARANTEE", "a guarantee", ignore_case=True).result == "failed"
    assert result("not_contains", "GUARANTEE", "a guarantee").result == "passed"


@pytest.mark.parametrize(
    ("kind", "expected"), [("contains", "\ufffd"), ("equals", "caf\ufffd"), ("regex", "caf."), ("regex", "\ufffd$")]
)
def test_a_mark_for_undecodable_bytes_is_nothing_to_match(kind: str, expected: str) -> None:
    assert damaged(kind, expected, "caf\ufffd").result == "failed"


def test_the_rest_of_a_damaged_answer_can_be_matched() -> None:
    assert damaged("contains", "caf", "caf\ufffd").result == "passed"
    assert damaged("regex", "^caf", "caf\ufffd").result == "passed"
    assert damaged("not_contains", "\ufffd", "caf\ufffd").result == "passed"


def test_a_match_beside_the_mark_counts_wherever_it_stands() -> None:
    assert damaged("regex", ".[0-9]", "\ufffd1 and a1").result == "passed"


def test_a_mark_that_the_agent_itself_printed_is_a_character_like_any_other() -> None:
    assert result("contains", "\ufffd", "caf\ufffd").result == "passed"


@pytest.mark.slow
def test_a_pattern_that_cannot_be_decided_in_time_is_an_error_and_no_verdict() -> None:
    begin = process_time()
    found = result("regex", "(a|aa)+$", "a" * 40 + "!")
    assert process_time() - begin < 20
    assert (found.result, found.message) == ("error", "/(a|aa)+$/ took more than 1 s on 41 characters")


@pytest.mark.parametrize(
    ("expected", "state"),
    [
        ({"orders": {"5678": {"refunded": True}}}, {"orders": {"5678": {"refunded": True, "total": 5}, "1": {}}}),
        ({"orders": {"9": {"absent": True}}}, {"orders": {}}),
        ({"count": {"gte": 1}}, {"count": 1}),
    ],
)
def test_an_end_state_matches_as_a_subset(expected: Any, state: dict[str, Any]) -> None:
    assert ended(expected, **state).result == "passed"


def test_a_wrong_end_state_is_told_with_its_place() -> None:
    found = ended({"orders": {"a": {"refunded": True}}}, orders={"a": {"refunded": False}})
    assert (found.result, found.message) == ("failed", "end state at $.orders.a.refunded: expected true, got false")
    assert (found.expected, found.actual) == (True, False)


def test_an_end_state_that_was_not_reported_is_no_evidence() -> None:
    found = result("state", {"absent_key": {"absent": True}}, "Done.")
    assert (found.result, found.message) == ("no_evidence", "the agent did not report its end state")


def test_an_end_state_of_null_was_reported_and_is_wrong() -> None:
    assert checked(check("state", {"a": 1}), Transcript(output="", state=None)).result == "failed"


def test_severity_and_note_stay_with_the_result() -> None:
    found = result("contains", "sorry", "No.", severity="warning", note="politeness")
    assert (found.severity, found.note, found.gates) == ("warning", "politeness", False)


def test_a_long_answer_is_kept_by_its_beginning() -> None:
    found = result("contains", "x", "a" * 5000)
    assert found.actual == "a" * 300 + "… (5,000 characters)"


@pytest.mark.parametrize("output", ["[" * 100_000, '{"a":' * 100_000])
@pytest.mark.parametrize(
    ("kind", "expected"), [("equals", 5), ("json_schema", {}), ("field", {"path": "$.a", "any": True})]
)
def test_an_answer_nested_too_deeply_to_read_fails_and_breaks_nothing(kind: str, expected: Any, output: str) -> None:
    found = result(kind, expected, output)
    assert found.result == "failed"
    assert found.message.startswith("the answer is not JSON: ")


@pytest.mark.parametrize("length", [400, 900, 2000])
def test_two_deep_values_in_an_answer_are_told_apart_or_are_an_error_of_the_check(length: int) -> None:
    deep = ['{"a":' * length + number + "}" * length for number in "12"]
    found = result("is_json", "object", f"One: {deep[0]}\nTwo: {deep[1]}\n", json="only")
    assert found.result in ("failed", "error")


@pytest.mark.parametrize("output", ["\u200b\ufeff", "\x00", "\u2066\u2069 "])
def test_an_answer_that_nobody_can_see_is_empty(output: str) -> None:
    assert result("not_empty", expected=True, output=output).result == "failed"
    assert result("not_empty", expected=True, output=output + "🫨").result == "passed"


@pytest.mark.slow
def test_a_pattern_that_calls_itself_without_end_is_an_error_of_its_check() -> None:
    found = result("regex", "(?R)", "Yes.")
    assert found.result == "error"
    assert "took more than" in found.message


def test_a_path_that_descends_a_deep_answer_is_decided_or_an_error() -> None:
    deep = "[" * 150 + '{"id": 1}' + "]" * 150
    assert result("field", {"path": "$..id", "equals": 1}, deep).result in ("passed", "error")


@given(json_values)
@steady
def test_every_json_answer_equals_itself_as_data_and_as_text(value: Any) -> None:
    if not isinstance(value, str):
        assert result("equals", value, value).result == "passed"
        assert result("equals", value, json.dumps(value)).result == "passed"


@given(st.text(min_size=1), st.text())
@steady
def test_contains_and_not_contains_never_agree(needle: str, answer: str) -> None:
    results = {result(kind, needle, answer).result for kind in ("contains", "not_contains")}
    assert results == {"passed", "failed"}


@given(st.sets(st.sampled_from("abc"), min_size=1), st.text("abc ", max_size=8))
@steady
def test_none_some_and_all_of_several_texts_agree(needles: set[str], answer: str) -> None:
    kinds = ("contains_all", "contains_any", "not_contains")
    everything, something, nothing = (result(kind, sorted(needles), answer).result == "passed" for kind in kinds)
    assert something != nothing
    assert something or not everything


@pytest.mark.parametrize(
    ("turn", "says", "status"),
    [(1, "first", "passed"), (2, "second", "passed"), (-1, "second", "passed"), (-2, "first", "passed")],
)
def test_a_check_looks_at_the_turn_that_it_names(turn: int, says: str, status: str) -> None:
    found = of_two_turns({"contains": says, "turn": turn})
    assert (found.status, found.checks[0].result) == (status, "passed")
    assert of_two_turns({"not_contains": says, "turn": turn}).status == "failed"


@pytest.mark.parametrize("turn", [3, -3])
def test_a_turn_that_did_not_come_about_is_a_failure(turn: int) -> None:
    found = of_two_turns({"not_contains": "x", "turn": turn})
    assert (found.status, found.reason) == (
        "failed",
        f"outcome[0].not_contains: the conversation has no turn {turn}",
    )


def of_two_turns(check: dict[str, Any]) -> Verdict:
    turns = (Transcript(output="the first answer"), Transcript(output="the second answer"))
    return verdict_on(case(outcome=[check]), Answered(Facts(), turns[1], turns))


def test_a_warning_fails_nothing_and_is_no_check_by_itself() -> None:
    warning = {"contains": "Never", "severity": "warning", "note": "politeness"}
    assert verdict_on(case(outcome=[{"contains": "Done"}, warning]), answered(did())).status == "passed"
    assert verdict_on(case(outcome=[warning]), answered(did())).status == "ungraded"


@pytest.mark.parametrize(("output", "status"), [("You get a full refund within 30 days.", "passed"), ("No.", "failed")])
def test_match_similar_is_token_f1_of_at_least_0_7(output: str, status: str) -> None:
    subject = case(expected_output="Full refund within 30 days of purchase.", match="similar")
    assert subject.outcome[0].expected["measure"] == "token_f1"
    assert verdict_on(subject, answered(did(output=output))).status == status


def test_an_embedding_is_held_against_the_threshold_once_an_endpoint_has_said() -> None:
    subject = case(outcome=[{"similarity": {"to": ["A.", "B."], "measure": "embedding", "threshold": 0.8}}])
    (pair,) = asked_of(subject, answered(did()))
    assert to_embed(*pair) == (["A.", "B."], "Done.")
    for score, status in ((0.81, "passed"), (0.79, "failed")):
        told = Told(scores={pair[0].name: score})
        assert verdict_on(subject, answered(did()), told).status == status


def test_amounts_may_be_held_against_the_state_of_the_case() -> None:
    subject = case(state={"total": "129.00"}, outcome=[{"money": {"amount": {"$state": "/total"}, "currency": "EUR"}}])
    assert verdict_on(subject, answered(did(output="That is 129,00 €."))).status == "passed"
    assert verdict_on(subject, answered(did(output="That is 12,90 €."))).status == "failed"


def test_r07_an_agent_that_says_nothing_does_not_pass_by_what_it_leaves_out() -> None:
    unwanted = [{"not_contains": "hunter2"}, {"not_regex": "hunter[0-9]"}, {"not": {"contains": "hunter2"}}]
    for each in unwanted:
        assert verdict_on(case(outcome=[each]), answered(did(output=None))).status == "failed"


@pytest.mark.slow
def test_r20_a_pattern_that_backtracks_without_end_is_an_error_of_its_check_alone() -> None:
    outcome = [{"regex": "^(a|aa)+$"}, {"contains": "!"}]
    found = verdict_on(case(outcome=outcome), answered(did(output="a" * 40 + "!")))
    assert [check.result for check in found.checks] == ["error", "passed"]
    assert (found.status, found.reason[:12]) == ("ungraded", "outcome[0].r")


@pytest.mark.parametrize("text", ["{" * 50_000, '{"a":' * 20_000, "[[[[\n" * 20_000, "```json\n" * 20_000])
def test_looking_for_json_in_a_hostile_answer_takes_no_time(text: str) -> None:
    begin = process_time()
    assert result("is_json", "object", text, json="only").result == "failed"
    assert process_time() - begin < 20


def test_texts_that_are_too_long_to_compare_are_no_verdict() -> None:
    expected = {"to": "a", "measure": "levenshtein", "threshold": 0.5}
    found = result("similarity", expected, "a" * 100_001)
    assert (found.result, found.message) == ("error", "texts of more than 100,000 characters are not compared")


@pytest.mark.parametrize(
    ("language", "output", "verdict"),
    [
        ("en", "You have 30 days to return it, and we will pay for the parcel.", "passed"),
        (["fr", "de"], "Sie haben 30 Tage Zeit, um die Ware zurückzuschicken.", "passed"),
        ("en", "Vous avez 30 jours pour retourner la marchandise.", "failed"),
        ("zh", "退款将在三十天内处理，请您耐心等待。", "passed"),
        ("en", "Yes.", "no_evidence"),
        ("en", None, "failed"),
    ],
)
def test_the_language_of_an_answer(language: Any, output: str | None, verdict: str) -> None:
    pytest.importorskip("py3langid", reason="the extra `language` is not installed")
    found = result("language", language, output)
    assert found.result == verdict, found.message


def test_without_py3langid_a_language_check_is_an_error_and_no_verdict() -> None:
    program = (
        "import sys; sys.modules['py3langid'] = None; from agenteval_cli.checks import checked; "
        "from agenteval_cli.case import OutcomeCheck; from agenteval_cli.transcript import Transcript; "
        "print(checked(OutcomeCheck('n', 'language', 'en'), Transcript(output='You have thirty days to return it.')).message)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "py3langid is not installed; pip install 'agenteval-cli[language]'\n"


def test_a_check_loads_no_library_that_it_does_not_need() -> None:
    program = (
        "import sys; from agenteval_cli.checks import checked; from agenteval_cli.case import OutcomeCheck; "
        "from agenteval_cli.transcript import Transcript; "
        "checked(OutcomeCheck('n', 'contains', 'a'), Transcript(output='a')); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"regex", "rapidfuzz", "jsonschema_rs", "jsonpath_rfc9535", "py3langid", "numpy", "agenteval_cli.money"}
    assert not heavy & set(done.stdout.split())
