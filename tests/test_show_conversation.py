"""`agenteval show` of a conversation: a dialogue with the verdicts of each turn in its margin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Repo
from dialogues import ANSWERS, CASE, CHECKS, SAID, conversed, record_of, replayed, script, simulated, write_run

from agenteval_cli.finding import CheckResult
from agenteval_cli.records import TranscriptRecord
from agenteval_cli.talk import AGENT_ENDED, LOOP, MAX_TURNS, REPLAY_OVER, Replay, UserCall
from agenteval_cli.transcript import Transcript


def shown(repo: Repo, record: TranscriptRecord, *options: str, **changes: object) -> str:
    """What the command prints from the attempt's first line on."""
    write_run(repo.root / ".agenteval" / "runs", conversed(**changes), record)  # type: ignore[arg-type]
    done = repo.run("show", CASE, "--run", "latest", "--attempt", "1", *options)
    assert done.code == 0, done
    return done.out.split("\n\n", 1)[1]


def test_a_conversation_reads_as_a_dialogue_with_the_verdicts_of_each_turn_in_the_margin(repo: Repo) -> None:
    assert shown(repo, record_of(simulated())).splitlines()[2:] == [
        "  user: (turn 1, simulated by shopper)",
        "    I want to return a kettle.",
        "  agent: (turn 1)",
        "    Which order?",
        "✓ turns[0].outcome[0].contains",
        "  user: (turn 2, simulated by shopper)",
        "    It is 5678.",
        '  1. get_order({"order_id": "5678"}) → {"paid": true}',
        "  agent: (turn 2)",
        "    It was paid.",
        '✗ turns[1].outcome[0].contains: no "refund" in it',
        '      expected  "refund"',
        "  user: (turn 3, simulated by shopper)",
        "    Yes, please.",
        "  agent: (turn 3)",
        "    Done, goodbye.",
        "  the end, after 3 answered turns: the user was done (user_done)",
        "  of the whole:",
        "  passed outcome[0].contains",
        "  2 of 3 checks passed",
    ]


def test_the_words_of_a_script_are_told_once_and_need_no_end(repo: Repo) -> None:
    out = shown(repo, record_of(script()))
    assert [out.count(words) for words in SAID] == [1, 1, 1]
    assert re.findall(r"user: \((.*)\)", out) == ["turn 1", "turn 2", "turn 3"]
    assert "simulated" not in out
    assert "the end" not in out


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        (MAX_TURNS, "there were as many turns as there may be (max_turns)"),
        (AGENT_ENDED, "the agent ended it (agent_ended)"),
        (LOOP, "it went round in a loop (loop)"),
        (REPLAY_OVER, "the words to be replayed were over (replay_over)"),
        (None, "it broke off\n"),
    ],
)
def test_why_it_stopped_is_told_in_plain_words(repo: Repo, stop: str | None, words: str) -> None:
    assert f"the end, after 3 answered turns: {words}" in shown(repo, record_of(simulated(stop=stop)))


@pytest.mark.parametrize(
    ("replay", "words"),
    [
        (Replay("20261101", 2), "attempt 2; to the end the words fitted what was answered"),
        (Replay("20261101", 2, 3, '"Which?" was "Who?"'), 'from turn 3 on they may not fit: "Which?" was "Who?"'),
    ],
)
def test_a_replay_says_from_which_turn_on_it_made_no_sense(repo: Repo, replay: Replay, words: str) -> None:
    out = shown(repo, record_of(replayed(replay)))
    assert "user: (turn 2, replayed)" in out
    assert "the words of shopper were replayed from run 20261101, attempt 2; " in out
    assert words in out


def test_a_turn_without_an_answer_ends_the_dialogue_and_keeps_what_was_before(repo: Repo) -> None:
    checks = (*CHECKS[1:], CheckResult("turns[2].outcome[0].contains", "outcome", "no_evidence", "no answer", turn=3))
    out = shown(repo, record_of(script(), ANSWERS[:2]), status="timeout", checks=checks)
    tail = out[out.index("  user: (turn 3)") :].splitlines()
    assert tail == [
        "  user: (turn 3)",
        "    Yes, please.",
        "  agent: (turn 3) gave no answer",
        "? turns[2].outcome[0].contains: no answer",
        "  1 of 3 checks passed",
    ]
    assert "✓ turns[0].outcome[0].contains" in out


