"""A real model on this machine as the simulated user. Skipped where its packages are not installed."""

from __future__ import annotations

import re
from typing import Any

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


# Bounded, since so small a model may not find its end: a form that the endpoint is given instead of ours.
SAYS = {
    "type": "object",
    "properties": {
        "say": {"type": "string", "pattern": "^[A-Z][A-Za-z ,]{4,60}[.?!]$"},
        "done": {"enum": [False]},
    },
    "required": ["say", "done"],
    "additionalProperties": False,
}
BOUNDED = {"response_format": {"type": "json_schema", "json_schema": {"name": "message", "schema": SAYS}}}


def asked(url: str, **keys: Any) -> Spoken:
    endpoint = Endpoint(base_url=url, model="smollm2-135m", temperature=0.7, timeout=180, **keys)
    user = EndpointUser(endpoint, None, Cancel())
    try:
        return user.speak(ROLE, TALK, 7)
    finally:
        user.close()


def test_a_real_model_says_something_in_the_users_place(url: str) -> None:
    spoken = asked(url, json_schema=False, parameters=BOUNDED)
    assert spoken.say
    assert not spoken.done
    assert spoken.input_tokens
    assert spoken.say in spoken.reply


def test_the_tools_own_form_reaches_the_model(url: str) -> None:
    """It is cut off after forty tokens or ends in time: what it wrote by then is the JSON that it was asked for."""
    try:
        reply = asked(url, max_tokens=40).reply
    except NoAnswerError as fault:
        reply = fault.reply
    assert re.match(r'\{\s*"say"\s*:', reply), reply
