"""Simulated users that are programs or models: what they are told, what counts as their words, and patience."""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_programs import JSON_SCHEMA, Api, completion

from agenteval_cli.asking import Answer, NoAnswerError
from agenteval_cli.judge_config import CommandSettings, Endpoint
from agenteval_cli.orphans import Guardian
from agenteval_cli.process import Cancel, Processes
from agenteval_cli.redaction import Redactor
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange
from agenteval_cli.user_config import UserConfig
from agenteval_cli.users import ReadyUser, User, user_for
from agenteval_cli.users.prompting import prompt_for
from agenteval_cli.users.reading import spoken_by_model

ROLE = Role(
    user_prompt="You are Ada, who wants her money back.",
    opening="I want my money back.",
    knows={"order_id": "5678", "items": 2},
    must_not_reveal=("items", "that she works for the shop"),
    ends_when="the refund is confirmed",
)


@contextmanager
def played(ready: ReadyUser, cancel: Cancel | None = None) -> Iterator[User]:
    guardian = Guardian(f"TRACEPARENT=00-{secrets.token_hex(8)}")
    user = user_for(ready, Processes(guardian, cancel or Cancel()), Redactor(ready.secrets, ()))
    try:
        yield user
    finally:
        user.close()
        guardian.dismiss()


# ---- commands


@contextmanager
def playing(folder: Path, program: str, *, cancel: Cancel | None = None, **settings: Any) -> Iterator[User]:
    """A user that is this Python program."""
    path = folder / "user.py"
    path.write_text(program, encoding="utf-8")
    asked = CommandSettings(command=("python3", str(path)), timeout=settings.pop("timeout", 20.0))
    config = UserConfig(name="ada", played=asked, **settings)
    with played(ReadyUser(config, "1:ada", (), (sys.executable, str(path)), {"DIR": str(folder)}), cancel) as user:
        yield user


HEAD = "import json, os, sys, time\nq = json.load(sys.stdin)\n"


def prints(expression: str) -> str:
    """A user that prints an expression over q, what it was told."""
    return f"{HEAD}sys.stdout.write({expression})\n"


def test_a_command_is_told_the_role_and_the_conversation_and_nothing_that_is_expected(tmp_path: Path) -> None:
    role = Role(
        user_prompt=ROLE.user_prompt,
        knows=ROLE.knows,
        must_not_reveal=ROLE.must_not_reveal,
        before=(Exchange("Hi", "Hello!"), Exchange(None, "Still there?")),
    )
    with playing(tmp_path, prints("""json.dumps({"say": json.dumps(q), "done": False})""")) as user:
        spoken = user.speak(role, [Exchange("Money back.", {"ask": "order"})], 7)
    assert json.loads(spoken.say) == {
        "protocol": 1,
        "user_prompt": "You are Ada, who wants her money back.",
        "knows": {"order_id": "5678", "items": 2},
        "must_not_reveal": ["items", "that she works for the shop"],
        "ends_when": None,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello!"},
            {"role": "assistant", "content": "Still there?"},
            {"role": "user", "content": "Money back."},
            {"role": "assistant", "content": {"ask": "order"}},
        ],
        "turn": 2,
        "seed": 7,
    }


def test_what_a_command_says_of_itself_is_kept(tmp_path: Path) -> None:
    reply = {"say": "It is 5678.", "done": True, "model": "m", "usage": {"input_tokens": 7}, "cost": "0.01"}
    with playing(tmp_path, prints(f"json.dumps({reply!r})")) as user:
        spoken = user.speak(ROLE, (), 1)
    assert (spoken.say, spoken.done, spoken.model, spoken.cost) == ("It is 5678.", True, "m", "0.01")
    assert (spoken.input_tokens, spoken.output_tokens) == (7, None)
    assert json.loads(spoken.reply) == reply


