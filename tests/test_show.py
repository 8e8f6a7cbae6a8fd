"""`agenteval show`: a case as it is understood, and an attempt as a conversation beside its checks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import pytest
from conftest import AGENTEVAL, Repo
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rich.cells import cell_len
from terminal import Terminal

from agenteval_cli import schemas, yaml_reader
from agenteval_cli.cli.conversation_view import lines_of
from agenteval_cli.cli.values_view import Frame, block
from agenteval_cli.conversation import events_of
from agenteval_cli.records import TRANSCRIPT_FORMAT, TranscriptRecord
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript

SUPPORT = r"""
import json, sys
request = json.load(sys.stdin)
print("looking up 5678", file=sys.stderr)
if request["seed"] is not None and "crash" in request["input"]:
    print("half an answ")
    sys.exit(3)
long = "because " * 40
json.dump({
    "output": "Yes.\nWithin 14 days.",
    "messages": [
        {"role": "system", "content": request.get("system_prompt")},
        *request["messages"],
        {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "c1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen below as a result"},
        {"role": "assistant", "content": "Yes.\nWithin 14 days."},
    ],
    "tool_calls": [
        {"id": "c1", "name": "get_order", "arguments": {"order_id": "5678"}, "result": {"total": "129.00"}, "duration_ms": 120},
        {"id": "c2", "name": "create_refund", "arguments": {"reason": long}, "error": {"status": 503}, "duration_ms": 1200},
        {"name": "escalate", "arguments": {}},
    ],
    "reasoning": [{"type": "PLAN", "content": "First look."}, {"type": "ACTION", "content": "Pay back.", "tool_call": "c2"}],
    "usage": {"input_tokens": 1000, "output_tokens": 204},
    "cost": "0.0013",
    "model": "gpt-5",
    "state": {"refunded": False},
    "retrieval_context": ["Full refund within 30 days."],
}, sys.stdout)
"""

REFUND = """
schema: 1
id: refund-inside-window
title: Refund asked inside the window
tier: regression
system_prompt: |
  You are a support agent.
  Be kind, and brief.
conversation: [{role: user, content: Hi}, {role: assistant, content: How can I help?}]
input: Can I return my {{thing}}?
variables: [{name: thing, value: kettle}]
tools: [{use: shop-tools}, {name: escalate}]
outcome:
  - contains: 30 days
  - {regex: sorry, severity: warning, note: It would be nice.}
  - contains: Yes
trajectory:
  required: [get_order]
limits: {tool_calls: 8}
"""


@pytest.fixture
def shop(repo: Repo) -> Repo:
    repo.agent(SUPPORT)
    (repo.root / "cases" / "says-hello.yaml").unlink()
    repo.write("fixtures/shop.yaml", "schema: 1\nid: shop-tools\ntools: [{name: get_order}, {name: create_refund}]\n")
    repo.case("refund-inside-window", REFUND)
    return repo


def in_order(text: str, *parts: str) -> bool:
    """Whether the parts come one after the other."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        assert at >= 0, f"{part!r} is missing, or too early, in:\n{text}"
        at += len(part)
    return True


# ---- an attempt


def test_an_attempt_reads_as_a_conversation_beside_its_checks(shop: Repo) -> None:
    shop.run("run")
    out = shop.run("show", "refund-inside-window", "--run", "latest").out
    assert in_order(
        out,
        "refund-inside-window  Refund asked inside the window",
        "4 steps, 1,204 tokens, cost 0.0013, model gpt-5",
        "  system: You are a support agent. (45 characters; --full shows all)",
        "  user:\n    Hi",
        "  assistant:\n    How can I help?",
        "  user:\n    Can I return my kettle?",
        "  assistant:\n    Let me look.",
        "  plan: First look.",
        '  1. get_order({"order_id": "5678"}) → {"total": "129.00"}  (120 ms)',
        "  action: Pay back.",
        "  2. create_refund  (1.2 s)\n     arguments\n",
        "because because",
        '     error\n       {"status": 503}',
        "  3. escalate({}) → neither result nor error was reported",
        "  agent:\n    Yes.\n    Within 14 days.",
        "  retrieved: 1\n    - Full refund within 30 days.",
        '  end state:\n    {"refunded": false}',
        '  failed outcome[0].contains: the answer does not contain "30 days"',
        '      expected  "30 days"',
        "      actual\n        Yes.\n        Within 14 days.",
        "  failed (warning) outcome[1].regex",
        "      note: It would be nice.",
        "  passed outcome[2].contains",
        "  passed limits.tool_calls",
        "  3 of 5 checks passed",
    )
    assert out.count("You are a support agent.") == 1, "what the agent repeats of its request is not told twice"
    assert "seen below as a result" not in out
    assert "looking up 5678" not in out, "stderr is for errors"


