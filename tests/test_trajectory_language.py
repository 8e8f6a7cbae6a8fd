"""The language of trajectories: every example of tests/examples/trajectory.yaml, which the documentation shows too.

`python tests/test_trajectory_language.py` writes the tables of docs/trajectory.md anew.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agenteval_cli import schemas, yaml_reader
from agenteval_cli.case import case_from
from agenteval_cli.finding import CheckResult
from agenteval_cli.trajectory import RULES, checked
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "trajectory.md"
OF_THE_TRANSCRIPT = frozenset({"messages", "reasoning", "claimed"})
TABLE = re.compile(r"<!-- examples: (\w+) -->\n(.*?)<!-- end -->", re.DOTALL)

Example = dict[str, Any]


def parsed(text: str) -> Any:
    reading = yaml_reader.read("example", text.encode())
    assert reading.document is not None, reading.problems
    return reading.document.data


EXAMPLES: dict[str, list[Example]] = parsed(
    (ROOT / "tests" / "examples" / "trajectory.yaml").read_text(encoding="utf-8")
)


def tool_call(said: Any) -> ToolCall:
    """A call from its short form: `look`, `look!`, `look?` or `{look: {id: 1}, agent: a}`."""
    facts = {said: {}} if isinstance(said, str) else dict(said)
    name = next(iter(facts))
    ended: dict[str, Any] = {"!": {"error": "it broke"}, "?": {}}.get(name[-1], {"result": "done"})
    return ToolCall(name=name.rstrip("!?"), arguments=facts.pop(name), **facts, **ended)


def tool_calls(said: list[Any] | None) -> tuple[ToolCall, ...] | None:
    return None if said is None else tuple(map(tool_call, said))


def transcript(example: Example, context: dict[str, Any]) -> Transcript:
    reasoning, messages = context.get("reasoning"), context.get("messages")
    return Transcript(
        output="Done.",
        tool_calls=tool_calls(parsed(example["calls"])),
        observed="claimed" in context,
        reported_calls=tool_calls(context.get("claimed")),
        messages=None if messages is None else tuple(messages),
        reasoning=None if reasoning is None else tuple(msgspec.convert(reasoning, list[ReasoningStep])),
    )


def results(rule: str, example: Example) -> list[CheckResult]:
    context = parsed(example["with"]) if "with" in example else {}
    keys = {key: value for key, value in context.items() if key not in OF_THE_TRANSCRIPT}
    trajectory = {rule: parsed(example["rule"])} if "rule" in example else {}
    data = {"schema": 1, "id": "greet", **({} if "turns" in keys else {"input": "Hello"}), **keys}
    data |= {"trajectory": trajectory} if trajectory else {}
    assert schemas.is_valid("case", data), list(schemas.explanations("case", data))
    return list(checked(case_from("cases/greet.yaml", data).trajectory, transcript(example, context)))


@pytest.mark.parametrize(
    ("rule", "number"), [(rule, number) for rule, items in EXAMPLES.items() for number in range(len(items))]
)
def test_an_example_gives_what_it_says(rule: str, number: int) -> None:
    example = EXAMPLES[rule][number]
    found = results(rule, example)
    assert [result.result for result in found] == example["gives"]
    assert {result.name.removeprefix("trajectory.").split(".")[0].split("[")[0] for result in found} <= {rule}
    if "says" in example:
        assert example["says"] in [result.message for result in found]
    assert all(result.message for result in found if result.result != "passed")


def test_every_rule_has_examples_of_what_holds_and_what_does_not() -> None:
    assert set(EXAMPLES) == set(RULES)
    for rule, items in EXAMPLES.items():
        given = {result for example in items for result in example["gives"]}
        assert given >= {"passed", "failed"}, rule


# ---- the tables of the documentation


def table(rule: str) -> str:
    rows = ["| rule | calls | gives |", "| --- | --- | --- |"]
    for example in EXAMPLES[rule]:
        said = f"`{example['rule']}`" if "rule" in example else "not said"
        came = "not reported" if example["calls"] == "null" else f"`{example['calls']}`"
        given = ", ".join(example["gives"]).replace("_", " ") or "nothing is told"
        words = f": {example['says']}" if "says" in example else ""
        context = f"<br>`{example['with']}`" if "with" in example else ""
        rows.append(f"| {said} | {came}{context} | {given}{words} |".replace("<br>|", "|"))
    return "\n".join(rows) + "\n"


def with_tables(text: str) -> str:
    return TABLE.sub(lambda found: f"<!-- examples: {found[1]} -->\n{table(found[1])}<!-- end -->", text)


def test_the_documentation_shows_these_examples() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert [found[1] for found in TABLE.finditer(text)] == list(RULES)
    assert text == with_tables(text)


if __name__ == "__main__":
    DOCS.write_text(with_tables(DOCS.read_text(encoding="utf-8")), encoding="utf-8")
