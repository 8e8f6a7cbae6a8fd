"""similarity: how alike the answer and a text are, by a measure, held against a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, excerpt, expected_texts, in_form, no_answer
from agenteval_cli.checks.interface import TEXT_OPTIONS, Evidence, Faults, Kind
from agenteval_cli.compare import shown
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, PASSED, Finding
from agenteval_cli.similarity import LONGEST, MEASURES
from agenteval_cli.transcript import Transcript

EMBEDDING = "embedding"


def similarity(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer is at least as near to the text as the threshold says; of several texts, to the nearest."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    measure = check.expected["measure"]
    if measure == EMBEDDING:
        return _by_embedding(check, evidence, answer)
    texts = [in_form(text, check) for text in expected_texts(check.expected["to"])]
    got = in_form(answer, check)
    if max(map(len, (got, *texts))) > LONGEST:
        return Finding(
            ERROR, f"texts of more than {LONGEST:,} characters are not compared", check.expected, excerpt(answer)
        )
    return _held(check, max(MEASURES[measure](text, got) for text in texts), answer)


def to_embed(check: OutcomeCheck, transcript: Transcript) -> tuple[list[str], str] | None:
    """The expected texts and the answer whose embeddings this check needs; None where it needs none.

    Who has an endpoint for embeddings puts the highest cosine into Told.scores, under the check's name.
    """
    answer = answer_text(transcript)
    if check.kind != "similarity" or check.expected["measure"] != EMBEDDING or answer is None:
        return None
    return expected_texts(check.expected["to"]), answer


def _by_embedding(check: OutcomeCheck, evidence: Evidence, answer: str) -> Finding:
    score = evidence.told.scores.get(check.name)
    if score is None:
        words = "no endpoint for embeddings said how near the answer is"
        return Finding(NO_EVIDENCE, words, check.expected, excerpt(answer))
    return _held(check, score, answer)


def _held(check: OutcomeCheck, score: float, answer: str) -> Finding:
    measure, threshold = check.expected["measure"], check.expected["threshold"]
    scores = {measure: round(score, 4)}
    if score >= threshold:
        return Finding(PASSED, scores=scores)
    words = f"{measure} is {score:.3f}, and at least {threshold:g} is needed"
    return Finding(FAILED, words, check.expected, excerpt(answer), scores=scores)


def _faults(item: Mapping[str, Any]) -> Faults:
    for index, text in enumerate(expected_texts(item["similarity"]["to"])):
        if not text.strip():
            yield ("similarity", "to"), f"{shown(text)} (number {index + 1}) is no text to be like"


KINDS = {
    "similarity": Kind(
        similarity, "the answer is as like the text as the threshold says, by a measure", TEXT_OPTIONS, _faults
    )
}
