"""Secrets are masked in every form in which they usually turn up."""

from __future__ import annotations

import base64
import html
import json
import re
import time
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus

import pytest
from build import json_values, steady
from conftest import Repo
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.redaction import MASK, Redactor
from agenteval_cli.transcript import ReasoningStep, ToolCall, Transcript, Usage

SECRET = "hunter2/with+odd chars=ü"
REDACTOR = Redactor([SECRET])

secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40)


def in_base64(before: bytes, secret: str, after: bytes, *, urlsafe: bool = False) -> str:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    return encode(before + secret.encode() + after).decode()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"key {SECRET}.", f"key {MASK}."),
        (SECRET * 2, MASK * 2),
        (f"https://example.org/?key={quote(SECRET, safe='')}&x=1", f"https://example.org/?key={MASK}&x=1"),
        (f"key={quote_plus(SECRET)}&x=1", f"key={MASK}&x=1"),
        ("nothing here", "nothing here"),
        ("hunter2", "hunter2"),
    ],
)
def test_a_secret_is_masked_plain_and_in_urls(text: str, masked: str) -> None:
    assert REDACTOR.text(text) == masked


@pytest.mark.parametrize("urlsafe", [False, True])
@pytest.mark.parametrize("offset", range(6))
@pytest.mark.parametrize("after", [b"", b"!", b":rest of it"])
def test_a_secret_is_masked_inside_longer_base64_at_every_alignment(urlsafe: bool, offset: int, after: bytes) -> None:
    encoded = in_base64(b"user:x"[:offset], SECRET, after, urlsafe=urlsafe)
    shown = REDACTOR.text(f"Authorization: Basic {encoded}")
    assert MASK in shown
    assert len(shown) < len(f"Authorization: Basic {MASK}") + 4 * (offset + len(after) + 4)