@pytest.mark.parametrize(
    ("reply", "say"), [({"done": True}, None), ({"say": "", "done": True}, None), ({"say": "Hm."}, "Hm.")]
)
def test_a_command_may_be_done_without_words(reply: dict[str, Any], say: str | None, tmp_path: Path) -> None:
    with playing(tmp_path, prints(f"json.dumps({reply!r})")) as user:
        spoken = user.speak(ROLE, (), 1)
    assert (spoken.say, spoken.done) == (say, reply.get("done", False))


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (prints("''"), "its reply is empty"),
        (prints("'Hello'"), 'its reply "Hello" is not as {"say": "…", "done": false}'),
        (prints("""'{"say": "a"} {"say": "b"}'"""), "is not as"),
        (prints("'[1]'"), "it is no JSON object"),
        (prints("""'{"say": 1}'"""), "say is no text"),
        (prints("""'{"say": " "}'"""), "it says nothing, and is not done"),
        (prints("""'{"say": "a", "done": "no"}'"""), "done is neither true nor false"),
        (prints("""'{"say": "a", "verdict": "yes"}'"""), 'its key "verdict" has no meaning here'),
        (prints("'[' * 100000"), "is not as"),
        ("import sys; sys.stderr.write('no quota'); sys.exit(3)", "it exited with code 3; it said: no quota"),
        ("import os; os.kill(os.getpid(), 9)", "it was killed by signal 9"),
        ("import time; time.sleep(60)", "it did not answer within 2 s"),
        ("print('x' * (17 << 20))", "it printed 17,825,793 bytes"),
    ],
)
def test_what_is_no_reply_is_a_fault_of_the_user(program: str, words: str, tmp_path: Path) -> None:
    with playing(tmp_path, program, timeout=2.0, retries=0) as user, pytest.raises(NoAnswerError) as fault:
        user.speak(ROLE, (), 1)
    assert words in str(fault.value)
    assert len(str(fault.value)) < 400


LATER = (
    HEAD
    + """
path = os.environ["DIR"] + "/tries"
with open(path, "a") as file:
    file.write("x")
if os.path.getsize(path) < 2:
    sys.exit(75)
print(json.dumps({"say": "Here.", "done": False}))
"""
)


@pytest.mark.parametrize(("retries", "tries"), [(0, 1), (2, 2)])
def test_a_command_that_may_answer_later_is_asked_again(retries: int, tries: int, tmp_path: Path) -> None:
    with playing(tmp_path, LATER, retries=retries) as user:
        if retries:
            assert user.speak(ROLE, (), 1).say == "Here."
        else:
            with pytest.raises(NoAnswerError, match="exited with code 75"):
                user.speak(ROLE, (), 1)
    assert (tmp_path / "tries").stat().st_size == tries


def test_a_run_that_is_stopped_waits_neither_for_an_answer_nor_for_another_try(tmp_path: Path) -> None:
    cancel = Cancel()
    began = time.monotonic()
    with playing(tmp_path, "import sys; sys.exit(75)", retries=20, cancel=cancel) as user:
        threading.Timer(0.3, cancel.request).start()
        with pytest.raises(NoAnswerError):
            user.speak(ROLE, (), 1)
    assert time.monotonic() - began < 40


