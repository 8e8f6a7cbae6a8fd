"""Examples of checks are data: every one in examples/checks/ is a test, and the table in docs/checks.md is made of them."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from build import json_values, steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli import schemas
from agenteval_cli.case import case_from
from agenteval_cli.checks import CHECKS, Evidence, faults, kind, result_of
from agenteval_cli.file_facts import FileFact
from agenteval_cli.finding import CheckResult
from agenteval_cli.transcript import Transcript
from agenteval_cli.yaml_reader import read

EXAMPLES = Path(__file__).resolve().parent / "examples" / "checks"
DOCS = Path(__file__).resolve().parent.parent / "docs" / "checks.md"


def loaded(name: str) -> dict[str, Any]:
    reading = read(name, (EXAMPLES / name).read_bytes())
    assert reading.document is not None, reading.problems
    data: dict[str, Any] = reading.document.data
    return data


EXAMPLE_FILES = sorted(path.name for path in EXAMPLES.glob("*.yaml") if path.name != "faults.yaml")
ALL = [(name, example) for name in EXAMPLE_FILES for example in loaded(name)["examples"]]
FAULTS = loaded("faults.yaml")["faults"]


def name_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)[:60]


def fact(path: str, text: str | None) -> FileFact:
    raw = (text or "").encode()
    return FileFact(path, len(raw), hashlib.sha256(raw).hexdigest(), text)


def evidence(example: dict[str, Any], answer: Any) -> Evidence:
    files = example.get("files")
    context = example.get("context")
    retrieved = example.get("retrieval_context")
    transcript = Transcript(
        output=answer,
        state=example.get("state", msgspec.UNSET),
        retrieval_context=None if retrieved is None else tuple(retrieved),
        files=None if files is None else tuple(fact(path, text) for path, text in files.items()),
    )
    return Evidence(transcript, None if context is None else tuple(context), stop=example.get("stop"))


def outcome(example: dict[str, Any], answer: Any) -> CheckResult:
    data = {"schema": 1, "id": "greet", "input": "Hello", "outcome": [example["check"]]}
    return result_of(case_from("cases/greet.yaml", data).outcome[0], evidence(example, answer))


def passing() -> Iterator[Any]:
    for file, example in ALL:
        for answer in example.get("passes", ()):
            yield pytest.param(example, answer, id=f"{file} {name_of(example['check'])} {name_of(answer)}")


def others() -> Iterator[Any]:
    for file, example in ALL:
        for key, result in (("fails", "failed"), ("no_evidence", "no_evidence")):
            for answer, words in example.get(key, ()):
                label = f"{file} {name_of(example['check'])} {name_of(answer)}"
                yield pytest.param(example, answer, result, words, id=label)


@pytest.mark.parametrize(("example", "answer"), list(passing()))
def test_an_answer_that_is_said_to_pass_passes(example: dict[str, Any], answer: Any) -> None:
    found = outcome(example, answer)
    assert (found.result, found.message) == ("passed", "")


@pytest.mark.parametrize(("example", "answer", "result", "words"), list(others()))
def test_an_answer_that_is_not_to_pass_is_told_why(
    example: dict[str, Any], answer: Any, result: str, words: str
) -> None:
    found = outcome(example, answer)
    assert found.result == result
    assert words in found.message


@pytest.mark.parametrize("example", [example for _, example in ALL], ids=lambda example: name_of(example["check"]))
def test_every_example_is_a_valid_check(example: dict[str, Any]) -> None:
    data = {"schema": 1, "id": "greet", "input": "Hello", "outcome": [example["check"]]}
    assert schemas.is_valid("case", data)
    assert list(faults(example["check"])) == []


@given(
    st.sampled_from([example for _, example in ALL]),
    json_values | st.text() | st.text('{}[]",:1e9\x1b[m$€ .-/`~\n') | st.from_regex(r"\$?[0-9.,' /-]{1,12}(€|EUR)?"),
)
@steady
def test_every_check_decides_on_any_answer(example: dict[str, Any], output: Any) -> None:
    assert outcome(example, output).result in ("passed", "failed", "no_evidence")


@given(st.decimals(min_value=0, max_value=10**9, places=2), st.sampled_from(["EUR", "USD", "JPY"]))
@steady
def test_an_amount_is_the_same_however_it_is_written(value: Decimal, currency: str) -> None:
    english = f"{value:,.2f}"
    european = english.translate(str.maketrans(",.", ".,"))
    french = english.replace(",", "\u202f").replace(".", ",")
    for text in (f"{currency} {english}", f"{european} {currency}", f"{french} {currency}", f"{value} {currency}"):
        example = {"check": {"money": f"{value} {currency}"}}
        assert outcome(example, f"That is {text}, thank you.").result == "passed", text


@given(st.dates(min_value=dt.date(1900, 1, 1), max_value=dt.date(2999, 12, 31)))
@steady
def test_a_day_is_the_same_however_it_is_written(day: dt.date) -> None:
    example = {"check": {"date": {"on": str(day), "order": "mdy"}}}
    month = f"{day:%B}"
    for text in (str(day), f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", f"{day:%m/%d/%Y}"):
        assert outcome(example, f"It is due on {text}.").result == "passed", text


@pytest.mark.parametrize(("check", "words"), FAULTS, ids=name_of)
def test_a_check_that_cannot_work_is_told_before_anything_runs(check: dict[str, Any], words: str) -> None:
    assert schemas.is_valid("case", {"schema": 1, "id": "greet", "input": "Hello", "outcome": [check]})
    assert words in "; ".join(told for _, _, told in faults(check))


@pytest.mark.parametrize("name", CHECKS)
def test_every_kind_of_check_is_in_the_docs_with_an_example_that_is_tested(name: str) -> None:
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}` |")]
    assert rows == [row(name)]


def row(name: str) -> str:
    """The line of the table in docs/checks.md: what the registry says, and the first example that has a passing answer."""
    example = first_example(name)
    answer = json.dumps(example["passes"][0], ensure_ascii=False) if "passes" in example else "…"
    shown = inline(example["check"]).replace("|", "\\|")
    return f"| `{name}` | {kind(name).holds} | `{shown}` | `{answer}` |"


def first_example(name: str) -> dict[str, Any]:
    if name == "language":
        return {"check": {"language": "en"}, "passes": ["You have 30 days to return it."]}
    return next(example for _, example in ALL if name in example["check"])


def inline(value: Any) -> str:
    """A value as one line of YAML, quotes only where they are needed."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inline(key)}: {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    text = value if isinstance(value, str) else json.dumps(value)
    reading = read("x.yaml", f"a: [{text}]".encode()) if isinstance(value, str) else None
    is_plain = reading is None or (reading.document is not None and reading.document.data == {"a": [value]})
    return text if is_plain else f"'{text}'"


if __name__ == "__main__":
    print("\n".join(map(row, CHECKS)))
