"""citations: everything that the answer cites is in the documents it could see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agenteval_cli.case import OutcomeCheck
from agenteval_cli.checks.answer import FOLDS, answer_text, excerpt, in_form, no_answer
from agenteval_cli.checks.interface import Evidence, Faults, Kind
from agenteval_cli.compare import shown
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, Finding
from agenteval_cli.patterns import groups, pattern_fault

FORMS = ("numbers", "urls", "quotes")
SOURCES = ("retrieval_context", "context")
_KEYS = ("forms", "pattern", "in", "at_least")
_NUMBERS = re.compile(r"[\[【]\^?([0-9]{1,3}(?:\s*[,;–-]\s*[0-9]{1,3})*)[\]】](?!\()")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_INDEX = re.compile(r"(?<=\w)\[")
_URL = re.compile(r"https?://[^\s<>\"'\])}】]+")
_QUOTE = re.compile(r"\"([^\"\n]{15,2000})\"")
_ENDS_NAME = r"(?![\w/-])"
_ENDS_URL = r"(?![\w/&=#%~+@-]|[.,;:!?]+[\w/&=#%~+@-])"  # `https://a.org/x` is not `https://a.org/x.pdf`
_SHOWN = 5


def citations(check: OutcomeCheck, evidence: Evidence) -> Finding:
    """Each cited number, URL, quotation or name is in the documents, and there are as many as are needed."""
    answer = answer_text(evidence.transcript)
    if answer is None:
        return no_answer(check)
    spec = check.expected if isinstance(check.expected, Mapping) else {}
    documents = _documents(spec, evidence)
    if documents is None:
        words = "nothing tells which documents there were: no retrieval_context was reported"
        return Finding(NO_EVIDENCE, words, check.expected)
    cited = list(_cited(spec, answer, check, documents))
    missing = list(dict.fromkeys(name for name, is_there in cited if not is_there))
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        words = f"not in the {len(documents)} documents: {', '.join(missing[:_SHOWN])}{more}"
        return Finding(FAILED, words, check.expected, excerpt(answer))
    least = spec.get("at_least", 1)
    if len(cited) < least:
        return Finding(
            FAILED, f"expected at least {least} citations, found {len(cited)}", check.expected, excerpt(answer)
        )
    return OK


def _documents(spec: Mapping[str, Any], evidence: Evidence) -> Sequence[str] | None:
    """What the agent says it retrieved, else what the case gave as context; or the one that the case names."""
    known = {"retrieval_context": evidence.transcript.retrieval_context, "context": evidence.context}
    if "in" in spec:
        return known[spec["in"]]
    return next((documents for documents in known.values() if documents is not None), None)


def _cited(
    spec: Mapping[str, Any], answer: str, check: OutcomeCheck, documents: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Each citation as it is told, and whether it is in the documents."""
    forms = spec.get("forms", () if "pattern" in spec else FORMS)
    if "numbers" in forms:
        for number in _numbers(answer):
            yield f"[{number}]", 1 <= number <= len(documents)
    if "urls" in forms:
        for url in (found.rstrip(".,;:!?") for found in _URL.findall(answer)):
            yield url, any(_stands_alone(url, document, _ENDS_URL) for document in documents)
    if "quotes" in forms:
        plain = [_plain(document, check) for document in documents]
        for quote in _QUOTE.findall(_plain(answer, check)):
            yield shown(quote), any(quote.strip(" .,;:!?") in document for document in plain)
    if "pattern" in spec:
        for name in groups(spec["pattern"], answer):
            yield shown(name), any(_stands_alone(name, document) for document in documents)


def _numbers(answer: str) -> Iterator[int]:
    """`[1]`, `[1, 2]`, `[1-3]`, `[^1]` and `【1】`, each time it stands there; `items[1]` in code is none."""
    for match in _NUMBERS.finditer(_CODE.sub(lambda code: _INDEX.sub("(", code[0]), answer)):
        for part in re.split(r"[,;]", match[1]):
            first, *last = (int(number) for number in re.split(r"[–-]", part))
            yield from range(first, (last[-1] if last else first) + 1)


def _plain(text: str, check: OutcomeCheck) -> str:
    """Text in which a quotation can be looked for: letters, signs and spaces of one kind only."""
    from msgspec.structs import replace

    return in_form(text, replace(check, fold=FOLDS, ignore_space=True, ignore_case=True))


def _stands_alone(name: str, document: str, end: str = _ENDS_NAME) -> bool:
    """Whether the document has the name, and not as a part of a longer one."""
    return bool(name) and re.search(rf"(?<![\w/-]){re.escape(name)}{end}", document) is not None


def _faults(item: Mapping[str, Any]) -> Faults:
    spec = item["citations"]
    if not isinstance(spec, Mapping):
        if spec is not True:
            yield ("citations",), "only true makes sense here, or a mapping"
        return
    for key in spec:
        if key not in _KEYS:
            yield ("citations", key), f"unknown key '{key}'; known here: {', '.join(_KEYS)}"
    if "pattern" in spec and (words := pattern_fault(spec["pattern"])):
        yield ("citations", "pattern"), words


KINDS = {
    "citations": Kind(
        citations,
        "all that the answer cites is in the documents that the agent retrieved, else in the case's context; "
        "something is cited",
        frozenset(),
        _faults,
    )
}