def test_no_more_conversations_ask_at_once_than_may(tmp_path: Path) -> None:
    program = (
        HEAD
        + """
mark = os.environ["DIR"] + f"/at-{os.getpid()}"
open(mark, "w").close()
now = sum(name.startswith("at-") for name in os.listdir(os.environ["DIR"]))
time.sleep(0.1)
os.remove(mark)
print(json.dumps({"say": str(now), "done": False}))
"""
    )
    said: list[int] = []
    with playing(tmp_path, program, concurrency=2) as user:
        threads = [
            threading.Thread(target=lambda: said.append(int(user.speak(ROLE, (), 1).say)), daemon=True)
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len(said) == 6
    assert max(said) <= 2


# ---- models


@contextmanager
def model(
    url: str, *, key: str | None = None, retries: int = 0, cancel: Cancel | None = None, **keys: Any
) -> Iterator[User]:
    endpoint = Endpoint(base_url=url, model="user-1", timeout=keys.pop("timeout", 5.0), **keys)
    with played(ReadyUser(UserConfig(name="ada", played=endpoint, retries=retries), "1:ada", key=key), cancel) as user:
        yield user


def says(text: str = "It is 5678.", *, done: bool = False) -> dict[str, Any]:
    return completion(json.dumps({"say": text, "done": done}))


def test_a_model_is_told_the_role_and_hears_the_agent_as_the_other_side() -> None:
    with Api(lambda _: says(done=True)) as api, model(api.url, key="sk-user", temperature=0.7) as user:
        spoken = user.speak(ROLE, [Exchange("I want my money back.", "Which order?")], 11)
    (request,) = api.requests
    system, begin, said, heard = request["messages"]
    assert [message["role"] for message in request["messages"]] == ["system", "user", "assistant", "user"]
    for told in ("You are Ada, who wants her money back.", "order_id: 5678", "the refund is confirmed"):
        assert told in system["content"]
    must_not = system["content"].split("must never say")[1]
    assert "items: 2" in must_not
    assert "that she works for the shop" in must_not
    assert json.loads(said["content"]) == {"say": "I want my money back.", "done": False}
    assert heard["content"] == "Which order?"
    assert begin["content"]
    assert (request["model"], request["temperature"], request["seed"]) == ("user-1", 0.7, 11)
    assert set(request[JSON_SCHEMA[0]][JSON_SCHEMA[1]]["schema"]["properties"]) == {"say", "done"}
    assert api.headers[0]["authorization"] == "Bearer sk-user"
    assert (spoken.say, spoken.done) == ("It is 5678.", True)
    assert (spoken.model, spoken.input_tokens, spoken.output_tokens) == ("judge-1-2026", 100, 20)


def test_a_configured_seed_stands_for_the_attempts() -> None:
    with Api(lambda _: says()) as api, model(api.url, parameters={"seed": 3, "top_p": 0.9}) as user:
        user.speak(ROLE, (), 11)
    assert (api.requests[0]["seed"], api.requests[0]["top_p"]) == (3, 0.9)


sides = (
    st.none() | st.text(max_size=6) | st.integers() | st.dictionaries(st.text(max_size=2), st.booleans(), max_size=2)
)
exchanges = st.lists(st.builds(Exchange, sides, sides), max_size=5)


@given(exchanges, exchanges, st.text(min_size=1, max_size=20), st.dictionaries(st.text(max_size=5), sides, max_size=3))
def test_sides_take_turns_and_the_user_is_the_one_to_speak(
    before: list[Exchange], talk: list[Exchange], prompt: str, knows: dict[str, Any]
) -> None:
    role = Role(user_prompt=prompt, knows=knows, before=tuple(before))
    sides = [message["role"] for message in prompt_for(role, talk)]
    assert sides[:2] == ["system", "user"]
    assert all(one != other for one, other in pairwise(sides))
    if talk:
        assert sides[-1] == "user"


def test_a_server_without_schemas_is_asked_in_words_from_then_on() -> None:
    def replies(request: dict[str, Any]) -> Any:
        if JSON_SCHEMA[0] in request:
            return 400, {"error": {"message": "response_format is not supported"}}, {}
        return completion("Just my money.")

    with Api(replies) as api, model(api.url) as user:
        said = [user.speak(ROLE, (), 1) for _ in range(2)]
    assert [(spoken.say, spoken.done) for spoken in said] == [("Just my money.", False)] * 2
    assert [JSON_SCHEMA[0] in request for request in api.requests] == [True, False, False]


@pytest.mark.parametrize(
    ("reply", "say", "done"),
    [
        ('{"say": "Hi.", "done": true}', "Hi.", True),
        (' \n{"say": "Hi."}\n', "Hi.", False),
        ('```json\n{"say": "Hi.", "done": false}\n```', "Hi.", False),
        ('<think>{"say": "No."}</think>\n{"say": "Hi."}', "Hi.", False),
        ('{"say": "", "done": true}', None, True),
        ("Hi.", "Hi.", False),
        ("  My order is 5678.\nThanks.", "My order is 5678.\nThanks.", False),
        ("5678", "5678", False),
        ("[sighs] Fine.", "[sighs] Fine.", False),
        ("null", "null", False),
    ],
)
def test_an_object_or_a_plain_text_is_what_is_said(reply: str, say: str | None, done: bool) -> None:
    spoken = spoken_by_model(Answer(text=reply))
    assert (spoken.say, spoken.done, spoken.reply) == (say, done, reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n",
        "<think>What do I say?</think>",
        "{}",
        '{"say": ""}',
        '{"answer": "Hi."}',
        '{"say": "Hi.", "done": false, "agent": "Hello!"}',
        '[{"say": "Hi."}]',
        '{"say": "Hi.',
        'Sure: {"say": "Hi.", "done": false}',
        '{"say": "Hi."}\n{"say": "And?"}',
        "```json\nHi.\n```",
        '{"say": {"text": "Hi."}}',
        '{"say": "Hi.", "done": 1}',
    ],
)
def test_an_object_of_another_form_is_never_said_to_the_agent(reply: str) -> None:
    with pytest.raises(NoAnswerError) as fault:
        spoken_by_model(Answer(text=reply))
    assert fault.value.reply == reply
    assert not fault.value.again