@given(secrets, st.binary(max_size=7), st.binary(max_size=7), st.booleans())
@steady
def test_no_base64_of_a_secret_comes_through(secret: str, before: bytes, after: bytes, urlsafe: bool) -> None:
    encoded = in_base64(before, secret, after, urlsafe=urlsafe)
    left = Redactor([secret]).text(encoded)
    assert MASK in left
    longest = max(left.split(MASK), key=len)
    assert len(longest) <= 4 * (max(len(before), len(after)) // 3 + 1) + 2


@given(secrets, st.text(), st.text())
@steady
def test_no_plain_secret_comes_through(secret: str, before: str, after: str) -> None:
    assert secret not in Redactor([secret]).text(before + secret + after).replace(MASK, "")


@pytest.mark.parametrize("secret", ['quote " and \\ back', "line one\nline two", "grüße-welt", "tab\there"])
def test_a_secret_is_masked_where_it_stands_in_json_text(secret: str) -> None:
    redactor = Redactor([secret])
    for ascii_only in (True, False):
        text = json.dumps({"key": secret}, ensure_ascii=ascii_only)
        assert redactor.text(text) == json.dumps({"key": MASK})


@pytest.mark.parametrize("short", ["", "a", "true", "12345"])
def test_a_short_value_is_left_alone_because_it_would_blank_half_of_every_text(short: str) -> None:
    redactor = Redactor([short])
    assert redactor.text(f"x {short} y") == f"x {short} y"
    assert not redactor.active


def test_of_two_secrets_the_longer_one_is_masked_whole() -> None:
    assert Redactor(["secret-1", "secret-1-and-more"]).text("secret-1-and-more secret-1") == f"{MASK} {MASK}"


def test_patterns_mask_whatever_they_match() -> None:
    redactor = Redactor([SECRET], ["sk-[A-Za-z0-9]+", "(?i)bearer \\S+"])
    text = f"sk-abc123, Bearer xyz and {SECRET}"
    assert redactor.text(text) == f"{MASK}, {MASK} and {MASK}"
    assert Redactor([], ["sk-[a-z]+"]).active


def test_secrets_in_bytes_are_masked_and_other_bytes_kept() -> None:
    raw = b"\xff\xfe " + SECRET.encode() + b" \x00\xe9"
    assert REDACTOR.bytes(raw) == b"\xff\xfe " + MASK.encode() + b" \x00\xe9"


def test_secrets_in_nested_data_are_masked_keys_included() -> None:
    data = {"a": [1, None, {"b": f"x{SECRET}"}], SECRET: True, "tuple": (SECRET, 2.5)}
    assert REDACTOR.value(data) == {"a": [1, None, {"b": f"x{MASK}"}], MASK: True, "tuple": [MASK, 2.5]}


@given(json_values)
@steady
def test_data_without_secrets_is_left_as_it_is(value: Any) -> None:
    assert REDACTOR.value(value) == value
    assert Redactor([]).value(value) is value


# ---- excerpts: a cut goes through the middle of a value


@pytest.mark.parametrize("length", range(6, len(SECRET)))
@pytest.mark.parametrize(
    ("before", "after"),
    [("it said: ", ""), ("it begins with '", "'; logs go to stderr"), ('got "', '"'), ("it said: ", "…"), ("", "...")],
)
def test_the_start_of_a_secret_is_masked_where_an_excerpt_ends(length: int, before: str, after: str) -> None:
    shown = REDACTOR.text(f"{before}{SECRET[:length]}{after}", excerpt=True)
    assert shown == f"{before}{MASK}{after}"


@pytest.mark.parametrize("start", range(1, len(SECRET) - 5))
def test_the_end_of_a_secret_is_masked_where_an_excerpt_begins(start: int) -> None:
    assert REDACTOR.text(f"{SECRET[start:]} was refused", excerpt=True) == f"{MASK} was refused"


def test_words_that_a_secret_begins_with_are_left_alone_elsewhere() -> None:
    redactor = Redactor(["production-9f3a"])
    assert redactor.text("It runs in production") == "It runs in production"
    assert redactor.text("in production today", excerpt=True) == "in production today"


@given(secrets, st.text(max_size=30), st.text(max_size=30), st.integers(0, 90), st.integers(0, 90))
@steady
def test_no_excerpt_shows_more_of_a_secret_than_a_few_letters(
    secret: str, before: str, after: str, start: int, length: int
) -> None:
    text = before + secret + after
    shown = Redactor([secret]).text(text[start : start + length], excerpt=True).replace(MASK, "\0")
    for at in range(len(secret) - 6):
        piece = secret[at : at + 7]
        assert piece not in shown or piece in before + "\0" + after or secret.count(piece) > 1


@pytest.mark.parametrize("secret", ['it\'s a "key"', "tab\tand 'quote'", "b\\ack'slash"])
def test_a_secret_is_masked_where_a_message_quotes_it(secret: str) -> None:
    redactor = Redactor([secret])
    for text in (secret, f'{secret} it\'s "both"', f"'{secret}", f'"{secret}'):
        shown = redactor.text(f"it begins with {text!r}", excerpt=True)
        assert MASK in shown
        assert secret[-6:] not in shown


def test_of_a_secret_of_several_lines_each_line_is_masked() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nshort\nw0BAQEFAASCBKcwggSj\n-----END KEY-----\n"
    shown = Redactor([key]).text(f"last line: {key.splitlines()[3]}\nall: {key}")
    assert shown == f"last line: {MASK}\nall: {MASK}"


# ---- data and values


def test_a_number_that_is_a_secret_is_masked_where_text_may_stand() -> None:
    redactor = Redactor(["48151623"])
    data = {"output": [48151623, 481516234, 4815.1623, True], "text": "48151623"}
    assert redactor.value(data, numbers=True) == {"output": [MASK, 481516234, 4815.1623, True], "text": MASK}
    assert redactor.value(data)["output"][0] == 48151623


def test_secrets_in_records_are_masked_and_what_is_typed_stays_what_it_is() -> None:
    redactor = Redactor(["output", "THOUGHT", "48151623", SECRET])
    transcript = Transcript(
        output={"output": 48151623},
        tool_calls=(ToolCall(name="pay", arguments={"key": SECRET}, group=48151623),),
        reasoning=(ReasoningStep("PLAN", f"use {SECRET}"),),
        usage=Usage(48151623),
    )
    assert redactor.struct(transcript, "output", "tool_calls", "usage", numbers=True) == Transcript(
        output={MASK: MASK},
        tool_calls=(ToolCall(name="pay", arguments={"key": MASK}, group=48151623),),
        reasoning=transcript.reasoning,
        usage=Usage(48151623),
    )
    assert redactor.struct(transcript, "reasoning").reasoning == (ReasoningStep("PLAN", f"use {MASK}"),)


def test_data_nested_deeply_is_masked_at_the_bottom() -> None:
    data: Any = SECRET
    for _ in range(50_000):
        data = [data]
    masked = REDACTOR.value(data)
    for _ in range(50_000):
        (masked,) = masked
    assert masked == MASK


# ---- patterns


def test_a_pattern_that_matches_nothing_at_all_masks_nothing() -> None:
    assert Redactor([], ["x*", "^", "\\b"]).text("axxb") == f"a{MASK}b"


@pytest.mark.slow
def test_a_pattern_that_an_agent_makes_slow_shows_nothing_and_holds_nothing_up() -> None:
    began = time.process_time()
    assert Redactor([], ["(a|aa)+(a|aa)+(a|aa)+$"]).text("a" * 1_000 + "!") == MASK
    assert time.process_time() - began < 60


# ---- the whole command

KEY, PIN, WORD, PEM = (
    "sk/Live+0123 \"quoted\" 'it' \\ grün",
    "48151623",
    "output",
    "BEGIN-of-key\nmiddle-of-the-key\nend",
)
PRINTS_SECRETS = """
import base64, json, os, sys, time, urllib.parse
key, pin, pem = os.environ["KEY"], os.environ["PIN"], os.environ["PEM"]
request = json.load(sys.stdin)
tok = "tok-abc123"
def forms(text):
    raw = text.encode()
    return [text, json.dumps(text), json.dumps(text, ensure_ascii=False), repr(text), urllib.parse.quote(text),
            urllib.parse.quote_plus(text), *(base64.b64encode(b"x" * n + raw).decode() for n in range(3))]
def answer(output, **more):
    sys.stdout.write(json.dumps({"output": output, "tool_calls": [], **more}, ensure_ascii=False)); sys.stdout.flush()
match request["input"]:
    case "everywhere":
        sys.stderr.write("\\n".join(forms(key) + forms(pem) + [tok]))
        call = {"name": key, "arguments": {key: [pin, int(pin)]}, "result": pem, "error": key, "id": pin}
        answer({key: int(pin), tok: forms(key)}, tool_calls=[call], reasoning=[{"type": "PLAN", "content": key}],
               retrieval_context=[pem], state={"a": key}, model=key, trace_id=key,
               messages=[{"role": "user", "content": key}], elephants=key, **{key: 1})
    case "in pieces":
        for text in ('{"output": "', json.dumps(key)[1:9], json.dumps(key)[9:-1], '"}'):
            for stream in (sys.stdout, sys.stderr):
                stream.write(text); stream.flush(); time.sleep(0.05)
    case "not utf-8":
        sys.stdout.buffer.write(b"\\xff" + key.encode() + tok.encode() + b"\\n")
        sys.stderr.buffer.write(b"\\xff\\xfe" + key.encode() + tok.encode())
    case "not json": sys.stdout.write("x" * 40 + key + tok)
    case "text after": answer("x"); sys.stdout.write(" " + "y" * 45 + key)
    case "two answers": answer("x"); answer(key)
    case "crash": sys.stderr.write("z" * 280 + key + pem); sys.exit(3)
    case "tail": sys.stderr.write(key + "t" * 1985); answer(key)
    case "mismatch": answer("a" * 30 + key + "b" * 30 + key)
    case "hang": sys.stdout.write(key); sys.stderr.write(key); sys.stdout.flush(); sys.stderr.flush(); time.sleep(60)
    case "too much": sys.stdout.write((key + " ") * 900_000)
"""
TALKS = ["everywhere", "in pieces", "not utf-8", "not json", "text after", "two answers", "crash", "tail", "mismatch", "hang", "too much"]  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All that is written and shown of a run whose agent tells its secrets in every way, by where it stands."""
    home = tmp_path_factory.mktemp("home")
    repo = Repo(tmp_path_factory.mktemp("repo"), home)
    repo.env.update(KEY=KEY, PIN=PIN, WORD=WORD, PEM=PEM)
    repo.agent(PRINTS_SECRETS, config="env: {pass: [KEY, PIN, WORD, PEM]}")
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config + "redact: ['tok-[a-z0-9]+']\n")
    checks = "outcome: [{equals: no}, {field: {path: $.a, equals: 1}}, {contains: zzz}, {not_contains: x}]"
    for talk in TALKS:
        limit = f"limits: {{timeout: {'1s' if talk == 'hang' else '20s'}}}"
        repo.case(talk.replace(" ", "-"), f"schema: 1\nid: {{id}}\ninput: {talk}\nattempts: 1\n{limit}\n{checks}\n")
    shown = {}
    for options in (["--verbose"], ["--json"]):
        done = repo.run("run", *options)
        assert done.code == 1, done
        shown[f"run {options}"] = done.out + done.err
    for options in ([], ["--json"]):
        done = repo.run("diff", "previous", "latest", *options)
        shown[f"diff {options}"] = done.out + done.err
        for talk in TALKS if options else TALKS[:4]:
            done = repo.run("show", talk.replace(" ", "-"), "--run", "latest", *options)
            assert done.code == 0, done
            shown[f"show {talk} {options}"] = done.out + done.err
    for path in (repo.root / ".agenteval").rglob("*"):
        if path.is_file():
            shown[str(path.relative_to(repo.root))] = path.read_text(encoding="utf-8")
    statuses = {attempt["case"]: attempt["status"] for attempt in repo.attempts()}
    assert statuses["hang"] == "timeout"
    assert statuses["everywhere"] == "failed"
    assert statuses["two-answers"] == "agent_error"
    return shown


def decoded_base64(text: str) -> str:
    """What text says if it is base64; a letter too many at the end is left away."""
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text.replace("-", "+").replace("_", "/"))
    return base64.b64decode(letters[: len(letters) // 4 * 4]).decode("utf-8", "replace")


def leaks(text: str) -> list[str]:
    """Seven letters in a row of a secret, in any form that the tool or a reader of its files could have made of it."""
    found: list[str] = []
    decoded = [text, text.encode().decode("unicode_escape", "replace"), html.unescape(text), unquote_plus(text)]
    decoded += map(decoded_base64, re.findall(r"[\w+/-]{16,}", text))
    for secret in (KEY, PIN, "tok-abc123", "middle-of-the-key"):
        pieces = [secret[at : at + 7] for at in range(len(secret) - 6)]
        found += [f"{piece!r} of {secret!r}" for piece in pieces if any(piece in form for form in decoded)]
    return found


@pytest.mark.slow
def test_what_is_written_and_shown_of_a_run_tells_no_secret(told: dict[str, str]) -> None:
    assert len(told) > 20
    assert {where: found for where, text in told.items() if (found := leaks(text))} == {}


def test_what_is_written_of_a_run_is_still_readable(told: dict[str, str]) -> None:
    """Names of keys and statuses are ours, whatever the values of the environment are called."""
    whole = json.loads(told["show everywhere ['--json']"])["attempts"][0]
    assert whole["transcript"]["transcript"]["output"]


def test_a_check_sees_the_secret_that_the_record_hides(repo: Repo) -> None:
    repo.env["KEY"] = KEY
    repo.agent(
        "import json, os; print(json.dumps({'output': 'the key is ' + os.environ['KEY']}))", config="env: {pass: [KEY]}"
    )
    repo.case("no-leak", f"schema: 1\nid: no-leak\ninput: hi\noutcome: [not_contains: {json.dumps(KEY)}]\n")
    done = repo.run("run", "--case", "no-leak")
    assert done.code == 1, done
    assert repo.attempts()[0]["status"] == "failed"
