"""Recording: a case is run in front of real tools, and then answers by itself as they did."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Repo
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.recorded_responses import condition_for, responses_of
from agenteval_cli.recordings import Failure, Result
from agenteval_cli.tool_endpoint import Endpoint
from agenteval_cli.tool_replay import Replay
from agenteval_cli.tool_server import ToolServer
from agenteval_cli.transcript import ToolCall

AGENT = """
import json, os, sys, urllib.error, urllib.request
request = json.load(sys.stdin)
def call(tool, **arguments):
    url = os.environ["AGENTEVAL_TOOLS_URL"] + "/" + tool
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(arguments).encode())) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)
stamp = str(os.getpid())
said = [call("get_order", id="5", stamp=stamp), call("get_order", id="6", stamp=stamp)]
said += [call("pay", id="5", key="hunter2-secret"), call("pay", id="5", key="hunter2-secret")]
json.dump({"output": json.dumps(said)}, sys.stdout)
"""

CASE = """
# Made by hand.
schema: 1
id: paid
input: Pay order 5.   # as the customer said it
outcome:
  # The number is on the slip.
  - contains: R-9
trajectory:
  required: [{tool: pay, times: 2}]
"""

SHOP: list[dict[str, Any]] = [
    {
        "name": "get_order",
        "description": "Look an order up.",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
        "responses": [
            {"when": {"id": "5"}, "result": {"total": "9.00", "lines": ["kettle"]}},
            {"error": {"status": 404, "message": "no such order"}},
        ],
    },
    {
        "name": "pay",
        "responses": [{"times": 1, "error": {"status": 503, "message": "busy"}}, {"result": {"slip": "R-9"}}],
    },
    {"name": "never_called", "responses": [{"result": 1}]},
]

COMMAND = """
import json, sys
paid = 0
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("get_order", "pay")]}
    elif message["params"]["name"] == "get_order":
        result = {"content": [{"type": "text", "text": "nine euros"}]}
    else:
        paid += 1
        words = "busy" if paid == 1 else json.dumps({"slip": "R-9"})
        result = {"content": [{"type": "text", "text": words}], "isError": paid == 1}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Endpoint]:
    """Real tools, somewhere else."""
    server = ToolServer(tmp_path)
    server.start()
    yield server.open("shop", SHOP)
    server.stop()


@pytest.fixture
def desk(repo: Repo) -> Repo:
    repo.agent(AGENT)
    config = repo.root / "agenteval.yaml"
    config.write_text(config.read_text(encoding="utf-8") + 'redact: ["hunter2-[a-z]+"]\n', encoding="utf-8")
    repo.case("paid", CASE)
    return repo


def recorded(repo: Repo) -> str:
    return (repo.root / "cases/paid.yaml").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["http_url", "mcp_url"])
def test_what_real_tools_answered_is_in_the_case_and_answers_again_without_them(
    desk: Repo, shop: Endpoint, kind: str
) -> None:
    done = desk.run("run", "--case", "paid", "--record-tools", getattr(shop, kind), "--ignore", "stamp")
    assert (done.code, done.out) == (0, "get_order: 2 responses\npay: 2 responses\n"), done
    assert desk.runs() == [], "it was no test of this case"
    text = recorded(desk)
    for line in (
        "# Made by hand.",
        "input: Pay order 5.   # as the customer said it",
        "  # The number is on the slip.",
    ):
        assert line in text.splitlines(), "every line but those of `tools` is as it was"
    assert "stamp" not in text
    assert "hunter2" not in text
    assert "times: 1" in text
    assert desk.run("validate").code == 0
    replayed = desk.run("run", "--case", "paid")
    assert replayed.code == 0, replayed


def test_a_server_that_is_started_as_a_command_is_recorded(desk: Repo) -> None:
    desk.write("server.py", COMMAND)
    done = desk.run(
        "run", "--case", "paid", "--record-tools", f"{shlex.quote(sys.executable)} server.py", "--ignore", "stamp"
    )
    assert done.code == 0, done
    assert "nine euros" in recorded(desk)
    assert desk.run("run", "--case", "paid").code == 0


