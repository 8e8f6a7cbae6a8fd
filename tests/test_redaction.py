"""Secrets are masked in every form in which they usually turn up."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from build import json_values, steady
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.redaction import MASK, Redactor

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
