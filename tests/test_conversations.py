"""Conversations of several turns, through the installed command: scripts, simulated users, and words said again."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import ROOT, Done, Repo

from agenteval_cli.replaying import apart
from agenteval_cli.talk import Exchange, Recorded

# It remembers nothing: what it knows stands in the request. It says what it got, and acts on some words.
CLERK = """
import json, os, sys, time

def answer(request):
    said = request["input"]
    users = [message["content"] for message in request["messages"] if message["role"] == "user"]
    if "crash" in said:
        sys.exit(3)
    if "sleep" in said:
        time.sleep(30)
    if "bye" in said:
        return {"output": "Goodbye.", "ended": True, "tool_calls": []}
    if "again" in said:
        return {"output": "Please hold the line.", "tool_calls": []}
    number = next((word for text in users for word in text.split() if word.isdigit()), None)
    if number is None:
        return {"output": "What is your order number?", "tool_calls": []}
    if "refund" not in " ".join(users):
        return {"output": f"Order {number}: what shall I do?", "tool_calls": []}
    calls = [{"name": "refund", "arguments": {"order": number}, "result": "done"}]
    return {"output": f"Order {number} is refunded.", "tool_calls": calls, "state": {"turns": len(users)}}

json.dump(answer(json.load(sys.stdin)), sys.stdout)
"""

STAYING_CLERK = CLERK.replace(
    "json.dump(answer(json.load(sys.stdin)), sys.stdout)",
    """
for line in sys.stdin:
    said = answer(json.loads(line))
    said["output"] += f" [{os.getpid()}]"
    print(json.dumps(said), flush=True)
""",
)

SIMULATED = """
schema: 1
id: {id}
tier: {tier}
simulation:
  user_prompt: A customer who wants a refund and is short of time.
  opening: I want a refund.
  knows: {order: "5678"}
  script:
    - {when: {contains: order number}, say: "It is {{order}} ."}
    - {when: {contains: refunded}, done: true}
outcome:
  - {contains: 5678 is refunded}
  - {stop: user_done}