@given(st.text(max_size=40) | st.text(alphabet='{}[]":,sayone ` \n', max_size=25))
def test_whatever_a_model_replies_it_is_said_or_a_fault(reply: str) -> None:
    try:
        spoken = spoken_by_model(Answer(text=reply))
    except NoAnswerError:
        return
    assert spoken.done or (spoken.say and spoken.say.strip())


@pytest.mark.parametrize(
    ("reply", "words", "again"),
    [
        ((401, {"error": {"message": "bad key"}}, {}), "the endpoint answered 401: ", False),
        ((429, {"error": {"message": "slow down"}}, {}), "the endpoint answered 429", True),
        ((500, "oops", {}), "the endpoint answered 500", True),
        ((200, "this is no JSON", {}), "cannot be read", False),
        ((200, {}, {}), "no choices", False),
        (completion(None), "its reply is empty", False),
        (completion('{"say": "I wa', finish_reason="length"), "its answer was cut off at max_tokens", False),
        (completion("", message={"refusal": "I cannot be angry."}), "it refused to answer: I cannot be angry.", False),
    ],
)
def test_what_goes_wrong_at_an_endpoint_is_a_fault_of_the_user(reply: Any, words: str, again: bool) -> None:
    with Api(lambda _: reply) as api, model(api.url) as user, pytest.raises(NoAnswerError) as fault:
        user.speak(ROLE, (), 1)
    assert words in str(fault.value)
    assert fault.value.again is again


def test_nobody_listens() -> None:
    with model("http://127.0.0.1:9/v1") as user, pytest.raises(NoAnswerError, match="cannot be reached"):
        user.speak(ROLE, (), 1)


def test_rate_limits_are_waited_out_as_long_as_the_server_asks() -> None:
    statuses = iter([429, 503])

    def replies(_: dict[str, Any]) -> Any:
        status = next(statuses, 200)
        return says() if status == 200 else (status, {"error": {"message": "later"}}, {"retry-after": "0.1"})

    with Api(replies) as api, model(api.url, retries=3) as user:
        assert user.speak(ROLE, (), 1).say == "It is 5678."
    assert len(api.requests) == 3


def test_a_run_that_is_stopped_does_not_wait_for_a_model() -> None:
    gone, cancel = threading.Event(), Cancel()

    def replies(_: Any) -> Any:
        cancel.request()
        gone.wait(60)
        return says()

    began = time.monotonic()
    with Api(replies) as api, model(api.url, timeout=30.0, cancel=cancel) as user:
        with pytest.raises(NoAnswerError, match="the run was stopped before it answered"):
            user.speak(ROLE, (), 1)
        gone.set()
    assert time.monotonic() - began < 40