SDK_SERVER = """
from mcp.server import MCPServer
server = MCPServer("shop")

@server.tool()
def get_order(id: str, stamp: str) -> dict[str, str]:
    return {"id": id, "total": "9.00"}

@server.tool()
def pay(id: str, key: str) -> dict[str, str]:
    return {"slip": "R-9"}

server.run()
"""


WRAPPING = """
import json, sys
ANSWERS = {
    "name": {"content": [{"type": "text", "text": "Ada"}], "structuredContent": {"result": "Ada"}},
    "numbers": {"content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}], "structuredContent": {"result": [1, 2]}},
    "object": {"content": [{"type": "text", "text": '{"result": 1}'}], "structuredContent": {"result": 1}},
    "image": {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}], "structuredContent": {"data": "aGk="}},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        listed = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ANSWERS]}
        first = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        method = message["method"]
        result = first if method == "initialize" else listed if method == "tools/list" else ANSWERS[message["params"]["name"]]
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
CALLER = """
import os, urllib.error, urllib.request
for name, body in [("name", b"{}"), ("numbers", b"{}"), ("object", b"{}"), ("image", b"{}"), ("name", b"no JSON"), ("name", b"null"), ("name", b'{"n": 7}'), ("object", b"{}")]:
    try:
        urllib.request.urlopen(f"{os.environ['AGENTEVAL_TOOLS_URL']}/{name}", body).read()
    except urllib.error.HTTPError:
        pass
print("done")
"""


def test_what_is_recorded_is_what_the_tools_said_and_never_what_was_refused_here(repo: Repo) -> None:
    repo.agent(CALLER, config="protocol: text")
    repo.write("server.py", WRAPPING)
    repo.case("said", "schema: 1\nid: said\ninput: Go.\nlimits: {tool_calls: 7}\noutcome: [{contains: done}]\n")
    done = repo.run("run", "--case", "said", "--record-tools", f"{shlex.quote(sys.executable)} server.py")
    assert done.code == 0, done
    tools = {tool["name"]: tool["responses"] for tool in repo.run("show", "said", "--json").json["case"]["tools"]}
    assert tools["name"] == [{"when": {"n": 7}, "result": "Ada"}, {"result": "Ada"}]
    assert tools["numbers"] == [{"result": [1, 2]}]
    assert tools["object"] == [{"result": {"result": 1}}]
    assert tools["image"] == [{"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}]
    assert repo.run("validate").code == 0


POINTING = """
import json, os, urllib.request
said = urllib.request.urlopen(f"{os.environ['AGENTEVAL_TOOLS_URL']}/rules", b"{}").read()
print(json.dumps(json.loads(said)))
"""


def test_an_answer_that_looks_like_a_pointer_is_recorded_and_comes_again(repo: Repo, tmp_path: Path) -> None:
    repo.agent(POINTING, config="protocol: text")
    repo.case("rules", 'schema: 1\nid: rules\ninput: Go.\noutcome: [{contains: \'{"$state": "/x"}\'}]\n')
    server = ToolServer(tmp_path)
    server.start()
    real = server.open("rules", [{"name": "rules", "responses": [{"result": {"$literal": [{"$state": "/x"}]}}]}])
    recording = repo.run("run", "--case", "rules", "--record-tools", real.http_url)
    server.stop()
    assert recording.code == 0, recording
    assert repo.run("validate").code == 0
    assert repo.run("run", "--case", "rules").code == 0


def test_an_answer_that_looks_like_a_placeholder_is_recorded_and_comes_again(repo: Repo, tmp_path: Path) -> None:
    repo.agent(POINTING, config="protocol: text")
    repo.case(
        "rules",
        "schema: 1\nid: rules\nvariables: [{name: who, value: Ada}]\ninput: Go, {{who}}.\n"
        "outcome: [{regex: 'Dear \\{\\{who\\}\\} and \\{\\{you\\}\\}'}]\n",
    )
    server = ToolServer(tmp_path)
    server.start()
    real = server.open("rules", [{"name": "rules", "responses": [{"result": "Dear {{who}} and {{you}}"}]}])
    recording = repo.run("run", "--case", "rules", "--record-tools", real.http_url)
    server.stop()
    assert recording.code == 0, recording
    checked = repo.run("validate")
    assert (checked.code, "unknown-placeholder" in checked.out + checked.err) == (0, False), checked
    assert repo.run("run", "--case", "rules").code == 0


@pytest.mark.slow
def test_a_server_made_with_the_sdk_is_recorded(desk: Repo) -> None:
    pytest.importorskip("mcp", reason="the mcp SDK is not installed")
    desk.write("server.py", SDK_SERVER)
    done = desk.run(
        "run", "--case", "paid", "--record-tools", f"{shlex.quote(sys.executable)} server.py", "--ignore", "stamp"
    )
    assert (done.code, done.out) == (0, "get_order: 2 responses\npay: 1 response\n"), done
    assert desk.run("validate").code == 0
    assert desk.run("run", "--case", "paid").code == 0


def test_tools_that_the_case_names_keep_their_words_and_the_others_their_responses(desk: Repo, shop: Endpoint) -> None:
    tools = """
