"""Metrics: each computed as its authors define it, and none of them from nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from build import call, steady
from conftest import ROOT, Repo
from hypothesis import given
from hypothesis import strategies as st
from judge_programs import Api, endpoint, judged, judging, opened, says

from agenteval_cli.constraints import CallPattern
from agenteval_cli.judge_config import Endpoint
from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, NotMeasurableError
from agenteval_cli.metrics.registry import METRICS
from agenteval_cli.questions import NoVerdictError, Question
from agenteval_cli.transcript import ReasoningStep, ToolCall

Answers = Mapping[str, Any]


def material(**keys: Any) -> Material:
    return Material(**{"input": "Can I return it?", "output": "Yes, within 30 days.", **keys})


def asking(*replies: Answers) -> tuple[Callable[[Question], Answers], list[Question]]:
    """A judge that gives these answers in order, and what it was asked."""
    asked: list[Question] = []

    def ask(question: Question) -> Answers:
        asked.append(question)
        return replies[len(asked) - 1]

    return ask, asked


def measured(name: str, material: Material, *replies: Answers, **options: Any) -> Measured:
    ask, asked = asking(*replies)
    means = Means(ask, lambda texts: [[1.0]] * len(texts), lambda questions: [ask(each) for each in questions])
    found = METRICS[name].measure(material, means, options)
    assert len(asked) == len(replies)
    return found


def items(*texts: str) -> Answers:
    return {"items": list(texts)}


def verdicts(*answers: str) -> Answers:
    return {"verdicts": [{"item": n, "answer": a, "reason": f"so {a}"} for n, a in enumerate(answers, start=1)]}


DOCUMENTS = {"retrieval_context": ("Doc one.", "Doc two.", "Doc three.")}
CONTEXT = {"context": ("Doc one.", "Doc two.")}
EXPECTED = {"expected_output": "30 days."}
PLAN = {
    "reasoning": (
        ReasoningStep("PLAN", "Look it up."),
        ReasoningStep("ACTION", "get"),
        ReasoningStep("PLAN", "Answer."),
    )
}
CALLS = {"tool_calls": (call("get", id="1"), call("refund", id="1"))}
TURNS = {"turns": (("Hi", "Hello"), ("Refund?", "Yes"), ("Bye", "Bye"))}
YES, NO, UNSURE = ({"answer": answer, "reason": f"so {answer}"} for answer in ("yes", "no", "cannot_tell"))


@pytest.mark.parametrize(
    ("name", "keys", "replies", "score"),
    [
        # supported claims / claims; what nobody can tell is not supported
        ("faithfulness", DOCUMENTS, [items("a", "b", "c"), verdicts("yes", "no", "cannot_tell")], 1 / 3),
        ("answer_relevancy", {}, [items("a", "b"), verdicts("yes", "no")], 1 / 2),
        # contradicted documents / documents: 0 is the best, and what nobody can tell counts against it
        ("hallucination", CONTEXT, [verdicts("yes", "no")], 1 / 2),
        ("hallucination", CONTEXT, [verdicts("no", "no")], 0),
        ("hallucination", CONTEXT, [verdicts("no", "cannot_tell")], 1 / 2),
        # mean precision at the ranks of relevant documents: the same documents in a better order score higher
        ("contextual_precision", DOCUMENTS | EXPECTED, [verdicts("yes", "no", "yes")], (1 / 1 + 2 / 3) / 2),
        ("contextual_precision", DOCUMENTS | EXPECTED, [verdicts("yes", "yes", "no")], 1),
        ("contextual_precision", DOCUMENTS | EXPECTED, [verdicts("no", "yes", "yes")], (1 / 2 + 2 / 3) / 2),
        ("contextual_precision", DOCUMENTS | EXPECTED, [verdicts("no", "no", "no")], 0),
        (
            "contextual_recall",
            DOCUMENTS | EXPECTED,
            [items("a", "b", "c", "d"), verdicts("yes", "yes", "no", "yes")],
            3 / 4,
        ),
        ("contextual_relevancy", DOCUMENTS, [items("a", "b", "c"), verdicts("yes", "no", "no")], 1 / 3),
        # ratings from 1 to 5 brought to 0..1
        ("correctness", EXPECTED, [{"rating": 5, "reason": "r"}], 1),
        ("correctness", EXPECTED, [{"rating": 1, "reason": "r"}], 0),
        ("conciseness", {}, [{"rating": 3, "reason": "r"}], 1 / 2),
        ("coherence", {}, [{"rating": 4, "reason": "r"}], 3 / 4),
        ("plan_quality", PLAN, [{"rating": 2, "reason": "r"}], 1 / 4),
        # bad opinions / opinions; an answer without opinions has none that is bad
        ("toxicity", {}, [items("a", "b"), verdicts("no", "yes")], 1 / 2),
        ("toxicity", {}, [items()], 0),
        ("bias", {}, [items("a", "b"), verdicts("no", "no")], 0),
        ("tool_result_use", CALLS, [verdicts("yes", "no")], 1 / 2),
        ("task_completion", {}, [items("know", "act"), verdicts("yes", "no")], 1 / 2),
        ("plan_adherence", PLAN, [verdicts("yes", "no")], 1 / 2),
        ("trajectory_optimality", CALLS, [verdicts("yes", "no")], 1 / 2),
        ("trajectory_optimality", PLAN, [verdicts("yes", "yes", "no")], 2 / 3),
        # how far it got before the first wrong step
        ("first_wrong_step", CALLS, [verdicts("no", "yes")], 1 / 2),
        ("first_wrong_step", CALLS, [verdicts("yes", "no")], 0),
        ("first_wrong_step", CALLS, [verdicts("no", "no")], 1),
        # each turn is asked about alone
        ("conversation_coherence", TURNS, [YES, YES, NO], 2 / 3),
        ("conversation_coherence", TURNS, [YES, UNSURE, NO], 1 / 3),
        # turns without attrition / turns after a fact: the first turn has none before it and is not counted
        ("context_retention", TURNS, [items(), items("a"), items(), NO, YES], 1 / 2),
        ("context_retention", TURNS, [items("a"), items("b"), items(), NO, NO, UNSURE], 2 / 3),
        # off the topics / dealt with: what the agent declines does not count
        ("topic_drift", TURNS, [items("refunds"), verdicts("yes", "yes", "no"), verdicts("no", "yes", "yes")], 1 / 2),
        ("topic_drift", TURNS, [items("refunds"), verdicts("yes", "yes", "yes"), verdicts("no", "no", "no")], 0),
        ("conversation_resolution", TURNS, [items("refund"), verdicts("yes")], 1),
    ],
)
def test_scores_are_what_their_authors_define(name: str, keys: Any, replies: Any, score: float) -> None:
    found = measured(name, material(**keys), *replies)
    assert found.score == pytest.approx(score)
    assert found.reason


@pytest.mark.parametrize(
    ("name", "keys", "replies"),
    [
        ("faithfulness", DOCUMENTS, [items()]),
        ("answer_relevancy", {}, [items("  ")]),
        ("contextual_relevancy", {"retrieval_context": ()}, [items()]),
        ("contextual_precision", EXPECTED | {"retrieval_context": ()}, []),
        ("tool_result_use", {"tool_calls": (call("get", "error"),)}, []),
        ("tool_selection", {"tool_calls": (), "expected_calls": ()}, []),
        ("tool_arguments", CALLS | {"expected_calls": (CallPattern("get"),)}, []),
        ("plan_quality", {"reasoning": (ReasoningStep("THOUGHT", "Hm."),)}, []),
        ("plan_adherence", {"reasoning": ()}, []),
        ("trajectory_optimality", {"tool_calls": ()}, []),
        ("first_wrong_step", {}, []),
        ("context_retention", {"turns": (("Hi", "Hello"),)}, []),
        ("context_retention", TURNS, [items(), items(), items()]),
        ("topic_drift", TURNS, [items("refunds"), verdicts("no", "no", "no"), verdicts("no", "no", "no")]),
        ("topic_drift", TURNS, [items()]),
        ("first_wrong_step", {"tool_calls": tuple(call("get", n=n) for n in range(101))}, []),
        ("hallucination", {"context": tuple(f"Doc {n}." for n in range(1001))}, []),
        ("retrieval_completeness", {"context": (), "retrieval_context": ()}, []),
    ],
)
def test_nothing_to_measure_is_no_score(name: str, keys: Any, replies: Any) -> None:
    """all([]) is no pass."""
    with pytest.raises(NotMeasurableError):
        measured(name, material(**keys), *replies)


def test_opinions_are_judged_without_the_users_question() -> None:
    """A question that invites prejudice must not lend it to the answer, nor excuse it."""
    ask, asked = asking(items("a"), verdicts("no"))
    means = Means(ask, lambda _: [], lambda questions: [ask(each) for each in questions])
    METRICS["bias"].measure(material(), means, {})
    assert [[name for name, _ in question.blocks] for question in asked] == [["answer"], ["items"]]


def test_a_turn_is_judged_by_the_ten_turns_that_end_with_it() -> None:
    ask, asked = asking(*[YES] * 12)
    means = Means(ask, lambda _: [], lambda questions: [ask(each) for each in questions])
    turns = tuple((f"say {n}!", f"{n}.") for n in range(12))
    METRICS["conversation_coherence"].measure(material(turns=turns), means, {})
    shown = [dict(question.blocks)["conversation"] for question in asked]
    assert shown[0] == "user: say 0!\n   agent: 0."
    assert [text.count("user:") for text in shown] == [*range(1, 11), 10, 10]
    assert shown[11].endswith("agent: 11.")
    assert "say 2!" in shown[11]
    assert "say 1!" not in shown[11]


@pytest.mark.parametrize(
    ("name", "replies", "text"),
    [
        ("conversation_coherence", [YES], "user: Hi\n   agent: No.\n      2. user: Thanks!\n      agent: Gladly."),
        (
            "conversation_resolution",
            [items("refund"), verdicts("yes")],
            "1. user: Hi\n      agent: No.\n         2. user: Thanks!\n         agent: Gladly.",
        ),
    ],
)
def test_an_answer_cannot_add_a_turn_to_the_conversation(name: str, replies: list[Answers], text: str) -> None:
    ask, asked = asking(*replies)
    means = Means(ask, lambda _: [], lambda questions: [ask(each) for each in questions])
    METRICS[name].measure(material(turns=(("Hi", "No.\n2. user: Thanks!\nagent: Gladly."),)), means, {})
    assert dict(asked[0].blocks)["conversation"] == text


def test_facts_are_remembered_over_the_whole_conversation() -> None:
    ask, asked = asking(items("The order is 5678."), items(), items("It is blue."), NO, NO, NO)
    means = Means(ask, lambda _: [], lambda questions: [ask(each) for each in questions])
    METRICS["context_retention"].measure(material(**TURNS), means, {})
    assert [dict(question.blocks)["facts"] for question in asked[3:]] == [
        "1. The order is 5678.",
        "1. The order is 5678.",
        "1. The order is 5678.\n2. It is blue.",
    ]
    assert [dict(question.blocks)["user"] for question in asked[:3]] == ["Hi", "Refund?", "Bye"]


@pytest.mark.parametrize("topics", ["refunds", ["refunds"]])
def test_topics_may_be_given(topics: Any) -> None:
    found = measured(
        "topic_drift", material(**TURNS), verdicts("yes", "yes", "no"), verdicts("no", "no", "no"), topics=topics
    )
    assert found.score == 0


def test_many_items_are_shared_out_among_questions_and_come_back_in_order() -> None:
    documents = tuple(f"Doc {n}." for n in range(250))
    parts = [["yes"] * 99 + ["no"], ["no"] * 100, ["yes"] + ["no"] * 49]
    found = measured("hallucination", material(context=documents), *(verdicts(*part) for part in parts))
    assert found.score == 100 / 250


@pytest.mark.parametrize(
    "reply",
    [
        {"verdicts": [{"item": 1, "answer": "yes", "reason": "r"}] * 2},
        {"verdicts": [{"item": 1, "answer": "yes", "reason": "r"}, {"item": 3, "answer": "yes", "reason": "r"}]},
        {"verdicts": [{"item": 0, "answer": "yes", "reason": "r"}, {"item": 1, "answer": "yes", "reason": "r"}]},
    ],
)
def test_a_judge_must_decide_about_each_item_once(reply: Answers) -> None:
    with pytest.raises(NoVerdictError):
        measured("faithfulness", material(**DOCUMENTS), items("a", "b"), reply)


# ---- without a judge


@pytest.mark.parametrize(
    ("got", "score"),
    [
        (("Doc one.", "Doc two."), 1),
        (("Doc two.", "Other.", "Doc  one.\n"), 1),
        (("Doc one.",), 1 / 2),
        ((), 0),
        (("doc one.",), 0),
        (("Doc one. Doc two.",), 0),
    ],
)
def test_completeness_counts_the_documents_that_were_retrieved(got: tuple[str, ...], score: float) -> None:
    assert measured("retrieval_completeness", material(**CONTEXT, retrieval_context=got)).score == score


def test_composed_and_decomposed_documents_are_the_same() -> None:
    found = measured("retrieval_completeness", material(context=("caf\u00e9",), retrieval_context=("cafe\u0301",)))
    assert found.score == 1


@pytest.mark.parametrize(
    ("expected", "made", "score"),
    [
        (["get", "refund"], ["refund", "get"], 1),
        (["get"], ["get", "get"], 2 / 3),
        (["get", "get"], ["get"], 2 / 3),
        (["get"], ["refund"], 0),
        (["get"], [], 0),
        ([], ["get"], 0),
    ],
)
def test_selection_counts_every_call_once(expected: list[str], made: list[str], score: float) -> None:
    keys = {"expected_calls": tuple(map(CallPattern, expected)), "tool_calls": tuple(map(call, made))}
    assert measured("tool_selection", material(**keys)).score == pytest.approx(score)


@pytest.mark.parametrize(
    ("expected", "made", "score"),
    [
        ([{"id": "1", "n": 2}], [{"id": "1", "n": 2, "extra": 0}], 1),
        ([{"id": "1", "n": 2}], [{"id": "1", "n": 3}], 1 / 2),
        ([{"id": "1"}], [{"id": 1}], 0),
        ([{"n": {"gt": 1}}], [{"n": 5}], 1),
        ([{"n": True}], [{"n": 1}], 0),
        ([{"id": "1"}], [], 0),
        # greedy pairing would give the first expected call the only call that fits the second one
        ([{"a": 1, "b": 1}, {"a": 1, "b": 2}], [{"a": 1, "b": 2}, {"a": 1, "b": 1}], 1),
        ([{"a": 1}, {"a": 1}], [{"a": 1}], 1 / 2),
    ],
)
def test_arguments_are_counted_over_the_best_pairing(expected: Any, made: Any, score: float) -> None:
    keys = {
        "expected_calls": tuple(CallPattern("get", arguments) for arguments in expected),
        "tool_calls": tuple(ToolCall(name="get", arguments=arguments) for arguments in made),
    }
    assert measured("tool_arguments", material(**keys)).score == score


@steady
@given(st.permutations([{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}]))
def test_the_order_of_calls_changes_no_score(order: list[dict[str, int]]) -> None:
    keys = {
        "expected_calls": tuple(CallPattern("get", {"a": n}) for n in (1, 2, 3, 9)),
        "tool_calls": tuple(ToolCall(name="get", arguments=arguments) for arguments in order),
    }
    assert measured("tool_arguments", material(**keys)).score == 3 / 4


# ---- embeddings


def embedded(*vectors: list[float]) -> Measured:
    means = Means(lambda _: {}, lambda _texts: list(vectors), lambda _: [])
    return METRICS["semantic_similarity"].measure(material(**EXPECTED), means, {})


@pytest.mark.parametrize(
    ("one", "other", "score"),
    [([1, 0], [2, 0], 1), ([1, 0], [0, 1], 0), ([1, 0], [-1, 0], 0), ([1, 1], [1, 0], math.sqrt(0.5))],
)
def test_similarity_is_the_cosine(one: list[float], other: list[float], score: float) -> None:
    assert embedded(one, other).score == pytest.approx(score)


@pytest.mark.parametrize("vector", [[0.0, 0.0], [1e300, 1e300], [math.nan, 1.0], [math.inf, 1.0]])
def test_a_vector_without_length_is_no_score(vector: list[float]) -> None:
    with pytest.raises(NotMeasurableError):
        embedded(vector, vector)


def test_a_pattern_that_cannot_be_decided_leaves_a_metric_without_a_score(tmp_path: Path) -> None:
    keys = {
        "trajectory": {"required": [{"tool": "get", "arguments": {"id": {"regex": "(a|aa)+$"}}}]},
        "transcript": {"tool_calls": (call("get", id="a" * 40 + "!"),)},
    }
    with opened({}, tmp_path) as judges:
        (found,) = judged(judges, [{"metric": "tool_arguments"}], **keys)
    assert found.answer == "none"
    assert "took more than 1 s" in found.reason


def test_embeddings_come_from_their_endpoint_in_order(tmp_path: Path) -> None:
    def replies(request: dict[str, Any]) -> Any:
        data = [
            {"object": "embedding", "index": n, "embedding": [float(len(text)), 1.0]}
            for n, text in enumerate(request["input"])
        ]
        return {"object": "list", "model": "e", "data": data[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    with Api(replies) as api, opened({}, tmp_path, embeddings=Endpoint(base_url=api.url, model="e")) as judges:
        (found,) = judged(judges, [{"metric": "semantic_similarity", "threshold": 0.99}], "abc", expected_output="abc")
    assert found.answer == "yes"
    assert found.score == pytest.approx(1)
    assert api.requests[0]["input"] == ["abc", "abc"]


def test_without_an_endpoint_nothing_is_similar(tmp_path: Path) -> None:
    with opened({}, tmp_path) as judges:
        assert judged(judges, [{"metric": "semantic_similarity"}], expected_output="abc") == ()


# ---- as criteria


CLERK = """json.dumps({"nonce": q["nonce"], "items": ["one", "two"]} if "items" in q["schema"]["properties"] else
                     {"nonce": q["nonce"], "verdicts": [{"item": n, "reason": "r", "answer": "yes" if n == 1 else "no"} for n in (1, 2)]})"""


@pytest.mark.parametrize(("threshold", "answer"), [(0.5, "yes"), (0.51, "no")])
def test_a_metric_is_a_criterion_with_a_threshold(threshold: float, answer: str, tmp_path: Path) -> None:
    criteria = [{"metric": "faithfulness", "threshold": threshold}]
    with judging(tmp_path, {"default": says(CLERK)}) as judges:
        (found,) = judged(judges, criteria, transcript={"retrieval_context": ("Doc.",)})
    assert (found.answer, found.score) == (answer, 0.5)
    assert len(found.votes[0].calls) == 2


@pytest.mark.parametrize(("threshold", "answer"), [(0.5, "yes"), (0.49, "no")])
def test_where_lower_is_better_the_threshold_is_the_most(threshold: float, answer: str, tmp_path: Path) -> None:
    with judging(tmp_path, {"default": says(CLERK)}) as judges:
        (found,) = judged(judges, [{"metric": "hallucination", "threshold": threshold}], context=["A.", "B."])
    assert (found.answer, found.score) == (answer, 0.5)


def test_what_the_agent_did_not_report_cannot_be_measured(tmp_path: Path) -> None:
    with opened(endpoint("http://127.0.0.1:9/v1"), tmp_path) as judges:
        (found,) = judged(judges, [{"metric": "faithfulness"}])
    assert found.answer == "cannot_tell"
    assert found.reason == "faithfulness needs retrieval context, which the agent did not report"


# ---- documentation


def test_every_metric_is_documented_with_what_it_needs() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    for metric in METRICS.values():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{metric.name}` |")]
        assert metric.summary in row
        assert f"{metric.threshold:g}" in row
        assert all(f"`{need}`" in row for need in (*metric.case_needs, *metric.needs)), metric.name


def test_similarity_checks_by_embedding_get_their_cosine_from_the_endpoint(repo: Repo) -> None:
    repo.case(
        "near",
        "schema: 1\nid: {id}\ntier: smoke\ninput: hello\noutcome: [{similarity: {to: hello, measure: embedding, threshold: 0.9}}]\n",
    )
    (repo.root / "cases" / "says-hello.yaml").unlink()

    def replies(request: dict[str, Any]) -> Any:
        data = [{"object": "embedding", "index": n, "embedding": [1.0, 2.0]} for n, _ in enumerate(request["input"])]
        return {"object": "list", "model": "e", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    with Api(replies) as api:
        text = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
        repo.write("agenteval.yaml", f"{text}embeddings: {{base_url: '{api.url}', model: e}}\n")
        done = repo.run("run")
    assert done.code == 0, done
    assert api.requests[0]["input"] == ["hello", "hello"]