def test_the_attempts_are_listed_and_the_first_failure_is_the_one_shown(shop: Repo) -> None:
    counter = shop.root / "counter"
    shop.agent(
        """
        import json, os, sys
        with open(os.environ["COUNTER"], "a+") as file:
            file.write("x"); file.seek(0); number = len(file.read())
        print(json.dumps({"output": f"answer {number}" + (" 30 days Yes" if number != 2 else ""), "tool_calls": [{"name": "get_order"}]}))
        """,
        config=f'concurrency: 1\nenv: {{set: {{COUNTER: "{counter}"}}}}',
    )
    shop.run("run")
    out = shop.run("show", "REFUND-inside-window", "--run", "latest").out
    rows = [re.split(r"\s{2,}", line) for line in out.splitlines()[2:6]]
    assert [row[:3] for row in rows] == [
        ["", "ATTEMPT", "STATUS"],
        ["", "1", "passed"],
        [">", "2", "failed"],
        ["", "3", "passed"],
    ]
    assert 'does not contain "30 days"' in rows[2][-1]
    assert "answer 2" in out
    assert "answer 3" in shop.run("show", "refund-inside-window", "--run", "latest", "--attempt", "3").out
    assert len(shop.run("show", "refund-inside-window", "--run", "latest", "--json").json["attempts"]) == 3
    one = shop.run("show", "refund-inside-window", "--run", "latest", "--attempt", "2", "--json").json
    assert [item["attempt"]["attempt"] for item in one["attempts"]] == [2]
    schema = schemas.load("output")
    Draft202012Validator({"$ref": "#/$defs/show_run", "$defs": schema["$defs"]}).validate(one)


def test_a_crash_shows_what_was_printed_and_the_end_of_stderr(shop: Repo) -> None:
    shop.case("crashes", "schema: 1\nid: crashes\ntier: smoke\ninput: crash\noutcome: [{contains: x}]\n")
    shop.run("run", "--case", "crashes")
    out = shop.run("show", "crashes", "--run", "latest").out
    assert in_order(
        out,
        "the agent exited with code 3",
        "  agent: printed, which is no answer:\n    half an answ",
        "  nothing was checked",
        "  the end of stderr:\n    looking up 5678",
    )
    assert "ATTEMPT" not in out, "one attempt needs no list"
    raw = shop.run("show", "crashes", "--run", "latest", "--raw").out
    assert in_order(raw, "  stdout, 13 bytes:\n    half an answ", "  stderr, 16 bytes:\n    looking up 5678")
    assert "checked" not in raw.partition("stdout")[2]


@pytest.mark.slow
def test_what_an_agent_says_is_shown_and_does_nothing(shop: Repo) -> None:
    shop.agent(
        r"""
        import json, sys
        evil = "\x1b]0;owned\x07\x1b[2J\x9b2J\u202eevil\u2028\r"
        print(evil, file=sys.stderr)
        json.dump({
            "output": evil, "model": evil, "cost": evil, "trace_id": evil, "retrieval_context": [evil], "state": {evil: evil},
            "reasoning": [{"type": "THOUGHT", "content": evil}], "messages": [{"role": evil, "content": evil}],
            "tool_calls": [{"id": evil, "name": evil, "arguments": {evil: evil}, "error": evil}],
        }, sys.stdout)
        """
    )
    shop.run("run")
    case = ("show", "refund-inside-window", "--run", "latest")
    attempt = shop.run(*case, "--json").json["attempts"][0]
    assert attempt["attempt"]["status"] == "failed", attempt
    assert "\u202e" in attempt["transcript"]["transcript"]["output"]
    for more in ([], ["--full"], ["--raw"], ["--verbose"], ["--quiet"], ["--json"]):
        out = shop.run(*case, *more).out
        assert not set(out) & set("\x1b\x07\x9b\u202e\u2028\r"), more
        assert "evil" in out