tools:
  - {name: get_order, description: Mine., responses: [{result: old}]}
  - {name: pay}
  - {name: refund, responses: [{result: kept}]}
"""
    desk.case("paid", CASE + tools)
    assert desk.run("run", "--case", "paid", "--record-tools", shop.http_url, "--ignore", "stamp").code == 0
    text = recorded(desk)
    assert "Mine." in text
    assert "kept" in text
    assert "old" not in text
    assert "never_called" not in text


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("http://127.0.0.1:9/tools", "does not answer"),
        ("http://127.0.0.1:9/mcp", "does not answer"),
        ("no-such-command", "no-such-command cannot be started"),
        ("", "--record-tools needs a URL or a command"),
        ("'", "No closing quotation"),
        ("true", "true ended without an answer"),
    ],
)
def test_tools_that_cannot_be_reached_leave_the_case_as_it_was(desk: Repo, target: str, words: str) -> None:
    before = recorded(desk)
    done = desk.run("run", "--case", "paid", "--record-tools", target)
    assert done.code == 2, done
    assert words in done.err
    assert recorded(desk) == before


def test_real_tools_that_go_away_in_the_middle_leave_the_case_as_it_was(desk: Repo) -> None:
    desk.case("paid", CASE + "tools: [{name: get_order}, {name: pay}]\n")
    before = recorded(desk)
    desk.write("server.py", COMMAND.replace('"busy" if', "sys.exit() if"))
    done = desk.run("run", "--case", "paid", "--record-tools", f"{shlex.quote(sys.executable)} server.py")
    assert done.code == 3, done
    assert "nothing was recorded: harness_error: the handler of pay failed" in done.err
    assert recorded(desk) == before


def test_one_case_is_recorded_at_a_time(desk: Repo, shop: Endpoint) -> None:
    done = desk.run("run", "--record-tools", shop.http_url)
    assert done.code == 2
    assert "one case at a time, not 2; name it with --case" in done.err


def test_an_agent_that_calls_nothing_is_told(repo: Repo, shop: Endpoint) -> None:
    repo.agent()
    repo.case("idle")
    done = repo.run("run", "--case", "idle", "--record-tools", shop.http_url)
    assert done.code == 3, done
    assert "nothing was recorded: the agent called no tool" in done.err


# ---- the responses by themselves


@pytest.mark.parametrize(
    ("arguments", "ignored", "when"),
    [
        ({"id": 1}, (), {"id": 1}),
        ({"id": 1, "at": "12:30"}, ("at",), {"id": 1}),
        ({"id": 1, "key": "a [redacted] b"}, (), {"id": 1}),
        ({"filter": {"gt": 3}}, (), {"filter": {"equals": {"gt": 3}}}),
        ({"ids": [{"regex": "a"}]}, (), {"ids": {"equals": [{"regex": "a"}]}}),
        ({"rule": {"$state": "/x"}}, (), {"rule": {"schema": {"const": {"$state": "/x"}}}}),
        ({"type": "refund"}, (), {"type": "refund", "-": {"absent": True}}),
        ({"type": "refund", "at": 1}, ("at",), {"type": "refund", "at": {"any": True}}),
        ({}, (), {}),
        ("not an object", (), {}),
    ],
)
def test_a_condition_is_the_arguments_and_never_an_operator(
    arguments: Any, ignored: tuple[str, ...], when: Any
) -> None:
    assert condition_for(arguments, ignored) == when


def test_equal_answers_are_one_response_and_others_a_sequence() -> None:
    said = [{"error": {"status": 503, "message": "busy"}}] * 2 + [{"result": 1}] * 3
    calls = [ToolCall(name="pay", arguments={"id": 5}, **answer) for answer in said]
    assert responses_of(calls) == [
        {"when": {"id": 5}, "times": 2, "error": {"status": 503, "message": "busy"}},
        {"when": {"id": 5}, "result": 1},
    ]


def test_true_is_another_answer_than_1() -> None:
    first, second = responses_of([ToolCall(name="t", arguments={}, result=value) for value in (1, True)])
    assert (first, second) == ({"times": 1, "result": 1}, {"result": True})
    assert second["result"] is True


def test_what_looks_like_a_pointer_or_would_be_filled_in_is_recorded_as_a_literal() -> None:
    variables = [{"name": "who", "value": "Ada"}]
    answer = {"rule": {"$state": "/x"}, "lines": ["Dear {{ who }}", "{you}"], "who": "{{who}}"}
    (response,) = responses_of([ToolCall(name="t", arguments={"to": "{{who}}", "n": 1}, result=answer)], (), variables)
    assert response == {
        "when": {"n": 1},
        "result": {
            "rule": {"$literal": {"$state": "/x"}},
            "lines": [{"$literal": "Dear {{ who }}"}, "{you}"],
            "who": {"$literal": "{{who}}"},
        },
    }
    replay = Replay([{"name": "t", "responses": [response]}], {"x": 5}, 0.0)
    assert replay.call("t", {"to": "{{who}}", "n": 1}, 0.0).answer == Result(answer)
    (block,) = responses_of(
        [ToolCall(name="t", arguments={}, result={"content": [{"type": "text", "text": "{{who}}"}]})], (), variables
    )
    assert block == {"content": [{"type": "text", "text": {"$literal": "{{who}}"}}]}


def test_a_status_that_only_its_server_knows_is_recorded_as_one_that_replays() -> None:
    call = ToolCall(name="t", arguments={}, error={"status": 999, "message": "go away"})
    assert responses_of([call]) == [{"error": {"status": 500, "message": "go away"}}]


def test_a_call_that_nobody_answered_is_not_recorded() -> None:
    assert responses_of([ToolCall(name="pay", arguments={})]) == []


POINTER = {"$state": "/x"}
VALUES = st.sampled_from([0, 1, "a", {"gt": 0}, [1], {"a": {"b": 1}}, [{"type": "a"}], POINTER, [{"a": POINTER}]])
ARGUMENTS = st.dictionaries(st.sampled_from(["id", "type", "contains"]), VALUES, max_size=3)
ANSWERS = st.one_of(
    st.builds(
        lambda value: {"result": value}, st.sampled_from([None, 1, {"a": 1}, POINTER, [{"a": {"$literal": POINTER}}]])
    ),
    st.builds(lambda status: {"error": {"status": status, "message": "no"}}, st.sampled_from([404, 503])),
)


@given(st.lists(st.tuples(ARGUMENTS, ANSWERS), max_size=8))
def test_the_same_calls_get_the_same_answers_again(said: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    calls = [ToolCall(name="t", arguments=arguments, **answer) for arguments, answer in said]
    replay = Replay([{"name": "t", "responses": responses_of(calls)}], None, 0.0)
    for arguments, answer in said:
        match replay.call("t", arguments, 0.0).answer:
            case Result(value):
                assert answer == {"result": value}
            case Failure(message=words, status=status):
                assert answer == {"error": {"status": status, "message": words}}
