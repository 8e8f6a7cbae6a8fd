"""Where two conversations part: examples as data, and the words that a diff prints."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Repo

from agenteval_cli.talk import AGENT_ENDED, MAX_TURNS, USER_DONE, Talk
from agenteval_cli.talk_diff import Conversed, talk_diff
from agenteval_cli.transcript import Transcript

USER, AGENT = ("Hello", "5678"), ("Which order?", "Done.")


def conversed(said: tuple[Any, ...] = USER, answers: tuple[Any, ...] = AGENT, stop: str | None = None) -> Conversed:
    return Conversed(1, Talk(said=said, stop=stop), [Transcript(output=answer) for answer in answers])


@pytest.mark.parametrize(
    ("head", "turn", "difference", "words", "texts"),
    [
        (conversed(), None, "same", "every turn is the same", (None, None)),
        (conversed(("Hi", "5678")), 1, "user", "the user says something else", ("Hello", "Hi")),
        (
            conversed(answers=("Which order?", "No.")),
            2,
            "agent",
            "the agent answers something else",
            ("Done.", "No."),
        ),
        (
            conversed(answers=("Which one?", "No.")),
            1,
            "agent",
            "the agent answers something else",
            ("Which order?", "Which one?"),
        ),
        (
            conversed((*USER, "Thanks"), (*AGENT, "Bye")),
            3,
            "end",
            "base ends after 2 turns: its words were over",
            (None, "Thanks"),
        ),
        (
            conversed(("Hello",), ("Which order?",), AGENT_ENDED),
            2,
            "end",
            "head ends after 1 turn: the agent ended it",
            ("5678", None),
        ),
        (
            conversed(answers=("Which order?",)),
            2,
            "end",
            "in head the agent does not answer any more",
            ("Done.", None),
        ),
        (
            conversed(stop=MAX_TURNS),
            2,
            "end",
            "base: its words were over, head: there were as many turns as there may be",
            (None, None),
        ),
        (
            conversed(answers=("Which order?", {"a": 1})),
            2,
            "agent",
            "the agent answers something else",
            ("Done.", '{"a": 1}'),
        ),
    ],
)
def test_the_first_turn_that_is_not_the_same(
    head: Conversed, turn: int | None, difference: str, words: str, texts: tuple[str | None, str | None]
) -> None:
    found = talk_diff(conversed(), head)
    assert (found.turn, found.difference, found.words, (found.base, found.head)) == (turn, difference, words, texts)


def test_numbers_of_the_same_value_and_null_are_compared_as_answers() -> None:
    one, other = conversed(answers=({"n": 1}, None)), conversed(answers=({"n": 1.0}, None))
    assert talk_diff(one, other).difference == "same"
    found = talk_diff(one, conversed(answers=({"n": 1}, "null")))
    assert (found.turn, found.base, found.head) == (2, "null", "null")


def test_the_same_end_of_a_simulated_user_is_the_same() -> None:
    assert talk_diff(conversed(stop=USER_DONE), conversed(stop=USER_DONE)).turn is None


AGENT_PROGRAM = """\
import json, pathlib, sys
request = json.load(sys.stdin)
words = ["Which order?", pathlib.Path(sys.argv[0]).with_name("second.txt").read_text()]
print(json.dumps({"output": words[sum(message["role"] == "user" for message in request["messages"]) - 1]}))
"""


@pytest.mark.slow
def test_a_diff_tells_the_turn_at_which_two_conversations_part(repo: Repo) -> None:
    repo.write("agent.py", AGENT_PROGRAM)
    repo.write("second.txt", "It is refunded.")
    (repo.root / "cases" / "says-hello.yaml").unlink()
    repo.write(
        "cases/refund.yaml",
        "schema: 1\nid: refund\ntitle: Refunds\ntier: smoke\n"
        "turns:\n- user: I want my money back.\n- user: It is 5678.\n  outcome: [{contains: refunded}]\n",
    )
    assert repo.run("run").code == 0
    repo.write("second.txt", "I do not know it.")
    assert repo.run("run").code == 1
    done = repo.run("diff", "previous", "latest")
    assert "conversation parts at turn 2 (attempt 1 → 1): the agent answers something else" in done.out
    assert done.out.count("I do not know it.") == 1, "the last answers are those that part, and are shown once"
    (case,) = repo.run("diff", "previous", "latest", "--json").json["diff"]["cases"]
    assert (case["conversation"]["turn"], case["conversation"]["head"]) == (2, "I do not know it.")
    for kind in ("markdown", "html"):
        report = repo.run("report", "previous..latest", "--format", kind)
        assert "conversation parts at turn 2" in report.out, kind
