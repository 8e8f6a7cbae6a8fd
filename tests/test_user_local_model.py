"""A real model on this machine as the simulated user. Skipped where its packages are not installed."""

from __future__ import annotations

import pytest
from test_local_model import MISSING, url

from agenteval_cli.asking import NoAnswerError
from agenteval_cli.judge_config import Endpoint
from agenteval_cli.process import Cancel
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange
from agenteval_cli.users.endpoint import EndpointUser
from agenteval_cli.users.interface import Spoken

__all__ = ["url"]  # the fixture that serves the model
pytestmark = [
    pytest.mark.local_model,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason="`make setup-local` installs what this needs"),
]

ROLE = Role(
    user_prompt="You are Ada, a customer who bought a kettle and wants to return it.",
    opening="Hello, I would like to return a kettle.",
    knows={"order_id": "5678"},
    must_not_reveal=("the kettle is stolen",),
    ends_when="the agent confirms the refund",
    max_turns=3,
)
TALK = [Exchange(ROLE.opening, "I can help with that. What is your order number?")]


def asked(url: str, *, json_schema: bool, seed: int = 7) -> tuple[Spoken | None, str]:
    """What it says and its reply. So small a model may not find its end, or the form; then it says nothing."""
    endpoint = Endpoint(
        base_url=url, model="smollm2-135m", temperature=0.7, max_tokens=300, timeout=180, json_schema=json_schema
    )
    user = EndpointUser(endpoint, None, Cancel())
    try:
        spoken = user.speak(ROLE, TALK, seed)
    except NoAnswerError as fault:
        return None, fault.reply
    finally:
        user.close()
    return spoken, spoken.reply


def test_a_real_model_says_something_in_the_users_place(url: str) -> None:
    replies = [asked(url, json_schema=True, seed=seed) for seed in (7, 8, 9)]
    assert all(reply.startswith("{") for _, reply in replies), replies
    assert any(spoken and spoken.say and spoken.input_tokens for spoken, _ in replies), replies


def test_without_a_schema_its_reply_is_said_or_a_fault(url: str) -> None:
    spoken, reply = asked(url, json_schema=False)
    assert reply
    assert spoken is None or (spoken.done or spoken.say)


def test_the_same_seed_says_the_same(url: str) -> None:
    first, second = (asked(url, json_schema=True, seed=3)[1] for _ in range(2))
    assert first == second
