"""language: which language the answer is in, told offline by py3langid (the extra `language`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import answer_text, excerpt, expected_texts, no_answer
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, OK, Finding

LEAST = 20  # bytes of letters: of shorter texts nobody can tell
SURE = 0.7
_LONGEST = 20_000  # characters that are looked at


def language(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """The answer is in the language; of several, in one of them. A text that is too short or mixed is no evidence."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    letters = "".join(char for char in answer[:_LONGEST] if char.isalpha())
    if len(letters.encode("utf-8", "replace")) < LEAST:
        return Finding(NO_EVIDENCE, "the answer is too short to tell its language", check.expected, excerpt(answer))
    try:
        found, share = _identifier().classify(answer[:_LONGEST])
    except ImportError:
        words = "py3langid is not installed; pip install 'agenteval-cli[language]'"
        return Finding(ERROR, words, check.expected, excerpt(answer))
    wanted = expected_texts(check.expected)
    if share < SURE:
        words = f"the answer could be in '{found}', which is not sure ({share:.0%})"
        return Finding(NO_EVIDENCE, words, check.expected, excerpt(answer))
    if found in wanted:
        return OK
    return Finding(
        FAILED, f"expected {' or '.join(wanted)}; the answer is in '{found}'", check.expected, excerpt(answer)
    )


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _faults(item: Mapping[str, Any]) -> Faults:
    for code in expected_texts(item["language"]):
        if not (code.isascii() and code.isalpha() and code.islower() and 2 <= len(code) <= 3):
            yield ("language",), f"'{code}' is not a language code of ISO 639, as en"


KINDS = {"language": Kind(language, "the answer is in this language; of several, in one of them", frozenset(), _faults)}