def test_a_user_that_falls_out_of_its_role_is_told_with_its_last_reply(repo: Repo) -> None:
    calls = (UserCall(turn=2, reply="My password is hunter2."),)
    record = record_of(simulated(said=SAID[:1], stop=None, calls=calls), ANSWERS[:1])
    out = shown(repo, record, status="ungraded", checks=())
    assert "after 1 answered turn: it broke off\n" in out
    assert "the last reply of shopper: My password is hunter2." in out
    assert "gave no answer" not in out, "the agent was not asked"


def test_a_check_of_a_turn_that_there_was_not_is_told_with_the_whole(repo: Repo) -> None:
    checks = (CheckResult("outcome[0].contains", "outcome", "failed", "there was no such turn", turn=9),)
    assert "  failed outcome[0].contains (turn 9): there was no such turn" in shown(
        repo, record_of(simulated()), checks=checks
    )


def test_records_without_the_words_of_the_user_are_shown(repo: Repo) -> None:
    out = shown(repo, record_of(None, format=1))
    assert "  agent: (turn 3)\n    Done, goodbye." in out
    assert "It is 5678." not in out


def test_a_user_that_said_nothing_leaves_a_dialogue_of_what_was_said_before(repo: Repo) -> None:
    before = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "How can I help?"}]
    record = record_of(simulated(said=(), stop=None), (), request={"messages": before})
    out = shown(repo, record, status="ungraded", checks=())
    assert out.splitlines()[1:6] == [
        "  user:",
        "    Hi",
        "  assistant:",
        "    How can I help?",
        "  the end, after 0 answered turns: it broke off",
    ]


def test_calls_that_were_made_before_the_case_begins_are_in_the_dialogue(repo: Repo) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"order_id": "5678"}'}}
    before = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "paid"},
        {"role": "assistant", "content": "One moment.", "tool_calls": [{"name": "refund", "arguments": {"n": 1}}]},
        {"role": "user", "content": "And now?"},
    ]
    out = shown(repo, record_of(None, ANSWERS[:1], request={"messages": before}), status="passed", checks=())
    assert out.splitlines()[1:9] == [
        "  assistant:",
        '    calls get_order({"order_id": "5678"})',
        "  tool:",
        "    paid",
        "  assistant:",
        "    One moment.",
        "  assistant:",
        '    calls refund({"n": 1})',
    ]


def test_a_margin_has_a_sign_for_every_terminal(repo: Repo) -> None:
    write_run(repo.root / ".agenteval" / "runs", conversed(), record_of(simulated()))
    out = repo.run("show", CASE, "--run", "latest", PYTHONIOENCODING="ascii").out
    assert "\n+ turns[0].outcome[0].contains\n" in out
    assert "\nx turns[1].outcome[0].contains" in out


def test_what_the_user_and_the_agent_say_does_nothing(repo: Repo, tmp_path: Path) -> None:
    bad = "\x1b[31m\x9b2J\u202e\r::error::x"
    turns = (Transcript(output=bad), Transcript(output=bad))
    replay = Replay(bad, 1, 2, bad)
    talk = replayed(replay)
    record = record_of(type(talk)(said=(bad, bad), user=bad, stop=bad, replay=replay), turns)
    checks = (CheckResult(bad, "outcome", "failed", bad, bad, bad, turn=2),)
    assert not set(shown(repo, record, checks=checks)) & set("\x1b\x9b\u202e\r")


def test_quiet_leaves_the_dialogue_out_and_no_check(repo: Repo) -> None:
    out = shown(repo, record_of(simulated()), "--quiet")
    assert "It is 5678." not in out
    assert "  failed turns[1].outcome[0].contains (turn 2)" in out