trajectory: {required: [{tool: refund, arguments: {order: "5678"}}]}
"""


@pytest.fixture
def clerk(repo: Repo) -> Repo:
    repo.agent(CLERK)
    for path in (repo.root / "cases").glob("*.yaml"):
        path.unlink()
    return repo


def attempts(repo: Repo, run: int = -1) -> list[dict[str, Any]]:
    lines = (repo.runs()[run] / "attempts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def transcripts(repo: Repo, run: int = -1) -> list[dict[str, Any]]:
    lines = (repo.runs()[run] / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def only(repo: Repo, *arguments: str) -> tuple[Done, dict[str, Any], dict[str, Any]]:
    """One attempt of one case: what the command printed, the attempt, and its transcript."""
    done = repo.run("run", "--attempts", "1", *arguments)
    [attempt] = attempts(repo)
    [transcript] = transcripts(repo)
    return done, attempt, transcript


# ---- scripts


def test_the_agents_own_answers_are_the_history_and_the_state_goes_on(clerk: Repo) -> None:
    clerk.case(
        "refund",
        """
        schema: 1
        id: refund
        state: {turns: 0}
        turns:
          - {user: I want a refund., outcome: [{contains: order number}], trajectory: {forbidden: [refund]}}
          - {user: It is 5678 ., outcome: [{contains: is refunded}], trajectory: {required: [refund]}}
        outcome: [{state: {turns: 2}}, {contains: number, turn: 1}]
        """,
    )
    done, attempt, transcript = only(clerk)
    assert done.code == 0, done
    assert attempt["turns"] == 2
    assert "stop" not in attempt
    assert transcript["talk"] == {"said": ["I want a refund.", "It is 5678 ."]}
    turns = {check["name"]: check.get("turn") for check in attempt["checks"]}
    assert turns == {
        "outcome[0].state": None,
        "outcome[1].contains": 1,
        "turns[0].outcome[0].contains": 1,
        "turns[0].trajectory.forbidden[0]": 1,
        "turns[1].outcome[0].contains": 2,
        "turns[1].trajectory.required[0]": 2,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        ("now crash", "agent_error", "turn 2: the agent exited with code 3"),
        ("now sleep", "timeout", "turn 2: the attempt's 1 s were over"),
    ],
)
def test_a_turn_without_an_answer_ends_the_attempt_and_the_turns_before_it_are_kept_and_graded(
    clerk: Repo, words: str, status: str, reason: str
) -> None:
    clerk.case(
        "broken",
        f"""
        schema: 1
        id: broken
        limits: {{timeout: 1s}}
        turns:
          - {{user: Hello., outcome: [{{contains: order number}}, {{contains: Good morning}}]}}
          - {{user: {words}, outcome: [{{contains: x}}]}}
          - {{user: never said, outcome: [{{contains: x}}]}}
        """,
    )
    done, attempt, transcript = only(clerk)
    assert done.code == 1, done
    assert (attempt["status"], attempt["outcome"], attempt["reason"]) == (status, "failed", reason)
    assert [(check["name"], check["result"]) for check in attempt["checks"]] == [
        ("turns[0].outcome[0].contains", "passed"),
        ("turns[0].outcome[1].contains", "failed"),
    ]
    assert "transcript" not in transcript
    assert [turn["output"] for turn in transcript["turns"]] == ["What is your order number?"]
    assert transcript["talk"]["said"] == ["Hello.", words]
    shown = clerk.run("show", "broken", "--run", "latest", "--attempt", "1")
    assert "What is your order number?" in shown.out, shown
    assert words in shown.out


@pytest.mark.slow
def test_turns_that_were_kept_are_graded_again_when_only_their_checks_changed(clerk: Repo) -> None:
    text = """
    schema: 1
    id: broken
    turns:
      - {user: Hello., outcome: [{contains: WORDS}]}
      - {user: now crash, outcome: [{contains: x}]}
    """
    clerk.case("broken", text.replace("WORDS", "Good morning"))
    assert only(clerk)[1]["outcome"] == "failed"
    clerk.case("broken", text.replace("WORDS", "order number"))
    done = clerk.run("grade", "--run", "latest")
    assert done.code == 1, done
    [attempt] = attempts(clerk)
    assert (attempt["status"], attempt["outcome"]) == ("agent_error", "not_checked")
    assert attempt["checks"][0]["result"] == "passed"


def test_a_jsonl_agent_keeps_its_process_through_a_conversation(clerk: Repo) -> None:
    clerk.agent(STAYING_CLERK, config="protocol: jsonl\nconcurrency: 4")
    for name in ("one", "two", "three", "four"):
        clerk.case(name, SIMULATED.replace("{contains: 5678 is refunded}", "{contains: is refunded}"))
    done = clerk.run("run", "--attempts", "3")
    assert done.code == 0, done
    for record in transcripts(clerk):
        processes = {turn["output"].rpartition("[")[2] for turn in record["turns"]}
        assert len(processes) == 1


# ---- simulated users


def test_a_scripted_user_talks_with_the_agent_until_it_has_what_it_wants(clerk: Repo) -> None:
    clerk.case("refund", SIMULATED)
    done, attempt, transcript = only(clerk)
    assert done.code == 0, done
    assert (attempt["status"], attempt["turns"], attempt["stop"]) == ("passed", 2, "user_done")
    assert transcript["talk"] == {
        "said": ["I want a refund.", "It is 5678 ."],
        "user": "scripted",
        "stop": "user_done",
    }
    assert [message["content"] for message in transcript["request"]["messages"]] == ["I want a refund."]
    run = json.loads((clerk.runs()[-1] / "run.json").read_text(encoding="utf-8"))
    assert [user["name"] for user in run["users"]] == ["scripted"]
    assert run["plan"][0]["user"] == "scripted"


def test_the_agent_sees_only_what_the_user_says(clerk: Repo) -> None:
    clerk.agent(
        """
        import json, os, sys
        raw = sys.stdin.read()
        open(os.environ["SPY"], "a").write(raw + json.dumps(dict(os.environ)))
        json.dump({"output": "Anything else?", "tool_calls": []}, sys.stdout)
        """,
        config=f"env: {{set: {{SPY: '{clerk.root.parent / 'seen'}'}}}}",
    )
    clerk.case(
        "spy",
        """
        schema: 1
        id: spy
        simulation:
          user_prompt: SECRET-persona
          knows: {name: SECRET-known}
          must_not_reveal: [SECRET-hidden]
          ends_when: SECRET-end
          max_turns: 2
          script: [{say: Hello there., times: 1}, {say: Nothing else.}]
          criteria: [SECRET-criterion]
        outcome: [{contains: Anything}, {not_contains: SECRET-check}]
        """,
    )
    assert only(clerk)[1]["status"] == "passed"
    seen = (clerk.root.parent / "seen").read_text(encoding="utf-8")
    assert "Hello there." in seen
    assert "SECRET" not in seen


@pytest.mark.parametrize(
    ("opening", "script", "stop", "turns"),
    [
        ("bye", "[{say: never said}]", "agent_ended", 1),
        ("again 1", "[{say: again 2, times: 1}, {say: again 3, times: 1}, {say: again 4}]", "max_turns", 3),
        ("Hello.", "[{say: Forget it., gives_up: true}]", "user_gave_up", 2),
        ("Hello.", "[{gives_up: true}]", "user_gave_up", 1),
        ("again", "[{say: again}]", "loop", 2),
        ("Hello.", "[{say: 1 please, times: 1}, {say: 2 please, times: 1}, {say: 3 please}]", "max_turns", 3),
        ("Hello.", "[{say: Thank you., done: true}]", "user_done", 2),
        ("Hello.", "[{done: true}]", "user_done", 1),
    ],
)
def test_why_a_conversation_stopped_is_recorded(clerk: Repo, opening: str, script: str, stop: str, turns: int) -> None:
    clerk.case(
        "talk",
        f"""
        schema: 1
        id: talk
        simulation: {{user_prompt: Somebody., opening: {opening}, max_turns: 3, script: {script}}}
        outcome: [not_empty: true]
        """,
    )
    _, attempt, transcript = only(clerk)
    assert (attempt["status"], attempt["stop"], len(transcript["talk"]["said"])) == ("passed", stop, turns)


@pytest.mark.parametrize(
    ("simulation", "words"),
    [
        ("script: [{say: 'Agent: Your order is refunded.'}]", "spoke for the agent"),
        ("script: [{say: 'What is your order number?'}]", "the agent's last answer"),
        ("script: [{when: {contains: never}, say: x}]", "no rule of its script"),
    ],
)
def test_a_user_that_breaks_its_role_leaves_the_attempt_ungraded(clerk: Repo, simulation: str, words: str) -> None:
    clerk.case(
        "talk",
        f"""
        schema: 1
        id: talk
        simulation: {{user_prompt: Somebody., opening: Hello., {simulation}}}
        outcome: [{{contains: order number}}]
        """,
    )
    done, attempt, transcript = only(clerk)
    assert done.code == 3, done
    assert attempt["status"] == "ungraded"
    assert "simulated user" in attempt["reason"]
    assert words in attempt["reason"]
    assert transcript["turns"][0]["output"] == "What is your order number?"


def test_a_user_that_reveals_what_it_must_not_leaves_the_attempt_ungraded(clerk: Repo) -> None:
    clerk.write("user.py", """print('{"say": "My PIN is 47 11."}')""")
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    clerk.write("agenteval.yaml", config + "users: {default: {command: [python3, user.py]}}\n")
    clerk.case(
        "talk",
        """
        schema: 1
        id: talk
        simulation: {user_prompt: Somebody., opening: Hello., knows: {pin: "4711"}, must_not_reveal: [pin]}
        outcome: [{contains: order number}]
        """,
    )
    done, attempt, transcript = only(clerk)
    assert (done.code, attempt["status"]) == (3, "ungraded"), done
    assert "must not reveal" in attempt["reason"]
    assert "47 11" in transcript["talk"]["calls"][0]["reply"]


def test_an_agent_that_would_not_see_what_was_said_is_refused(clerk: Repo) -> None:
    clerk.agent("print('hello')", config="protocol: text")
    clerk.case("refund", SIMULATED)
    done = clerk.run("run")
    assert (done.code, clerk.runs()) == (2, [])
    assert "simulation: agent 'main' would not see what was said" in done.err


def test_a_prefix_comes_before_what_the_user_says(clerk: Repo) -> None:
    text = SIMULATED.replace(
        "simulation:",
        "conversation: [{role: user, content: Hi}, {role: assistant, content: How can I help?}]\nsimulation:",
    )
    clerk.case(
        "refund",
        text.replace("  opening: I want a refund.\n", "").replace(
            "  script:\n", "  script:\n    - {when: {contains: How can}, say: I want a refund.}\n"
        ),
    )
    done, attempt, transcript = only(clerk)
    assert (done.code, attempt["turns"]) == (0, 2), done
    assert [message["content"] for message in transcript["request"]["messages"]] == [
        "Hi",
        "How can I help?",
        "I want a refund.",
    ]


def test_variables_fill_the_simulation(clerk: Repo) -> None:
    clerk.case(
        "refund",
        SIMULATED.replace("tier:", "variables: [{name: wish, value: a refund}]\ntier:").replace(
            "opening: I want a refund.", 'opening: "I want {{wish}}."'
        ),
    )
    assert only(clerk)[2]["talk"]["said"][0] == "I want a refund."


def test_a_command_plays_the_user_and_is_told_nothing_of_what_is_expected(clerk: Repo) -> None:
    clerk.write(
        "user.py",
        """
        import json, os, sys
        raw = sys.stdin.read()
        open(os.environ["SPY"], "a").write(raw)
        asked = json.loads(raw)
        last = asked["messages"][-1]["content"] if asked["messages"] else ""
        said = {"": "I want a refund.", "What is your order number?": f"It is {asked['knows']['order']} ."}.get(last)
        json.dump({"say": said, "done": said is None, "usage": {"input_tokens": 7, "output_tokens": 2}}, sys.stdout)
        """,
    )
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    spy = clerk.root.parent / "user-saw"
    clerk.write(
        "agenteval.yaml",
        config
        + f"users: {{default: {{command: [python3, user.py], source: [user.py], env: {{set: {{SPY: '{spy}'}}}}}}}}\n",
    )
    clerk.case(
        "refund",
        """
        schema: 1
        id: refund
        simulation:
          user_prompt: A customer.
          knows: {order: "5678"}
          criteria: [SECRET-criterion]
        outcome: [{contains: refunded}, {not_contains: SECRET-check}, {stop: user_done}]
        """,
    )
    done, attempt, transcript = only(clerk)
    assert (done.code, attempt["turns"], attempt["stop"]) == (0, 2, "user_done"), done
    assert "SECRET" not in spy.read_text(encoding="utf-8")
    calls = transcript["talk"]["calls"]
    assert [(call["turn"], call["input_tokens"]) for call in calls] == [(1, 7), (2, 7), (3, 7)]
    assert "I want a refund." in calls[0]["reply"]
    assert "what default used: 27 tokens" in clerk.run("show", "refund", "--run", "latest", "--attempt", "1").out
    assert clerk.run("run", "--since", "latest", "--attempts", "1", "--dry-run", "--json").json["to_run"] == 0
    clerk.write("user.py", "raise SystemExit(1)\n")
    again = clerk.run("run", "--since", "latest", "--attempts", "1", "--dry-run", "--json").json
    assert again["to_run"] == 1
    assert "the simulated user has changed" in again["plan"][0]["reason"]


# ---- the words of an earlier run


def test_two_agents_are_compared_on_the_same_words(clerk: Repo) -> None:
    clerk.case("refund", SIMULATED)
    assert clerk.run("run", "--attempts", "2").code == 0
    first = clerk.runs()[-1].name
    clerk.agent(CLERK.replace("What is your order number?", "By which order number can we find it?"))
    done = clerk.run("run", "--attempts", "2", "--replay-user", "latest")
    assert done.code == 0, done
    record = json.loads((clerk.runs()[-1] / "run.json").read_text(encoding="utf-8"))
    assert record["replays"] == first
    by_number = sorted(attempts(clerk), key=lambda attempt: attempt["attempt"])
    assert [attempt["replay"] for attempt in by_number] == [{"run": first, "attempt": number} for number in (1, 2)]


def test_a_replay_says_at_which_turn_it_stopped_making_sense(clerk: Repo) -> None:
    clerk.case("refund", SIMULATED)
    assert clerk.run("run", "--attempts", "1").code == 0
    clerk.agent(CLERK.replace("What is your order number?", "We are closed on Sundays."))
    done, attempt, _ = only(clerk, "--replay-user", "latest")
    assert attempt["replay"]["apart_at"] == 2
    assert "from turn 2 on the replayed words may not fit" in attempt["notes"][0]
    assert (
        "in 1 attempt the replayed words stopped fitting the answers, earliest from turn 2 on in refund #1" in done.err
    )
    assert "We are closed on Sundays." in attempt["replay"]["why"]
    assert "turn 2" in clerk.run("show", "refund", "--run", "latest", "--attempt", "1").out


def test_a_run_without_the_words_cannot_be_replayed(clerk: Repo) -> None:
    clerk.case("refund", SIMULATED)
    assert clerk.run("run", "--attempts", "1").code == 0
    first = clerk.runs()[-1].name
    clerk.case("other", SIMULATED)
    clerk.case("plain")
    done = clerk.run("run", "--replay-user", "latest", "--case", "other")
    assert (done.code, "has no conversation of the selected cases to replay" in done.err) == (2, True)
    done = clerk.run("run", "--replay-user", "latest", "--attempts", "1")
    assert done.code == 1, done
    found = {attempt["case"]: attempt for attempt in attempts(clerk)}
    assert {name: attempt["status"] for name, attempt in found.items()} == {
        "refund": "passed",
        "other": "ungraded",
        "plain": "failed",
    }
    assert f"{first} has no whole conversation of this case to replay" in found["other"]["reason"]
    done = clerk.run("run", "--case", "plain", "--replay-user", "latest")
    assert (done.code, "none of the selected cases has a simulated user" in done.err) == (2, True)
    done = clerk.run("run", "--since", "latest", "--replay-user", "latest")
    assert (done.code, "leave one out" in done.err) == (2, True)


def test_a_replay_that_was_stopped_goes_on_with_the_same_words(clerk: Repo) -> None:
    clerk.case("refund", SIMULATED)
    assert clerk.run("run", "--attempts", "3").code == 0
    assert clerk.run("run", "--attempts", "3", "--replay-user", "latest", "-j", "1").code == 0
    run = clerk.runs()[-1]
    lines = (run / "attempts.jsonl").read_bytes().splitlines(keepends=True)
    (run / "attempts.jsonl").write_bytes(lines[0])
    record = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**record, "status": "interrupted"}), encoding="utf-8")
    done = clerk.run("run", "--resume", "latest")
    assert done.code == 0, done
    assert sorted(attempt["replay"]["attempt"] for attempt in attempts(clerk)) == [1, 2, 3]


def test_turns_are_counted_as_they_were_whatever_history_the_agent_reports(clerk: Repo) -> None:
    clerk.agent(
        """
        import json, sys
        request = json.load(sys.stdin)
        json.dump({"output": "yes", "messages": request["messages"], "tool_calls": []}, sys.stdout)
        """
    )
    clerk.case(
        "chat",
        """
        schema: 1
        id: chat
        limits: {turns: 3}
        turns: [{user: one}, {user: two}, {user: three}]
        outcome: [{contains: "yes"}]
        """,
    )
    assert only(clerk)[1]["status"] == "passed"


CANCEL = """
schema: 1
id: {id}
tier: {tier}
simulation:
  user_prompt: Somebody who wants an order cancelled.
  opening: Cancel my order.
  script: [{when: {contains: is cancelled}, done: true}, {gives_up: true}]