def test_long_values_are_cut_with_a_word_on_how_to_see_all(shop: Repo) -> None:
    shop.agent(
        """
        import json
        lines = "\\n".join(f"line {number}" for number in range(1000))
        print(json.dumps({"output": lines, "tool_calls": [{"name": "get_order", "arguments": {"at": lines}, "result": "x" * 9000}]}))
        """
    )
    shop.run("run")
    cut = shop.run("show", "refund-inside-window", "--run", "latest")
    assert "line 23\n    … " in cut.out
    assert "more lines" in cut.out
    assert "--full shows all" in cut.out
    assert len(cut.out.splitlines()) < 150
    full = shop.run("show", "refund-inside-window", "--run", "latest", "--full")
    assert "\n    line 999\n" in full.out
    assert "x" * 9000 in full.out
    assert "--full" not in full.out
    assert "Be kind, and brief." in full.out


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_text_keeps_its_indent_in_a_window_of_any_width(shop: Repo, columns: int) -> None:
    shop.run("run")
    command = (str(AGENTEVAL), "show", "refund-inside-window", "--run", "latest")
    terminal = Terminal(*command, cwd=shop.root, env=shop.env, columns=columns, rows=200)
    try:
        assert terminal.ended() == 0
        words = [line for line in terminal.lines if line.strip().startswith("because")]
        assert words
        assert all(line.startswith("       ") for line in words), terminal.text
        assert "  failed outcome[0].contains: the" in terminal.text
        assert ("REASON" in terminal.text) == (columns > 40)
        assert "green" in terminal.colours
    finally:
        terminal.close()


def test_an_attempt_whose_transcript_is_damaged_still_tells_how_it_ended(shop: Repo) -> None:
    shop.run("run")
    (shop.runs()[-1] / "transcripts.jsonl").write_bytes(b"x" * 100_000)
    done = shop.run("show", "refund-inside-window", "--run", "latest")
    assert done.code == 0, done
    assert in_order(done.out, "its transcript cannot be read", 'the answer does not contain "30 days"')
    assert shop.run("show", "refund-inside-window", "--run", "latest", "--json").code == 2