outcome: [{stop: user_done}]
"""
SAYS = """
import json, sys
request = json.load(sys.stdin)
json.dump({"output": WORDS, "tool_calls": []}, sys.stdout)
"""


def test_a_replay_does_not_stop_as_it_did_when_the_agent_says_something_else(clerk: Repo) -> None:
    clerk.agent(SAYS.replace("WORDS", '"It is cancelled."'))
    clerk.case("cancel", CANCEL)
    assert only(clerk)[1]["status"] == "passed"
    clerk.agent(SAYS.replace("WORDS", '"No."'))
    _, attempt, _ = only(clerk, "--replay-user", "latest")
    assert (attempt["status"], attempt["stop"]) == ("failed", "user_gave_up")


def test_of_a_user_that_goes_by_no_rules_nobody_knows_what_it_would_have_said(clerk: Repo) -> None:
    clerk.agent(SAYS.replace("WORDS", '"Your order is cancelled now."'))
    clerk.write("user.py", """print('{"done": true}')""")
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    clerk.write("agenteval.yaml", config + "users: {default: {command: [python3, user.py]}}\n")
    text = CANCEL.replace("  script: [{when: {contains: is cancelled}, done: true}, {gives_up: true}]\n", "")
    clerk.case("cancel", text)
    assert only(clerk)[1]["status"] == "passed"
    run = clerk.runs()[-1].name
    clerk.write("agent.py", SAYS.replace("WORDS", '"No."'))
    _, attempt, _ = only(clerk, "--replay-user", run)
    assert (attempt["status"], attempt["stop"]) == ("ungraded", "replay_over")
    clerk.write("agent.py", SAYS.replace("WORDS", '"Your order is not cancelled now."'))
    assert only(clerk, "--replay-user", run)[1]["stop"] == "replay_over"
    clerk.write("agent.py", SAYS.replace("WORDS", '" Your order is cancelled  now."'))
    _, attempt, _ = only(clerk, "--replay-user", run)
    assert (attempt["status"], attempt["stop"]) == ("passed", "user_done")


@pytest.mark.parametrize(
    ("was", "is_now", "fits"),
    [
        ("What is your order number?", "What is the number of your order?", True),
        ("ご注文番号を教えていただけますか。", "ご注文番号を教えてください。", True),
        ("ご注文番号を教えていただけますか。", "本日は休業しております。", False),
        ("请问您的订单号是多少?", "请告诉我您的订单号是多少。", True),
        ("请问您的订单号是多少?", "我们今天休息。", False),
    ],
)
def test_the_same_question_in_other_words_still_fits_with_and_without_spaces(was: str, is_now: str, fits: bool) -> None:
    recorded = Recorded(run="r", attempt=1, user="model", said=("a", "b"), answers=(was,))
    assert (apart(recorded, [Exchange("a", is_now)], None) is None) == fits


def test_a_replay_of_an_edited_case_or_of_masked_words_is_ungraded(clerk: Repo) -> None:
    clerk.agent(SAYS.replace("WORDS", '"It is cancelled."'))
    clerk.case("cancel", CANCEL)
    clerk.case("masked", CANCEL.replace("Cancel my order.", "Cancel order 4711-8899."))
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    clerk.write("agenteval.yaml", config + "redact: ['[0-9]{4}-[0-9]{4}']\n")
    assert clerk.run("run", "--attempts", "1").code == 0
    clerk.case("cancel", CANCEL.replace("Cancel my order.", "Please cancel my order."))
    done = clerk.run("run", "--attempts", "1", "--replay-user", "latest", "--case", "cancel")
    assert done.code == 3, done
    assert "the case has been edited since" in attempts(clerk)[0]["reason"]
    done = clerk.run("run", "--attempts", "1", "--replay-user", clerk.runs()[0].name, "--case", "masked")
    assert done.code == 3, done
    assert "were masked when they were written down" in attempts(clerk)[0]["reason"]


def test_a_conversation_that_the_agent_of_then_broke_off_cannot_be_told_on_its_words_alone(clerk: Repo) -> None:
    clerk.agent(SAYS.replace("WORDS", '"bye"').replace('"tool_calls"', '"ended": True, "tool_calls"'))
    clerk.case("cancel", CANCEL.replace("stop: user_done", "not_contains: refund"))
    assert only(clerk)[1]["stop"] == "agent_ended"
    clerk.agent(SAYS.replace("WORDS", '"Anything else?"'))
    _, attempt, _ = only(clerk, "--replay-user", "latest")
    assert attempt["status"] == "ungraded"
    assert "its recorded words are over" in attempt["reason"]


def test_a_jsonl_agent_that_dies_between_two_turns_is_not_quietly_replaced(clerk: Repo) -> None:
    clerk.agent(
        """
        import json, sys
        json.loads(sys.stdin.readline())
        print(json.dumps({"output": "one", "tool_calls": []}), flush=True)
        sys.exit(3)
        """,
        config="protocol: jsonl",
    )
    clerk.write("user.py", """import time; time.sleep(0.5); print('{"say": "and now?"}')""")
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    clerk.write("agenteval.yaml", config + "users: {default: {command: [python3, user.py]}}\n")
    clerk.case("talk", CANCEL.partition("  script:")[0] + "outcome: [not_empty: true]\n")
    _, attempt, _ = only(clerk)
    assert attempt["status"] == "agent_error"
    assert attempt["reason"].startswith("turn 2: the agent exited with code 3")


def test_a_user_that_cannot_be_asked_after_the_last_turn_says_nothing_about_the_agent(clerk: Repo) -> None:
    clerk.write("user.py", "raise SystemExit(1)\n")
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    clerk.write("agenteval.yaml", config + "users: {default: {command: [python3, user.py], retries: 0}}\n")
    text = CANCEL.partition("  script:")[0] + "  max_turns: 1\noutcome: [{stop: user_done}]\n"
    clerk.case("talk", text)
    assert only(clerk)[1]["status"] == "ungraded"


@pytest.mark.slow
def test_the_time_that_the_user_thinks_is_not_in_the_agents_deadline(clerk: Repo) -> None:
    clerk.agent(
        """
        import datetime, json, sys
        request = json.load(sys.stdin)
        left = datetime.datetime.fromisoformat(request["deadline"]) - datetime.datetime.now(datetime.UTC)
        json.dump({"output": f"{left.total_seconds() > 20}", "tool_calls": []}, sys.stdout)
        """,
        config="timeout: 25s",
    )
    clerk.write(
        "user.py",
        """
        import json, sys, time
        time.sleep(6 if json.load(sys.stdin)["turn"] == 1 else 0)
        print('{"say": "Hello there."}')
        """,
    )
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    clerk.write("agenteval.yaml", config + "users: {default: {command: [python3, user.py]}}\n")
    text = "schema: 1\nid: slow\nsimulation: {user_prompt: Somebody., max_turns: 1}\noutcome: [{equals: 'True'}]\n"
    clerk.case("slow", text)
    assert only(clerk)[1]["status"] == "passed"


def test_a_conversation_that_broke_off_fails_by_what_it_has_done_already(clerk: Repo) -> None:
    clerk.case(
        "broken",
        """
        schema: 1
        id: broken
        simulation:
          user_prompt: Somebody.
          opening: refund 5678
          script: [{say: now crash}]
        outcome: [{contains: never, turn: 1}, {not_contains: refunded, turn: all}, {contains: x}, {stop: user_done}]
        trajectory: {forbidden: [refund], required: [never_called]}
        """,
    )
    _, attempt, _ = only(clerk)
    assert (attempt["status"], attempt["outcome"], attempt["trajectory"]) == ("agent_error", "failed", "failed")
    assert {check["name"] for check in attempt["checks"]} == {
        "outcome[0].contains",
        "outcome[1].not_contains",
        "trajectory.forbidden[0]",
    }


@pytest.mark.parametrize(
    ("check", "status", "turn"),
    [
        ("{contains: what shall I do, turn: any}", "passed", 2),
        ("{contains: never said, turn: any}", "failed", None),
        ("{not_contains: refunded, turn: all}", "failed", 3),
        ("{not_contains: never said, turn: all}", "passed", None),
    ],
)
def test_a_check_of_any_turn_or_of_all_of_them(clerk: Repo, check: str, status: str, turn: int | None) -> None:
    turns = "[{user: Hello.}, {user: 5678 please}, {user: a refund}]"
    clerk.case("talk", f"schema: 1\nid: talk\nturns: {turns}\noutcome: [{check}]\n")
    _, attempt, _ = only(clerk)
    assert (attempt["status"], attempt["checks"][0].get("turn")) == (status, turn)


def test_over_a_limit_a_conversation_goes_no_further(clerk: Repo) -> None:
    text = CANCEL.replace("simulation:", "limits: {turns: 2}\nsimulation:").replace(
        "{gives_up: true}", "{say: 12 please}"
    )
    clerk.case("talk", text)
    _, attempt, _ = only(clerk)
    assert (attempt["status"], attempt["turns"]) == ("over_limit", 3)


def test_names_that_the_user_does_not_know_are_its_own_fault(clerk: Repo) -> None:
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    rules = "[{say: 'It is {{order}}.'}]"
    clerk.write("agenteval.yaml", config + f"users: {{clerk: {{scripted: {rules}}}}}\n")
    clerk.case("talk", CANCEL.partition("  script:")[0] + "outcome: [{stop: user_done}]\n")
    _, attempt, _ = only(clerk)
    assert attempt["status"] == "ungraded"
    assert "knows no 'order'" in attempt["reason"]


def test_confirming_would_hear_other_words_than_a_replay(clerk: Repo) -> None:
    done = clerk.run("run", "--replay-user", "latest", "--confirm", "3")
    assert (done.code, "leave one out" in done.err) == (2, True)


def test_a_script_that_is_cut_short_passes_nothing(clerk: Repo) -> None:
    clerk.agent(
        """
        import json, sys
        calls = [{"name": "look", "arguments": {"at": n}} for n in range(5)]
        json.dump({"output": "hello", "tool_calls": calls}, sys.stdout)
        """
    )
    clerk.write("judge.py", """print('{"nonce": "none", "answer": "yes", "reason": "fine"}')""")
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    clerk.write("agenteval.yaml", config + "judges: {default: {command: [python3, judge.py]}}\n")
    text = """
    schema: 1
    id: {id}
    limits: {tool_calls: 7}
    turns:
      - {user: one, outcome: [{contains: hello}]}
      - {user: two, outcome: [{contains: hello}]}
      - {user: three, outcome: [{contains: never said}], criteria: [{text: Polite., gate: true}]}
    """
    clerk.case("cut", text)
    _, attempt, _ = only(clerk)
    assert (attempt["status"], attempt["turns"]) == ("over_limit", 2)
    results = {check["name"]: check["result"] for check in attempt["checks"]}
    assert results["turns[2]"] == "no_evidence"
    assert results["turns[2].criteria[0]"] == "no_evidence"


def test_what_an_agent_claims_of_calls_does_not_cut_a_script_that_the_tools_can_count(clerk: Repo) -> None:
    clerk.agent(
        """
        import json, sys
        calls = [{"name": "look", "arguments": {"at": n}} for n in range(5)]
        json.dump({"output": "hello", "tool_calls": calls}, sys.stdout)
        """
    )
    text = """
    schema: 1
    id: {id}
    limits: {tool_calls: 3}
    tools: [{name: look, responses: [{result: 1}]}]
    turns: [{user: one, outcome: [{contains: hello}]}, {user: two, outcome: [{contains: never said}]}]
    """
    clerk.case("claims", text)
    _, attempt, _ = only(clerk)
    assert (attempt["status"], attempt["turns"]) == ("failed", 2)


def test_a_prefix_does_not_count_as_turns(clerk: Repo) -> None:
    clerk.agent(
        """
        import json, sys
        request = json.load(sys.stdin)
        json.dump({"output": "yes", "messages": request["messages"], "tool_calls": []}, sys.stdout)
        """
    )
    text = """
    schema: 1
    id: {id}
    limits: {turns: 2}
    conversation:
      - {role: user, content: a}
      - {role: assistant, content: b}
      - {role: user, content: c}
      - {role: assistant, content: d}
    turns: [{user: one}, {user: two}]
    outcome: [{contains: "yes"}]
    """
    clerk.case("prefix", text)
    assert only(clerk)[1]["status"] == "passed"


def test_last_words_win_over_an_agent_that_ends_with_them(clerk: Repo) -> None:
    rules = "[{say: 'Thank you, bye.', done: true}]"
    text = f"schema: 1\nid: end\nsimulation: {{user_prompt: Somebody., opening: Hello., script: {rules}}}\n"
    clerk.case("end", text + "outcome: [{stop: user_done}]\n")
    assert only(clerk)[1]["status"] == "passed"


def test_the_rules_of_the_user_complete_those_of_the_case(clerk: Repo) -> None:
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    rules = "[{say: Hello there., times: 1}, {gives_up: true}]"
    clerk.write("agenteval.yaml", config + f"users: {{default: {{scripted: {rules}}}}}\n")
    script = "[{when: {contains: invoice}, say: no invoice, times: 1}]"
    text = f"schema: 1\nid: talk\nsimulation: {{user_prompt: Somebody., script: {script}}}\n"
    clerk.case("talk", text + "outcome: [{stop: user_gave_up}]\n")
    done = clerk.run("validate")
    assert (done.code, "warning" in done.out) == (0, False), done
    assert only(clerk)[1]["status"] == "passed"
    clerk.write("agenteval.yaml", config)
    done = clerk.run("validate")
    assert (done.code, "[no-beginning]" in done.out, "[open-script]" in done.out) == (2, True, True), done


def test_the_examples_of_the_page_about_conversations_are_valid(clerk: Repo) -> None:
    page = (ROOT / "docs" / "conversations.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    cases = [block for block in blocks if block.startswith("schema: 1")]
    for number, block in enumerate(cases):
        clerk.case(f"page-{number}", block)
    for number, block in enumerate(block for block in blocks if block.startswith("simulation:")):
        clerk.case(f"part-{number}", f"schema: 1\nid: part-{number}\n{block}outcome: [{{stop: user_done}}]\n")
    clerk.write("user.py", "")
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    (users,) = (block for block in blocks if block.startswith("# agenteval.yaml"))
    clerk.write("agenteval.yaml", config + users)
    done = clerk.run("validate")
    assert (done.code, "warning" in done.out, len(cases)) == (0, False, 2), done


def test_what_the_user_costs_is_kept_and_spends_of_the_budget(clerk: Repo) -> None:
    clerk.write("user.py", """print('{"say": "Hello.", "done": true, "cost": "0.40"}')""")
    config = (clerk.root / "agenteval.yaml").read_text(encoding="utf-8")
    clerk.write("agenteval.yaml", config + "users: {default: {command: [python3, user.py]}}\n")
    clerk.case(
        "talk",
        "schema: 1\nid: talk\nattempts: 4\nsimulation: {user_prompt: Somebody., max_turns: 1}\noutcome: [{not_empty: true}]\n",
    )
    done = clerk.run("run", "-j", "1", "--budget-cost", "0.70", "--json")
    assert done.code == 3, done
    assert [attempt["user_cost"] for attempt in clerk.attempts()] == ["0.40", "0.40"]
    assert json.loads((clerk.runs()[-1] / "run.json").read_text())["stopped"] == "--budget-cost: 0.80 of 0.70 are spent"