@pytest.mark.slow
def test_many_attempts_are_cut(shop: Repo) -> None:
    shop.run("run", "--attempts", "25")
    out = shop.run("show", "refund-inside-window", "--run", "latest", "--attempt", "24").out
    assert ">  24 " in out
    assert "\n   23 " not in out
    assert "and 4 more attempts (--verbose lists all)" in out
    assert "\n   23 " in shop.run("show", "refund-inside-window", "--run", "latest", "--verbose").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "show what? Name a case, a run with --run, or both"),
        (["refund-inside-window", "--raw"], "--attempt and --raw are for the attempts of a case in a run; name both"),
        (["--run", "latest", "--attempt", "1"], "--attempt and --raw are for the attempts of a case in a run"),
        (["refund-inside-windw", "--run", "latest"], "did you mean 'refund-inside-window'?"),
        (
            ["refund-inside-window", "--run", "latest", "--attempt", "9"],
            "no attempt 9 of 'refund-inside-window' has ended",
        ),
        (["refund-inside-window", "--run", "nowhere"], "'nowhere' is no run ID"),
    ],
)
def test_what_cannot_be_shown_is_said(shop: Repo, arguments: Sequence[str], said: str) -> None:
    shop.commit()
    shop.run("run", "--attempts", "1")
    done = shop.run("show", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


# ---- a case


def test_a_case_is_shown_as_yaml_that_reads_back_as_the_case(shop: Repo) -> None:
    shop.commit("the first one")
    shown = shop.run("show", "refund-inside-window").out
    facts = shop.run("show", "refund-inside-window", "--json").json
    document = yaml_reader.read("shown.yaml", shown.encode()).document
    assert document is not None
    assert document.data == facts["case"]
    assert document.data["input"] == "Can I return my kettle?"
    assert [tool["name"] for tool in document.data["tools"]] == ["get_order", "create_refund", "escalate"]
    assert in_order(shown, "# cases/refund-inside-window.yaml", "# tools of shop-tools are in their place")
    assert in_order(shown, "# digests", f"#   grade {facts['digests']['grade']}", "# history", "the first one")


def test_a_long_part_of_a_case_is_cut(shop: Repo) -> None:
    lines = "\n".join(f"  line {number}" for number in range(200))
    shop.case(
        "long",
        f"schema: 1\nid: long\ntier: smoke\ninput: |\n{lines}\nnotes: {'n' * 5000}\noutcome: [{{contains: x}}]\n",
    )
    cut = shop.run("show", "long").out
    assert in_order(cut, "# … 171 more lines; --full shows all", "# … 4,007 more characters; --full shows all")
    full = shop.run("show", "long", "--full").out
    assert "line 199" in full
    assert "n" * 5000 in full


# ---- as functions

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
ids = st.sampled_from(["a", "b", "c"])
calls = st.builds(
    ToolCall, name=st.text(max_size=5), id=st.none() | ids, arguments=values, result=values, error=st.none() | values
)
steps = st.builds(ReasoningStep, st.sampled_from(["PLAN", "ACTION"]), st.text(max_size=5), st.none() | ids)
messages = st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "tool_call_id"]),
    values
    | st.lists(
        st.fixed_dictionaries({"id": ids, "type": st.sampled_from(["function", "tool_use", "text"])}), max_size=2
    )
    | ids,
    max_size=4,
)
transcripts = st.builds(
    Transcript,
    output=values,
    tool_calls=st.none() | st.lists(calls, max_size=5).map(tuple),
    reasoning=st.none() | st.lists(steps, max_size=5).map(tuple),
    messages=st.none() | st.lists(messages, max_size=5).map(tuple),
)


@given(st.lists(transcripts, min_size=1, max_size=3), st.integers(20, 100))
def test_every_call_and_thought_is_told_once_and_calls_in_order(turns: list[Transcript], width: int) -> None:
    request = {"messages": [{"role": "user", "content": "Hi"}]}
    record = TranscriptRecord(
        format=TRANSCRIPT_FORMAT, case="greet", attempt=1, request=request, transcript=turns[0], turns=tuple(turns)
    )
    events = list(events_of(record))
    told = [event for event in events if type(event).__name__ == "Called"]
    assert [event.number for event in told] == list(range(1, len(told) + 1))  # type: ignore[union-attr]
    assert [event.call for event in told] == [call for turn in turns for call in turn.tool_calls or ()]  # type: ignore[union-attr]
    thoughts = [event.step for event in events if type(event).__name__ == "Thought"]  # type: ignore[union-attr]
    assert thoughts == [step for turn in turns for step in turn.reasoning or () if step.content]
    assert sum(type(event).__name__ == "Answer" for event in events) == len(turns)
    assert not any(set(line) & set("\x1b\r\x9b\u202e") for line in lines_of(events, Frame(width)))


@given(st.text(st.sampled_from("ab \n\t界é\x1b"), max_size=300), st.integers(0, 10), st.integers(30, 90))
def test_a_block_loses_no_sign_and_is_as_wide_as_it_may(text: str, indent: int, width: int) -> None:
    lines = block(text, indent, Frame(width, full=True))
    kept = "".join("".join(lines).split())
    assert kept == "".join(text.replace("\x1b", r"\x1b").split())
    assert all(line.startswith(" " * indent) for line in lines if line)
    if text.isascii():
        assert all(cell_len(line) <= max(width, indent + 20) for line in lines)


def test_a_record_of_the_first_format_is_shown(shop: Repo) -> None:
    shop.run("run", "--attempts", "1")
    path = shop.runs()[-1] / "attempts.jsonl"
    line = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode({**line, "format": 1}) + b"\n")
    assert shop.run("show", "refund-inside-window", "--run", "latest").code == 0
